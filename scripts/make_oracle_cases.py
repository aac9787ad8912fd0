#!/usr/bin/env python3
"""Make deployments to score assay's resolution with: input for the oracle, which runs the engine itself.

    .venv/bin/python scripts/make_oracle_cases.py OUT.json [--branches [--newer]]

Models are shipped presets, hosts are accelerators of the shipped table; the arguments are single options,
combinations drawn with a fixed seed, environment variables, absent libraries, and command lines that the
engine must refuse; with `--branches`, those of `oracle_branches.py` (`--newer`: with options of 0.5.12).
What the oracle answers is packed by `pack_oracle_answers.py`.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import oracle_branches

from assay.deployment.hardware import find_accelerator
from assay.deployment.presets import find_preset, preset_text

SEED = 20261130
# name of the accelerator -> how many in the host, streaming multiprocessors of one
HOSTS = {
    "A100 SXM 80GB": (8, 108),
    "H100 SXM": (8, 132),
    "H200 SXM": (8, 132),
    "B200": (8, 148),
    "RTX PRO 6000 Blackwell Workstation": (4, 188),
    "RTX 4090": (4, 128),
    "L40S": (8, 142),
    "L4": (1, 58),
    "H20": (8, 78),
    "T4": (1, 40),
}
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-32B-FP8",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen/Qwen3.5-122B-A10B",
    "Qwen/Qwen3.5-27B",
    "Qwen/Qwen3.5-35B-A3B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "zai-org/GLM-4.5-Air",
    "zai-org/GLM-4.5-FP8",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "google/gemma-3-27b-it",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "Qwen/Qwen3-Embedding-8B",
    "mistralai/Mixtral-8x7B-v0.1",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "microsoft/phi-4",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "XiaomiMiMo/MiMo-V2-Flash",
    "MiniMaxAI/MiniMax-M2.5",
    "Qwen/Qwen2.5-7B-Instruct",
    "zai-org/GLM-5",
    "moonshotai/Kimi-K2-Instruct",
)
DRAFT = "jamesliu1/sglang-EAGLE3-Llama-3.1-Instruct-8B"
DRAFT_CONFIG = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "draft_vocab_size": 32000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-05,
    "hidden_act": "silu",
    "torch_dtype": "float16",
    "tie_word_embeddings": False,
}
EAGLE = "--speculative-algorithm EAGLE --speculative-num-steps 3"
SINGLES = (
    "--disable-cuda-graph",
    "--disable-radix-cache",
    "--attention-backend flashinfer",
    "--attention-backend triton",
    "--attention-backend fa3",
    "--attention-backend trtllm_mha",
    "--attention-backend torch_native",
    "--attention-backend flashmla",
    "--attention-backend trtllm_mla",
    "--attention-backend cutlass_mla",
    "--attention-backend fa4",
    "--attention-backend nsa",
    "--prefill-attention-backend fa3 --decode-attention-backend flashinfer",
    "--kv-cache-dtype fp8_e5m2",
    "--kv-cache-dtype fp8_e4m3",
    "--kv-cache-dtype fp4_e2m1",
    "--quantization fp8",
    "--quantization awq",
    "--quantization w8a8_int8",
    "--dtype float16",
    "--context-length 8192",
    "--context-length 9999999",
    "--page-size 16",
    "--page-size 64",
    "--chunked-prefill-size 2048",
    "--chunked-prefill-size -1",
    "--mem-fraction-static 0.7",
    "--max-running-requests 32",
    "--cuda-graph-max-bs 64",
    "--tp-size 2",
    "--tp-size 4",
    "--tp-size 8",
    "--tp-size 8 --dp-size 8 --enable-dp-attention",
    "--tp-size 4 --ep-size 4",
    "--tp-size 8 --ep-size 8 --moe-a2a-backend deepep",
    "--pp-size 2",
    "--dp-size 2",
    "--enable-torch-compile",
    "--enable-mixed-chunk",
    "--enable-hierarchical-cache",
    "--enable-hierarchical-cache --hicache-io-backend direct",
    "--enable-hierarchical-cache --hicache-storage-backend mooncake",
    "--enable-hierarchical-cache --disable-radix-cache",
    "--enable-lora",
    "--lora-paths a=/tmp/a --max-loras-per-batch 2",
    "--enable-deterministic-inference",
    "--enable-deterministic-inference --tp-size 2",
    "--enable-metrics",
    "--moe-runner-backend flashinfer_cutlass",
    "--moe-runner-backend triton_kernel",
    "--moe-runner-backend flashinfer_trtllm",
    "--moe-runner-backend flashinfer_mxfp4",
    "--moe-runner-backend deep_gemm",
    "--enable-flashinfer-allreduce-fusion --tp-size 4",
    "--enable-eplb --tp-size 4 --ep-size 4",
    "--speculative-algorithm NEXTN",
    f"{EAGLE} --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
    f"{EAGLE} --speculative-eagle-topk 4 --speculative-num-draft-tokens 8",
    f"--speculative-algorithm EAGLE3 --speculative-draft-model-path {DRAFT}",
    "--speculative-algorithm NGRAM",
    "--speculative-algorithm NEXTN --mamba-scheduler-strategy extra_buffer",
    "--mamba-scheduler-strategy extra_buffer",
    "--disaggregation-mode prefill",
    "--disaggregation-mode decode",
    "--is-embedding",
    "--enable-multimodal",
    "--disable-overlap-schedule",
    "--schedule-policy lpm",
    "--schedule-conservativeness 0.5",
    "--load-format dummy",
    "--skip-tokenizer-init",
    "--enable-two-batch-overlap",
    "--enable-dp-lm-head --tp-size 2",
    "--enable-piecewise-cuda-graph",
    "--disable-piecewise-cuda-graph",
    "--cpu-offload-gb 4",
    "--enable-symm-mem",
    "--disable-custom-all-reduce",
    "--sampling-backend pytorch",
    "--grammar-backend none",
    "--nnodes 2 --tp-size 8",
    '--json-model-override-args {"num_hidden_layers":4}',
    "--tool-call-parser qwen25",
    "--enable-prefill-delayer",
    "--dllm-algorithm LowConfidence",
    "--swa-full-tokens-ratio 0.5",
    "--num-continuous-decode-steps 4",
    "--triton-attention-reduce-in-fp32",
    "--enable-fused-moe-sum-all-reduce",
    "--speculative-num-steps 4",
    "--base-gpu-id -1",
    "--tp-size 3",
    "--moe-dense-tp-size 1",
    "--served-model-name a:b",
    "--page-size 48 --chunked-prefill-size 1000",
    "--enable-pdmux",
    "--load-balance-method auto",
    "--encoder-only",
    "--language-only",
    "--enable-nan-detection",
    "--served-model-name mine --random-seed 7",
    "--max-prefill-tokens 4096",
    "--hicache-mem-layout page_first --enable-hierarchical-cache",
    "--enable-memory-saver",
    "--attn-cp-size 2 --tp-size 4",
    '--preferred-sampling-params {"temperature":0.5}',
    "--max-total-tokens 100000",
    "--prefill-max-requests 4",
    "--enable-return-routed-experts",
)
REFUSED_BY_PARSER = (
    "--no-such-option",
    "--tp-size two",
    "--attention-backend nothing",
    "--page-size",
    "--mem-fraction-static x",
    "--max 3",
)
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"SGLANG_ENABLE_SPEC_V2": "1"},
    {"SGLANG_IS_FLASHINFER_AVAILABLE": "false"},
    {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"},
    {"SGLANG_IS_IN_CI": "true", "SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE": "1"},
)
PER_HOST = ("H100 SXM", "B200", "RTX PRO 6000 Blackwell Workstation")


def main() -> None:
    rng = random.Random(SEED)  # noqa: S311 (not for secrets: the same cases each time)
    models = {name: json.loads(preset_text(find_preset(name))) for name in MODELS}
    for config in models.values():
        config.pop("auto_map", None)  # remote code is never run
    models[DRAFT] = DRAFT_CONFIG
    hosts = {name: host(name, *rest) for name, rest in HOSTS.items()}
    branches = "--branches" in sys.argv
    deployments = list(oracle_branches.cases(newer="--newer" in sys.argv) if branches else cases(rng))
    models |= oracle_branches.MODELS | oracle_branches.MORE_MODELS if branches else {}
    plan = {"seed": SEED, "models": models, "files": {}, "hosts": hosts, "deployments": deployments}
    Path(sys.argv[1]).write_text(json.dumps(plan, indent=1) + "\n")
    print(f"{len(deployments)} deployments of {len(models)} models on {len(hosts)} hosts")


def host(name: str, count: int, sm_count: int) -> dict[str, Any]:
    found = find_accelerator(name)
    linked = found.link == "nvlink"
    return {
        "name": found.device_name,
        "capability": found.capability,
        "memory_mib": found.memory_mib,
        "count": count,
        "sm_count": sm_count,
        "nvlink": linked,
        "p2p": linked,
        "driver": "580.95.05",
    }


def cases(rng: random.Random) -> Any:
    hosts = [name for name in HOSTS if name != "T4"]
    for at, model in enumerate(MODELS):  # each model alone, on three hosts
        for shift in (0, 3, 6):
            yield case(f"base-{at}-{shift}", hosts[(at + shift) % len(hosts)], model, [])
    for at, text in enumerate(SINGLES):
        for turn in range(2):
            yield case(f"single-{at}-{turn}", rng.choice(hosts), rng.choice(MODELS), text.split())
    for at in range(90):
        words = [word for text in rng.sample(SINGLES, rng.randint(2, 4)) for word in text.split()]
        yield case(f"mix-{at}", rng.choice(hosts), rng.choice(MODELS), words)
    for at, text in enumerate(REFUSED_BY_PARSER):
        yield case(f"parser-{at}", "H100 SXM", MODELS[at], text.split())
    hybrid = "Qwen/Qwen3.5-122B-A10B"
    for at, environment in enumerate(ENVIRONMENTS):
        name = PER_HOST[at % len(PER_HOST)]
        spec = [
            "--speculative-algorithm",
            "NEXTN",
            "--mamba-scheduler-strategy",
            "extra_buffer",
            "--tp-size",
            "4",
        ]
        for turn, (model, words) in enumerate(
            ((hybrid, spec), (MODELS[0], ["--context-length", "9999999"]), (MODELS[at], ["--enable-metrics"]))
        ):
            yield {**case(f"env-{at}-{turn}", name, model, words), "env": environment}
    for at, model in enumerate((MODELS[0], "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-120b")):
        absent = {"absent": ["flashinfer-python", "flashinfer-cubin"]}
        yield {**case(f"absent-{at}", "H100 SXM", model, []), "software": absent}


def case(name: str, on: str, model: str, words: list[str]) -> dict[str, Any]:
    return {"id": name, "host": on, "argv": ["--model-path", model, *words]}


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Make deployments of vLLM to score assay's resolution with: input for `vllm_oracle.py`.

    .venv/bin/python scripts/make_vllm_oracle_cases.py OUT.json

Models are shipped presets, hosts are accelerators of the shipped table. Left out is what the fakes cannot
answer: sleep mode (a loaded CUDA library) and reasoning parsers (a tokenizer).
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from assay.deployment.hardware import find_accelerator
from assay.deployment.presets import find_preset, preset_text

HOSTS = {"h100": ("H100 SXM", 8), "h200": ("H200 SXM", 8), "sm120": ("RTX PRO 6000 Blackwell Workstation", 4)}
HOSTS |= {"b200": ("B200", 8), "a100": ("A100 SXM 80GB", 8), "4090": ("RTX 4090", 1), "l40s": ("L40S", 2)}
HOSTS |= {"t4": ("T4", 1)}
LLAMA, QWEN, FP8 = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "Qwen/Qwen3-32B-FP8"
MOE, HYBRID, NEXT = "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3.5-122B-A10B", "Qwen/Qwen3-Next-80B-A3B-Instruct"
DEEPSEEK, OSS, GEMMA = "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-20b", "google/gemma-3-27b-it"
VISION, MIXTRAL, GLM = "Qwen/Qwen2.5-VL-7B-Instruct", "mistralai/Mixtral-8x7B-v0.1", "zai-org/GLM-4.5-Air"
EMBEDDING, PHI, MISTRAL = "Qwen/Qwen3-Embedding-8B", "microsoft/phi-4", "mistralai/Mistral-7B-Instruct-v0.3"
PLAIN = (
    ("h100", LLAMA, ""),
    ("a100", LLAMA, ""),
    ("4090", LLAMA, "--max-model-len 8192"),
    ("t4", LLAMA, "--max-model-len 8192"),
    ("t4", LLAMA, "--max-model-len 8192 --dtype half"),
    ("h100", "meta-llama/Llama-3.1-70B-Instruct", "-tp 4"),
    ("b200", "meta-llama/Llama-3.1-70B-Instruct", "-tp 4 --pipeline-parallel-size 2"),
    ("l40s", FP8, "--tensor-parallel-size 2 --enable-lora --max-lora-rank 64"),
    ("h100", QWEN, "--tensor-parallel-size 2"),
    ("a100", MOE, "--tensor-parallel-size 2 --enable-expert-parallel"),
    ("sm120", HYBRID, "-tp 4 --speculative-config.method mtp --speculative-config.num_speculative_tokens 3"),
    ("sm120", HYBRID, "-tp 4"),
    ("h200", NEXT, "-tp 4"),
    ("h200", DEEPSEEK, "--data-parallel-size 8 --enable-expert-parallel"),
    ("h200", DEEPSEEK, "-tp 8"),
    ("b200", DEEPSEEK, "-tp 8 --kv-cache-dtype fp8"),
    ("4090", OSS, ""),
    ("h100", OSS, "--async-scheduling"),
    ("h100", GEMMA, ""),
    ("h100", VISION, ""),
    ("h100", MIXTRAL, "-tp 2"),
    ("h100", GLM, "-tp 4"),
    ("h100", EMBEDDING, ""),
    ("h100", EMBEDDING, "--runner pooling --max-model-len 4096"),
    ("a100", PHI, ""),
    ("l40s", MISTRAL, ""),
)
SINGLE = (
    "--max-num-seqs 64",
    "--max-num-batched-tokens 512",
    "--max-model-len 4096",
    "--no-enable-prefix-caching",
    "--no-enable-chunked-prefill",
    "--no-enable-chunked-prefill --max-model-len 4096",
    "--enforce-eager",
    "--kv-cache-dtype fp8",
    "--block-size 32",
    "--gpu-memory-utilization 0.8",
    "--performance-mode throughput",
    "--performance-mode interactivity",
    "--long-prefill-token-threshold 2048",
    "-O0",
    "-O1",
    "-O3",
    "--compilation-config.cudagraph_mode FULL",
    "--compilation-config '{\"mode\": 0}'",
    "--max-cudagraph-capture-size 64",
    "--cudagraph-capture-sizes 1 2 4 8",
    "--attention-backend FLASHINFER",
    "--moe-backend triton",
    "--cpu-offload-gb 4",
    "--disable-cascade-attn",
    "--scheduling-policy priority",
    "--data-parallel-size 2",
    "--data-parallel-address 10.0.0.1",
    "--override-attention-dtype bfloat16",
    "--dtype float16",
    "--quantization fp8",
    "--seed 7 --served-model-name x y",
    "--no-async-scheduling",
    "--max-logprobs 50 --logprobs-mode raw_logits",
    "--hf-overrides '{\"max_position_embeddings\": 16384}'",
    "--limit-mm-per-prompt '{\"image\": 2}'",
    '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3}\'',
    "--swap-space 4",
    "--num-gpu-blocks-override 1000",
    "--prefix-caching-hash-algo sha256_cbor",
    "--tensor-parallel-size 3",
    "--max-num-partial-prefills 2",
    "--data-parallel-rank 1 --data-parallel-size 2",
    "--enable-eplb",
    "--enable-dbo",
    "--distributed-executor-backend ray",
    "--distributed-executor-backend uni",
    "--worker-extension-cls a.b.C",
    "--disable-custom-all-reduce -tp 2",
    "--kv-offloading-size 10",
    "--max-model-len 1000000",
    "--enable-chunked-prefill --max-num-batched-tokens 100 --max-num-seqs 200",
    "--block-size 7",
    "--enable-auto-tool-choice",
    "--stream-interval 5",
)
OTHERS = (
    ("sm120", HYBRID, "-tp 4 --mamba-block-size 256"),
    ("sm120", HYBRID, "-tp 4 --enable-prefix-caching"),
    ("sm120", HYBRID, "-tp 4 --enable-prefix-caching --mamba-block-size 256"),
    ("sm120", HYBRID, "-tp 4 --async-scheduling"),
    ("sm120", HYBRID, "-tp 4 --compilation-config.pass_config.fuse_allreduce_rms true"),
    ("sm120", HYBRID, "-tp 4 --attention-config.flash_attn_version 3"),
    ("h200", DEEPSEEK, "--data-parallel-size 8 --enable-expert-parallel --all2all-backend naive"),
    (
        "h200",
        DEEPSEEK,
        "--data-parallel-size 8 --enable-expert-parallel --all2all-backend deepep_low_latency",
    ),
    ("h200", DEEPSEEK, "--data-parallel-size 8 --enable-expert-parallel --enable-eplb"),
    ("h200", DEEPSEEK, "--data-parallel-size 8 --enable-expert-parallel --enable-dbo"),
    ("h200", DEEPSEEK, "-tp 8 --attention-backend FLASHINFER_MLA"),
    ("4090", OSS, "--dtype float16"),
    ("4090", OSS, "--max-cudagraph-capture-size 1024"),
    ("h100", VISION, "--limit-mm-per-prompt.image 2 --mm-encoder-tp-mode data"),
    ("h100", GEMMA, "--language-model-only"),
    ("h100", MOE, "--enable-eplb --enable-expert-parallel -tp 2"),
)
VARIABLES = (
    {"VLLM_USE_V2_MODEL_RUNNER": "0"},
    {"VLLM_USE_V2_MODEL_RUNNER": "1"},
    {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"},
    {"VLLM_DP_SIZE": "4"},
    {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
    {"VLLM_ATTENTION_BACKEND": "FLASHINFER"},
)


def main() -> None:
    cases = [*PLAIN, *OTHERS, *(("h100", LLAMA, each) for each in SINGLE)]
    cases += [("h100", MOE, each) for each in ("--enable-expert-parallel -dp 2", "--moe-backend cutlass")]
    deployments: list[dict[str, Any]] = [
        {"id": f"{at:03}", "host": host, "argv": [model, *shlex.split(words)]}
        for at, (host, model, words) in enumerate(cases)
    ]
    for at, env in enumerate(VARIABLES):
        deployments.append({"id": f"env{at}", "host": "h100", "argv": [LLAMA], "env": env})
    models = sorted({each["argv"][0] for each in deployments})
    plan = {
        "hosts": {name: host(*each) for name, each in HOSTS.items()},
        "models": {name: json.loads(preset_text(find_preset(name))) for name in models},
        "deployments": deployments,
    }
    Path(sys.argv[1]).write_text(json.dumps(plan))


def host(name: str, count: int) -> dict[str, Any]:
    """What the fakes answer for it."""
    found = find_accelerator(name)
    return {
        "count": count,
        "name": found.name,
        "capability": list(found.capability),
        "memory_mib": found.memory_mib,
        "nvlink": found.capability[0] in (9, 10),
        "cuda": "12.8",
    }


if __name__ == "__main__":
    main()

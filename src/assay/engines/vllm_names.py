"""What other engines, and vLLM's own earlier releases, call the options of vLLM."""

from __future__ import annotations

ELSEWHERE = {
    # SGLang, TensorRT-LLM, TGI, llama.cpp
    "--model-path": "--model",
    "--model-id": "--model",
    "--context-length": "--max-model-len",
    "--ctx-size": "--max-model-len",
    "--max-seq-len": "--max-model-len",
    "--mem-fraction-static": "--gpu-memory-utilization",
    "--gpu-memory-fraction": "--gpu-memory-utilization",
    "--kv-cache-free-gpu-memory-fraction": "--gpu-memory-utilization",
    "--max-running-requests": "--max-num-seqs",
    "--max-batch-size": "--max-num-seqs",
    "--max-concurrent-requests": "--max-num-seqs",
    "--chunked-prefill-size": "--max-num-batched-tokens",
    "--max-num-tokens": "--max-num-batched-tokens",
    "--page-size": "--block-size",
    "--tp-size": "--tensor-parallel-size",
    "--dp-size": "--data-parallel-size",
    "--pp-size": "--pipeline-parallel-size",
    "--ep-size": "--enable-expert-parallel",
    "--disable-radix-cache": "--no-enable-prefix-caching",
    "--disable-cuda-graph": "--enforce-eager",
    "--disable-overlap-schedule": "--no-async-scheduling",
    "--moe-a2a-backend": "--all2all-backend",
    "--moe-runner-backend": "--moe-backend",
    "--tokenizer-path": "--tokenizer",
    "--random-seed": "--seed",
    "--json-model-override-args": "--hf-overrides",
    "--lora-paths": "--lora-modules",
    "--max-loras-per-batch": "--max-loras",
    "--speculative-algorithm": "--speculative-config.method",
    "--speculative-draft-model-path": "--speculative-config.model",
    "--speculative-num-draft-tokens": "--speculative-config.num_speculative_tokens",
    # vLLM before 0.20, by its own changes
    "--speculative-model": "--speculative-config.model",
    "--num-speculative-tokens": "--speculative-config.num_speculative_tokens",
    "--guided-decoding-backend": "--structured-outputs-config.backend",
    "--rope-scaling": "--hf-overrides.rope_scaling",
    "--disable-log-requests": "--no-enable-log-requests",
    "--task": "--runner",
}
"""Flag of theirs to ours."""

WITHOUT = {
    "--enable-metrics": "--disable-log-stats",
}
"""Flag that turns on elsewhere what vLLM does by itself, to the flag that turns it off."""

VALUES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
}
"""Value of theirs to ours."""

"""What other engines, and SGLang's own earlier releases, call the options of SGLang."""

from __future__ import annotations

ELSEWHERE = {
    # vLLM, TensorRT-LLM, TGI, llama.cpp
    "--max-model-len": "--context-length",
    "--max-seq-len": "--context-length",
    "--max-context-length": "--context-length",
    "--max-context-len": "--context-length",
    "--max-length": "--context-length",
    "--context-size": "--context-length",
    "--ctx-size": "--context-length",
    "--n-ctx": "--context-length",
    "--gpu-memory-utilization": "--mem-fraction-static",
    "--gpu-memory-fraction": "--mem-fraction-static",
    "--kv-cache-free-gpu-memory-fraction": "--mem-fraction-static",
    "--free-gpu-memory-fraction": "--mem-fraction-static",
    "--cuda-memory-fraction": "--mem-fraction-static",
    "--max-num-seqs": "--max-running-requests",
    "--max-batch-size": "--max-running-requests",
    "--max-concurrent-requests": "--max-running-requests",
    "--parallel": "--max-running-requests",
    "--max-num-batched-tokens": "--chunked-prefill-size",
    "--max-num-tokens": "--chunked-prefill-size",
    "--enable-chunked-prefill": "--chunked-prefill-size",
    "--no-enable-chunked-prefill": "--chunked-prefill-size -1",
    "--disable-chunked-prefill": "--chunked-prefill-size -1",
    "--block-size": "--page-size",
    "--no-enable-prefix-caching": "--disable-radix-cache",
    "--disable-prefix-caching": "--disable-radix-cache",
    "--enforce-eager": "--disable-cuda-graph",
    "--enable-expert-parallel": "--ep-size",
    "--all2all-backend": "--moe-a2a-backend",
    "--speculative-config": "--speculative-algorithm",
    "--speculative-method": "--speculative-algorithm",
    "--speculative-model": "--speculative-draft-model-path",
    "--num-speculative-tokens": "--speculative-num-draft-tokens",
    "--seed": "--random-seed",
    "--model-id": "--model-path",
    "--tokenizer": "--tokenizer-path",
    "--hf-overrides": "--json-model-override-args",
    "--rope-scaling": "--json-model-override-args",
    "--override-generation-config": "--preferred-sampling-params",
    "--guided-decoding-backend": "--grammar-backend",
    "--structured-outputs-config": "--grammar-backend",
    "--lora-modules": "--lora-paths",
    "--max-loras": "--max-loras-per-batch",
    "--limit-mm-per-prompt": "--limit-mm-data-per-request",
    "--mm-processor-kwargs": "--mm-process-config",
    "--uvicorn-log-level": "--log-level-http",
    "--enable-auto-tool-choice": "--tool-call-parser",
    "--flash-attn": "--attention-backend",
    "--enable-sleep-mode": "--enable-memory-saver",
    "--cpu-offload": "--cpu-offload-gb",
    "--num-nodes": "--nnodes",
    "--node-id": "--node-rank",
    "--rank": "--node-rank",
    "--master-addr": "--dist-init-addr",
    "--data-parallel-address": "--dist-init-addr",
    # SGLang before 0.5.4, by its own warnings
    "--enable-ep-moe": "--ep-size",
    "--enable-deepep-moe": "--moe-a2a-backend deepep",
    "--enable-triton-kernel-moe": "--moe-runner-backend triton_kernel",
    "--enable-flashinfer-cutlass-moe": "--moe-runner-backend flashinfer_cutlass",
    "--enable-flashinfer-trtllm-moe": "--moe-runner-backend flashinfer_trtllm",
    "--enable-flashinfer-mxfp4-moe": "--moe-runner-backend flashinfer_mxfp4",
    "--enable-flashinfer-mla": "--attention-backend flashinfer",
    "--enable-flashmla": "--attention-backend flashmla",
}
"""Flag of theirs to ours, with a value where it had none."""

WITHOUT = {
    "--enable-prefix-caching": "--disable-radix-cache",
    "--async-scheduling": "--disable-overlap-schedule",
}
"""Flag that turns on elsewhere what SGLang does by itself, to the flag that turns it off."""

VALUES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "flash-attn": "fa3",
    "flash-attention": "fa3",
    "llama3-json": "llama3",
    "openai": "gpt-oss",
    "openai-gptoss": "gpt-oss",
}
"""Value of theirs to ours."""

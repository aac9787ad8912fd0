#!/bin/bash
export VLLM_ATTENTION_BACKEND=FLASHINFER
export HF_HOME=/data/hf VLLM_LOGGING_LEVEL=INFO
unset TRANSFORMERS_CACHE
cd /srv/vllm || exit 1
VLLM_USE_V1=1 vllm serve openai/gpt-oss-120b \
    --tensor-parallel-size 4 \
    --gpu-memory-utilization 0.92 \
    --compilation-config '{"cudagraph_mode": "FULL_AND_PIECEWISE"}' \
    --max-num-seqs=256 \
    2>&1 | tee "vllm.log"

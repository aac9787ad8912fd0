#!/usr/bin/env bash
# Qwen3.5 on four cards, with speculation.
set -euo pipefail

export CUDA_VISIBLE_DEVICES=0,1,2,3
export NCCL_P2P_LEVEL=SYS   # no NVLink here
export SGLANG_ENABLE_SPEC_V2=1

MODEL=/models/Qwen3.5-122B-A10B
PORT=${PORT:-30000}

exec python3 -m sglang.launch_server \
  --model-path "$MODEL" \
  --served-model-name "${MODEL##*/}" \
  --tp 4 \
  --attention-backend triton \
  --speculative-algorithm NEXTN \
  --speculative-num-steps 3 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 4 \
  --mamba-scheduler-strategy extra_buffer \
  --json-model-override-args '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}' \
  --host 0.0.0.0 --port "$PORT"

#!/bin/bash
set -eu

ARGS=(
  --model-path deepseek-ai/DeepSeek-V3
  --tp 8            # one node
  --trust-remote-code
  # --enable-dp-attention
  --mem-fraction-static 0.9
)
EXTRA=()
ARGS+=(--log-level warning)
ARGS+=("--chat-template" "/etc/sglang/deep seek.jinja")

nohup python -m sglang.launch_server "${ARGS[@]}" ${EXTRA[@]+"${EXTRA[@]}"} --port 30000 > server.log 2>&1 &
echo $! > server.pid

#!/bin/bash
GPU_COUNT=8
MODE="prefill"
if [ "$MODE" = "prefill" ]; then
  DISAGG="--disaggregation-mode prefill"
  BATCH=16
else
  DISAGG="--disaggregation-mode decode"
  BATCH=16
fi
case "$MODE" in
  prefill) PORT=30000 ;;
  *) PORT=30000 ;;
esac
[ -d /nonexistent ] || CACHE=/tmp/hicache
python -m sglang.launch_server --model-path m --tp $GPU_COUNT $DISAGG --max-running-requests $BATCH --port $PORT --cache "$CACHE"

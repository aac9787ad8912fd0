#!/bin/sh
NAME=sglang-prod
IMAGE=lmsysorg/sglang:v0.5.10-cu129
docker rm -f "$NAME" 2>/dev/null || true
docker run -d --name "$NAME" \
  --gpus all --shm-size 32g --ipc=host --ulimit memlock=-1 \
  -v /models:/models:ro -p 30000:30000 \
  -e SGLANG_LOG_MS=1 --env "NCCL_DEBUG=WARN" \
  --restart unless-stopped \
  "$IMAGE" \
  python3 -m sglang.launch_server --model-path /models/llama --host 0.0.0.0 --port 30000 --tp 8

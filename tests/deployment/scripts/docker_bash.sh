#!/usr/bin/env bash
set -e
TP=4
docker run --rm -it --network host --device nvidia.com/gpu=all --entrypoint bash \
  lmsysorg/sglang:latest -lc "export SGLANG_USE_AITER=0; exec python3 -m sglang.launch_server --model-path /m --tp ${TP} --json-model-override-args '{\"a\": 1}'"

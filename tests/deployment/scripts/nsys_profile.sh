#!/bin/bash
ulimit -c 0
OUT="trace"
exec nsys profile -o "$OUT" -t cuda,nvtx --force-overwrite true --trace-fork-before-exec=true \
  env SGLANG_TORCH_PROFILER_DIR=/tmp/prof \
  python -m sglang.launch_server --model-path m --disable-cuda-graph

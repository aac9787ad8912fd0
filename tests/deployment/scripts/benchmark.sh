#!/bin/bash
set -x
trap 'kill 0' EXIT
python -m sglang.launch_server --model-path m --tp 8 --enable-torch-compile --schedule-conservativeness 0.3 > s.log 2>&1 &
SERVER=$!
for i in $(seq 1 3); do
  curl -sf http://127.0.0.1:30000/health > /dev/null && break
done
for concurrency in 1 8 64; do
  python -m sglang.bench_serving --backend sglang --num-prompts 100 --max-concurrency $concurrency
done
trap - EXIT

#!/bin/bash
# Start again when it dies, three times at most.
tries=0
while [ "$tries" -lt 3 ]; do
  SGLANG_BLOCK_NONZERO_RANK_CHILDREN=1 numactl --cpunodebind=0 --membind=0 \
    python -m sglang.launch_server --config /etc/sglang.yaml --port 30000 && break
  tries=$((tries + 1))
  echo "restart number $tries"
done

#!/bin/bash
COMMON="--trust-remote-code --disable-radix-cache"
CUDA_VISIBLE_DEVICES=0 python -m sglang.launch_server --model-path a $COMMON --port 30001 &
CUDA_VISIBLE_DEVICES=1 python -m sglang.launch_server --model-path b $COMMON --port 30002 &
( cd /tmp && python -m sglang_router.launch_router --worker-urls http://127.0.0.1:{30001,30002} --port 30000 )
wait

#!/bin/bash
CMD="python -m sglang.launch_server"
CMD+=" --model-path 'my models/llama'"
CMD+=" --tp 2"
echo "running: $CMD"
eval "$CMD --port 30000"

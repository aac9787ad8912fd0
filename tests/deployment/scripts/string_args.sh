#!/bin/sh
ARGS="--model-path meta-llama/Llama-3.1-8B-Instruct"
ARGS="$ARGS --tp 2 --enable-metrics"
ARGS="${ARGS} --cuda-graph-max-bs 64"
HOST=0.0.0.0
PY="/opt/venv/bin/python -u"

$PY -m sglang.launch_server $ARGS --host $HOST --port 30000

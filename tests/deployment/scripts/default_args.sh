#!/bin/bash
: "${MODEL:=Qwen/Qwen3-30B-A3B}"
: ${TP:=2}
EXTRA_ARGS=${EXTRA_ARGS:-}
QUANT=${QUANT:-fp8}
python3 -m sglang.launch_server --model-path "$MODEL" --tp "$TP" ${QUANT:+--quantization $QUANT} --port ${PORT:-30000} $EXTRA_ARGS

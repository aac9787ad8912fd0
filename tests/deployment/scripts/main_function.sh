#!/usr/bin/env bash
set -o errexit -o nounset -o pipefail

log() { printf '%s\n' "$*" >&2; }

start_server() {
  local model="$1" port="$2"
  shift 2
  log "starting $model on $port"
  python -m sglang.launch_server --model-path "$model" --port "$port" "$@" &
}

main() {
  start_server Qwen/Qwen3-8B 30000 --tp 1
  start_server Qwen/Qwen3-32B 30001 --tp 4 --chunked-prefill-size 4096
  wait
}

main "$@"

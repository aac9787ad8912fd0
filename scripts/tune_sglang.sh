#!/usr/bin/env bash
# A study of a real SGLang on a CPU, from nothing: an environment with SGLang, a model of 17 MB, a deployment that is
# badly set, and `assay tune` with one option that gives much, one that gives nothing and two that crash.
#   scripts/tune_sglang.sh FOLDER      FOLDER gets all of it, 3 GB; VENV=… and MODEL=… name what is there already
# Its scheduler, cache, sampler and server are SGLang's own, over PyTorch's operators; of its compiled kernels only the
# import is stood in for, and each says so if it is called: none is, on a CPU without AMX. Not yet carried through
# to its end: docs/explanation/study.md.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
venv=${VENV:-$folder/venv} model=${MODEL:-$folder/model}
assay=${ASSAY:-"$here/.venv/bin/python -m assay"}

if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q torch==2.13.0 numpy aiohttp anthropic cffi compressed-tensors==0.18.0 dill distro \
        easydict einops fastapi gguf interegular IPython 'llguidance<2.0.0,>=1.7.6' msgspec ninja numba==0.65.1 \
        openai==2.8.0 openai-harmony==0.0.4 orjson outlines==0.1.11 packaging partial_json_parser pillow \
        prometheus-client psutil pybase64 pydantic python-dateutil python-multipart pyzmq regex requests scipy \
        sentencepiece==0.2.1 setproctitle soundfile tiktoken tokenizers==0.23.2 tqdm transformers==5.19.0 uvicorn \
        uvloop watchfiles xgrammar==0.2.7 xxhash zstandard
    "$venv/bin/pip" install -q --no-deps sglang==0.5.23 torchvision==0.28.0 torch_memory_saver
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    : >"$site/torchvision/_meta_registrations.py" # built for CUDA: see tune_vllm.sh
fi
[ -e "$model/config.json" ] || "$venv/bin/python" "$here/scripts/make_tiny_model.py" "$model"
mkdir -p "$folder/kernels/sgl_kernel"
cat >"$folder/kernels/sgl_kernel/__init__.py" <<'PY'
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{name} was called, and only its import is stood in for")

    missing.__name__ = name
    return missing
PY

cat >"$folder/tiny.toml" <<TOML
name = "tiny"
engine = "installed:$venv"
command = """$venv/bin/python -m sglang.launch_server --model-path $model --served-model-name tiny \\
  --host 127.0.0.1 --port ${PORT:-8277} --device cpu --attention-backend torch_native --disable-overlap-schedule \\
  --max-total-tokens 16384 --mem-fraction-static 0.3 --max-running-requests 1"""

[environment]
PYTHONPATH = "$folder/kernels"
SGLANG_USE_CPU_ENGINE = "1"
OMP_NUM_THREADS = "1"
HF_HUB_OFFLINE = "1"

[model]
path = "$model"

[hardware]
name = "CPU"
capability = "0.0"

[trials]
where = "in_place"

[[candidates]]
set = ["max-running-requests=8"]
why = "one request at a time is served now"

[[candidates]]
set = ["schedule-policy=lpm"]
why = "nothing is shared: it should give nothing"

[[candidates]]
set = ["attention-backend=flashinfer"]

[[candidates]]
set = ["tp-size=3"]
TOML

cd "$folder"
export ASSAY_JOURNAL=$folder/journal.sqlite PYTHONPATH=${PYTHONPATH:-$here/src}
# a machine in use by others: a loss of 30 % is the least that can be told from chance
exec $assay tune tiny.toml --only --hours "${HOURS:-1.5}" --start-minutes 1 --margin 0.3 \
    --max-concurrency 1,8 --num-prompts 24 --random-input-len 64 --random-output-len 48 --result-dir results "${@:2}"

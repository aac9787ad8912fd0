"""A study of a real vLLM that systemd runs on another machine, over ssh; the change is watched and kept.

Usage: ASSAY_RIG=FOLDER python scripts/tune_vllm_unit.py VENV MODEL OUT [WORD …]

VENV has a vLLM for the CPU, MODEL a model that it starts in seconds (`scripts/tune_vllm.sh` makes both). A
machine of the rig gets them read-only, and a unit that is badly set: `--max-num-seqs 1`. Then `assay tune`
with one option that gives much, one that gives nothing and one that crashes; further words go to it. Not yet
carried through to its end: docs/explanation/study.md. Needs root.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.rig.rigs import Rig, wait_until  # noqa: E402

OWN = ("+max-num-seqs=8", "+block-size=32", "+tensor-parallel-size=3")
LOAD = (
    *("--max-concurrency", "1,8", "--num-prompts", "16"),
    *("--random-input-len", "64", "--random-output-len", "48"),
)
HOW = (
    *("--only", "--hours", "1", "--start-minutes", "1", "--margin", "0.3"),
    *("--hold", "2", "--keep", "--watch", "2", "--result-dir", "results"),
)


def main() -> int:
    """All of it; the exit code of the study."""
    venv, model, out = (Path(each).absolute() for each in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    python = (venv / "bin" / "python").resolve()
    rig = Rig(
        Path(os.environ["ASSAY_RIG"]), count=1, binds=(venv, python.parents[1], model), packages="libnuma1"
    )
    try:
        rig.put({"/etc/systemd/system/llm.service": unit(venv, model).encode()})
        rig.inside("systemctl", "daemon-reload")
        rig.inside("systemctl", "start", "llm.service")
        wait_until(lambda: serves(rig), 900)
        return studied(rig, venv, model, out)
    finally:
        rig.down()


def unit(venv: Path, model: Path) -> str:
    """One request at a time: badly set."""
    return f"""[Service]
WorkingDirectory=/
Environment=HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 HOME=/root
ExecStart={venv}/bin/python -m vllm.entrypoints.openai.api_server --model {model} --served-model-name tiny \\
  --host 127.0.0.1 --port 8100 --dtype float32 --max-model-len 2048 --max-num-seqs 1 --enforce-eager
Restart=on-failure
LimitNOFILE=20000
TimeoutStopSec=20
"""


def serves(rig: Rig) -> bool:
    """Whether it answers there."""
    try:
        return '"tiny"' in rig.inside("curl", "-s", "-m", "2", "http://127.0.0.1:8100/v1/models")
    except AssertionError:
        return False


def studied(rig: Rig, venv: Path, model: Path, out: Path) -> int:
    """Tune it, and look at it once more."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "ASSAY_JOURNAL": str(out / "journal.sqlite"),
    }

    def assay(*words: str) -> int:
        print(f"\n$ assay {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", "assay", *words, "--ssh-config", str(rig.config)]
        return subprocess.run(command, cwd=out, env=environment, check=False).returncode

    (out / "llm.service").write_text(unit(venv, model))
    (out / "chat.toml").write_text(
        f'name = "tiny"\nunit = "llm.service"\nengine = "installed:{venv}"\n'
        f'[model]\npath = "{model}"\n[hardware]\nname = "CPU"\ncapability = "0.0"\n'
        '[live]\nunit = "llm.service"\nhost = "rig1"\n[trials]\nwhere = "in_place"\n'
    )
    code = assay("tune", "chat.toml", *OWN, *LOAD, *HOW, *sys.argv[4:])
    assay("status", "chat.toml")
    print(rig.inside("systemctl", "show", "-p", "ExecStart", "--value", "llm"))
    print(rig.inside("journalctl", "-u", "llm", "-n", "30", "--no-pager", "-o", "cat"))
    return code


if __name__ == "__main__":
    sys.exit(main())

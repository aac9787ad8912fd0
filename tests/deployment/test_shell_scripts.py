"""Whole launch scripts: their commands as expected, and as the real bash starts them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from assay.deployment import Launch, read_script, unwrap

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(path.name for path in SCRIPTS.iterdir() if path.suffix != ".json")
EXPECTED = json.loads((SCRIPTS / "expected.json").read_text())
STUBS = "python python3 vllm docker srun scontrol numactl nsys curl module"


def _argv(launch: Launch) -> list[str | None]:
    """The words; None for one that only shows at run time."""
    return [word.text if word.known else None for word in launch.words]


def _starts(launch: Launch) -> bool:
    texts = [word.text for word in launch.words]
    return "sglang.launch_server" in texts or texts[:2] == ["vllm", "serve"]


@pytest.mark.parametrize("name", NAMES)
def test_servers_of_a_script(name: str) -> None:
    launches = [one for launch in read_script(SCRIPTS / name) for one in unwrap(launch) if _starts(one)]
    found = [
        {
            "argv": _argv(launch),
            "environment": {variable.name: variable.value for variable in launch.environment},
            "image": launch.image,
        }
        for launch in launches
        if launch.words[0].text not in ("echo", "eval")
    ]
    assert found == EXPECTED[name]
    kind = "sbatch" if name.endswith(".sbatch") else "shell"
    for launch in launches:
        assert (launch.kind, launch.faults) == (kind, ())
        assert launch.name == ("sglang-prod" if name == "docker_run.sh" else name)
        assert launch.files[0].path == str(SCRIPTS / name)


@pytest.mark.parametrize("name", NAMES)
def test_bash_starts_what_we_read(name: str, tmp_path: Path) -> None:
    """Each process that bash really starts is one of our launches."""
    stubs = tmp_path / "bin"
    stubs.mkdir()
    log = tmp_path / "log"
    log.touch()
    for stub in STUBS.split():
        body = f"""printf '%s\\0' "$(($# + 1))" {stub} "$@" >>"$LOG"\n"""
        (stubs / stub).write_text(f"#!/bin/bash\n{body}")
        (stubs / stub).chmod(0o755)
    text = (SCRIPTS / name).read_text().replace("/opt/venv/bin/", "").replace("/srv/vllm", "/")
    script = tmp_path / name
    script.write_text(text + "\nwait\n")
    subprocess.run(
        ["bash", "--norc", "--noprofile", str(script)],
        cwd=tmp_path,
        env={"PATH": f"{stubs}:{os.environ['PATH']}", "LOG": str(log)},
        capture_output=True,
        timeout=30,
        check=False,
        start_new_session=True,
    )
    items = iter(log.read_text().split("\0")[:-1])
    started = [[next(items) for _ in range(int(count))] for count in items]
    read = [_argv(launch) for launch in read_script(script)]
    read += [_argv(one) for launch in read_script(script) for one in unwrap(launch)]
    read += [words[1:] for words in read if words[0] in ("exec", "nohup")]
    assert started
    for argv in started:
        assert any(_allows(words, argv) for words in read), argv


def _allows(words: list[str | None], argv: list[str]) -> bool:
    if None in words:
        first = words.index(None)
        return argv[:first] == words[:first]
    return argv == words

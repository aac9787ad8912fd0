"""The program: exit codes, formats, fixes, errors; what it prints and what it never prints."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.cli import main

pytestmark = pytest.mark.registry

ROOT = Path(__file__).parents[2]
ASSAY = (sys.executable, "-m", "assay")
SERVE = "python -m sglang.launch_server --model-path /m"
SECRET = "hf_4f9c2e77aa"  # noqa: S105 - planted, to be looked for


@pytest.fixture
def engine(engine_tree: Callable[[str], Path]) -> list[str]:
    folder = engine_tree("0.5.10")
    return ["--engine", str(folder), "--cache", str(folder.with_name("lint-cache"))]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    path = tmp_path / "llm.service"
    path.write_text(
        f"[Service]\nEnvironment=HF_TOKEN={SECRET} SGLANG_NOTHING_LIKE_IT=1\n"
        f"ExecStart=/nosuch/{SERVE} --api-key {SECRET} \\\n"
        "  --num-continuous-decode-steps 4 \\\n"
        '  --mm-process-config {"image": {"a": 1}}\n'
    )
    return path


def test_findings_exit_with_1(unit: Path, engine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(unit), *engine]) == 1
    out = capsys.readouterr().out
    assert [f"[{code}]" in out for code in ("ASY111", "ASY201", "ASY301")] == [True] * 3
    assert all(len(line) <= 80 or str(unit) in line for line in out.splitlines())
    assert "\x1b" not in out


def test_nothing_to_act_on_exits_with_0(engine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", *engine, "--", *SERVE.split(), "--port", "30000"]) == 0
    assert "1 note" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_secrets_are_in_no_output(
    unit: Path, engine: list[str], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lint", str(unit), *engine, "--format", form])
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err


def test_diffs_hide_secrets_too(unit: Path, engine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = unit.read_text()
    main(["lint", str(unit), *engine, "--diff"])
    captured = capsys.readouterr()
    assert "-  --num-continuous-decode-steps 4 \\" in captured.out
    assert SECRET not in captured.out + captured.err
    assert unit.read_text() == before


def test_fix_writes_and_says_what(unit: Path, engine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(unit), *engine, "--fix"]) == 1
    text = unit.read_text()
    assert "--num-continuous" not in text
    assert '--mm-process-config \'{"image": {"a": 1}}\'' in text
    assert f"HF_TOKEN={SECRET}" in text
    out = capsys.readouterr().out
    assert "+  --mm-process-config" in out
    assert "ASY201" in out
    assert "ASY301" not in out


def test_json_is_one_document_and_progress_is_not_in_it(
    unit: Path, engine: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lint", str(unit), *engine, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "assay.lint/1"
    assert document["results"][0]["engine"]["version"] == "0.5.10"


def test_codes_can_be_ignored(unit: Path, engine: list[str]) -> None:
    assert main(["lint", str(unit), *engine, "--ignore", "ASY111,asy201", "--ignore", "ASY301"]) == 0


@pytest.mark.parametrize("kind", ["unit", "deployment"])
def test_a_program_that_the_target_names_is_never_run(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    python.chmod(0o755)
    target = tmp_path / "llm.service"
    target.write_text(f"[Service]\nExecStart={python} -m sglang.launch_server --model-path x\n")
    if kind == "deployment":
        target = tmp_path / "llm.toml"
        example = (ROOT / "examples/deployments/llama8b-h100.toml").read_text()
        engine = re.search('(?m)^engine = "(.*)"$', example)
        assert engine is not None
        target.write_text(example.replace(engine[1], f"installed:{python}"))
    assert main(["lint", str(target), "--cache", str(tmp_path / "cache")]) == 5
    assert "sglang is not installed in" in capsys.readouterr().err
    assert not (tmp_path / "was-run").exists()


def test_hostile_names_reach_no_terminal_or_runner(
    engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\n::error::x\x1b[31m\udcff.service"
    path.write_text(
        f"[Service]\nExecStart=/nosuch/{SERVE} '--z\n\x1b[2J \u202e' --tp_size 1 \\\n  ::error::x\n"
    )
    for form in ("text", "json", "sarif", "github"):
        assert main(["lint", str(path), *engine, "--format", form]) == 1
        captured = capsys.readouterr()
        for line in (captured.out + captured.err).splitlines():
            assert not line.lstrip().startswith("::error::x")
            assert line.replace("\t", "").isprintable()
    assert main(["lint", str(path) + "no", *engine]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "| true"])
def test_closed_and_full_outputs_end_without_a_traceback(
    unit: Path, engine: list[str], tmp_path: Path, closed: str
) -> None:
    said = tmp_path / "said"
    command = shlex.join([*ASSAY, "lint", str(unit), *engine])
    code = subprocess.run(["bash", "-c", f"exec 2>{said}; {command} {closed}"], check=False).returncode
    assert code == (4 if closed == ">/dev/full" else 0 if closed == "| true" else 1)
    assert "Traceback" not in said.read_text()
    assert "Exception" not in said.read_text()


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_a_locale_without_unicode(unit: Path, engine: list[str], form: str) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    unit.write_text(unit.read_text().replace("--api-key", "--größe 1 --api-key"))
    command = [*ASSAY, "lint", str(unit), *engine, "--format", form]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    if form == "json":
        assert any(
            found["option"] == "--größe" for found in json.loads(done.stdout)["results"][0]["diagnostics"]
        )


def test_a_bad_file_does_not_hide_the_others(
    unit: Path, engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", str(tmp_path / "nosuch.service"), str(unit), *engine]) == 2
    captured = capsys.readouterr()
    assert "ASY111" in captured.out
    assert "nosuch.service" in captured.err


def test_a_file_that_starts_nothing(
    engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "web.service"
    path.write_text("[Service]\nExecStart=/usr/bin/python3 -m http.server 80\n")
    assert main(["lint", str(path), *engine]) == 2
    assert "starts no engine that assay knows" in capsys.readouterr().err
    assert main(["lint", str(path), *engine, "--skip-others"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"assay: {path} starts no engine that assay knows; skipped\n"
    assert captured.out == ""


def test_files_that_start_nothing_are_told_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{letter}.yaml" for letter in "abcde"]
    for name in names:
        Path(name).write_text("key: value\n")
    assert main(["lint", "--skip-others", *names]) == 0
    said = "assay: a.yaml, b.yaml, c.yaml and 2 more start no engine that assay knows; skipped\n"
    assert capsys.readouterr().err == said


def test_a_file_that_names_a_server_in_an_unknown_way(
    engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sh"
    path.write_text("# sglang.launch_server\nstrange-wrapper 8 python -m sglang.launch_server\n")
    assert main(["lint", str(path), *engine]) == 2
    assert "line 2 names `sglang.launch_server`" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lint"], "nothing to lint"),
        (["lint", "x", "--engine", "sglang0.5"], "not an engine: 'sglang0.5'"),
        (["lint", "x", "--ignore", "ASY999"], "--ignore names no rule: ASY999"),
        (["lint", "x", "--enigne", "y"], "--enigne"),
        (["lint", "x", "--fix", "--diff"], "--fix writes and --diff writes nothing"),
        (["lint", "--rule", "ASY999"], "no rule 'ASY999'"),
        (["lint", "--rule", "ASY999"], "\n  ASY111 option-nobody-reads\n"),
        (["lint", "--rule"], "see `assay lint --help`"),
        (["lnt"], "see `assay --help`"),
        (["lnt"], "lnt"),
    ],
)
def test_misuse_exits_with_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_rule_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--rule", "asy111"]) == 0
    assert "option-nobody-reads" in capsys.readouterr().out


def test_a_release_without_network_ends_in_an_error_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    arguments = ["lint", "--engine", "sglang==0.5.10", "--cache", str(tmp_path), "--", *SERVE.split()]
    assert main(arguments) == 5
    captured = capsys.readouterr()
    assert "127.0.0.1:9" in captured.err
    assert "hint:" in captured.err
    assert captured.out == ""


def test_ctrl_c_while_it_fetches_leaves_nothing_half_made(tmp_path: Path) -> None:
    program = (
        "import signal, sys; from assay.cli import main;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # it is ignored below a background job
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["lint", "--engine", "sglang==0.5.10", "--cache", str(tmp_path), "--", *SERVE.split()]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = {"PIP_INDEX_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/simple", "PIP_NO_INDEX": "0"}
        with subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=ROOT,
            env={**os.environ, **index, "PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": ""},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            connection, _ = silent.accept()
            with connection:
                os.killpg(process.pid, signal.SIGINT)
                out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert b"assay: interrupted" in err
    assert not list(tmp_path.rglob("trees/*"))


def test_a_closed_pipe_is_no_error(unit: Path, engine: list[str]) -> None:
    command = [*ASSAY, "lint", str(unit), *engine]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_the_python_door_finds_the_same(unit: Path, engine: list[str]) -> None:
    (result,) = assay.lint(unit, engine=engine[1], cache=Path(engine[3]))
    assert {"ASY111", "ASY201", "ASY301"} <= {found.code for found in result.diagnostics}


def test_faults_are_told_where_they_hide_the_server(
    engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "llm.service"
    path.write_text(f"[Service]\nExecStart=/bin/cd /srv && {SERVE}\n")
    assert main(["lint", str(path), *engine]) == 2
    err = capsys.readouterr().err
    assert "llm.service:2: " in err
    assert "&&" in err


def test_a_deployment_that_names_itself(
    engine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = (ROOT / "examples/deployments/llama8b-h100.toml").read_text()
    path = tmp_path / "self.toml"
    path.write_text(re.sub("(?m)^command = .*$", f'script = "{path}"', example))
    assert main(["lint", str(path), *engine]) == 2
    assert "is a deployment file itself" in capsys.readouterr().err

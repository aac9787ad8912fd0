"""Changes, drop-ins, marks and named failures; `tests/rig/test_rollout.py` has the machines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import Deployment, read_unit, unwrap
from assay.engines import find_server
from assay.errors import CommandFailed, InputError, Refused
from assay.hosts import StartCommand, UnitState
from assay.rollout import changed_words, check_permission, layout, parse_change
from assay.rollout.apply import person_commands
from assay.rollout.drop_in import drop_in
from assay.rollout.failure import name_failure, parse_journal
from assay.rollout.marks import parse_marks
from assay.rollout.token import has_token

SERVER = ("/opt/venv/bin/python3", "-m", "sglang.launch_server")
WORDS = (*SERVER, "--model-path", "/m", "--tp", "4", "--x={}", "--enable-y")


@pytest.mark.parametrize(
    ("settings", "without", "tail"),
    [
        (["+kv-cache-dtype=fp8"], [], [*WORDS[3:], "--kv-cache-dtype", "fp8"]),
        (["--tp=8"], [], ["--model-path", "/m", "--tp", "8", "--x={}", "--enable-y"]),
        (["x=[]"], [], ["--model-path", "/m", "--tp", "4", "--x", "[]", "--enable-y"]),
        (["enable-z"], ["tp", "--enable-y"], ["--model-path", "/m", "--x={}", "--enable-z"]),
        (["tp=-1"], [], ["--model-path", "/m", "--tp=-1", "--x={}", "--enable-y"]),
        (["n=$HOME"], [], [*WORDS[3:], "--n", "$$HOME"]),
        (["n="], [], [*WORDS[3:], "--n", ""]),
    ],
)
def test_exactly_the_change(settings: list[str], without: list[str], tail: list[str]) -> None:
    assert changed_words(WORDS, parse_change(settings, without)) == (*SERVER, *tail)


@pytest.mark.parametrize("old", ["-1", "-0.5", "-.5"])
def test_a_negative_number_is_a_value(old: str) -> None:
    words = (*SERVER, "--bias", old, "-q", "--tp", "4")
    assert changed_words(words, parse_change(["bias=2"])) == (*SERVER, "--bias", "2", "-q", "--tp", "4")
    assert changed_words(words, parse_change([], ["bias"])) == (*SERVER, "-q", "--tp", "4")


def test_wrappers_that_only_start_another_program_stay() -> None:
    words = ("/usr/bin/numactl", "-N", "0", *WORDS)
    assert changed_words(words, parse_change(["tp=8"]))[:6] == words[:6]


@pytest.mark.parametrize(
    ("settings", "without"),
    [
        *(([], []), (["a b"], []), (["+"], []), (["-x"], []), (["a", "--a=1"], []), (["a"], ["a"])),
        *((["ü"], []), (["a=\udcff"], []), (["a=\0"], [])),
    ],
)
def test_what_is_no_change(settings: list[str], without: list[str]) -> None:
    with pytest.raises(InputError):
        parse_change(settings, without)


@pytest.mark.parametrize("secret", ["api-key=planted", "--hf-token=planted", "api-kye=planted"])
def test_secrets_are_not_changed(secret: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_change([secret])
    assert "planted" not in str(raised.value) + raised.value.hint


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (("/bin/sh", "-c", "python -m sglang.launch_server --tp 1"), "tp=2"),
        (("/usr/bin/docker", "run", "lmsysorg/sglang", *WORDS), "tp=2"),
        (("/usr/bin/sleep", "1"), "tp=2"),
        ((*WORDS, "--tp", "2"), "tp=2"),
        ((*WORDS, "--many", "1", "2"), "many=2"),
    ],
)
def test_what_is_not_changed(words: tuple[str, ...], change: str) -> None:
    with pytest.raises(Refused) as raised:
        changed_words(words, parse_change([change]))
    assert raised.value.hint


def test_an_option_that_is_not_there_cannot_be_taken_away() -> None:
    with pytest.raises(InputError, match="not in the command"):
        changed_words(WORDS, parse_change([], ["z"]))


def start(words: tuple[str, ...], *flags: str) -> StartCommand:
    return StartCommand(path=words[0], words=words, failure_ignored=False, flags=flags)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0$", exclude_categories=["Cs"]), max_size=12), max_size=5
    )
)
def test_what_is_written_is_what_is_started(
    tmp_path_factory: pytest.TempPathFactory, more: list[str]
) -> None:
    words = (*SERVER, "--model-path", "/m", *more)
    path = tmp_path_factory.mktemp("unit") / "llm.service"
    path.write_text(drop_in(start(words), words, remark="a\nb"), newline="")
    launch = read_unit(path)
    assert [word.text for word in launch.words] == list(words)


def test_systemds_own_dollars_stay() -> None:
    words = (*SERVER, "--model-path", "${M}", "$ARGS", "a$$b", "50%")
    line = drop_in(start(words), words, remark="").splitlines()[-1]
    assert line.endswith("--model-path ${M} $ARGS a$$b 50%%")


def test_prefixes_stay() -> None:
    line = drop_in(start(WORDS, "ignore-failure", "no-env-expand"), WORDS, remark="").splitlines()[-1]
    assert line.startswith("ExecStart=-:/opt/venv/bin/python3 -m")
    renamed = StartCommand(path="/bin/python3", words=WORDS, failure_ignored=False)
    assert "ExecStart=@/bin/python3 /opt/venv/bin/python3 -m" in drop_in(renamed, WORDS, remark="")
    with pytest.raises(Refused, match="prefix"):
        drop_in(start(WORDS, "new-thing"), WORDS, remark="")
    with pytest.raises(Refused, match="cannot be written"):
        drop_in(start(("/a b", *WORDS[1:])), WORDS, remark="")


def test_a_blank_of_unicode_at_the_end_stays() -> None:
    text = drop_in(start(WORDS), (*WORDS, "x\u00a0"), remark="")
    assert text.endswith(" x\u00a0\n")


def test_what_a_person_is_told_to_run_can_be_pasted() -> None:
    unit = "llm\\x2da.service"
    for line in person_commands(layout(unit))[1:]:
        assert any(unit in word for word in shlex.split(line)), line


def test_names_lie_apart() -> None:
    units = ["llm.service", "llm@a.service", "llm-a.service", "llm\\x2da.service", f"{'x' * 200}.service"]
    switches = [layout(unit).switch for unit in units]
    assert len(set(switches)) == len(units)
    assert all("@" not in one and "\\" not in one and len(one) < 80 for one in switches)
    # sorted by name alone, wherever they lie
    one = layout("llm.service")
    assert Path(one.kept).name < Path(one.trial).name


def state(**other: object) -> UnitState:
    usual: dict[str, object] = {
        "unit": "llm.service", "load_state": "loaded", "load_error": "", "active_state": "failed",
        "sub_state": "failed", "result": "exit-code", "invocation_id": "1", "main_pid": None, "restarts": 0,
        "exit_status": 1, "exit_kind": "exited", "need_daemon_reload": False, "fragment_path": "/x",
        "drop_in_paths": (), "job": None,
    }  # fmt: skip
    return msgspec.convert({**usual, **other}, UnitState)


@pytest.mark.parametrize(
    ("other", "lines", "kind"),
    [
        ({}, ["x: error: unrecognized arguments: --y"], "unknown-argument"),
        (
            {},
            ["torch.OutOfMemoryError: CUDA out of memory", "OSError: [Errno 98] Address already in use"],
            "out-of-memory",
        ),
        ({}, ["NCCL error in: x"], "nccl"),
        ({}, ["OSError: [Errno 98] Address already in use"], "port-in-use"),
        ({}, ["FileNotFoundError: x"], "missing-file"),
        ({}, ["llm.service: Start request repeated too quickly."], "start-limit"),
        ({}, ["nothing"], "exited"),
        ({}, [], "exited"),
        ({"exit_status": 203}, [], "missing-file"),
        ({"exit_kind": "killed", "exit_status": 9}, [], "killed"),
        ({"result": "oom-kill", "exit_kind": "killed"}, [], "out-of-memory"),
        ({"restarts": 3}, [], "crash-loop"),
        ({"load_state": "bad-setting", "load_error": "why"}, ["NCCL error"], "bad-unit"),
    ],
)
def test_failures_have_names(other: dict[str, object], lines: list[str], kind: str) -> None:
    assert name_failure(state(**other), lines).kind == kind


def test_what_still_runs_is_late_whatever_it_said() -> None:
    runs = state(active_state="active", sub_state="running", main_pid=7, exit_status=None, exit_kind="none")
    failure = name_failure(runs, ["FileNotFoundError: ignored", "loading 50%"], late="never-ready")
    assert failure.kind == "never-ready"
    assert failure.lines[-1] == "loading 50%"


def test_the_journals_lines() -> None:
    lines = [{"MESSAGE": "a"}, {"MESSAGE": [104, 105, 255]}, {"MESSAGE": None}, {"MESSAGE": ["x"]}, {}, [], 1]
    out = b"\n".join(json.dumps(each).encode() for each in lines) + b"\n{broken\n\xff\n" + b"[" * 100000
    assert parse_journal(out) == ("a", "hi\ufffd")


def test_marks() -> None:
    out = b"""armed id-1 me@here 2026-12-01T02:03:04Z
trial 0123 3600
until 130
switch assay-revert-x
trial-file
boot b-1
uptime 100.5 7.0
"""
    marks = parse_marks(out)
    assert marks.armed
    assert (marks.armed.id, marks.armed.who, marks.armed.since) == ("id-1", "me@here", "2026-12-01T02:03:04Z")
    assert (marks.trial, marks.left_s, marks.switch, marks.trial_file, marks.kept_file) == (
        "0123",
        29.5,
        True,
        True,
        False,
    )
    bare = parse_marks(b"boot b\nuptime 1 2\n")
    assert (bare.armed, bare.reverted, bare.last, bare.left_s) == (None, None, None, None)
    for broken in (b"", b"boot b\n", b"boot b\nuptime x\n", b"\xff"):
        with pytest.raises(CommandFailed):
            parse_marks(broken)


@pytest.mark.parametrize(
    ("body", "came"),
    [
        (b'{"choices": [{"text": "x"}]}', True),
        (b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}', True),
        (b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}', False),
        (b'{"choices": [{"text": ""}], "usage": null}', False),
        (b'{"choices": []}', False),
        (b'{"error": "x"}', False),
        (b"[1]", False),
        (b"", False),
        (b"[" * 100000, False),
    ],
)
def test_tokens(body: bytes, came: bool) -> None:  # noqa: FBT001 -- a table
    assert has_token(body) is came


FILE = """
engine = "sglang==0.5.10"
command = "python -m sglang.launch_server --model-path /m"
[model]
preset = "Qwen/Qwen3-32B-FP8"
[hardware]
gpus = "H100"
"""


def loaded(folder: Path, more: str) -> Deployment:
    from assay.deployment import load_deployment

    path = folder / "chat.toml"
    path.write_text(FILE + more)
    return load_deployment(path)


LIVE = '[live]\nunit = "llm.service"\nhost = "gpu1"\n'


@pytest.mark.parametrize(
    ("more", "may"),
    [
        ("", False),
        (LIVE, False),
        (f'{LIVE}[trials]\nwhere = "nowhere"\n', False),
        (f'{LIVE}[trials]\nwhere = "in_place"\n', True),
        (f'{LIVE}[trials]\nwhere = "drained"\n', True),
        (f'{LIVE}[trials]\nwhere = "spare"\nhosts = ["gpu2"]\n', False),
        (f'{LIVE}[trials]\nwhere = "spare"\nhosts = ["gpu2", "gpu1"]\n', True),
        ('[live]\nunit = "llm.service"\n[trials]\nwhere = "spare"\nhosts = ["gpu1"]\n', False),
    ],
)
def test_only_where_the_file_says_so(tmp_path: Path, more: str, may: bool) -> None:  # noqa: FBT001 -- a table
    deployment = loaded(tmp_path, more)
    if may:
        assert check_permission(deployment).unit == "llm.service"
        return
    with pytest.raises(Refused) as raised:
        check_permission(deployment)
    assert raised.value.hint


@pytest.mark.parametrize(
    "line",
    ['unit = "-x.service"', 'unit = "llm"', 'unit = "a b.service"', 'host = "-oProxyCommand=x"', 'url = "x"'],
)
def test_a_live_section_that_is_wrong(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError):
        loaded(tmp_path, f"[live]\n{line}\n" + ("" if "unit" in line else 'unit = "llm.service"\n'))


def test_the_changed_command_is_still_a_server() -> None:
    from assay.deployment import launch_of_words

    after = changed_words(WORDS, parse_change(["tp=8"]))
    (launch,) = unwrap(launch_of_words(after))
    assert find_server(launch)

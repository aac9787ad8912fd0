"""Unit files and their drop-ins: nothing is lost, nothing breaks on any input."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.deployment import UserFile, read_unit, read_user_file
from assay.deployment.systemd.environment_file import parse_environment_file
from assay.deployment.systemd.unit_file import parse_unit_file
from assay.errors import InputError

UNITS = Path(__file__).parent / "units"

SERVER = ["-m", "sglang.launch_server", "--model-path"]
EXPECTED: dict[str, tuple[list[str], list[str]]] = {
    # name: (last words, kinds of faults)
    "args-variable.service": (["--json-model-override-args", '{"a": 1}'], []),
    "bash-multi.service": (
        [
            "-c",
            'source venv/bin/activate && exec python -m sglang.launch_server --model-path "$MODEL" --tp 8',
        ],
        [],
    ),
    "bash.service": ([], []),
    "blank-after-backslash.service": (["/models/qwen", "\\"], ["broken-continuation"]),
    "blank-lines.service": (["--model-path", "/m"], []),
    "colon.service": (["--chat-template", "{{ messages }} costs $5"], []),
    "commented.service": ([*SERVER, "/models/qwen", "--tp", "4"], []),
    "comments-within.service": (["--mem-fraction-static", "0.88", "--tp", "2"], []),
    "compose-up.service": (["up", "-d", "--remove-orphans"], []),
    "conda-run.service": (["--tp", "2"], []),
    "continued.service": (["--host", "10.0.0.5", "--port", "30000"], []),
    "crlf.service": (["--host", "10.0.0.5", "--port", "30000"], []),
    "dates.service": (["--crash-dump-folder", "/var/crash/dates.service"], ["percent-specifier"]),
    "disagg-prefill.service": (["30001", "$EXTRA"], []),
    "docker-vllm@.service": (["/models/${MODEL}", "--tensor-parallel-size", "2"], []),
    "docker.service": (["--tp", "8", "--host", "10.0.0.5"], []),
    "env-json.service": (["--json-model-override-args", '{"a": [1, 2]}'], []),
    "environment-file.service": (["--mem-fraction-static", "0.85", "--schedule-policy", "lpm"], []),
    "exec-search.service": (["--dtype", "bfloat16"], []),
    "gpu@.service": (["3000%i", "--served-model-name", "qwen-%i"], []),
    "hardened.service": (["--gpu-memory-utilization", "0.92"], []),
    "inline-comment.service": (["--tp", "4", "#", "four", "cards"], ["inline-comment", "inline-comment"]),
    "llm@.service": (["--port", "3000%i", "--served-model-name", "%n"], []),
    "mamba-spec.service": (["--tool-call-parser", "qwen3_coder"], []),
    "mid-word.service": (["--log-file", "/var/log/$MODEL.log"], ["dollar-expansion"] * 3),
    "missing-backslash.service": ([*SERVER, "/models/qwen"], ["broken-continuation"]),
    "multi-node@.service": (["--dist-init-addr", "${HEAD}:5000"], []),
    "no-final-newline.service": (["--tp", "4", "--port", "30000"], []),
    "no-newline-continued.service": (["/m", "--tp", "2"], []),
    "numactl.service": (["--tp", "4"], []),
    "odd.service": (["--model-path", "/models/with blank/x"], []),
    "overridden.service": ([*SERVER, "/b", "--tp", "2"], []),
    "pip-script.service": (["--api-key", ""], ["dollar-expansion"]),
    "plain.service": (["--tp", "4", "--port", "30000"], []),
    "podman.service": (["--host", "0.0.0.0"], []),
    "ray-head.service": (["--head", "--port=6379", "--num-gpus=8"], []),
    "screen.service": (["--model-path", "/m"], []),
    "shell-like.service": (["2>&1", "&"], ["shell-syntax", "dollar-expansion", "shell-syntax"]),
    "slice.service": (["--port", "30000"], []),
    "swallowed.service": (["--tp", "4", "Restart=always"], ["broken-continuation"]),
    "tabs.service": (["--model-path", "/m"], []),
    "taskset-env.service": (["--tp", "2"], []),
    "two-starts.service": ([*SERVER, "/b"], ["second-exec-start"]),
    "unquoted-json.service": (["{num_hidden_layers:", "2}"], ["lost-quotes"]),
    "user.service": (["--host", "%H"], []),
    "utf8.service": (["/modelle/größe", "--served-model-name", "千问"], []),
    "uv-run.service": (["--port", "8080"], []),
    "vllm-json.service": (["--override-generation-config", '{"temperature": 0.6}'], []),
    "vllm.service": (["serve", "$MODEL", "$VLLM_ARGS"], []),
    "wait-for-it.service": (["--tp", "4"], []),
    "windows.service": (["sglang.launch_server", "^"], []),
}


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_units_of_engines(path: Path) -> None:
    last, kinds = EXPECTED[path.name]
    launch = read_unit(path)
    words = [word.text for word in launch.words]
    assert words[len(words) - len(last) :] == last
    assert [fault.kind for fault in launch.faults] == kinds
    file = read_user_file(path)
    assert parse_unit_file(file).text() == file.text


def test_every_unit_has_an_expectation() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in UNITS.glob("*.service"))


CHARACTERS = "[]#;='\"\\$%{}|*x \t\n\rä\udcff\x01"
STRINGS = [
    "[Service]",
    "ExecStart=",
    "Environment=",
    "A=",
    "/bin/x",
    "--a",
    "${A}",
    "$A",
    "%i",
    '{"a": 1}',
    "~/",
]
PIECES = st.sampled_from([*CHARACTERS, *STRINGS, "EnvironmentFile=/nowhere/e", "\\\n", "\r\n", "\n\r"])
SOUP = st.lists(PIECES, max_size=40).map("".join)


@given(SOUP | st.text())
def test_a_unit_file_is_read_without_loss(text: str) -> None:
    file = UserFile(path="u", text=text)
    unit = parse_unit_file(file)
    assert unit.text() == text
    for entry in unit.entries:
        assert len(entry.value.offsets) == len(entry.value.text) + 1


@given(SOUP | st.text())
def test_an_environment_file_of_any_text_is_read(text: str) -> None:
    for line in parse_environment_file(UserFile(path="e", text=text)):
        if line.value is not None:
            assert len(line.value.offsets) == len(line.value.text) + 1
            assert list(line.value.offsets) == sorted(line.value.offsets)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(SOUP, SOUP, SOUP)
@example('"A={"a": 1}" $A', "B='", '$A {"a": 1}" %2 \\')
def test_any_unit_is_read_or_refused_plainly(
    tmp_path: Path, environment: str, content: str, command: str
) -> None:
    text = f"[Service]\nEnvironmentFile=/nowhere/e\nEnvironment={environment}\nExecStart=/bin/x {command}"
    (tmp_path / "llm.service").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "e").write_bytes(content.encode("utf-8", "surrogateescape"))
    try:
        launch = read_unit(tmp_path / "llm.service")
    except InputError:
        return
    files = {file.path: file.text for file in launch.files}
    for word in launch.words:
        assert len(word.offsets) == len(word.text) + 1
        assert list(word.offsets) == sorted(word.offsets)
        assert 0 <= word.start <= word.end <= len(word.file.text)
    for fault in launch.faults:
        for edit in fault.edits:
            assert 0 <= edit.start <= edit.end <= len(files[edit.file])


BIG = 200_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "ExecStart=/bin/x " + "a " * (BIG // 2),
        "ExecStart=/bin/x " + "*" * BIG,
        "ExecStart=/bin/x " + "%H" * (BIG // 2),
        "ExecStart=/bin/x a" + "%Y-%m-%d" * (BIG // 8),
        "ExecStart=/bin/x a" + "${b:-}" * (BIG // 6),
        "ExecStart=/bin/x " + "| " * 20_000,
        "ExecStart=/bin/x " + "; " * (BIG // 2),
        "ExecStart=/bin/x " + "/y ; " * (BIG // 5),
        "ExecStart=/bin/x " + "[ " * 20_000,
        "ExecStart=/bin/x " + "[" * BIG,
        "ExecStart=/bin/x " + '{"" ' * 20_000,
        "ExecStart=/bin/x " + "\\d" * (BIG // 2),
        "ExecStart=/bin/x " + "''a" * (BIG // 3),
        "Environment=A=" + "a" * (BIG // 2) + "\nExecStart=/bin/x " + "${A} " * (BIG // 12),
        'Environment="A=' + " " * (BIG // 2) + '"\nExecStart=/bin/x ' + "$A " * (BIG // 7),
        'Environment="A=--' + "a " * (BIG // 4) + '"\nExecStart=/bin/x ' + "${A} " * (BIG // 12),
        "Environment=A=1 # x\n" * (BIG // 20) + "ExecStart=/bin/x",
        "EnvironmentFile=/x\n" * (BIG // 20) + "ExecStart=/bin/x",
        "Environment=" + " ".join(f"A{at}=$B" for at in range(20_000)) + "\nExecStart=/bin/x",
        "ExecStart=/bin/x\n" + "--a\n" * (BIG // 4),
        "ExecStart=/bin/x" + " \\\n" * (BIG // 3),
        "ExecStart=/bin/x \\\n" + "#\n" * (BIG // 2),
        "ExecStart=/bin/x\n" * (BIG // 17),
    ],
    ids=range(23),
)
def test_large_files_end_soon(tmp_path: Path, text: str) -> None:
    (tmp_path / "llm.service").write_text("[Service]\n" + text)
    with contextlib.suppress(InputError):
        read_unit(tmp_path / "llm.service")


def test_a_unit_that_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.service").write_text("[Service]\nExecStart=/bin/x\nExecStart=\n")
    with pytest.raises(InputError, match="starts nothing") as caught:
        read_unit(tmp_path / "a.service")
    assert caught.value.hint


def test_drop_ins_are_taken_in_order_and_the_nearer_hides_the_general(tmp_path: Path) -> None:
    (tmp_path / "a-b@0.service").write_text("[Service]\nExecStart=/bin/x ${V}\nEnvironment=V=unit\n")
    for name, value in {
        "service.d/10-x.conf": "general",
        "a-b@.service.d/10-x.conf": "template",
        "a-b@0.service.d/05-x.conf": "instance",
        "a-@.service.d/07-x.conf": "prefix",
        "b@0.service.d/99.conf": "other",
        "a-b@0.service.d/99.txt": "no drop-in",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"[Service]\nEnvironment=V={value}\n")
    launch = read_unit(tmp_path / "a-b@0.service")
    assert launch.words[1].text == "template"
    assert [Path(file.path).name for file in launch.files] == [
        "a-b@0.service",
        "05-x.conf",
        "07-x.conf",
        "10-x.conf",
    ]


def test_a_drop_in_alone_has_the_name_of_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "llm@1.service.d" / "override.conf"
    path.parent.mkdir()
    path.write_text("[Service]\nExecStart=\nExecStart=/bin/x --port 3000%i\n")
    launch = read_unit(path)
    assert launch.name == "llm@1.service"
    assert launch.words[2].text == "30001"
    assert launch.faults == ()

"""What a unit's own syntax destroys: each fault is found, no other, and its edits give what was meant."""

from pathlib import Path
from typing import NamedTuple

import pytest

from assay.deployment import Fault, FaultKind, Launch, UserFile, read_unit
from assay.deployment.systemd.environment import Environment
from assay.deployment.systemd.fault_list import FaultList
from assay.deployment.systemd.settings import Where, read_environment_files
from assay.deployment.systemd.specifiers import parse_unit_name
from assay.deployment.systemd.unit_file import parse_unit_file


class Case(NamedTuple):
    """A fault, as `[Service]` lines where the command is `X …`."""

    kind: FaultKind
    text: str
    repaired: list[str] | None = None
    """The words after the edits, without the program; None if there are none to make."""
    refused: bool = False
    message: str = ""
    """A part of the message."""


CASES = [
    # quotes
    Case("lost-quotes", 'X --json {"a":1}', ["--json", '{"a":1}'], message="{a:1}"),
    Case("lost-quotes", 'X --json={"a":1} b', ['--json={"a":1}', "b"]),
    Case("lost-quotes", 'X --json {"a": 1, "b": [2, "c"]} b', ["--json", '{"a": 1, "b": [2, "c"]}', "b"]),
    Case("lost-quotes", 'X --json {"a": 1, \\\n  "b": 2} b', ["--json", '{"a": 1,    "b": 2}', "b"]),
    Case("lost-quotes", 'X --json "{"a":1}"', ["--json", '{"a":1}']),
    Case("lost-quotes", 'X "--json={"a": "its"}"', ['--json={"a": "its"}']),
    Case("lost-quotes", 'X --json={"re": "\\\\d", "p": "5%"}', ['--json={"re": "\\\\d", "p": "5%"}']),
    Case("lost-quotes", 'X --sizes ["1", "2"]', ["--sizes", '["1", "2"]']),
    Case("lost-quotes", "X --json {'a':1}", message="{a:1}"),
    Case("lost-quotes", 'X --in=mid"quote"d', message="--in=midquoted"),
    Case("lost-quotes", "X 'it''s'", message="its"),
    Case("lost-quotes", 'Environment=A={"m":"x"}\nX ${A}', ['{"m":"x"}']),
    Case("lost-quotes", 'Environment=A={"m": "x"} B=b\nX ${A} ${B}', ['{"m": "x"}', "b"]),
    Case("lost-quotes", 'Environment="A=--j {\\\\"m\\\\":1}"\nX $A'.replace("\\\\", "\\"), message="{m:1}"),
    # percent signs
    Case("percent-specifier", "X --fmt %Y-%m-%d", ["--fmt", "%Y-%m-%d"]),
    Case("percent-specifier", "X '--fmt=%H:%M:%S x'", ["--fmt=%H:%M:%S x"]),
    Case("percent-specifier", "X /bin/date +%d/%m/%y", ["/bin/date", "+%d/%m/%y"]),
    Case("percent-specifier", "X --pct 50%of", ["--pct", "50%of"]),
    Case("percent-specifier", """X '{"fmt": "%s"}'""", ['{"fmt": "%s"}']),
    Case("percent-specifier", "X --url http://x/?q=a%20b", ["--url", "http://x/?q=a%20b"], refused=True),
    Case("percent-specifier", "X --url http://x/?q=%C3", ["--url", "http://x/?q=%C3"]),
    Case("percent-specifier", "X --fmt %F", ["--fmt", "%F"], refused=True),
    Case("percent-specifier", "X step-%d.log", ["step-%d.log"]),
    Case("percent-specifier", "X --port 3000%i", message="no instance"),
    Case("percent-specifier", "Environment=A=%1\nX ${A}", ["%1"], message="ignores the assignment"),
    # dollars
    Case("dollar-expansion", "Environment=A=1\nX --x=$A y", ["--x=1", "y"]),
    Case("dollar-expansion", "Environment=A=1\nX /x/$A/y$A", ["/x/1/y1"]),
    Case("dollar-expansion", "Environment=A=1\nX $A/y", ["1/y"]),
    Case("dollar-expansion", 'Environment="A=b c"\nX "$A"', ["b c"]),
    Case("dollar-expansion", 'Environment="A=--tp 4"\nX ${A}', ["--tp", "4"]),
    Case("dollar-expansion", "X --x=$NOPE"),
    Case("dollar-expansion", "X a $NOPE", message="vanishes"),
    Case("dollar-expansion", "X a${NOPE}", message="becomes empty"),
    Case("dollar-expansion", "X ${NOPE:-x}"),
    Case("dollar-expansion", "X --tp $(nproc)", message="vanishes"),
    Case("dollar-expansion", "X --tp=$(nproc)", message="not run"),
    Case("dollar-expansion", "X --tp `nproc`", message="not run"),
    Case("dollar-expansion", "X /bin/sh -c 'for i in 1; do echo ${i}; done'", message="becomes empty"),
    Case("dollar-expansion", "Environment=P=/bin/x\nExecStart=$P a", refused=True),
    Case("dollar-expansion", "Environment=P=/opt\nExecStart=${P}/bin/x a", refused=True),
    Case("dollar-expansion", "Environment=PATH=/x:$PATH\nX", message="expands no"),
    Case("dollar-expansion", "X a ${HOME}\n[Install]\nWantedBy=multi-user.target", message="becomes empty"),
    # lines
    Case("broken-continuation", "X a \\ \n  --b=1 \\\n  c", ["a", "--b=1", "c"]),
    Case("broken-continuation", "X a \\\t\r\n  --b \\\r\n  c\r", ["a", "--b", "c"]),
    Case("broken-continuation", "X a \\ # why\n  --b", ["a", "--b"]),
    Case("broken-continuation", "X a\n  --b=1 \\\n  --c", ["a", "--b=1", "--c"]),
    Case("broken-continuation", "X a\n  --b=1\n  --c 2", ["a", "--b=1", "--c", "2"]),
    Case("broken-continuation", "X a \\\n\n  --b=1", ["a", "--b=1"]),
    Case("broken-continuation", "X a \\\nRestart=always", ["a"]),
    Case("broken-continuation", "X a \\\n[Install]\nWantedBy=x.target", ["a"]),
    Case("inline-comment", "X a # it is\nRestart=no", ["a"], message="`#`"),
    Case("inline-comment", "X a #why \\\n  b", ["a", "b"]),
    Case("inline-comment", "Environment=A=1 # one\nX ${A}", ["1"]),
    Case("ignored-line", "X a\n\nsome text", message="some text"),
    Case("ignored-line", "X a\n[Servce]\nRestart=no", message="[Servce]"),
    Case("ignored-line", "Enviroment=A=1\nEnvironment=B=1\nX ${B}", ["1"], message="Enviroment"),
    Case("ignored-line", "X a\n[Unit]\nEnvironment=B=1", message="[Unit]"),
    Case("ignored-line", "X a\n[Install] # x", refused=True),
    Case("ignored-line", "Environment=ARGS=--tp 4 --x\nX $ARGS", ["--tp", "4", "--x"], message="`4`"),
    Case("ignored-line", "Environment=A = 1\nX a"),
    Case("ignored-line", "EnvironmentFile=./x.env\nX a", message="absolute"),
    Case("ignored-line", 'EnvironmentFile="/nowhere/x.env"\nX a', ["a"], message="absolute"),
    # words
    Case("unbalanced-quotes", "X a it's b", refused=True),
    Case("unbalanced-quotes", 'ExecStart="/bin/x a', refused=True),
    Case("unbalanced-quotes", 'ExecStart=-/bin/x "a', refused=True),
    Case("unbalanced-quotes", 'Environment="A=1\nX a', message="rest of the line"),
    Case("unknown-escape", r"X --re \d+", [r"--re", r"\d+"], message=r"\d"),
    Case("unknown-escape", r"X '\$x'", [r"\$x"]),
    Case("unknown-escape", "Environment=A=\\d B=1\nX ${A}", [r"\d"], message="rest of the line"),
    Case("semicolon", "X a ; /bin/y b", refused=True),
    Case("second-exec-start", "X a\nX b", refused=True),
    Case("shell-syntax", "X a | tee log", message="`|`"),
    Case("shell-syntax", "X a > log 2>&1"),
    Case("shell-syntax", "X a && /bin/y"),
    Case("shell-syntax", "X a; /bin/y", message="a;"),
    Case("shell-syntax", "X --model ~/m"),
    Case("shell-syntax", "X --model=~llm/m"),
    Case("shell-syntax", "X /m/*.safetensors"),
    Case("shell-syntax", "ExecStart=A=1 /bin/x a", refused=True),
    Case("shell-syntax", "ExecStart=cd /x", refused=True),
    Case("shell-syntax", "ExecStart=venv/bin/python a", refused=True),
]


def unit(folder: Path, text: str) -> Launch:
    lines = ["ExecStart=/bin/x" + line[1:] if line[:2] in ("X", "X ") else line for line in text.split("\n")]
    (folder / "llm.service").write_bytes("\n".join(["[Service]", *lines, ""]).encode())
    return read_unit(folder / "llm.service")


def repair(fault: Fault) -> None:
    for edit in sorted(fault.edits, key=lambda edit: -edit.start):
        path = Path(edit.file)
        text = path.read_bytes().decode()
        path.write_bytes((text[: edit.start] + edit.text + text[edit.end :]).encode())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text[:40])
def test_a_fault_is_found_and_its_edits_repair_it(tmp_path: Path, case: Case) -> None:
    launch = unit(tmp_path, case.text)
    follows = (
        {"dollar-expansion"} if case.text.startswith("Environment=") else set()
    )  # the variable is not set
    assert {fault.kind for fault in launch.faults} - follows == {case.kind} - follows, launch.faults
    assert any(fault.refused for fault in launch.faults) == case.refused
    assert any(case.message in fault.message for fault in launch.faults if fault.kind == case.kind)
    assert any(fault.edits for fault in launch.faults) == (case.repaired is not None)
    for _ in range(20):
        fault = next((fault for fault in launch.faults if fault.edits), None)
        if fault is None:
            break
        repair(fault)
        launch = read_unit(tmp_path / "llm.service")
    if case.repaired is not None:
        assert [word.text for word in launch.words[1:]] == case.repaired
        assert launch.faults == ()


@pytest.mark.parametrize(
    "text",
    [
        """X --json '{"a": 1}' --x="a b" "--y=c d" --z='' -m 'it\\'s'""",
        """X --json="{\\"a\\": 1}" '--k={"a": "b"}'""",
        "X %h/x %t/%n %S/%p %E/x --host %H --id %m --user=%u %i%%".replace("%i", ""),
        "X --arch=%a --kernel /lib/modules/%v/x --cred %d/key",
        "X 50% 90%, 100%% %(asctime)s %.2f",
        "Environment=\"ARGS=--tp 4\" A=1 'B=2 3'\nX $ARGS ${A} x${B} $$HOME a$ $${A}",
        "X /bin/bash -lc 'source ~/x && exec y --tp $(nproc) $HOME `id` > log 2>&1; echo $$ {a,b} *.x'",
        "X ${HOME}/m $HOME ${PATH}",
        "User=llm\nX ${HOME}/m\n[Install]\nWantedBy=multi-user.target",
        "X a \\\n# comment with 'quote\n  b \\\n  ; another\n  c",
        "X a \\; b --colour #fff --y",
        "Type=oneshot\nX a ; /bin/y b\nX c",
        "X a\n[X-Mine]\nwhatever this is",
        "X a\nX-Mine=1\nBindsTo=x",
        "X --cors * --url http://x/*/y --path=/a~b ~",
        "Environment=\nEnvironment=A=\nX x${A}",
        "Environment=PASSWORD=ab$cd\nX",
        "EnvironmentFile=/nowhere/x.env\nEnvironmentFile=-/nowhere/%H.env\nX $A ${B} --c=${D}",
        "PassEnvironment=A\nX ${A}",
    ],
)
def test_what_is_meant_so_is_no_fault(tmp_path: Path, text: str) -> None:
    assert unit(tmp_path, text).faults == ()


@pytest.mark.parametrize(
    ("kind", "content", "repaired"),
    [
        ("ignored-line", "export A=1\n", "1"),
        ("ignored-line", "A=1\nnonsense\n", None),
        ("inline-comment", "A=1 # x\n", "1"),
        ("inline-comment", "A='1' # x\n", "1"),
        ("lost-quotes", 'A="{"m": "x"}"\n', '{"m": "x"}'),
        ("unbalanced-quotes", 'A="1\nB=2\n', None),
        ("dollar-expansion", "A=$HOME/x\n", None),
        ("broken-continuation", "# x \\\nA=1\n", None),
    ],
)
def test_faults_of_environment_files(
    tmp_path: Path, kind: FaultKind, content: str, repaired: str | None
) -> None:
    (tmp_path / "e.env").write_text(content)
    launch = unit(tmp_path, "EnvironmentFile=/nowhere/e.env\nX ${A}")
    [fault] = [fault for fault in launch.faults if fault.place.file == str(tmp_path / "e.env")]
    assert fault.kind == kind
    assert bool(fault.edits) == (repaired is not None)
    if repaired is not None:
        repair(fault)
        launch = read_unit(tmp_path / "llm.service")
        assert launch.words[1].text == repaired
        assert launch.faults == ()


def test_json_in_a_variable_loses_its_quotes_where_it_is_split(tmp_path: Path) -> None:
    (tmp_path / "e.env").write_text('ARGS=--json {"a": 1} --tp 4\n')
    launch = unit(tmp_path, "EnvironmentFile=/nowhere/e.env\nX $ARGS")
    assert [fault.kind for fault in launch.faults] == ["lost-quotes"]
    repair(launch.faults[0])
    launch = read_unit(tmp_path / "llm.service")
    assert [word.text for word in launch.words[1:]] == ["--json", '{"a": 1}', "--tp", "4"]
    assert launch.faults == ()


@pytest.mark.parametrize(
    ("root", "text", "kinds"),
    [
        ("", "/nowhere/a.env", ["missing-file"]),
        ("", "-/nowhere/a.env", []),
        ("/copy", "/nowhere/a.env", []),
        (None, "/nowhere/a.env", []),
    ],
)
def test_a_missing_file_is_a_fault_only_on_the_host(
    root: str | None, text: str, kinds: list[FaultKind]
) -> None:
    unit_file = parse_unit_file(UserFile(path="llm.service", text=f"[Service]\nEnvironmentFile={text}\n"))
    [entry] = unit_file.assignments("Service", "EnvironmentFile")
    environment, faults = Environment(), FaultList()
    where = Where((Path("/nowhere"),), root)
    assert read_environment_files(entry, parse_unit_name("llm.service"), where, environment, faults) == []
    assert [fault.kind for fault in faults.all()] == kinds
    assert environment.complete == (root == "")


def test_a_copy_of_a_hosts_files_is_read_below_its_root(tmp_path: Path) -> None:
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    (tmp_path / "etc/default").mkdir()
    (tmp_path / "etc/default/llm").write_text("A=1\n")
    launch = unit(folder, "EnvironmentFile=-/etc/default/llm\nX ${A} $OPTIONS")
    assert [word.text for word in launch.words[1:]] == ["1"]
    assert launch.faults == ()


def test_a_second_exec_start_in_a_drop_in_is_repaired_by_a_reset(tmp_path: Path) -> None:
    drop_in = tmp_path / "llm.service.d" / "50-x.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nExecStart=/bin/y b\n")
    launch = unit(tmp_path, "X a")
    assert [(fault.kind, fault.refused, fault.place.file) for fault in launch.faults] == [
        ("second-exec-start", True, str(drop_in))
    ]
    repair(launch.faults[0])
    launch = read_unit(tmp_path / "llm.service")
    assert [word.text for word in launch.words] == ["/bin/y", "b"]
    assert launch.faults == ()


def test_an_error_in_a_drop_in_leaves_the_command_of_the_unit(tmp_path: Path) -> None:
    drop_in = tmp_path / "llm.service.d" / "50-x.conf"
    drop_in.parent.mkdir()
    drop_in.write_text('[Service]\nExecStart=/bin/y "b\nEnvironment=A=1\n')
    launch = unit(tmp_path, "X a")
    assert [word.text for word in launch.words] == ["/bin/x", "a"]
    assert launch.environment == ()
    assert [(fault.kind, fault.refused) for fault in launch.faults] == [("unbalanced-quotes", False)]


def test_secrets_stay_out_of_messages(tmp_path: Path) -> None:
    text = 'Environment=API_KEY={"k":"hunter2"}\nX --api-key {"k":"hunter2"} --token=hun"ter"2'
    for fault in unit(tmp_path, text).faults:
        assert "hunter2" not in fault.message

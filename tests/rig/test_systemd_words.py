"""assay's reading of units against a real systemd: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig`."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import pytest

from assay.deployment import Launch, quote_environment_file, quote_systemd, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]


_DUMP = """#!/usr/bin/python3
import base64, json, os, sys
unit = open("/proc/self/cgroup").read().strip().rpartition("/")[2]
code = lambda data: base64.b64encode(data).decode()
words = [code(os.fsencode(word)) for word in sys.argv[1:]]
environment = {code(name): code(value) for name, value in os.environb.items()}
with open("/run/assay/out/" + unit, "a") as stream:
    stream.write(json.dumps({"words": words, "environment": environment}) + "\\n")
"""

_RUN = r"""
cd /run/systemd/system
systemctl daemon-reload
systemctl start --no-block $UNITS >/run/assay/start.log 2>&1 || true
for try in $(seq 300); do
  systemctl list-jobs --no-legend | grep -q . || systemctl is-active --quiet $UNITS || break
  sleep 0.1
done
systemctl show -p Id,LoadState,Result,ExecMainStatus $UNITS
echo ==
for unit in $UNITS; do [ -e /run/assay/out/$unit ] && echo "$unit $(tail -n 1 /run/assay/out/$unit)"; done
rm -rf /run/assay/out/*
systemctl reset-failed 2>/dev/null
for unit in $UNITS; do rm -rf "/run/systemd/system/$unit" "/run/systemd/system/$unit.d"; done
rm -rf /run/systemd/system/case*@.service
"""


class _Dump(TypedDict):
    words: list[str]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of a unit."""

    load_state: str
    """`loaded` or `bad-setting`."""
    result: str
    """`success`, `resources`, `exit-code` and so on."""
    status: str
    """Exit status of the main process; 203 if the program could not be started."""
    words: list[str] | None
    """Its arguments, without the program; None if no process ran."""
    environment: dict[str, str]
    """Its variables."""


class SystemdHost:
    """A host of the rig; units go to its /run/systemd/system, other files to /run/assay."""

    def __init__(self, rig: Path, state: Path) -> None:
        self._rig = rig
        self._environment = {**os.environ, "RIG_STATE": str(state)}
        self._call("up", "-n", "1")
        self.put({"/run/assay/dump": _DUMP.encode(), "/run/assay/out/.keep": b""})

    def _call(self, *arguments: str, data: bytes = b"") -> bytes:
        command = ["bash", str(self._rig / "rig"), *arguments]
        done = subprocess.run(
            command, input=data, capture_output=True, check=False, env=self._environment, timeout=100
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def down(self) -> None:
        """Stop it and leave nothing behind."""
        self._call("down")

    def put(self, files: dict[str, bytes]) -> None:
        """Write files, by absolute path."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name.lstrip("/"))
                member.size, member.mode = len(data), 0o755
                archive.addfile(member, io.BytesIO(data))
        self._call("exec", "rig1", "tar", "-xC", "/", data=packed.getvalue())

    def run(self, units: list[str]) -> dict[str, Observed]:
        """Start the units that were put there, wait until they have ended, and take them away."""
        script = f"UNITS='{' '.join(units)}'\n{_RUN}"
        shown, _, dumped = (
            self._call("exec", "rig1", "bash", "-s", data=script.encode()).decode().partition("==\n")
        )
        dumps = dict(line.split(" ", 1) for line in dumped.splitlines())
        blocks = [
            dict(line.split("=", 1) for line in block.splitlines()) for block in shown.strip().split("\n\n")
        ]
        states = {values["Id"]: values for values in blocks if "Id" in values}
        return {unit: _observed(states.get(unit, {}), json.loads(dumps.get(unit, "null"))) for unit in units}


def _observed(state: dict[str, str], dump: _Dump | None) -> Observed:
    """`state` is empty where systemctl cannot tell: D-Bus takes no text that is not UTF-8."""
    return Observed(
        load_state=state.get("LoadState", ""),
        result=state.get("Result", ""),
        status=state.get("ExecMainStatus", ""),
        words=[_text(word) for word in dump["words"]] if dump else None,
        environment={_text(k): _text(v) for k, v in dump["environment"].items()} if dump else {},
    )


def _text(code: str) -> str:
    return base64.b64decode(code).decode("utf-8", "surrogateescape")


@pytest.fixture(scope="module")
def host() -> Iterator[SystemdHost]:
    rig = os.environ.get("ASSAY_RIG")
    if not rig:
        pytest.skip("NOT COMPARED WITH A REAL SYSTEMD: set ASSAY_RIG to the folder of the rig, and be root")
    state = Path(tempfile.mkdtemp(prefix="assay-rig-", dir="/tmp"))
    started = SystemdHost(Path(rig), state / "state")
    yield started
    started.down()
    shutil.rmtree(state, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Case:
    """A unit's `[Service]` part, where DUMP is the program; drop-ins (`X.conf`) and environment files."""

    service: str
    files: dict[str, str] = field(default_factory=dict)
    refused: bool = False
    name: str = ""


def filled(text: str, at: int) -> bytes:
    return os.fsencode(text.replace("DUMP", "/run/assay/dump").replace("ENV/", f"/run/assay/{at}/"))


def written(folder: Path, at: int, name: str, case: Case) -> dict[str, bytes]:
    """Write a case's files for assay; the same files by their path on the host."""
    base = name.partition("@")[0] + "@.service" if "@" in name else name
    folder.mkdir()
    (folder / name).write_bytes(filled(f"[Service]\n{case.service}\n", at))
    files = {f"/run/systemd/system/{base}": (folder / name).read_bytes()}
    for other, content in case.files.items():
        drop_in = other.endswith(".conf")
        target = folder / f"{name}.d" / other if drop_in else folder / other
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(filled(content, at))
        there = f"/run/systemd/system/{name}.d/{other}" if drop_in else f"/run/assay/{at}/{other}"
        files[there] = target.read_bytes()
    return files


def run_cases(host: SystemdHost, folder: Path, cases: list[Case]) -> list[tuple[Case, Launch, Observed]]:
    """Each case read by assay and run by systemd."""
    names = [case.name or f"case{at}.service" for at, case in enumerate(cases)]
    files: dict[str, bytes] = {}
    for at, (name, case) in enumerate(zip(names, cases, strict=True)):
        files |= written(folder / str(at), at, name, case)
    launches = [read_unit(folder / str(at) / name) for at, name in enumerate(names)]
    host.put(files)
    observed = host.run(names)
    return [(case, launch, observed[name]) for case, launch, name in zip(cases, launches, names, strict=True)]


def differences(cases: list[tuple[Case, Launch, Observed]]) -> list[str]:
    """Where assay and systemd do not agree."""
    found = []
    for case, launch, seen in cases:
        refused = any(fault.refused for fault in launch.faults)
        ran = seen.words is not None
        if refused == ran or (case.refused != refused):
            found.append(
                f"{case.service!r}: refused: assay {refused}, expected {case.refused}, systemd {seen}"
            )
        if not ran:
            continue
        ours = [word.text for word in launch.words[1:]]
        if all(word.known for word in launch.words) and ours != seen.words:
            found.append(f"{case.service!r}: words: assay {ours}, systemd {seen.words}")
        for variable in launch.environment:
            if variable.known and seen.environment.get(variable.name) != variable.value:
                got = seen.environment.get(variable.name)
                found.append(f"{case.service!r}: {variable.name}: assay {variable.value!r}, systemd {got!r}")
    return found


WORDS = [
    r"""ExecStart=DUMP --json '{"method": "eagle"}'""",
    r"""ExecStart=DUMP --json {"a":1}""",
    r"""ExecStart=DUMP --json {"a": 1, "b": [1, 2]}""",
    r"""ExecStart=DUMP --in=mid"quote"d 'it''s' "a""b" '' "" x''y""",
    r"""ExecStart=DUMP 'it\'s' "a\"b" 'a"b' "a'b" \' \" """,
    r"""ExecStart=DUMP 50%% 90% "90%" '{"x": "50%"}' 50%, 5%-x %""",
    r"""ExecStart=DUMP %n %N %p %P %i. %I. %j %J""",
    r"""ExecStart=DUMP a\x20b "a\\b" "a\nb" \d+ "\d" a\tb\s \141 \u00e4 \U0001F600""",
    r"""ExecStart=DUMP \xc3\xa4 \400 \x0 \x00 \udead \ud800 \UFFFFFFFF \U0000fffe""",
    r"""ExecStart=DUMP a\ b c\$d \{x\} \%% \; x\;y ";" ';' a;b ;c d;""",
    "ExecStart=DUMP a\\",
    "ExecStart=DUMP a \\",
    "ExecStart=DUMP a \\\n  b \\\n# comment \\\n  ; other\n c",
    "ExecStart=DUMP a \\\r\n  b\r\nRestart=no\r",
    "ExecStart=DUMP 'a \\\n   b'  c",
    "ExecStart=DUMP a \\ \n  --b=1 \\\n  --c",
    "ExecStart=DUMP a \\ # why\n  --b=1 \\\n  --c",
    "ExecStart=DUMP a\n  --b=1 \\\n  --c",
    "ExecStart=DUMP a \\\n\n  --b=1",
    "ExecStart=DUMP a \\\nRestart=no\nRestart=no",
    "ExecStart=DUMP a \\\n[Install]\nWantedBy=x.target",
    "ExecStart=DUMP --flag # comment",
    "ExecStart=DUMP a | tee > log 2>&1 && b & ~/x /usr/*.x $(hostname) `id` --x=`id` --y=$(nproc --all)",
    "Environment=A=1\nExecStart=DUMP --x=$A --x=${A} $A ${A} $$A $${A} ${A}${A}",
    "Environment=A=1\nExecStart=DUMP $A/b $A. x$A ${A $ $$ $1 a$ ${}",
    "ExecStart=DUMP $NOPE x${NOPE}x ${NOPE} $NOPE/x a",
    "ExecStart=DUMP ${NOPE:-x} a${NOPE:-x}b ${NOPE-x}",
    'Environment="A=x \'y z\' \\"q r\\" a\\\\\\\\b \\\\d \'open"\nExecStart=DUMP $A ${A} "$A" "${A}" \'$A\'',
    "ExecStart=:DUMP $A ${A} $$A",
    "ExecStart=@DUMP zero one two",
    "ExecStart=-DUMP one",
    "ExecStart=+DUMP one",
    "ExecStart=-@:!DUMP zero $one",
    "ExecStart=!!DUMP one",
    "ExecStart='DUMP' one\t\ttwo  \t",
    'ExecStart="/run/assay"/dump two',
    'Environment=A=1 B="2 3" \'C=4\' D={"m":"x"} E = 5 F=$HOME\nExecStart=DUMP ${D}',
    "Environment=G=%n H=%%h I=a\\x20b J= ''\nExecStart=DUMP ${G}",
    'Environment=A={"m": "x"} B=2\nExecStart=DUMP $A',
    "Environment=A=1 # x B=2\nExecStart=DUMP ${A}${B}",
    "Environment=A=1\nEnvironment=\nEnvironment=B=2\nExecStart=DUMP x${A}${B}",
    "Environment=A=1 B=\\d C=3\nExecStart=DUMP x${A}${B}${C}",
    'Environment=A=1 B="2 C=3\nExecStart=DUMP x${A}${B}${C}',
    "Environment=A=1 A=2\nEnvironment=A=3\nExecStart=DUMP ${A}",
    "Environment=A=1 B=%! C=%2 D=%k\nExecStart=DUMP x${A}${B}${C}${D}",
    "Environment=A=1 HOME=/x\nUnsetEnvironment=A\nExecStart=DUMP x${A} $A ${HOME}",
    "Environment=1A=1 A-B=2 _C=3\nExecStart=DUMP x${1A}${A-B}${_C}",
    'Environment="A=1"B=2 C="3"4\nExecStart=DUMP ${A} ${C}',
    "Type=oneshot\nExecStart=DUMP one ; DUMP two ;\nExecStart=DUMP three",
    "ExecStart=/bin/false\nExecStart=\nExecStart=DUMP two",
    "ExecStart=DUMP a;\nfoo\n=bar\nBlah=1\n[Nonsense]\nExecStart=/bin/false",
    "ExecStart=DUMP one ;",
    "ExecStart=; DUMP one",
    "ExecStart = DUMP  one \n",
    "ExecStart=DUMP \u00e4\u00f6 \u4e2d '\u00a0' a\u00a0b a\u3000b",
    "ExecStart=DUMP a\x0bb a\x0cb",
    "Execstart=/bin/x\nExecStart=DUMP a",
    "ExecStart=DUMP #fff --color #abc x#y",
    "ExecStart=DUMP \"a\\\\\" b'c d'e",
    "ExecStart=DUMP %%i %%%%n 100%%%n",
]

ENVIRONMENT_FILE = [
    'A={"m":"x"}\n',
    "A=1 # x\nB='2' # y\nC=\"3\"#z\n",
    "# c\n; d\n\n A = 1 \n\tB=2\t\nC=a  b\n",
    "export A=1\nB=2\nnonsense\nC\n=x\n==y\n",
    "A='a b'\"c d\"e f\nB=x'y z'\nC='a'  'b'\n",
    'A="a\\"b\\\\c\\$d\\`e\\nf\\\ng"\nB=1\n',
    "A=a\\b\\\\c\\'d\\\ne f\nB=2\n",
    "A='a\nb\\n'\nB=2\n",
    'A="open\nB=2\n',
    "A='open\nB=2",
    "A=$HOME/%n/${B}\nB=\\$x\n",
    "A=1\r\nB='2'\r\nC=x \\\r\ny\r\n",
    "A=1\nA=2\nB=\nC=''\n",
    'A="{"m":"x"}"\n',
    "A=x \\\n\nB=2\n",
    "A= \\\n x\nB=y \\ \n",
    "A=\u00e4\u4e2d\n",
    "1A=1\nA-B=2\n_C=3\nA B=4\n",
    "A='x' \\\ny\nB=2\n",
    'A=a\'b"c\nB="x"y"z\nC=1\n',
    "#x \\\\\nA=1\n",
    "A=\\ x\\ \nB= y \n",
    "A=1",
    "A='1'",
    "A=x\\",
    'A="x\\',
    "A",
    "",
]

SECOND = "[Service]\nExecStart=\nExecStart=DUMP two\n"

REFUSED = [
    Case('ExecStart=DUMP "open', refused=True),
    Case("ExecStart=DUMP it's", refused=True),
    Case('ExecStart="DUMP', refused=True),
    Case('ExecStart=-DUMP "open', refused=True),
    Case('ExecStart=DUMP "open\\', refused=True),
    Case("ExecStart=DUMP one ; DUMP two", refused=True),
    Case("ExecStart=DUMP one\nExecStart=DUMP two", refused=True),
    Case("ExecStart=DUMP %2 x", refused=True),
    Case("ExecStart=DUMP date +%F", refused=True),
    Case("ExecStart=venv/bin/python x", refused=True),
    Case("ExecStart=./x y", refused=True),
    Case("ExecStart=/bin/ x", refused=True),
    Case("ExecStart=@", refused=True),
    Case("Environment=P=/run/assay/dump\nExecStart=$P x", refused=True),
    Case("Environment=P=/run/assay\nExecStart=${P}/dump x", refused=True),
    Case("ExecStart=A=1 DUMP x", refused=True),
    Case("ExecStart=cd /x && DUMP x", refused=True),
    Case("ExecStart=exec DUMP x", refused=True),
    Case("EnvironmentFile=ENV/e\nExecStart=DUMP x\n[Service] # x", {"e": ""}, refused=True),
    Case("ExecStart=DUMP one", {"1.conf": "[Service]\nExecStart=DUMP two\n"}, refused=True),
    Case('ExecStart=DUMP "one', {"1.conf": SECOND}, refused=True),
    Case("ExecStart=DUMP one\n[Install] # x", {"1.conf": SECOND}, refused=True),
    Case("ExecStart=DUMP one\nNice=\udcff", refused=True),
    Case("ExecStart=DUMP one\n[Ser'vice]", refused=True),
    Case("EnvironmentFile=ENV/e\nExecStart=DUMP one", {"e": "A=\udcff\n"}, refused=True),
    Case("ExecStart=DUMP one", {"1.conf": '[Service]\nExecStart=\nExecStart=DUMP "two\n'}, refused=True),
]

A_OF_FILE = "EnvironmentFile=ENV/e\nExecStart=DUMP x${A}"
DROP_INS = [
    Case("ExecStart=DUMP one", {"1.conf": SECOND}),
    Case("ExecStart=DUMP one", {"1.conf": '[Service]\nExecStart=DUMP "two\nEnvironment=A=1\n'}),
    Case("ExecStart=DUMP one", {"1.conf": "[Service]\nExecStart=%2\nEnvironment=A=1\n"}),
    Case("ExecStart=DUMP x${A}", {"1.conf": "[Service] # x\nEnvironment=A=1\n"}),
    Case(
        "Environment=A=0\nExecStart=DUMP x${A}",
        {"2.conf": "[Service]\nEnvironment=A=2\n", "10.conf": "[Service]\nEnvironment=A=10\n"},
    ),
    Case(A_OF_FILE, {"e": "A=1\n", "2.conf": "[Service]\nEnvironment=A=2\n"}),
    Case(
        A_OF_FILE,
        {"e": "A=1\n", "f": "B=2\n", "1.conf": "[Service]\nEnvironmentFile=\nEnvironmentFile=ENV/f\n"},
    ),
    Case(A_OF_FILE.replace("=ENV", "=-ENV"), {"e": "A=\udcff\n"}),
    Case("Environment=B=1 A=\\xff C=2\nExecStart=DUMP x${A}${B}${C}"),
    Case("# \udcff\nExecStart=DUMP one", {"1.conf": "[Service]\nNice=\udcff\nEnvironment=A=1\n"}),
    Case("EnvironmentFile=ENV/*.env\nExecStart=DUMP x${A}${B}", {"a.env": "A=1\n", "b.env": "A=2\nB=3\n"}),
    Case('EnvironmentFile="ENV/e"\nExecStart=DUMP x${A}', {"e": "A=1\n"}),
    Case("EnvironmentFile=e\nExecStart=DUMP x${A}", {"e": "A=1\n"}),
    Case("ExecStart=DUMP %n %N %p %i %I %j -%%-", name="case-a@0-x\\x2dy.service"),
]


def test_words_and_variables_are_those_of_systemd(host: SystemdHost, tmp_path: Path) -> None:
    assert "\n".join(differences(run_cases(host, tmp_path, [Case(text) for text in WORDS]))) == ""


def test_environment_files_are_read_as_by_systemd(host: SystemdHost, tmp_path: Path) -> None:
    text = "EnvironmentFile=ENV/e\nExecStart=DUMP $A ${A} x${B} y${C}"
    assert (
        differences(run_cases(host, tmp_path, [Case(text, {"e": content}) for content in ENVIRONMENT_FILE]))
        == []
    )


def test_refused_units_are_refused_by_systemd(host: SystemdHost, tmp_path: Path) -> None:
    assert "\n".join(differences(run_cases(host, tmp_path, REFUSED))) == ""


def test_drop_ins_take_effect_as_in_systemd(host: SystemdHost, tmp_path: Path) -> None:
    assert "\n".join(differences(run_cases(host, tmp_path, DROP_INS))) == ""


def fault_cases() -> list[tuple[str, list[str] | None, bool]]:
    """The table of tests/deployment/test_systemd_faults.py: text, words after the repair, whether refused."""
    path = Path(__file__).parents[1] / "deployment" / "test_systemd_faults.py"
    spec = importlib.util.spec_from_file_location("fault_table", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [(case.text, case.repaired, case.refused) for case in module.CASES]


def as_dump(text: str) -> str:
    lines = ["ExecStart=DUMP" + line[1:] if line[:2] in ("X", "X ") else line for line in text.split("\n")]
    return "\n".join(lines).replace("/bin/x", "DUMP").replace("/bin/y", "DUMP")


def repaired(folder: Path, text: str) -> str:
    """The text after all edits that its faults offer."""
    path = folder / "llm.service"
    path.write_bytes(f"[Service]\n{text}".encode())
    for _ in range(20):
        edits = next((fault.edits for fault in read_unit(path).faults if fault.edits), ())
        for edit in sorted(edits, key=lambda edit: -edit.start):
            content = path.read_bytes().decode()
            path.write_bytes((content[: edit.start] + edit.text + content[edit.end :]).encode())
    return path.read_bytes().decode().removeprefix("[Service]\n")


def test_the_table_of_faults_and_their_repairs(host: SystemdHost, tmp_path: Path) -> None:
    table = fault_cases()
    faulty = [Case(as_dump(text), refused=refused) for text, _, refused in table]
    (tmp_path / "a").mkdir()
    assert "\n".join(differences(run_cases(host, tmp_path / "a", faulty))) == ""
    good = [
        (Case(repaired(tmp_path, as_dump(text))), words)
        for text, words, _ in table
        if words and "/nowhere" not in text
    ]
    (tmp_path / "b").mkdir()
    seen = run_cases(host, tmp_path / "b", [case for case, _ in good])
    assert "\n".join(differences(seen)) == ""
    got = [observed.words for _, _, observed in seen]
    assert got == [[word.replace("/bin/x", "/run/assay/dump") for word in words] for _, words in good]


def random_text(generator: random.Random) -> str:
    alphabet = "abz019 \t\n'\"\\$%{}()[]:;#,=~*?!@-+|&<>/.^\u00e4\u4e2d\U0001f600\x01\x7f\u00a0\udcff"
    return "".join(generator.choice(alphabet) for _ in range(generator.randrange(12)))


def test_quoted_words_arrive_exactly(host: SystemdHost, tmp_path: Path) -> None:
    generator = random.Random(7)
    texts = [[random_text(generator) for _ in range(generator.randrange(1, 8))] for _ in range(300)]
    cases = [Case("ExecStart=DUMP " + " ".join(map(quote_systemd, words))) for words in texts]
    seen = run_cases(host, tmp_path, cases)
    assert [observed.words for _, _, observed in seen] == texts
    assert "\n".join(differences(seen)) == ""


def test_quoted_values_of_environment_files_arrive_exactly(host: SystemdHost, tmp_path: Path) -> None:
    generator = random.Random(8)
    texts = [random_text(generator).replace("\udcff", "") for _ in range(100)]
    cases = [
        Case("EnvironmentFile=ENV/e\nExecStart=DUMP ${A}", {"e": f"A={quote_environment_file(text)}\n"})
        for text in texts
    ]
    seen = run_cases(host, tmp_path, cases)
    assert [observed.environment["A"] for _, _, observed in seen] == texts
    assert "\n".join(differences(seen)) == ""


def test_random_command_lines_are_split_as_by_systemd(host: SystemdHost, tmp_path: Path) -> None:
    generator = random.Random(9)
    alphabet = [
        "a",
        "b",
        " ",
        " ",
        "'",
        '"',
        "\\",
        "$",
        "${A}",
        "$A",
        "%",
        "%%",
        "\\x41",
        "{",
        "}",
        "=",
        "\u00e4",
        ";",
        "\\n",
    ]
    cases: list[Case] = []
    while len(cases) < 300:
        text = "".join(generator.choice(alphabet) for _ in range(generator.randrange(14)))
        case = Case(f"Environment=\"A=x 'y z'\"\nExecStart=DUMP {text}")
        path = tmp_path / "case0.service"
        path.write_bytes(filled(f"[Service]\n{case.service}\n", 0))
        refused = any(fault.refused for fault in read_unit(path).faults)
        cases.append(replace(case, refused=refused))
    (tmp_path / "x").mkdir()
    assert "\n".join(differences(run_cases(host, tmp_path / "x", cases))) == ""

"""A changed command arrives word for word: random commands and values, a real systemd, /proc/PID/cmdline.

`ASSAY_RIG=/path/to/rig pytest -m rig tests/rig/test_drop_in_words.py`, as root.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.rig.rigs import Rig, a_rig

from assay.deployment import quote_systemd
from assay.hosts import SshHost, start_commands
from assay.rollout import changed_words, layout, parse_change
from assay.rollout.drop_in import drop_in

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600)]

CASES, BATCH = 200, 50
FLAG = "--json-model-override-args"
PROGRAM = "/opt/venv/bin/python3"
FILES = {
    "/opt/venv/pyvenv.cfg": b"home = /usr/bin\ninclude-system-site-packages = false\n",
    "/opt/venv/lib/python3.11/site-packages/sglang/__init__.py": b"",
    "/opt/venv/lib/python3.11/site-packages/sglang/launch_server.py": b"import signal; signal.pause()\n",
}
PIECES = (
    *(
        "a",
        "B",
        "0",
        " ",
        "  ",
        "\t",
        "\n",
        "'",
        '"',
        "\\",
        "\\n",
        "\\x41",
        "$",
        "$$",
        "${A}",
        "$A",
        "%",
        "%%",
    ),
    *(
        "%n",
        "%Y",
        "%!",
        "{",
        "}",
        "[",
        "]",
        ";",
        " ; ",
        "#",
        "=",
        "-",
        "--x",
        ":",
        "@",
        "+",
        "!",
        "|",
        "&",
        "~",
    ),
    *("größe", "千", "\U0001f600", "\u00a0", "\x7f", '{"a": "50% of $HOME", "b": [1, 2]}'),
)
ALL_WORDS = r"""
for unit; do
  pid=$(systemctl show -p MainPID --value "$unit")
  echo "$unit $(base64 -w0 <"/proc/$pid/cmdline")"
done
"""


@dataclass(frozen=True)
class Case:
    """A unit and the change of its command."""

    unit: str
    text: str
    value: str


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        started.put(FILES)
        started.inside("mkdir", "-p", "/opt/venv/bin")
        for name in (PROGRAM, PROGRAM.removesuffix("3")):
            started.inside("ln", "-sf", "/usr/bin/python3", name)
        yield started


def drawn(draw: random.Random) -> str:
    """A word with whatever a shell, systemd or JSON gives a meaning."""
    if draw.random() < 0.2:
        return json.dumps({draw.choice(PIECES): draw.choice(PIECES), "x": ["%", "$A", {"y": "it's"}]})
    return "".join(draw.choices(PIECES, k=draw.randrange(7)))


def a_case(seed: int) -> Case:
    """Prefixes, variables, quotes, lines that go on, remarks between them; the option is there or not."""
    draw = random.Random(seed)
    prefix = draw.choice(["", "", "", ":", "-", "@", "-@", "@:"])
    words = [f"{prefix}{PROGRAM}", *(["/opt/venv/bin/python"] if "@" in prefix else [])]
    words += ["-m", "sglang.launch_server", "--model-path", "/m"]
    if draw.random() < 0.5:
        words += [FLAG, quote_systemd(json.dumps({"old": draw.choice(PIECES)}))]
    words += ["--served-model-name", "m"]
    for _ in range(draw.randrange(5)):
        plain = quote_systemd(drawn(draw), dollars=":" not in prefix)
        words.append(draw.choice([plain, plain, "$A", "${A}", "--y=$A", "x${A}x", "50%%", "%n"]))
    command = words[0]
    for word in words[1:]:
        command += draw.choice([" ", " ", " \\\n  ", " \\\n# why\n  "]) + word
    text = f"[Service]\nEnvironment=\"A=1 'two words' x\"\nExecStart={command}\n"
    return Case(unit=f"case{seed}.service", text=text, value=drawn(draw))


def started(rig: Rig, cases: list[Case], files: dict[str, str]) -> dict[str, list[str]]:
    """Put the files there and start all anew; the words of each process."""
    rig.put({path: text.encode("utf-8", "surrogateescape") for path, text in files.items()})
    units = [case.unit for case in cases]
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", *units)
    shown = rig.call("exec", "rig1", "sh", "-s", "--", *units, data=ALL_WORDS.encode())
    seen = dict(line.split(" ", 1) for line in shown.splitlines())
    return {unit: base64.b64decode(seen[unit]).decode()[:-1].split("\0") for unit in units}


def expected(before: list[str], value: str) -> list[str]:
    """The words that ran before, with the option and its value in them, and else the same."""
    new = [f"{FLAG}={value}"] if value.startswith("-") else [FLAG, value]
    if FLAG not in before:
        return [*before, *new]
    at = before.index(FLAG)
    return [*before[:at], *new, *before[at + 2 :]]


def changed(host: SshHost, case: Case) -> str:
    """The drop-in that assay writes for it."""
    (start,) = start_commands(host, case.unit)
    change = parse_change([f"+{FLAG.removeprefix('--')}={case.value}"])
    words = changed_words(start.words, change, dollars="no-env-expand" not in start.flags)
    return drop_in(start, words, remark="a test")


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_what_is_written_is_what_the_process_shows(rig: Rig, first: int) -> None:
    cases = [a_case(seed) for seed in range(first, first + BATCH)]
    before = started(rig, cases, {f"/run/systemd/system/{case.unit}": case.text for case in cases})
    with rig.host() as host:
        written = {layout(case.unit).trial: changed(host, case) for case in cases}
    after = started(rig, cases, written)
    wrong = [
        (case.text, case.value, after[case.unit])
        for case in cases
        if after[case.unit] != expected(before[case.unit], case.value)
    ]
    rig.inside("systemctl", "stop", *(case.unit for case in cases))
    assert wrong == []

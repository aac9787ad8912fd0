"""500 units as people write them: read and put together again, every byte is where it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assay.deployment import read_user_file
from assay.deployment.systemd.unit_file import UnitFile, parse_unit_file

UNITS = sorted((Path(__file__).parent / "units").glob("*.service"))
GENERATED = 500
_WORDS = (
    *("--tp", "4", "'{\"a\": 1}'", '"two words"', "50%%", "%i", "$MODEL", "${MODEL}", "$$HOME", "a\\x20b"),
    *(
        "--dtype=bfloat16",
        "it''s",
        "größe",
        "千问",
        '"open',
        "\\;",
        ";",
        "#",
        "\udcff",
        "\t",
        "\u00a0",
        "{{ x }}",
    ),
)
_ASSIGNMENTS = (
    *("Environment=A=1 'B=2 3'", "EnvironmentFile=-/etc/llm.env", "Restart=on-failure", "RestartSec=10"),
    *(
        "User=llm",
        "ExecStart=",
        "LimitMEMLOCK=infinity",
        "Description=Größter Server",
        " Nice = -5 ",
        "X-Mine=a=b",
    ),
    *(
        "Type=notify",
        "DeviceAllow=/dev/nvidia0 rw",
        "no assignment at all",
        "=nothing before",
        "\tUMask=0077",
    ),
)
_SECTIONS = ("[Unit]", "[Service]", "[Install]", "[X-Mine]", " [Service] ", "[Broken", "[Service] # why")
_COMMENTS = ("# why", "; other", "  # indented", "#", "# ends in a backslash \\", "#\udcff")


def generated(seed: int) -> bytes:
    """One unit: sections, comments, commands over several lines, with any line end and any last line."""
    draw = random.Random(seed)
    end = draw.choice(["\n"] * 6 + ["\r\n", "\r"])
    lines: list[str] = []
    for _ in range(draw.randrange(1, 30)):
        kind = draw.randrange(6)
        if kind == 0:
            lines.append(draw.choice(_SECTIONS))
        elif kind == 1:
            lines.append(draw.choice(("", "", " ", *_COMMENTS)))
        elif kind == 2:
            lines.extend(_command(draw))
        else:
            lines.append(draw.choice(_ASSIGNMENTS))
    text = end.join(lines) + draw.choice([end, end, "", end + end, " \\", "\\" + end])
    return text.encode("utf-8", "surrogateescape")


def _command(draw: random.Random) -> list[str]:
    words = ["ExecStart=/opt/venv/bin/python", *draw.choices(_WORDS, k=draw.randrange(12))]
    lines, line = [], ""
    for word in words:
        line += (" " if line else draw.choice(["", "  ", "\t"])) + word
        if draw.random() < 0.3:
            lines.append(line + draw.choice([" \\", "\\", " \\ "]))
            line = ""
            if draw.random() < 0.3:
                lines.append(draw.choice(_COMMENTS))
    return [*lines, line]


def parsed(path: Path) -> UnitFile:
    return parse_unit_file(read_user_file(path))


def put_together(unit: UnitFile) -> bytes:
    return unit.text().encode("utf-8", "surrogateescape")


def test_generated_units_come_back_byte_for_byte(tmp_path: Path) -> None:
    path, kinds = tmp_path / "llm.service", set()
    for seed in range(GENERATED):
        path.write_bytes(generated(seed))
        unit = parsed(path)
        assert put_together(unit) == path.read_bytes(), seed
        kinds |= {entry.kind for entry in unit.entries}
    assert kinds == {"blank", "comment", "section", "assignment", "text"}


def test_one_value_that_is_replaced_changes_no_other_byte(tmp_path: Path) -> None:
    path, replaced = tmp_path / "llm.service", 0
    for seed in range(GENERATED):
        path.write_bytes(generated(seed))
        unit = parsed(path)
        for entry in [each for each in unit.entries if each.kind == "assignment" and each.value.text]:
            offsets = entry.value.offsets
            text = unit.text()
            new = text[: offsets[0]] + "/bin/true" + text[offsets[-1] :]
            path.write_bytes(new.encode("utf-8", "surrogateescape"))
            again = parsed(path)
            keys = [each.key for each in again.entries if each.kind == "assignment"]
            assert keys == [each.key for each in unit.entries if each.kind == "assignment"], seed
            assert "/bin/true" in [each.value.text for each in again.entries]
            replaced += 1
    assert replaced > GENERATED


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_of_people_come_back_byte_for_byte(path: Path) -> None:
    assert put_together(parsed(path)) == path.read_bytes()


def test_there_are_enough_of_them() -> None:
    assert len(UNITS) >= 50

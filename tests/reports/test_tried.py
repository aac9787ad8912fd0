"""`assay try` as a person and a program read it, and the question on a terminal."""

from __future__ import annotations

import io
import json
from typing import Literal

import pytest

from assay import reports
from assay.bench import Comparison, Rule
from assay.cli import try_run
from assay.cli.try_options import TryOptions
from assay.findings import Evidence
from assay.rollout import parse_change
from assay.trials import Asked, Effect, SettingSeen, Sifted, Tried, not_triaged

LINE = Evidence(file="sglang/srt/x.py", line=7, text="if a:", says="this test is false")
SIFTED = Sifted(
    asked=(
        Asked(flag="--a", value="1", tried=True, why="it has an effect " * 9, verdict="effective"),
        Asked(flag="--b", value=None, tried=False, why="nobody reads it", verdict="dead", evidence=(LINE,)),
    ),
    change=parse_change(["a=1"]),
    triaged=True,
)
EFFECT = Effect(
    status="took",
    shown_by="settings",
    message="the server runs with it",
    settings=(SettingSeen(field="a", role="asked", before=0, after=1, at="x.py:3"),),
    lines=("args: --api-key planted-s3cret \x1b[31m",),
)
COMPARISON = Comparison(a=(), b=(), rule=Rule(), loads=(), outcome="inconclusive")


def ended(result: Literal["kept", "reverted", "void"], comparison: Comparison | None = None) -> Tried:
    path = "out/baseline.json"
    return Tried(id="t-1", result=result, downtime_s=3.5, effect=EFFECT, baseline=path, comparison=comparison)


def test_each_option_with_its_line() -> None:
    text = reports.sifted_text(SIFTED)
    assert "not tried: --b: dead: nobody reads it\n    sglang/srt/x.py:7: this test is false" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "not triaged: no source" in reports.sifted_text(not_triaged(parse_change(["a=1"]), "no source"))


def test_how_it_ended() -> None:
    text = reports.try_text(SIFTED, ended("void"))
    assert "effect: took (by settings): the server runs with it" in text
    assert "asked: a 0 -> 1 (x.py:3)" in text
    assert "t-1: void, and taken back" in text
    assert "planted-s3cret" not in text
    assert "\x1b" not in text
    assert "no proof" in reports.try_text(SIFTED, ended("kept", COMPARISON))
    assert "no proof" not in text


def test_the_document() -> None:
    found = json.loads(reports.try_json("t-1", SIFTED, None, (), ended("reverted", COMPARISON)))
    assert (found["schema"], found["result"], found["downtime_s"]) == (reports.TRY_SCHEMA, "reverted", 3.5)
    assert (found["baseline"], found["candidate"]) == ("out/baseline.json", None)
    assert found["comparison"]["outcome"] == "inconclusive"
    assert "planted-s3cret" not in str(found)
    nothing = Sifted(asked=SIFTED.asked[1:], change=None, triaged=True)
    assert json.loads(reports.try_json("t-1", nothing))["result"] == "not-tried"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [("y\n", "keep"), ("YES\n", "keep"), ("\n", "revert"), ("", "revert"), ("n", "revert")],
)
def test_a_terminal_is_asked(answer: str, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", screen)
    assert try_run._choice(EFFECT, COMPARISON, TryOptions()) == chosen
    assert screen.getvalue().endswith("keep the change, also over a reboot? [y/N] ")


def test_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert try_run._choice(EFFECT, COMPARISON, TryOptions()) == "revert"
    assert try_run._choice(EFFECT, COMPARISON, TryOptions(keep=True)) == "keep"
    assert try_run._choice(EFFECT, COMPARISON, TryOptions(revert=True)) == "revert"

"""`assay triage` and `assay explain`: what they print, JSON, exit codes, and what is never printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.cli import main

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"
SECRET = "sk-4f9c2e77aa"  # noqa: S105 - planted, to be looked for
KEYS = (
    *("option", "field", "value", "verdict", "subkind", "summary", "when", "declared_at", "help"),
    *("evidence", "guards", "open_atoms", "side_effects", "resolved"),
)


@pytest.fixture
def release(engine_tree: Callable[[str], Path]) -> Callable[[str], list[str]]:
    def of(version: str) -> list[str]:
        folder = engine_tree(version)
        return ["--engine", str(folder), "--cache", str(folder.with_name("lint-cache"))]

    return of


@pytest.fixture
def secretive(tmp_path: Path) -> Path:
    path = tmp_path / "served.toml"
    text = (EXAMPLES / "llama8b-h100.toml").read_text()
    path.write_text(text.replace("-8B-Instruct", f"-8B-Instruct --api-key {SECRET}", 1))
    return path


Release = Callable[[str], list[str]]


def test_triage_says_first_that_it_does_not_start(
    release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["triage", str(EXAMPLES / "qwen35-sm120.toml"), *release("0.5.10")]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert "This command does not start" in lines[:5]  # behind a title of a line or two
    assert "sglang/srt/server_args.py:2206" in told.out
    assert "    --mamba-scheduler-strategy extra_buffer" in lines
    assert "    --disable-radix-cache" in lines
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in told.out
    assert "asking about each option" not in told.out


def test_triage_as_json(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["triage", str(EXAMPLES / "qwen35-sm120.toml"), *release("0.5.10"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "assay.triage/1"
    assert document["engine"]["version"] == "0.5.10"
    assert len(document["findings"]) == sum(document["counts"].values())
    assert all(tuple(each) == KEYS for each in document["findings"])
    assert document["failure"]["phase"] == "resolution"
    assert {each["status"] for each in document["todo"]} == {"mend"}


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["explain", *words]) == 0
    return capsys.readouterr().out


def test_explain_answers_five_questions(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    deployment = str(EXAMPLES / "qwen35-sm120-xbuf.toml")
    out = explained(capsys, "cuda-graph-max-bs=512", "-d", deployment, *release("0.5.10"), "--verify")
    assert out.startswith("--cuda-graph-max-bs 512: already_on (set by the engine itself)")
    questions = [line for line in out.splitlines() if line.endswith("?")]
    assert questions == [
        "What is it?",
        "Does it matter here?",
        "Does the engine set it by itself?",
        "What goes with it?",
        "What would change the answer?",
    ]
    assert "server_args.py:1215: happens here" in out
    assert "since this does not hold: gpu_mem < 20 * 1024" in out
    assert "fact accelerator.memory_mib: 97887 here" in out
    assert "Checked again: 21 of 21 hold" in out
    assert max(map(len, out.splitlines())) <= 80


def test_help_and_code_disagree(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    deployment = str(EXAMPLES / "llama8b-h100.toml")
    out = explained(capsys, "num_continuous_decode_steps", "-d", deployment, *release("0.5.10"))
    assert "dead (no reader)" in out
    assert "the help text promises an effect" in out


@pytest.mark.parametrize("name", ["--enable-dp-attention", "enable_dp_attention=true", "enable-dp-attention"])
def test_options_by_flag_or_field(name: str, release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    out = explained(capsys, name, "-d", str(EXAMPLES / "llama8b-h100.toml"), *release("0.5.9"))
    assert out.startswith("--enable-dp-attention: incompatible (reset by the engine)")


def test_explain_as_json_is_a_list(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kv_cache_dtype=fp8_e5m2", "attention-backend=fa3", "--together", "--verify", "--json"]
    out = explained(capsys, *words, "-d", str(EXAMPLES / "llama8b-h100.toml"), *release("0.5.9"))
    first, second = json.loads(out)
    assert tuple(first) == (*KEYS, "checks", "together")
    assert [each["relation"] for each in first["together"]["pairs"]] == ["conflicting"]
    assert second["verdict"] == "already_on"
    assert second["resolved"]["with"]["value"] == "fa3"
    assert all(check["holds"] for check in second["checks"])


@pytest.mark.parametrize("words", [["--json"], []])
def test_secrets_are_never_shown(
    words: list[str], secretive: Path, release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["api_key", f"served_model_name={SECRET}", "admin_api_key=sk-another-one"]
    out = explained(capsys, *asked, "-d", str(secretive), *release("0.5.10"), *words)
    assert SECRET not in out
    assert "sk-another-one" not in out
    assert "***" in out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["explain", "-d", str(EXAMPLES / "llama8b-h100.toml")], 2, "nothing to explain"),
        (["explain", "=4", "-d", str(EXAMPLES / "llama8b-h100.toml")], 2, "not an option"),
        (["explain", "tp_size"], 2, "deployment"),
        (["explain", "tp_size", "-d", "no/such.toml"], 2, "no/such.toml"),
        (["triage", "no/such.toml"], 2, "no/such.toml"),
        (["triage", str(EXAMPLES.parent / "units" / "llm.service")], 2, "no deployment file"),
        (["triage", str(EXAMPLES / "llama8b-h100.toml"), "--engine", "./no-such"], 5, "no-such"),
    ],
)
def test_errors(words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err


def test_the_same_by_python(engine_tree: Callable[[str], Path]) -> None:
    folder = engine_tree("0.5.9")
    (found,) = assay.explain(
        "schedule_policy=fcfs",
        deployment=EXAMPLES / "llama8b-h100.toml",
        engine=str(folder),
        cache=folder.with_name("lint-cache"),
    )
    assert found.finding.subkind == "declared_default"
    assert callable(assay.triage)


FIVE = {
    "--enable-fused-moe-sum-all-reduce": ("0.6 % at 1", "0.4 % at 64"),
    "--enable-flashinfer-allreduce-fusion": ("3.7 % at 1", "0.5 % at 64"),
    "--triton-attention-reduce-in-fp32": ("217.8 % at 1", "121.5 % at 64"),
    "--num-continuous-decode-steps": ("217.8 % at 1", "121.5 % at 64"),
    "--cuda-graph-max-bs": ("217.8 % at 1", "121.5 % at 64"),
}


def test_bounds_stand_beside_verdicts(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["triage", str(EXAMPLES / "qwen35-sm120-xbuf.toml"), *release("0.5.10"), "--bounds"]
    words += ["--measured", "1:121.6", "--measured", "64:1582", "--acceptance", ".85,.67,.51,.36,.31"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    section = " ".join(text.partition("At most")[2].split())
    assert "at least 7.8 ms; measured 24.9, so 17.1 (69 %) are not explained" in section
    assert "at least 55.3 ms; measured 122.6, so 67.2 (55 %) are not explained" in section
    for option, gains in FIVE.items():
        line = section.partition(f"{option}")[2].partition(" --")[0]
        assert all(gain in line for gain in gains), option
    assert "--speculative-num-steps 5: effective, 11.1 % at 1, 13.9 % at 64" in section


@pytest.mark.parametrize(
    "wrong",
    [["--measured", "64"], ["--measured", "0:5"], ["--acceptance", ".5,.9"], ["--profile", "/nowhere"]],
)
def test_wrong_words_for_bounds_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["triage", str(EXAMPLES / "llama8b-h100.toml"), "--bounds", *wrong]) == 2
    assert wrong[-1] in capsys.readouterr().err


@pytest.mark.parametrize(
    "word", ["--measured=64:1582", "--acceptance=.9", "--accept-length=2", "--profile=x"]
)
def test_words_for_bounds_without_bounds_are_not_passed_over(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["triage", str(EXAMPLES / "llama8b-h100.toml"), word]) == 2
    assert f"{word.partition('=')[0]} is for bounds" in capsys.readouterr().err


def test_a_trace_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.cli.bounds._MOST_TRACE_BYTES", 1 << 20)
    words = ["triage", str(EXAMPLES / "llama8b-h100.toml"), "--bounds", "--profile", "/dev/zero"]
    assert main(words) == 2
    assert "/dev/zero: larger than 1 MiB" in capsys.readouterr().err

"""What an upgrade does to a command, on real releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main
from assay.deployment import parse_engine
from assay.drift import Change, Drift, open_drift
from assay.errors import InputError
from assay.source import Constant

pytestmark = pytest.mark.registry

EXAMPLES = Path(__file__).parents[2] / "examples/deployments"
Ask = Callable[[str, str, Path], Drift]
Write = Callable[..., Path]


@pytest.fixture
def ask(engine_tree: Callable[[str], Path], vllm_tree: Callable[[str], Path], tmp_path: Path) -> Ask:
    """`ask("0.5.10", "0.5.23", file)`; versions without a 5 in the middle are vLLM's."""

    def run(older: str, newer: str, target: Path) -> Drift:
        tree = engine_tree if older.startswith("0.5.") else vllm_tree
        cache = tree(older).with_name("lint-cache")
        before, now = (parse_engine(str(tree(version))) for version in (older, newer))
        return open_drift(before, now, target, environment={}, home=tmp_path, cache=cache)

    return run


@pytest.fixture
def unit(tmp_path: Path) -> Write:
    """A unit with these arguments, and lines before them."""

    def write(arguments: str, before: str = "") -> Path:
        path = tmp_path / "llm.service"
        path.write_text(f"[Service]\n{before}\nExecStart={arguments}\n")
        return path

    return write


def named(found: Drift, name: str) -> Change:
    (change,) = [each for each in found.changes if name in (each.name, each.written)]
    return change


SGLANG = "/opt/venv/bin/python -m sglang.launch_server --model-path m"


def test_the_case_that_started_it(ask: Ask) -> None:
    found = ask("0.5.10", "0.5.23", EXAMPLES / "qwen35-sm120-xbuf.toml")
    assert found.to_act_on
    change = found.changes[0]
    assert (change.kind, change.effect, change.written) == ("gone", "fails", "--mamba-scheduler-strategy")
    assert change.successor is not None
    assert change.successor.flag == "--mamba-radix-cache-strategy"
    assert change.successor.certainty == "stated"
    assert change.older is not None
    assert "--mamba-scheduler-strategy" in change.older.text


def test_an_option_that_became_an_abbreviation_of_two(ask: Ask, unit: Write) -> None:
    found = ask("0.5.10", "0.5.23", unit(f"{SGLANG} --cuda-graph-max-bs 64"))
    change = named(found, "--cuda-graph-max-bs")
    assert (change.kind, change.effect) == ("ambiguous", "fails")
    assert change.successor is not None
    assert change.successor.flag == "--cuda-graph-max-bs-decode"
    assert "0.5.14" in change.successor.why


def test_what_still_works_for_now(ask: Ask, unit: Write) -> None:
    found = ask("0.5.12.post1", "0.5.14", unit(f"{SGLANG} --cuda-graph-max-bs 64"))
    change = named(found, "--cuda-graph-max-bs")
    assert (change.kind, change.effect) == ("deprecated", "warns")
    assert change.successor is not None
    assert change.successor.flag == "--cuda-graph-max-bs-decode"


def test_a_switch_that_now_sets_another_field_is_no_other_value(ask: Ask, unit: Write) -> None:
    found = ask("0.5.12.post1", "0.5.14", unit(f"{SGLANG} --disable-piecewise-cuda-graph"))
    change = named(found, "--disable-piecewise-cuda-graph")
    assert (change.kind, change.effect) == ("deprecated", "warns")


def test_a_choice_that_is_gone(ask: Ask, unit: Write) -> None:
    found = ask("0.5.12.post1", "0.5.23", unit(f"{SGLANG} --attention-backend dual_chunk_flash_attn"))
    change = named(found, "--attention-backend")
    assert (change.kind, change.effect) == ("value", "fails")
    assert "invalid choice" in change.says


def test_a_default_that_the_command_sets_matters_to_nobody(ask: Ask, unit: Write) -> None:
    unset = named(ask("0.5.10", "0.5.23", unit(SGLANG)), "--hicache-ratio")
    given = named(ask("0.5.10", "0.5.23", unit(f"{SGLANG} --hicache-ratio 3")), "--hicache-ratio")
    assert (unset.kind, unset.effect) == ("default", "differs")
    assert unset.before is not None
    assert unset.after is not None
    assert (unset.before.value, unset.after.value) == (2.0, None)
    assert (given.kind, given.effect) == ("default", "none")


def test_a_variable_that_nothing_reads_any_more(ask: Ask, unit: Write) -> None:
    found = ask("0.5.10", "0.5.23", unit(SGLANG, before="Environment=SGLANG_ENABLE_SPEC_V2=1"))
    change = named(found, "SGLANG_ENABLE_SPEC_V2")
    assert (change.kind, change.effect) == ("variable-gone", "differs")


def test_the_same_version_is_no_drift(ask: Ask, unit: Write) -> None:
    found = ask("0.5.23", "0.5.23", unit(f"{SGLANG} --tp 2"))
    assert found.changes == ()
    assert not found.to_act_on


@pytest.mark.parametrize(
    ("wrong", "name"),
    [("--nope 3", "--nope"), ("--tp-size x", "--tensor-parallel-size"), ("--enable", "--enable")],
)
def test_what_both_versions_refuse_does_not_start(ask: Ask, unit: Write, wrong: str, name: str) -> None:
    found = ask("0.5.10", "0.5.23", unit(f"{SGLANG} {wrong}"))
    (failing,) = [each for each in found.changes if each.effect == "fails"]
    assert found.to_act_on
    assert failing.name == name
    assert "the older version refuses it, too" in failing.says
    assert len(failing.says) < 400


def test_an_option_that_is_missing_has_its_name(ask: Ask, unit: Write) -> None:
    found = ask("0.5.23", "0.5.23", unit("/opt/venv/bin/python -m sglang.launch_server --tp 2"))
    (failing,) = found.changes
    assert failing.name == "--model-path"


def test_vllm(ask: Ask, unit: Write) -> None:
    command = "/opt/vllm/bin/vllm serve m --calculate-kv-scales --max-num-partial-prefills 2"
    found = ask("0.20.0", "0.32.0", unit(command))
    failing = [change for change in found.changes if change.effect == "fails"]
    assert {change.name for change in failing} == {"--calculate-kv-scales", "--max-num-partial-prefills"}
    assert all(change.kind == "gone" for change in failing)
    default = named(found, "VLLM_ALLREDUCE_USE_FLASHINFER")
    assert default.kind == "variable-default"


def test_nothing_secret_is_told(ask: Ask, unit: Write) -> None:
    found = ask("0.5.10", "0.5.23", unit(f"{SGLANG} --api-key=hunter2hunter2 --cuda-graph-max-bs x"))
    assert "hunter2" not in str(found)


def test_a_file_that_starts_nothing(ask: Ask, unit: Write) -> None:
    with pytest.raises(InputError, match="starts no servers"):
        ask("0.5.10", "0.5.23", unit("/bin/true"))


def test_the_verb(
    engine_tree: Callable[[str], Path], unit: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = engine_tree("0.5.10"), engine_tree("0.5.23")
    target = unit(f"{SGLANG} --cuda-graph-max-bs 64")
    words = [
        "drift",
        str(older),
        str(newer),
        "-d",
        str(target),
        "--cache",
        str(older.with_name("lint-cache")),
    ]
    assert main(words) == 1
    text = capsys.readouterr().out
    assert "The present command would not start: 1" in text
    assert "now `--cuda-graph-max-bs-decode`" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert main([*words, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "assay.drift/1"
    assert document["to_act_on"] is True
    assert document["changes"][0]["kind"] == "ambiguous"
    assert main([*words, "--all"]) == 1
    assert len(capsys.readouterr().out) > 5 * len(text)


def test_what_start_up_code_makes_otherwise(ask: Ask) -> None:
    """0.5.10 refuses speculation with prefix caching on this hybrid model; 0.5.23 starts and keeps both."""
    found = ask("0.5.10", "0.5.23", EXAMPLES / "qwen35-sm120.toml")
    (start,) = [each for each in found.changes if each.kind == "start"]
    assert start.effect == "none"
    assert start.older is not None
    assert start.older.file == "sglang/srt/server_args.py"
    assert found.compared == 0


def test_options_that_come_out_otherwise(ask: Ask) -> None:
    found = ask("0.5.9", "0.5.23", EXAMPLES / "qwen35-sm120.toml")
    assert found.compared > 250
    change = named(found, "--disable-radix-cache")
    assert (change.kind, change.effect) == ("resolution", "differs")
    assert (change.before, change.after) == (
        Constant(known=True, value=True),
        Constant(known=True, value=False),
    )
    assert change.older is not None
    assert change.older.text == "self.disable_radix_cache = True"
    same = named(found, "--hicache-ratio")  # None now, of which start-up code makes 2
    assert (same.kind, same.effect) == ("default", "none")

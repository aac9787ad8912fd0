"""Is it the server that is meant, does it decode in earnest, does it give what it gave before."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from tests.bench.servers import HEAD, Scripted, Step

from assay.bench import Level, Meant, Measurement, RunFile, Said, Target, asked_who, identity_doubts, measure
from assay.bench.baseline import off_baseline
from assay.bench.prompts import RandomPrompts
from assay.bench.requests import Sending
from assay.bench.run import Rung, Workload
from assay.cli import main
from assay.cli.bench_against import meant_by
from assay.engines import pretends
from assay.errors import InputError

MEANT = Meant(engine="sglang", model="qwen", by="chat.toml")


def codes(said: Said, meant: Meant = MEANT) -> list[str]:
    found = list(identity_doubts(said, meant))
    assert all(each.blocks and each.mend for each in found)
    return [each.code for each in found]


def test_the_server_that_is_meant_raises_no_doubt() -> None:
    assert codes(Said(engine="sglang", models=("other", "qwen"))) == []
    assert codes(Said()) == [], "what it does not say is not held against it"
    assert codes(Said(engine="vllm", models=("x",)), Meant()) == []


def test_another_engine_another_model_and_dice() -> None:
    said = Said(engine="vllm", models=("llama",), pretends="rejection_sample_method synthetic")
    assert codes(said) == ["other-engine", "other-model", "synthetic-acceptance"]
    assert codes(Said(), Meant(pretends="SGLANG_SIMULATE_ACC_LEN=3")) == ["synthetic-acceptance"]


@pytest.mark.parametrize(
    ("words", "environment", "does"),
    [
        (["--speculative-config", '{"rejection_sample_method":"synthetic"}'], {}, True),
        (["--speculative-config.rejection_sample_method", "synthetic"], {}, True),
        (["--speculative-config", '{"rejection_sample_method": "standard"}'], {}, False),
        (["--speculative-config", "{rejection_sample_method: synthetic}"], {}, True),
        ([], {"SGLANG_SIMULATE_ACC_LEN": "2.5"}, True),
        ([], {"SIMULATE_ACC_LEN": "2"}, True),
        ([], {"SGLANG_SIMULATE_ACC_LEN": "-1", "SIMULATE_ACC_LEN": "x"}, False),
        ([], {}, False),
    ],
)
def test_what_makes_a_server_pretend(words: list[str], environment: dict[str, str], *, does: bool) -> None:
    assert bool(pretends(words, environment)) is does


def plain(value: object) -> list[Step]:
    data = json.dumps(value).encode()
    return [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data]


def test_a_server_is_asked() -> None:
    config = {"vllm_config": {"speculative_config": {"rejection_sample_method": "synthetic"}}}

    def answer(_connection: int, _nth: int, request: bytes) -> list[Step]:
        if b"/v1/models" in request:
            return plain({"data": [{"id": "qwen", "owned_by": "vllm"}]})
        return plain(config)

    server = Scripted(answer)
    try:
        said = asked_who(server.where, None)
    finally:
        server.stop()
    assert said == Said(engine="vllm", models=("qwen",), pretends="rejection_sample_method synthetic")
    assert HEAD


def test_a_server_that_is_not_there_says_nothing() -> None:
    assert asked_who(Target(scheme="http", host="127.0.0.1", port=9), None) == Said()


FILE = """engine = "sglang==0.5.10"
command = "SGLANG_SIMULATE_ACC_LEN=3 python -m sglang.launch_server --model-path /m --served-model-name qwen"
[model]
preset = "Qwen3-8B"
[hardware]
gpus = "1x H100"
"""


def test_a_deployment_file_says_who_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "chat.toml"
    path.write_text(FILE)
    found = meant_by(path)
    assert (found.engine, found.model, found.by) == ("sglang", "qwen", str(path))
    assert found.pretends == "SGLANG_SIMULATE_ACC_LEN=3"
    path.write_text(
        FILE.replace("SGLANG_SIMULATE_ACC_LEN=3 ", "") + '[live]\nunit = "a.service"\nmodel = "b"\n'
    )
    assert (meant_by(path).model, meant_by(path).pretends) == ("b", "")
    (tmp_path / "run.sh").write_text("vllm serve m\n")
    with pytest.raises(InputError, match="no deployment file"):
        meant_by(tmp_path / "run.sh")


# earlier runs


@pytest.fixture(scope="module")
def rung() -> Rung:
    """One rung of a scripted server."""
    from tests.cli.test_bench import ANSWER

    server = Scripted(lambda *_: ANSWER)
    workload = Workload(
        sending=Sending(model="m", endpoint="/v1/completions"),
        prompts=RandomPrompts(input_tokens=8, output_tokens=2),
    )
    try:
        [(found, _)] = measure(server.where, workload, [Level(requests=4, concurrency=2)])
    finally:
        server.stop()
    return found


def before(rung: Rung, *ratios: float, load: str | None = None) -> list[RunFile]:
    now = rung.metrics.output_throughput or 0.0
    return [
        RunFile(
            path=f"{at}.json",
            tool="assay bench",
            digest=str(at),
            measurements=(
                Measurement(
                    load=load or rung.level.name,
                    open=False,
                    figures={"output_throughput": now * ratio},
                    completed=4,
                ),
            ),
        )
        for at, ratio in enumerate(ratios)
    ]


@pytest.mark.parametrize(
    ("ratios", "doubt"),
    [
        ((1.0, 1.01, 0.99), None),
        ((1.2, 1.21, 1.19, 1.2), True),
        ((0.8, 0.81, 0.79, 0.8), True),
        ((1.2, 0.7, 1.5, 1.4), None),
        ((1.0, 1.0, 1.0), None),
        ((1.03, 1.03, 1.03), True),
        ((1.2,), False),
        ((1.05, 1.06), None),
        ((), None),
    ],
    ids=str,
)
def test_a_rung_is_held_against_earlier_ones(
    rung: Rung, ratios: tuple[float, ...], *, doubt: bool | None
) -> None:
    found = list(off_baseline(rung, before(rung, *ratios)))
    assert [each.blocks for each in found] == ([] if doubt is None else [doubt])
    assert list(off_baseline(rung, before(rung, 3.0, 3.1, 3.0, load="concurrency 7"))) == []


def test_how_often_chance_raises_it(rung: Rung) -> None:
    """One more run of the same kind differs by more than the limit in one of 100 cases."""
    draw = random.Random(1)
    hits = 0
    for _ in range(2000):
        now, *then = (math.exp(draw.gauss(0, 0.05)) for _ in range(6))
        hits += bool(list(off_baseline(rung, before(rung, *(each / now for each in then)))))
    assert 5 <= hits <= 40


def test_the_program_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.test_bench import ANSWER, options

    def answer(_connection: int, _nth: int, request: bytes) -> list[Step]:
        if b"/v1/models" in request:
            return plain({"data": [{"id": "llama", "owned_by": "vllm"}]})
        return plain({}) if request.startswith(b"GET") else list(ANSWER)

    file = tmp_path / "chat.toml"
    file.write_text(FILE)
    server = Scripted(answer)
    load = ("--max-concurrency", "2", "--num-prompts", "4")
    try:
        assert main(options(server, tmp_path, *load, "-d", str(file))) == 0
        shown = capsys.readouterr().out
        for code in ("other-engine", "other-model", "synthetic-acceptance"):
            assert f"[{code}]" in shown
        earlier = json.loads((tmp_path / "r.json").read_text())
        earlier["rungs"][0]["output_throughput"] /= 100
        (tmp_path / "before.json").write_text(json.dumps(earlier))
        assert main(options(server, tmp_path, *load, "--baseline", str(tmp_path / "before.json"))) == 0
        assert "[off-baseline]" in capsys.readouterr().out
        earlier["temperature"] = 0.7
        (tmp_path / "before.json").write_text(json.dumps(earlier))
        assert main(options(server, tmp_path, *load, "--baseline", str(tmp_path / "before.json"))) == 2
        assert "asked something else: temperature" in capsys.readouterr().err
    finally:
        server.stop()

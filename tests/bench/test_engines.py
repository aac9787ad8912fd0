"""Real engines on a CPU: our token counts are those of the engine's own counters, our times bound its own.

`ASSAY_VLLM=VENV ASSAY_VLLM_MODEL=FOLDER ASSAY_SGLANG=VENV ASSAY_SGLANG_MODEL=FOLDER pytest` with this file:
environments with engines that run here, models that they start in seconds; one engine without the other will
do. `ASSAY_SGLANG_PATH` is put before its modules (a stand-in for `sgl_kernel`, where the CPU has no AMX).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.bench import (
    Level,
    Limits,
    RandomPrompts,
    Sending,
    Target,
    Workload,
    fitted,
    measure,
    served_model,
    target,
)
from assay.bench.ask import OK, ask
from assay.bench.requests import Endpoint
from assay.bench.server_metrics import parsed_metrics
from assay.errors import AssayError

pytestmark = pytest.mark.timeout(900)

QUIET = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "OMP_NUM_THREADS": "1"}
VLLM = ("--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-seqs", "8", "--enforce-eager")
SGLANG = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--disable-overlap-schedule"),
    *("--enable-metrics", "--max-total-tokens", "16384", "--mem-fraction-static", "0.3"),
)
INPUT, OUTPUT = 64, 32


def places(engine: str) -> tuple[Path, str]:
    """The environment and the model."""
    venv, model = os.environ.get(f"ASSAY_{engine}"), os.environ.get(f"ASSAY_{engine}_MODEL")
    if not venv or not model:
        pytest.skip(f"NOT TRIED WITH A REAL ENGINE: set ASSAY_{engine} and ASSAY_{engine}_MODEL")
    return Path(venv) / "bin" / "python", model


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[Target]:
    """A server that is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = target(f"http://127.0.0.1:{port}")
    with (
        (folder / "engine.log").open("wb") as log,
        subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, **QUIET, **environment},
            cwd="/",  # a folder named as the engine would be taken for it
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            until = time.monotonic() + 600
            while not ready(where):
                assert process.poll() is None, (folder / "engine.log").read_text()[-3000:]
                assert time.monotonic() < until, "not ready"
                time.sleep(1)
            yield where
        finally:
            process.terminate()


def ready(where: Target) -> bool:
    """Whether a token comes."""
    try:
        status, _ = ask(where, "/health", wait_s=2)
        return status == OK and bool(served_model(where))
    except (OSError, AssayError):
        return False


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    python, model = places("VLLM")
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", model, *VLLM]
    environment = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    with serving(command, environment, tmp_path_factory.mktemp("vllm")) as where:
        yield where


@pytest.fixture(scope="module")
def sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    python, model = places("SGLANG")
    command = [str(python), "-m", "sglang.launch_server", "--model-path", model, *SGLANG]
    environment = {"SGLANG_USE_CPU_ENGINE": "1", "PYTHONPATH": os.environ.get("ASSAY_SGLANG_PATH", "")}
    with serving(command, environment, tmp_path_factory.mktemp("sglang")) as where:
        yield where


CASES: list[tuple[str, Endpoint, int]] = [
    ("vllm", "/v1/completions", 1),
    ("vllm", "/v1/chat/completions", 1),
    ("vllm", "/v1/completions", 2),
    ("sglang", "/generate", 1),
    ("sglang", "/v1/completions", 2),
]


@pytest.mark.parametrize(("engine", "endpoint", "processes"), CASES)
def test_counts_are_the_engines_own(
    request: pytest.FixtureRequest, engine: str, endpoint: Endpoint, processes: int
) -> None:
    where: Target = request.getfixturevalue(engine)
    metrics = target(f"{where.url}/metrics")
    prompts = RandomPrompts(input_tokens=INPUT, output_tokens=OUTPUT, spread=0.25)
    workload = Workload(sending=Sending(model=served_model(where), endpoint=endpoint), prompts=prompts)
    workload = fitted(where, workload)
    levels = [
        Level(requests=24, concurrency=4),
        Level(requests=24, concurrency=8),
        Level(requests=16, concurrency=4),
    ]
    before = scraped(metrics)
    rungs = list(measure(where, workload, levels, limits=Limits(metrics=metrics, processes=processes)))
    after = scraped(metrics)
    for rung, records in rungs:
        found = rung.metrics
        assert (found.completed, found.failed) == (rung.level.requests, 0)
        assert rung.server is not None
        assert rung.server.output_tokens == found.output_tokens
        assert rung.server.prompt_tokens == found.input_tokens
        assert all(each.completion_tokens == each.asked_output_tokens for each in records)
        codes = {doubt.code for doubt in rung.doubts}
        assert not codes & {
            "foreign-traffic",
            "counters-short",
            "count-mismatch",
            "output-length",
            "no-usage",
            "prompt-length",
        }
    own_s = sum(record.ttft_ns for _, records in rungs for record in records) / 1e9
    name = f"{engine}:time_to_first_token_seconds_sum"
    its_s = after[name] - before[name]
    assert own_s > 0.9 * its_s  # from outside there is the way there and back too
    assert own_s - its_s < 0.1 * 64  # which is no more than 0.1 s a request


def scraped(metrics: Target) -> dict[str, float]:
    status, data = ask(metrics, "", wait_s=5)
    assert status == OK
    return parsed_metrics(data.decode())

"""What is suggested for names that people write, over all options of a real release."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines import ENGINES
from assay.engines.names import nearest, opposite
from assay.source.declaring.reader import read_declarations

pytestmark = pytest.mark.registry

ENGINE = ENGINES["sglang"]


@pytest.fixture(scope="module")
def flags(engine_tree: Callable[[str], Path]) -> list[str]:
    declarations = read_declarations(engine_tree("0.5.10"), ENGINE, lambda _file, _total=None: None)
    return [flag for option in declarations.options for flag in option.flags]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("--tensorParallelSize", "--tensor-parallel-size"),
        ("--tpsize", "--tp-size"),
        ("--model-served-name", "--served-model-name"),
        ("--model-name", "--served-model-name"),
        ("--context_len", "--context-length"),
        ("--ctx-size", "--context-length"),
        ("--memory-fraction-static", "--mem-fraction-static"),
        ("--gpu_memory_utilization", "--mem-fraction-static"),
        ("--chunk-prefill-size", "--chunked-prefill-size"),
        ("--no-cuda-graph", "--disable-cuda-graph"),
        ("--disable-prefix-caching", "--disable-radix-cache"),
        ("--cuda-graph-max-batch-size", "--cuda-graph-max-bs"),
        ("--kv-dtype", "--kv-cache-dtype"),
        ("--cache-dtype", "--kv-cache-dtype"),
        ("--attn-backend", "--attention-backend"),
        ("--decode-attn-backend", "--decode-attention-backend"),
        ("--spec-algorithm", "--speculative-algorithm"),
        ("--draft-model-path", "--speculative-draft-model-path"),
        ("--rank", "--node-rank"),
        ("--distributed-init-addr", "--dist-init-addr"),
        ("--metrics", "--enable-metrics"),
        ("--tool-parser", "--tool-call-parser"),
        ("--dp-attention", "--enable-dp-attention"),
        ("--disagg-mode", "--disaggregation-mode"),
        ("--disable-custom-allreduce", "--disable-custom-all-reduce"),
        ("--quantisation", "--quantization"),
        ("--embedding", "--is-embedding"),
        ("--hicache-sizes", "--hicache-size"),
    ],
)
def test_the_first_suggestion_is_the_one_wanted(flags: list[str], written: str, meant: str) -> None:
    assert nearest(written, flags, ENGINE.names_elsewhere)[:1] == (meant,)


@pytest.mark.parametrize(
    "written", ["--n-gpu-layers", "--task", "--compilation-config", "--no-mmap", "--disable-log-stats", "--x"]
)
def test_no_suggestion_is_better_than_a_wrong_one(flags: list[str], written: str) -> None:
    assert nearest(written, flags, ENGINE.names_elsewhere) == ()


@pytest.mark.parametrize("written", ["--disable-log-requests", "--no-trust-remote-code", "--disable-lora"])
def test_the_opposite_is_never_suggested_for_it(flags: list[str], written: str) -> None:
    found = nearest(written, flags, ENGINE.names_elsewhere)
    assert all(flag.startswith("--disable-") for flag in found)
    assert opposite(written, flags) is not None


def test_the_tables_of_names_say_what_is_there_in_some_release(flags: list[str]) -> None:
    ours = {name.partition(" ")[0] for name in ENGINE.names_elsewhere.values()}
    assert ours | set(ENGINE.on_without.values()) <= set(flags)
    assert not set(ENGINE.names_elsewhere) & set(flags)

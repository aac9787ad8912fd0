"""Lint of vLLM's command lines, on a real release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine, read_command, read_target
from assay.diagnostics import Choice, Diagnostic, lint

pytestmark = pytest.mark.registry

Check = Callable[[Path | str], tuple[Diagnostic, ...]]


@pytest.fixture
def check(vllm_tree: Callable[[str], Path], tmp_path: Path) -> Check:
    """All findings in a command or a file, against vLLM 0.32.0."""

    def run(target: Path | str) -> tuple[Diagnostic, ...]:
        tree = vllm_tree("0.32.0")
        engine = Choice(engine=parse_engine(str(tree)), reason="the test")
        read = (
            read_command(target)
            if isinstance(target, str)
            else read_target(target, environment={}, home=tmp_path)
        )
        (result,) = lint(str(target), read.launches, engine=engine, cache=tree.with_name("lint-cache"))
        return result.diagnostics

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--num-scheduler-steps 8", "ASY101", ""),
        ("--context-length 8k", "ASY101", "did you mean `--max-model-len`?"),
        ("--mem-fraction-static 0.9", "ASY101", "`--gpu-memory-utilization`"),
        ("--tensor-paralel-size 2", "ASY101", "`--tensor-parallel-size`"),
        ("--max-num-s 8", "ASY102", "`--max-num-seqs`"),
        ("--max-num-seq 8", "ASY103", "a later version"),
        ("--disable-cascade-attn", "ASY104", ""),
        ("--dtype fp16", "ASY106", "did you mean `float16`?"),
        ("--max-model-len 1.5K", "ASY107", ""),
        ("--max-num-seqs many", "ASY107", ""),
        ("""--compilation-config '{"mod": 3}'""", "ASY107", "did you mean `mode`?"),
        ("--enforce-eager=true", "ASY108", "write `--enforce-eager` alone"),
    ],
)
def test_what_the_parser_refuses_or_deserves_a_word(
    check: Check, arguments: str, code: str, said: str
) -> None:
    (found,) = check(f"vllm serve /models/m {arguments}")
    assert found.code == code
    assert said in (found.help or "")


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve Qwen/Qwen3-8B --tensor_parallel_size 2 --max-model-len 32k -O3",
        "vllm serve m --speculative-config.method mtp --speculative-config.num_speculative_tokens=3",
        "vllm serve m --no-enable-prefix-caching --api-key a",
        "python -m vllm.entrypoints.openai.api_server --model m --kv-cache-dtype fp8",
        "docker run --gpus all vllm/vllm-openai:v0.32.0 --model m --enable-expert-parallel -dp 8",
    ],
)
def test_right_commands_have_nothing_to_report(check: Check, command: str) -> None:
    assert check(command) == ()


def test_a_model_twice(check: Check) -> None:
    (found,) = check("vllm serve m --model n")
    assert found.message.startswith("`m` ")
    assert check("python -m vllm.entrypoints.openai.api_server m --model n") == ()


def test_a_value_of_several_words_is_not_mended(check: Check) -> None:
    (found,) = check("""vllm serve m --hf-overrides.a 1 --hf-overrides '{"b": 2}' --hf-overrides.c 3""")
    assert (found.code, found.option) == ("ASY109", "--hf-overrides")
    dotted = check("vllm serve m --optimization-level 2 --optimization-level.x 2")
    assert all(each.fix is None for each in dotted if each.code == "ASY109" and "." in each.message)


def test_a_unit_with_variables(check: Check, tmp_path: Path) -> None:
    unit = tmp_path / "vllm.service"
    unit.write_text(
        "[Service]\n"
        "Environment=VLLM_LOGING_LEVEL=DEBUG VLLM_USE_V1=1 VLLM_LOGGING_LEVEL=INFO\n"
        "ExecStart=/opt/vllm/bin/vllm serve m --gpu-memory-utilisation 0.9\n"
    )
    found = {each.message.split("`")[1]: each.code for each in check(unit)}
    assert found.keys() == {"VLLM_LOGING_LEVEL", "VLLM_USE_V1", "--gpu-memory-utilisation"}
    assert found["--gpu-memory-utilisation"] == "ASY101"

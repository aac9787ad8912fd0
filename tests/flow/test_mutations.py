"""A tree that differs resolves differently: nothing is known of an engine beside its source."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words

from assay.deployment.hardware import parse_hardware
from assay.deployment.presets import find_preset, preset_text
from assay.facts import Fact, Facts, hardware_facts, library_fact, model_fact
from assay.flow import FieldValue, Resolution, resolve

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
ARGUMENTS = "sglang/srt/server_args.py"
COMMON = "sglang/srt/utils/common.py"
Mutated = Callable[..., Resolution]


@pytest.fixture(scope="module")
def tree(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(
        engine_tree("0.5.10") / "sglang", copy / "sglang", ignore=shutil.ignore_patterns("test*", "*.json")
    )
    return copy


def facts(gpus: str) -> Facts:
    return Facts(
        facts=(
            *hardware_facts(parse_hardware(gpus), "test"),
            model_fact(LLAMA, preset_text(find_preset(LLAMA)), "preset"),
            Fact(name="cuda.version", value="12.8", source="test"),
            Fact(name="torch.version", value="2.9.1+cu128", source="test"),
            Fact(name="transformers.version", value="5.3.0", source="test"),
            Fact(name="host.machine", value="x86_64", source="test"),
            library_fact("flashinfer-python", "0.6.7", "test"),
            library_fact("sgl-kernel", "0.4.1", "test"),
        ),
        libraries_are_complete=True,
    )


@contextmanager
def edited(tree: Path, *changes: tuple[str, str, str]) -> Iterator[None]:
    """The tree with texts of files replaced, all occurrences of each."""
    kept = {file: (tree / file).read_text() for file, _, _ in changes}
    try:
        for file, old, new in changes:
            text = (tree / file).read_text()
            assert old in text, f"{file} does not hold {old!r}"
            (tree / file).write_text(text.replace(old, new))
        yield
    finally:
        for file, text in kept.items():
            (tree / file).write_text(text)


@pytest.fixture
def resolved(tree: Path) -> Mutated:
    def run(*changes: tuple[str, str, str], gpus: str = "1x H100", options: str = "") -> Resolution:
        with edited(tree, *changes):
            source = engine_source(tree)
            return resolve(source, facts(gpus), words("--model-path", LLAMA, *options.split()))

    return run


def field(found: Resolution, name: str) -> FieldValue:
    value = found.field(name)
    assert value is not None
    return value


def test_the_unchanged_tree_with_provenance(resolved: Mutated) -> None:
    found = resolved(gpus="2x RTX PRO 6000", options="--tp-size 2")
    assert found.status == "resolved"
    backend = field(found, "attention_backend")
    assert (backend.value, backend.provenance.how) == ("flashinfer", "set")
    assert backend.provenance.function == "_handle_attention_backend_compatibility"
    assert [guard.text for guard in backend.provenance.guards if guard.taken][
        -1
    ] == "self.attention_backend is None"
    assert "fact accelerator.capability" in backend.provenance.depends_on
    assert field(found, "tp_size").provenance.how == "asked"
    assert field(found, "schedule_policy").provenance.how == "default"


def test_a_flipped_capability_list(resolved: Mutated) -> None:
    gpus = "1x RTX PRO 6000"
    assert field(resolved(gpus=gpus), "attention_backend").value == "flashinfer"
    change = (
        COMMON,
        "device_capability_majors=[10], cuda_version",
        "device_capability_majors=[12], cuda_version",
    )
    assert field(resolved(change, gpus=gpus), "attention_backend").value == "trtllm_mha"


def test_swapped_handlers(resolved: Mutated) -> None:
    options = "--tp-size 8 --dp-size 8 --enable-dp-attention"
    assert resolved(options=options, gpus="8x H100").status == "resolved"
    first, second = "self._handle_data_parallelism()\n", "self._handle_gpu_memory_settings(gpu_mem)\n"
    changes = ((ARGUMENTS, first, "HERE\n"), (ARGUMENTS, second, first), (ARGUMENTS, "HERE\n", second))
    found = resolved(*changes, options=options, gpus="8x H100")
    assert found.rejection is not None
    assert (found.rejection.error, found.rejection.function) == ("TypeError", "_handle_data_parallelism")


def test_an_error_that_cannot_say_what_it_is(resolved: Mutated) -> None:
    change = (
        ARGUMENTS,
        "    def _handle_page_size(self):\n",
        "    def _handle_page_size(self):\n        class Odd(Exception):\n            def __str__(self):\n"
        "                return self.missing\n        raise Odd()\n",
    )
    found = resolved(change)
    assert found.rejection is not None
    assert (found.rejection.error, found.rejection.message) == ("Odd", "")


def test_an_added_raise(resolved: Mutated) -> None:
    change = (
        ARGUMENTS,
        "    def _handle_page_size(self):\n",
        "    def _handle_page_size(self):\n        if self.tp_size < 2:\n"
        "            raise ValueError(f'not {self.tp_size}')\n",
    )
    found = resolved(change)
    assert found.status == "rejected"
    assert found.rejection is not None
    assert (found.rejection.error, found.rejection.message) == ("ValueError", "not 1")
    guard = found.rejection.guards[-1]
    assert (guard.text, guard.taken, guard.decided_by) == ("self.tp_size < 2", True, ("option tp_size",))
    assert resolved(change, options="--tp-size 2", gpus="2x H100").status == "resolved"


def test_an_inverted_guard(resolved: Mutated) -> None:
    change = (ARGUMENTS, "if self.grammar_backend is None:", "if self.grammar_backend is not None:")
    assert field(resolved(), "grammar_backend").value == "xgrammar"
    assert field(resolved(change), "grammar_backend").value is None


def test_a_changed_default(resolved: Mutated) -> None:
    change = (ARGUMENTS, "schedule_conservativeness: float = 1.0", "schedule_conservativeness: float = 2.5")
    value = field(resolved(change), "schedule_conservativeness")
    assert (value.value, value.provenance.how) == (2.5, "default")


def test_a_renamed_field(resolved: Mutated) -> None:
    field_only = (ARGUMENTS, "grammar_backend", "grammar_engine")
    without = resolved(field_only).rejection
    assert without is not None
    assert (without.error, without.function) == ("AttributeError", "from_cli_args")
    found = resolved(field_only, (ARGUMENTS, "--grammar-backend", "--grammar-engine"))
    assert found.field("grammar_backend") is None
    assert field(found, "grammar_engine").value == "xgrammar"


def test_a_changed_memory_bucket(resolved: Mutated) -> None:
    assert field(resolved(), "chunked_prefill_size").value == 8192
    found = resolved((ARGUMENTS, "elif gpu_mem < 35 * 1024:", "elif gpu_mem < 85 * 1024:"))
    assert field(found, "chunked_prefill_size").value == 2048


def test_a_changed_list_of_architectures(resolved: Mutated) -> None:
    assert field(resolved(), "disable_piecewise_cuda_graph").value is False
    file = "sglang/srt/configs/model_config.py"
    found = resolved(
        (
            file,
            "piecewise_cuda_graph_disabled_model_archs = [",
            "piecewise_cuda_graph_disabled_model_archs = ['LlamaForCausalLM', ",
        )
    )
    assert field(found, "disable_piecewise_cuda_graph").value is True


def test_an_environment_variable_read_under_another_name(resolved: Mutated) -> None:
    change = (ARGUMENTS, "envs.SGLANG_DISABLE_OUTLINES_DISK_CACHE.set(", "envs.SGLANG_MAMBA_SSM_DTYPE.set(")
    names = {write.name for write in resolved(change).environment}
    assert "SGLANG_MAMBA_SSM_DTYPE" in names
    assert "SGLANG_DISABLE_OUTLINES_DISK_CACHE" not in names


def test_a_test_that_nobody_can_decide(resolved: Mutated) -> None:
    change = (
        ARGUMENTS,
        "    def _handle_grammar_backend(self):\n",
        "    def _handle_grammar_backend(self):\n        import somewhere\n"
        "        if somewhere.probe():\n            self.grammar_backend = 'outlines'\n",
    )
    # what is installed must be open, else the import itself would fail
    value = field(
        resolved((*change[:2], change[2].replace("import somewhere\n", "import torch as somewhere\n"))),
        "grammar_backend",
    )
    assert not value.known
    assert "torch.probe()" in value.reason
    assert {candidate.value for candidate in value.candidates} == {"outlines", "xgrammar"}
    assert {candidate.provenance.how for candidate in value.candidates} == {"set"}
    found = resolved(change)
    assert found.rejection is not None
    assert found.rejection.error == "ModuleNotFoundError"


def test_what_may_raise_is_unknown(resolved: Mutated) -> None:
    change = (
        ARGUMENTS,
        "    def _handle_page_size(self):\n",
        "    def _handle_page_size(self):\n        import torch\n        assert torch.probe() == 3, 'odd'\n",
    )
    found = resolved(change)
    assert found.status == "unknown"
    assert [each.message for each in found.possible_rejections] == ["odd"]
    assert field(found, "page_size").value == 1


def test_a_second_resolution_is_the_same_as_the_first(tree: Path) -> None:
    source = engine_source(tree)
    first = resolve(source, facts("1x H100"), words("--model-path", LLAMA, "--enable-torch-compile"))
    other = resolve(source, facts("1x H100"), words("--model-path", LLAMA, "--page-size", "16"))
    again = resolve(source, facts("1x H100"), words("--model-path", LLAMA, "--enable-torch-compile"))
    assert first.fields == again.fields
    assert first.environment == again.environment
    assert other.fields != first.fields

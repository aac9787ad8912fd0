#!/usr/bin/env python3
"""Write down what SGLang's own command line parser declares, from the engine itself: a golden file for tests.

    ENGINE_PYTHON scripts/dump_engine_parser.py TREE [OUT]

ENGINE_PYTHON is the Python of an environment of its own, never assay's (Python 3.11, no GPU needed):

    python3 -m venv /tmp/eng/venv
    /tmp/eng/venv/bin/pip install torch==2.13.0 transformers==5.3.0 tokenizers==0.22.2 outlines==0.1.11 \\
        compressed-tensors==0.18.0 openai openai-harmony==0.0.4 llguidance interegular IPython aiohttp \\
        fastapi uvicorn uvloop orjson pybase64 pyzmq psutil setproctitle prometheus-client dill einops gguf \\
        partial_json_parser msgspec pillow python-multipart requests scipy sentencepiece tiktoken tqdm \\
        xxhash apache-tvm-ffi
    /tmp/eng/venv/bin/pip install --no-deps xgrammar==0.2.7 torchvision==0.28.0
    and empty its torchvision/_meta_registrations.py

    and for releases that need another transformers: `pip install --no-deps --target DIR transformers==…` and
    PYTHONPATH=DIR. 5.3.0 serves 0.5.9 to 0.5.12.post1, 0.5.17 and 0.5.19 to 0.5.21; 5.8.1 0.5.13 to 0.5.16;
    5.12.1 0.5.18; 5.19.0 with tokenizers 0.23.2 0.5.22 and 0.5.23

TREE is an unpacked wheel (`pip download --no-deps sglang==0.5.10`, unzip). OUT is by default
tests/source/golden/sglang-VERSION.json.gz. Modules that need CUDA are replaced: see stand_ins.py.

Normalised: a set is written sorted, and `choices_are_a_set` is true; of a help text only the first 12 digits
of its SHA-256 are kept. What depends on the machine is listed under `environment`: fields whose default the
engine computes from the hardware when it is imported (`pre_warm_nccl` is true on AMD GPUs only).
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import stand_ins

GOLDEN = Path(__file__).parent.parent / "tests" / "source" / "golden"
FROM_THE_MACHINE = ("pre_warm_nccl",)


def main() -> None:
    tree = Path(sys.argv[1])
    version = stand_ins.version_of(tree)
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN / f"sglang-{version}.json.gz"
    module: Any = stand_ins.install(tree)
    parser = argparse.ArgumentParser()
    module.ServerArgs.add_cli_args(parser)
    fields = fields_of(module.ServerArgs)
    golden = {
        "version": version,
        "environment": [field.name for field in fields if field.name in FROM_THE_MACHINE],
        "options": [option(action) for action in parser._actions],
        "fields": [described(field) for field in fields],
    }
    write(out, golden)
    print(f"{out}: {len(golden['options'])} options, {len(golden['fields'])} fields")


def write(out: Path, golden: Any) -> None:
    """Write a golden file: JSON, packed so that the same content gives the same bytes."""
    text = json.dumps(golden, indent=1, ensure_ascii=False) + "\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(text.encode(), mtime=0))


def fields_of(owner: Any) -> tuple[Any, ...]:
    """Fields of a dataclass, or from 0.5.20 on of a `msgspec.Struct`; both have name, type and defaults."""
    if dataclasses.is_dataclass(owner):
        return dataclasses.fields(owner)
    import msgspec.structs

    return msgspec.structs.fields(owner)


def option(action: argparse.Action) -> dict[str, Any]:
    """One action of the parser."""
    help_text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    choices = action.choices
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": type(action).__name__,
        "nargs": action.nargs,
        "const": plain(getattr(action, "const_value", action.const)),
        "default": plain(action.default),
        "type": getattr(action.type, "__name__", None if action.type is None else repr(action.type)),
        "choices": None if choices is None else plain(choices),
        "choices_are_a_set": isinstance(choices, set | frozenset),
        "required": action.required,
        "refuses": getattr(action, "error_message", None) is not None,
        "help_sha256": hashlib.sha256(help_text.encode()).hexdigest()[:12],
    }


def described(field: Any) -> dict[str, Any]:
    """One field of the arguments class."""
    given = {"name": field.name, "type": type_text(field.type)}
    if field.default is not dataclasses.MISSING and repr(field.default) != "NODEFAULT":
        return {**given, "default": plain(field.default)}
    if field.default_factory is not dataclasses.MISSING and repr(field.default_factory) != "NODEFAULT":
        return {**given, "default": plain(field.default_factory())}
    return {**given, "required": True}


def type_text(annotation: Any) -> str:
    """The type as text, of `Annotated[T, …]` only T: the rest is seen in the options."""
    if isinstance(annotation, str):
        node = ast.parse(annotation, mode="eval").body
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("A", "Annotated"):
            assert isinstance(node.slice, ast.Tuple)
            return ast.unparse(node.slice.elts[0])
        return annotation
    inner = annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation
    return inner.__name__ if isinstance(inner, type) else re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(inner))


def plain(value: Any) -> Any:
    """The value as JSON has it; a set sorted."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    return value


if __name__ == "__main__":
    main()

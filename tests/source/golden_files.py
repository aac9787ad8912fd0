"""What the engines' own parsers said, as it was recorded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str, version: str) -> Any:
    """A golden file of that version."""
    return json.loads(gzip.decompress((GOLDEN / f"{name}-{version}.json.gz").read_bytes()))

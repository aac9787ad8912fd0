"""The reference pages that are made from the code are up to date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "make_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

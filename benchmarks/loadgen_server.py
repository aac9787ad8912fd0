"""fakellm as `benchmarks/loadgen.py` runs it: compiled, started, and what it says of each response.

`request_stamps.c` is preloaded into it, so that the kernel says when each request had arrived; fakellm itself
is left as it is. The time until it reads a request is its own queue, and no load generator's.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Account = dict[str, Any]
"""What the server says of a response, as truth.py has it, and `t_kernel`: when its request had arrived."""
_STAMPS = struct.Struct("=QQ")


@dataclass(frozen=True)
class Instrument:
    """fakellm, ready to be started."""

    program: str
    preloaded: str
    source: Path
    """The folder of fakellm.c and truth.py."""

    def accounts(self, folder: Path) -> list[Account]:
        """Of all responses of a server that has ended, in the order in which they ended."""
        spec = importlib.util.spec_from_file_location("truth", self.source / "truth.py")
        assert spec is not None
        assert spec.loader is not None
        truth = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(truth)
        found = list(truth.read(folder / "truth.bin"))
        if not found:
            return found
        stamps = list(_STAMPS.iter_unpack((folder / "stamps.bin").read_bytes()))
        reads = [read for _, read in stamps]
        for each in found:  # one thread: the last read before is the one that made the request whole
            each["t_kernel"] = stamps[bisect_right(reads, each["t_request"]) - 1][0]
        return found


def instrument(source: Path, into: Path) -> Instrument:
    """Compile it."""
    program, preloaded = into / "fakellm", into / "request_stamps.so"
    shim = Path(__file__).with_name("request_stamps.c")
    subprocess.run(["cc", "-O2", "-o", str(program), str(source / "fakellm.c")], check=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(preloaded), str(shim)], check=True)
    return Instrument(str(program), str(preloaded), source)


@contextmanager
def server(made: Instrument, folder: Path, options: Sequence[str], pin: Sequence[str]) -> Iterator[int]:
    """A running fakellm that keeps its accounts in that folder; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*pin, "env", f"LD_PRELOAD={made.preloaded}", made.program, *options]
    with subprocess.Popen(
        [*command, "--port", str(port), "--log", str(folder / "truth.bin")],
        env={**os.environ, "REQUEST_STAMPS": str(folder / "stamps.bin")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        try:
            yield port
        finally:
            process.terminate()

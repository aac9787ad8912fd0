"""A job that misbehaves on request, to see that the limits of the child process hold on this machine."""

from __future__ import annotations

import ast
import ctypes
import os
import sys
from typing import TYPE_CHECKING

from assay.errors import UnknownIdiom

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.source.child.job import Note


def run(request: bytes, note: Note) -> bytes:
    """Do what the request says, `NAME ARGUMENT`, after noting two files."""
    note("pkg/first.py", 2)
    note("pkg/second file.py", 2)
    name, _, argument = request.partition(b" ")
    return _DEEDS[name](argument)


def _echo(argument: bytes) -> bytes:
    return argument


def _parse(argument: bytes) -> bytes:
    """Parse that many nested brackets."""
    try:
        ast.parse(b"(" * int(argument) + b")" * int(argument))
    except SyntaxError as error:
        return str(error).encode()
    return b"parsed"


def _overflow(argument: bytes) -> bytes:
    """Recurse until the stack of the process itself ends."""
    del argument
    sys.setrecursionlimit(10**9)
    nested: object = ()
    for _ in range(10**6):
        nested = (nested,)
    return str(hash(nested)).encode() + repr(nested).encode()


def _recurse(argument: bytes) -> bytes:
    return _recurse(argument)


def _allocate(argument: bytes) -> bytes:
    return bytes(int(argument))[:1]


def _spin(argument: bytes) -> bytes:
    while True:
        hash(argument)


def _wait(argument: bytes) -> bytes:
    """Do nothing at all, for ever."""
    os.read(os.pipe()[0], 1)
    return argument


def _flood(argument: bytes) -> bytes:
    return b"x" * int(argument)


def _write(argument: bytes) -> bytes:
    """Try to leave a file."""
    try:
        with open(argument, "wb") as stream:
            stream.write(b"content")
    except OSError as error:
        return str(error).encode()
    return b"written"


def _kill(argument: bytes) -> bytes:
    os.kill(os.getpid(), int(argument))
    return b""


def _segfault(argument: bytes) -> bytes:
    ctypes.string_at(0)
    return argument


def _raise(argument: bytes) -> bytes:
    raise UnknownIdiom(argument.decode(), hint="a hint", details=("one", "two"))


def _fail(argument: bytes) -> bytes:
    raise ZeroDivisionError(argument.decode())


_DEEDS: dict[bytes, Callable[[bytes], bytes]] = {
    b"echo": _echo,
    b"parse": _parse,
    b"overflow": _overflow,
    b"recurse": _recurse,
    b"allocate": _allocate,
    b"spin": _spin,
    b"wait": _wait,
    b"flood": _flood,
    b"write": _write,
    b"kill": _kill,
    b"segfault": _segfault,
    b"raise": _raise,
    b"fail": _fail,
}

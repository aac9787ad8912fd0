"""Lets the argument code of SGLang be imported where its compiled parts cannot be: for the scripts beside it.

A module that the engine imports and that is not installed is replaced by an empty one that has any name.
Nothing of that can reach the command line parser: it is plain argparse, and its choices are the engine's own.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import re
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODULES = frozenset(
    {
        "triton",
        "sgl_kernel",
        "deep_gemm",
        "flashinfer",
        "decord",
        "grpc",
        "cuda",
        "triton_kernels",
        "datasets",
    }
    | {
        "torch_memory_saver",
        "modelscope",
        "pynvml",
        "smg_grpc_proto",
        "blobfile",
        "mooncake",
        "nixl",
        "quack",
    }
    | {"cutlass"}
)


class _Inert(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _make(f"{cls.__name__}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        only = args[0] if len(args) == 1 and not kwargs else None
        is_decorated = isinstance(only, types.FunctionType | type) and not isinstance(only, _Inert)
        return only if is_decorated else _make(f"{cls.__name__}()")

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __iter__(cls) -> Any:
        return iter(())

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__


class Target:
    """What triton would say of the device that it compiles for."""

    backend = "cpu"
    arch = 0


def _make(name: str) -> Any:
    return Target if name.endswith("get_current_target()") else _Inert(name, (), {})


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _make(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last in line, so that an installed module is always preferred."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] in MODULES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _StandIn(spec.name)
        module.__version__ = "9999.0"  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


def install(tree: Path) -> types.ModuleType:
    """Put the engine's tree on the path and import its argument module."""
    sys.meta_path.append(_Finder())
    sys.path.insert(0, str(tree))
    real = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return real(name)
        except importlib.metadata.PackageNotFoundError:
            if name.partition("-")[0].partition("_")[0] in ("sgl", "sglang", "flashinfer", "torchao"):
                return "9999.0"
            raise

    importlib.metadata.version = version
    _skip_operators_that_do_not_exist()
    return importlib.import_module("sglang.srt.server_args")


def version_of(tree: Path) -> Any:
    """The version that the tree's metadata states."""
    metadata = next(tree.glob("sglang-*.dist-info/METADATA")).read_text()
    return re.findall(r"^Version: (\S+)$", metadata, re.M)[0]


def _skip_operators_that_do_not_exist() -> None:
    import torch

    register = torch.library.register_fake

    def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
        def decorate(function: Any) -> Any:
            try:
                return register(op, function, **options)
            except RuntimeError as error:
                if "does not exist" not in str(error):
                    raise
                return function

        return decorate(func) if func is not None else decorate

    torch.library.register_fake = register_fake

"""What can be told of files and of the programs that an engine starts."""

from __future__ import annotations

import fnmatch
import posixpath
from pathlib import PurePosixPath
from typing import Any

from assay.flow import operations
from assay.flow.interpreter import Interpreter
from assay.flow.outside.modelled import pure
from assay.flow.values import (
    MISSING,
    Choice,
    Instance,
    Library,
    Native,
    Symbol,
    Unknown,
    VList,
)


def path_method(path: PurePosixPath, name: str) -> Any:
    """A method of a path that looks at the file system."""
    if name in ("exists", "is_file", "is_dir"):
        return Native(name, lambda inner: _exists(inner, str(path), name))
    if name in ("open", "read_text", "read_bytes"):
        return Native(name, lambda i, *_a, **_k: i.outside.opened(i, str(path)))
    if name in ("rglob", "glob", "iterdir"):
        return Native(name, lambda i, pattern="*": i.lift(lambda each: _listed(i, path, each), pattern))
    if name in ("resolve", "expanduser", "absolute"):
        return Native(name, lambda _i: Unknown(f"where {path} is", ("absolute", str(path))))
    return (
        Unknown(f"{name} of a path", ("path", str(path), name)) if hasattr(PurePosixPath, name) else MISSING
    )


def _exists(i: Interpreter, path: Any, how: str) -> Any:
    path = str(i.force(path)) if isinstance(i.force(path), str | PurePosixPath) else i.force(path)
    if not isinstance(path, str):
        return i.lift(lambda each: _exists(i, each, how), path, label=how)
    if path == "":
        return False
    folder, _, name = path.rstrip("/").rpartition("/")
    i.machine.reads.add(f"file {path}")
    if i.outside.facts.find(f"model:{path}") is not None:
        return how != "is_file" and _is_folder(i)
    if i.outside.facts.find(f"model:{folder}") is not None and name:
        return _lies_there(i, name, path, how)
    if is_of_the_tree(i, path):
        return how != "is_dir"
    return Unknown(f"whether {path} exists", ("exists", path), "bool")


def is_of_the_tree(i: Interpreter, path: str) -> bool:
    """Whether a path is that of a module of the tree."""
    name = path.removesuffix(".py").strip("/").replace("/", ".")
    return path.endswith(".py") and bool(i.modules.has(name))


def _is_folder(i: Interpreter) -> Any:
    """A model whose name is on the hub and not a path is no folder, unless the facts say so."""
    return (
        True
        if i.outside.facts.files_are_complete
        else Unknown("whether the model is a local folder", ("local",), "bool")
    )


def _lies_there(i: Interpreter, name: str, path: str, how: str) -> Any:
    facts = i.outside.facts
    if name in facts.model_files:
        return how != "is_dir"
    complete = facts.files_are_complete and name not in facts.open_files
    return False if complete else Unknown(f"whether {path} exists", ("exists", path), "bool")


WEIGHTS = (
    *("model.safetensors", "model-00001-of-00002.safetensors", "pytorch_model.bin"),
    *("model.pt", "model.gguf"),
)
"""Names that files of weights have; facts do not list them."""


def _glob(i: Interpreter, pattern: Any, *_rest: Any, **_keywords: Any) -> Any:
    """`glob.glob(pattern)`."""
    pattern = i.force(pattern)
    folder, _, name = pattern.rpartition("/") if isinstance(pattern, str) else ("", "", "")
    i.machine.reads.add(f"file {pattern}")
    found = _matching(i, folder, name)
    return found if isinstance(found, Unknown) else VList(f"{folder}/{each}" for each in found)


def _listed(i: Interpreter, folder: PurePosixPath, pattern: str) -> Any:
    """`Path(folder).glob(pattern)`."""
    found = _matching(i, str(folder), pattern)
    return found if isinstance(found, Unknown) else VList(folder / each for each in found)


def _matching(i: Interpreter, folder: str, pattern: str) -> list[str] | Unknown:
    """The names of a model's files that match, where all are known; each model has files of weights."""
    facts = i.outside.facts
    is_model = facts.find(f"model:{folder}") is not None and facts.files_are_complete
    if not is_model or any(fnmatch.fnmatchcase(each, pattern) for each in (*WEIGHTS, *facts.open_files)):
        return Unknown(f"which files there are: {folder}/{pattern}", ("files", folder, pattern))
    return [each for each in facts.model_files if fnmatch.fnmatchcase(each, pattern)]


def _cached_file(i: Interpreter, folder: Any, name: Any, *_rest: Any, **options: Any) -> Any:
    """`cached_file(model, name)` of transformers: where that file of a model lies."""
    path = i.lift(posixpath.join, folder, name, label="cached_file")
    there = _exists(i, path, "is_file") if isinstance(path, str) else path
    if isinstance(there, Unknown):
        return Choice(there, path, None)
    if there is not True and i.force(options.get("_raise_exceptions_for_missing_entries", True)) is not False:
        raise i.error(OSError, f"{folder} does not appear to have a file named {name}")
    return path if there is True else None


def _path(i: Interpreter, *parts: Any) -> Any:
    return i.lift(PurePosixPath, *parts, label="Path")


_RESULT = Library("subprocess.CompletedProcess", {})
_QUERIES = {
    "memory.total": "accelerator.memory_mib",
    "compute_cap": "accelerator.capability",
    "driver_version": "driver.version",
    "name": "accelerator.name",
}


def _run(i: Interpreter, command: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    words = operations.elements(i, command) if not isinstance(i.force(command), str) else [i.force(command)]
    texts = [str(i.force(word)) for word in words] if not isinstance(words, Unknown) else []
    asked = next((word.partition("=")[2] for word in texts if word.startswith("--query-gpu=")), "")
    if not texts or texts[0] != "nvidia-smi" or asked not in _QUERIES:
        shown = " ".join(texts)[:80]
        i.machine.acting(shown)
        i.outside.may_fail(i, Unknown(f"the command {shown}", ("run", shown)))
        return Unknown(f"what the command {shown!r} prints", ("run", shown))
    value, count = i.outside.fact(i, _QUERIES[asked]), i.outside.fact(i, "accelerator.count")
    made = Instance(_RESULT)
    made.attributes |= {
        "returncode": 0,
        "stderr": "",
        "stdout": i.lift(_lines, value, count, label="nvidia-smi"),
    }
    return made


def _lines(value: Any, count: int) -> str:
    text = ".".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    return f"{text}\n" * max(1, min(count, 1024))


NAMES: dict[str, Any] = {
    "os.sep": "/",
    "os.linesep": "\n",
    "os.pathsep": ":",
    "os.makedirs": Native("makedirs", lambda i, *_arguments, **_keywords: i.machine.acting("makedirs")),
    "os.PathLike": Symbol("os.PathLike"),
    "glob.glob": Native("glob", _glob),
    "transformers.utils.cached_file": Native("cached_file", _cached_file),
    "transformers.utils.hub.cached_file": Native("cached_file", _cached_file),
    "os.path.exists": Native("exists", lambda i, p: _exists(i, p, "exists")),
    "os.path.isfile": Native("isfile", lambda i, p: _exists(i, p, "is_file")),
    "os.path.isdir": Native("isdir", lambda i, p: _exists(i, p, "is_dir")),
    "pathlib.Path": Native("Path", _path),
    "pathlib.PurePath": Native("Path", _path),
    "subprocess.run": Native("run", _run),
    "subprocess.CalledProcessError": OSError,
    "subprocess.PIPE": -1,
    "subprocess.DEVNULL": -3,
    "subprocess.TimeoutExpired": TimeoutError,
}
NAMES |= {
    f"os.path.{name}": pure(f"os.path.{name}", getattr(posixpath, name))
    for name in ["join", "basename", "dirname", "splitext", "isabs", "normpath"]
}

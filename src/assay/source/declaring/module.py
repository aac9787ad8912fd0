"""Parses modules of a source tree and finds what a name stands for, following imports inside the tree."""

from __future__ import annotations

import ast
import gc
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from assay.source.child.job import Note, no_note
from assay.source.declarations import Gap, Site
from assay.source.declaring.bindings import Binding, collect_bindings

MAX_BYTES = 2 << 20
"""Six times the largest module of an engine; its syntax tree takes a hundred times as much memory."""
MAX_BRACKET_DEPTH = 200
MAX_LINE_TEXT = 200
_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_STEP = {byte: 1 if byte in b"([{" else -1 for byte in b"()[]{}"}
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(eq=False)
class Module:
    """One parsed module of the tree."""

    name: str
    """Dotted name."""
    file: str
    """Path from the root of the tree, with slashes."""
    package: str
    """Dotted name of the package that relative imports start from."""
    tree: ast.Module
    lines: list[str]
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    """What binds or changes each module-level name, in order."""
    stars: list[str] = field(default_factory=list)
    """Modules of `from x import *`, absolute, in order."""

    def site(self, node: ast.AST) -> Site:
        """The line that a node begins at."""
        return self.site_of_line(getattr(node, "lineno", 1))

    def site_of_line(self, line: int) -> Site:
        """That line, from 1."""
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return Site(file=self.file, line=line, text=clean(text[:MAX_LINE_TEXT]))

    def text(self, node: ast.expr) -> str:
        """An expression as written, joined to one line and at most 200 characters."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        lines = [line.encode() for line in self.lines[first : min(last, first + 20) + 1]]
        if not lines:
            return ""
        if last - first < len(lines):
            lines[last - first] = lines[last - first][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        joined = " ".join(line.decode(errors="replace").strip() for line in lines)
        return clean(joined[:MAX_LINE_TEXT])


@dataclass(frozen=True)
class Defined:
    """A function or class of the tree."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Variable:
    """A module-level name that is assigned."""

    module: Module
    name: str


@dataclass(frozen=True)
class Whole:
    """A module of the tree itself."""

    name: str


@dataclass(frozen=True)
class External:
    """Something from outside the tree, by its dotted name: `json.loads`."""

    dotted: str


Found = Defined | Variable | Whole | External


class Modules:
    """The modules of one source tree, parsed when first asked for."""

    def __init__(self, root: Path, note: Note = no_note) -> None:
        """`note` is told of each file before it is parsed."""
        self.root = root
        self._note = note
        self.gaps: list[Gap] = []
        self._modules: dict[str, Module | None] = {}
        self._found: dict[tuple[str, str], Found | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of that name; None if the tree has none, or it cannot be parsed (then with a gap)."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def has(self, name: str) -> bool:
        """Whether the tree holds a module or package of that name, parsable or not."""
        return self._path(name) is not None or (
            _MODULE_NAME.fullmatch(name) is not None and (self.root / Path(*name.split("."))).is_dir()
        )

    def parsed(self) -> list[Module]:
        """Every module parsed so far."""
        return [module for module in self._modules.values() if module is not None]

    def lookup(self, module: Module, name: str) -> Found | None:
        """What a module-level name stands for; None if the module does not bind it."""
        key = (module.name, name)
        if key not in self._found:
            self._found[key] = None  # a name that is imported in a circle stands for nothing
            self._found[key] = self._find(module, name)
        return self._found[key]

    def member(self, found: Found, name: str) -> Found | None:
        """What `found.name` stands for, where `found` is a module or external."""
        if isinstance(found, External):
            return External(f"{found.dotted}.{name}")
        if isinstance(found, Whole):
            return self.imported(found.name, name)
        return None

    def imported(self, source: str, name: str) -> Found | None:
        """What `from source import name` binds."""
        if not self.has(source):
            return External(f"{source}.{name}")
        module = self.module(source)
        found = self.lookup(module, name) if module else None
        if found is None and self.has(f"{source}.{name}"):
            return Whole(f"{source}.{name}")
        return found

    def follow(self, module: Module, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Found | None:
        """What one name of an import statement binds."""
        if isinstance(node, ast.Import):
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            return Whole(bound) if self.has(bound) else External(bound)
        source = absolute(module, node)
        return self.imported(source, alias.name) if source else None

    def _find(self, module: Module, name: str) -> Found | None:
        written = (b for b in module.bindings.get(name, ()) if not b.changes)
        bindings = [b for b in written if not _rebuilds(b.node, name)]
        last_certain = max((at for at, b in enumerate(bindings) if b.certain), default=0)
        for binding in bindings[last_certain:]:
            found = self._bound(module, name, binding)
            if found is not None and not isinstance(found, External):
                return found
        if bindings:
            return self._bound(module, name, bindings[-1])
        for source in reversed(module.stars):
            starred = self.module(source)
            found = self.lookup(starred, name) if starred and not name.startswith("_") else None
            if found is not None:
                return found
        return None

    def _bound(self, module: Module, name: str, binding: Binding) -> Found | None:
        node = binding.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return Defined(module, node)
        if isinstance(node, ast.Import | ast.ImportFrom) and binding.alias is not None:
            return self.follow(module, node, binding.alias)
        return Variable(module, name)

    def _path(self, name: str) -> tuple[Path, bool] | None:
        """File of a module, and whether it is a package."""
        if not _MODULE_NAME.fullmatch(name):
            return None
        parts = name.split(".")
        base, top = self.root.joinpath(*parts), self.root.joinpath(parts[0])
        inside = top.resolve() if top.is_dir() else self.root.resolve()
        for path, is_package in ((base / "__init__.py", True), (base.with_suffix(".py"), False)):
            if path.is_file() and path.resolve().is_relative_to(inside):
                return path, is_package
        return None

    def _read(self, name: str) -> Module | None:
        found = self._path(name)
        if found is None:
            return None
        path, is_package = found
        file = path.relative_to(self.root).as_posix()
        self._note(file)
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        parsed = parse(data)
        if isinstance(parsed, str):
            self.gaps.append(Gap(site=Site(file=file, line=1), reason=parsed))
            return None
        tree, text = parsed
        module = Module(
            name=name,
            file=file,
            package=name if is_package else name.rpartition(".")[0],
            tree=tree,
            lines=re.split(r"\r\n|\r|\n", text),
        )
        for bound, binding in collect_bindings(tree.body):
            module.bindings.setdefault(bound, []).append(binding)
        module.stars.extend(_stars(module))
        return module


def parse(data: bytes) -> tuple[ast.Module, str] | str:
    """The syntax tree of a file's bytes and its text, or the reason why there is none."""
    if len(data) > MAX_BYTES:
        return f"the file is larger than {MAX_BYTES >> 20} MiB"
    brackets = data.translate(None, delete=_NOT_BRACKETS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_BRACKET_DEPTH:
        return f"brackets are nested more than {MAX_BRACKET_DEPTH} deep"
    collecting = gc.isenabled()
    gc.disable()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\d": the engine's matter
            return ast.parse(data), data.decode(encoding)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError) as error:
        return f"the file cannot be parsed: {type(error).__name__}: {clean(str(error))[:MAX_LINE_TEXT]}"
    finally:
        if collecting:
            gc.enable()


def absolute(module: Module, node: ast.ImportFrom) -> str | None:
    """The absolute name of the module that a `from` import reads; None if it climbs out of the tree."""
    if not node.level:
        return node.module
    parts = module.package.split(".")
    if node.level > len(parts):
        return None
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def clean(text: str) -> str:
    """The text with lone surrogates, which no encoding can carry, replaced."""
    return text.encode(errors="replace").decode()


def _rebuilds(node: ast.stmt, name: str) -> bool:
    """`X = msgspec.defstruct("X", …, namespace={… vars(X) …})`: what X stands for still shows in class X."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "msgspec.defstruct"
        and f"vars({name})" in ast.unparse(node.value)
    )


def _stars(module: Module) -> Iterator[str]:
    for node in _import_froms(module.tree.body):
        source = absolute(module, node)
        if source and any(alias.name == "*" for alias in node.names):
            yield source


def _import_froms(statements: Iterable[ast.stmt]) -> Iterator[ast.ImportFrom]:
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.If | ast.Try):
            yield from _import_froms(statement.body)
            yield from _import_froms(statement.orelse)

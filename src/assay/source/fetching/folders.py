"""Finds an engine's package in a checkout, in an environment or in the interpreter's own packages."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import EngineNotFound, InputError, SourceError
from assay.source.fetching.tool import run_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.engines import Engine

_SMALL_BYTES = 1 << 20
_STATED = re.compile(r"(?m)^(?:__version__|version)(?: *: *str)? *= *(?:version *= *)?['\"]([^'\"\s]+)['\"]")
_ASK = (
    "import json,sysconfig;print(json.dumps([sysconfig.get_path('purelib'),sysconfig.get_path('platlib')]))"
)


class Place(Value):
    """Where a package was found."""

    engine: str
    """Name of the engine."""
    root: str
    """Folder that holds the package folder, without links in its path."""
    packages: str | None = None
    """Folder that holds its dist-info, if it was found by way of one."""


def expanded(path: str) -> Path:
    """The path with a `~` or `~user` at its beginning replaced.

    Raises:
        InputError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"{path}: no home folder of that user is known", hint="write it in full") from error


def find_folder(path: str, engines: Sequence[Engine]) -> Place:
    """The package in a checkout, in a folder of packages, or the package folder itself.

    Raises:
        EngineNotFound: it is not there; the message says where it was looked for.
    """
    folder = expanded(path)
    looked: list[str] = []
    for engine in engines:
        if place := _in_folder(folder, engine, looked):
            return place
    if not folder.exists():
        raise EngineNotFound(f"no folder {path}", hint="check its spelling")
    names = " or ".join(engine.package for engine in engines)
    raise EngineNotFound(
        f"no {names} package in {path}",
        hint="name a checkout, the package folder, or the folder that holds it",
        details=tuple(f"looked for {each}" for each in looked),
    )


def find_installed(value: str, engines: Sequence[Engine]) -> Place:
    """The package in an environment folder, in an interpreter's environment, or, for "", in this one's.

    Raises:
        InputError: there is no such folder or program.
        EngineNotFound: the package is not installed there.
    """
    looked: list[str] = []
    for packages in _package_folders(value):
        if str(packages) in looked:
            continue
        looked.append(str(packages))
        for engine in engines:
            if place := _installed_in(packages, engine):
                return place
    names = " or ".join(engine.package for engine in engines)
    raise EngineNotFound(
        f"{names} is not installed in {value or 'the environment of ' + sys.executable}",
        hint="name what serves: --engine installed:/opt/venv, or a release: --engine "
        f"{engines[0].distributions[0]}==VERSION",
        details=tuple(f"looked in {each}" for each in looked),
    )


def _in_folder(folder: Path, engine: Engine, looked: list[str]) -> Place | None:
    roots = [folder / each for each in engine.checkout_folders]
    if folder.name == engine.package:
        roots.append(folder.parent)
    for root in roots:
        package = root / engine.package
        looked.append(str(package / "__init__.py"))
        if (package / "__init__.py").is_file():
            real = root.resolve()
            return Place(engine=engine.name, root=str(real), packages=str(real))
    return None


def _package_folders(value: str) -> Iterator[Path]:
    """Folders of installed packages, those found by layout before those that an interpreter names."""
    if not value:
        yield from (Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
        yield from (Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))
        return
    path = expanded(value)
    if path.is_dir():
        yield path
        yield from _by_layout(path)
    elif path.is_file() and os.access(path, os.X_OK):
        yield from _by_layout(path.parent.parent)
        yield from _asked(path)
    else:
        raise InputError(
            f"installed:{value}: neither an environment's folder nor an interpreter",
            hint="write installed:/opt/venv or installed:/opt/venv/bin/python3",
        )


def _by_layout(environment: Path) -> Iterable[Path]:
    libraries = (
        "lib*/python3*",
        "local/lib/python3*",
    )  # Debian's own Python has what pip installs in the latter
    for pattern in [f"{library}/{name}-packages" for library in libraries for name in ("site", "dist")]:
        yield from sorted(environment.glob(pattern), reverse=True)


def _asked(interpreter: Path) -> Iterable[Path]:
    """Where that interpreter says its packages are; it is asked without importing any of them."""
    outcome = run_tool((str(interpreter.absolute()), "-I", "-c", _ASK), timeout_s=30)
    try:
        return [Path(each) for each in json.loads(outcome.out)] if outcome.code == 0 else []
    except (ValueError, TypeError) as error:
        raise SourceError(f"{interpreter} does not answer like a Python interpreter") from error


def _installed_in(packages: Path, engine: Engine) -> Place | None:
    if (packages / engine.package / "__init__.py").is_file():
        root = packages.resolve()
        return Place(engine=engine.name, root=str(root), packages=str(root))
    for folder in _editable_folders(packages, engine):
        if place := _in_folder(folder, engine, []):
            return Place(engine=engine.name, root=place.root, packages=str(packages.resolve()))
    return None


def _editable_folders(packages: Path, engine: Engine) -> Iterator[Path]:
    """Folders that an editable installation points to, read from its files, none of which is run."""
    from urllib.parse import unquote, urlsplit

    for name in engine.distributions:
        for info in packages.glob(f"{name.replace('-', '_')}-*.dist-info/direct_url.json"):
            if found := re.search(r'"url"\s*:\s*"(file:[^"]+)"', _small_text(info)):
                yield Path(unquote(urlsplit(found[1]).path))
    for finder in packages.glob("__editable___*_finder.py"):
        if found := re.search(rf"'{re.escape(engine.package)}': '(/[^'\n]+)'", _small_text(finder)):
            yield Path(found[1])
    for listing in packages.glob("*.pth"):
        yield from (Path(line) for line in _small_text(listing).splitlines() if line.startswith("/"))


def version_of(place: Place, engine: Engine) -> str | None:
    """Its version as its metadata or, failing that, its own `version.py` states it; None if neither does."""
    if place.packages is not None:
        infos = [
            info
            for name in engine.distributions
            for info in Path(place.packages).glob(f"{name.replace('-', '_')}-*.dist-info/METADATA")
        ]
        if len(infos) == 1 and (found := re.search(r"(?m)^Version: *(\S+)", _small_text(infos[0]))):
            return found[1]
    for name in ("_version.py", "version.py"):
        text = _small_text(Path(place.root) / engine.package / name)
        if found := _STATED.search(text):
            return found[1]
    return None


def commit_of(root: Path) -> str | None:
    """The commit that a checkout's HEAD names, read from its files; git itself is not run in it."""
    for folder in (root, *root.parents[:2]):
        git = folder / ".git"
        if git.is_file() and (found := re.match(r"gitdir: (.+)", _small_text(git))):
            git = folder / found[1].strip()
        if (git / "HEAD").is_file():
            return _head(git)
    return None


def _head(git: Path) -> str | None:
    head = _small_text(git / "HEAD").strip()
    reference = head.removeprefix("ref: ")
    if reference != head:
        common = git / (_small_text(git / "commondir").strip() or ".")
        packed = re.search(
            rf"(?m)^([0-9a-f]{{40,64}}) {re.escape(reference)}$", _small_text(common / "packed-refs")
        )
        safe = re.fullmatch(r"refs/[\w./-]+", reference) and ".." not in reference
        head = (_small_text(common / reference).strip() if safe else "") or (packed[1] if packed else "")
    return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else None


def _small_text(path: Path) -> str:
    """A small file's text, or nothing where there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)  # a pipe or device could keep us for ever
            return stream.read(_SMALL_BYTES).decode("utf-8", errors="replace") if plain else ""
    except (OSError, ValueError):
        return ""

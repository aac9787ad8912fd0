"""Opens the source tree of an engine: from a release, a wheel, a folder, an environment or an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.engines import ENGINES, engine_named
from assay.errors import InputError, SourceError
from assay.source.fetching.cache import Cache, Omitted
from assay.source.fetching.digest import combine, digest_folder
from assay.source.fetching.folders import Place, commit_of, expanded, find_folder, find_installed, version_of
from assay.source.progress import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.deployment import EngineReference
    from assay.engines import Engine
    from assay.source.fetching.names import Unpacked


class Tree(Value):
    """An engine's source on this machine, ready to be read."""

    root: str
    """Folder that holds the package folder; paths in the tree are relative to it."""
    engine: str
    """Name of the engine."""
    package: str
    """Name of its package folder."""
    version: str | None
    """The version that it says it is, or None. A fork may say anything: `digest` is the identity."""
    digest: str
    """SHA-256 over the sorted paths and SHA-256s of the package's files."""
    origin: str
    """Where it came from, for people: `wheel sglang-0.5.10-py3-none-any.whl`."""
    omitted: tuple[Omitted, ...] = ()
    """Files that belong to it and that a reader does not see: no statement about the tree covers them."""

    @property
    def folder(self) -> Path:
        """The package folder."""
        return Path(self.root, self.package)


def open_tree(
    reference: EngineReference,
    *,
    engine: Engine | None,
    cache: Path,
    progress: Progress = no_progress,
) -> Tree:
    """Make the source that a reference names available as a folder, and digest it.

    A release, wheel or image is unpacked into the cache once; folders and environments are read where they
    are. `engine` is the engine that the source must be of, or None if any will do. Published releases do not
    change, so that a second call uses neither network nor pip.

    Raises:
        InputError: the reference contradicts `engine`, or is malformed.
        EngineNotFound: no such release, package, folder or image.
        SourceError: it cannot be fetched, unpacked, read or written to the cache.
    """
    engines = _engines(reference, engine)
    store = Cache(cache)
    value = reference.value
    if reference.kind == "release":
        return _release(reference.engine or engines[0].name, value, engines[0], store, progress)
    if reference.kind == "image":
        return _image(value, engines, store, progress)
    if reference.kind == "installed":
        place = find_installed(value, engines)
        editable = f", editable from {place.root}" if place.root != place.packages else ""
        return _in_place(place, f"installed in {place.packages}{editable}", store, progress)
    if value.endswith(".whl"):
        return _wheel_file(expanded(value), engines, store, progress)
    place = find_folder(value, engines)
    commit = commit_of(Path(place.root))
    origin = f"checkout {value} at commit {commit[:12]}" if commit else f"folder {value}"
    return _in_place(place, origin, store, progress)


def _engines(reference: EngineReference, engine: Engine | None) -> tuple[Engine, ...]:
    """The engines that may be found there."""
    if reference.engine is None:
        return (engine,) if engine else tuple(ENGINES.values())
    named = engine_named(reference.engine)
    if engine is not None and engine != named:
        raise InputError(
            f"{reference} is not {engine.name}, which the command starts",
            hint=f"name a release of {engine.name}",
        )
    return (named,)


def _in_place(place: Place, origin: str, cache: Cache, progress: Progress) -> Tree:
    """A tree that is read where it lies."""
    engine = engine_named(place.engine)
    hashes, omitted = digest_folder(Path(place.root), engine.package, cache=cache, progress=progress)
    return Tree(
        root=place.root,
        engine=engine.name,
        package=engine.package,
        version=version_of(place, engine),
        digest=combine(hashes, omitted),
        origin=origin,
        omitted=omitted,
    )


def _release(name: str, version: str, engine: Engine, cache: Cache, progress: Progress) -> Tree:
    distribution = name if name in engine.distributions else engine.distributions[0]

    def unpack(scratch: Path, into: Path) -> tuple[Unpacked, str]:
        from assay.source.fetching.pip import fetch_wheel
        from assay.source.fetching.unpack import unpack_wheel

        wheel = fetch_wheel(distribution, version, scratch, progress=progress)
        unpacked = unpack_wheel(wheel, into, packages=(engine.package,), progress=progress)
        return unpacked, f"wheel {wheel.name}"

    return _unpacked(f"release {distribution}=={version}", (engine,), unpack, cache, progress)


def _wheel_file(wheel: Path, engines: Sequence[Engine], cache: Cache, progress: Progress) -> Tree:
    try:
        wheel = wheel.resolve(strict=True)
        status = wheel.stat()
    except OSError as error:
        raise InputError(f"cannot read {wheel}: {error.strerror}") from error
    if not wheel.is_file():
        raise InputError(f"cannot read {wheel}: not a plain file")

    def unpack(scratch: Path, into: Path) -> tuple[Unpacked, str]:
        from assay.source.fetching.unpack import unpack_wheel

        del scratch
        packages = tuple(engine.package for engine in engines)
        unpacked = unpack_wheel(wheel, into, packages=packages, progress=progress)
        return unpacked, f"wheel {wheel}"

    state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    key = f"wheel {wheel} {state} {[engine.name for engine in engines]}"
    return _unpacked(key, engines, unpack, cache, progress)


def _image(reference: str, engines: Sequence[Engine], cache: Cache, progress: Progress) -> Tree:
    from assay.source.fetching.image import Image

    image = Image(reference)

    def unpack(scratch: Path, into: Path) -> tuple[Unpacked, str]:
        del scratch
        packages = [engine.package for engine in engines]
        return image.copy_package(packages, into, progress=progress), f"image {reference}"

    key = f"image {image.identity} {[engine.name for engine in engines]}"
    return _unpacked(key, engines, unpack, cache, progress)


def _unpacked(
    key: str,
    engines: Sequence[Engine],
    unpack: Callable[[Path, Path], tuple[Unpacked, str]],
    cache: Cache,
    progress: Progress,
) -> Tree:
    """The tree that was unpacked for that key before, or else is now."""
    known = _remembered(key, cache)
    if known is not None and _is_whole(known, cache, progress):
        return known
    with cache.scratch() as scratch:
        into = scratch / "tree"
        into.mkdir()
        unpacked, origin = unpack(scratch, into)
        engine = next(each for each in engines if each.package == unpacked.package)
        place = Place(engine=engine.name, root=str(into), packages=str(into))
        digest = combine(unpacked.hashes, unpacked.omitted)
        tree = Tree(
            root=str(cache.tree_folder(digest)),
            engine=engine.name,
            package=engine.package,
            version=version_of(place, engine),
            digest=digest,
            origin=origin.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            omitted=unpacked.omitted,
        )
        _settle(tree, into, unpacked, cache, progress)
    cache.save("sources", key, msgspec.msgpack.encode(msgspec.structs.replace(tree, root="")))
    return tree


def _settle(tree: Tree, into: Path, unpacked: Unpacked, cache: Cache, progress: Progress) -> None:
    """Move a finished tree to its place, unless the same is there already."""
    if not cache.keep_tree(into, tree.digest):
        if _is_whole(tree, cache, progress):
            return
        cache.drop_tree(tree.digest)
        if not cache.keep_tree(into, tree.digest):
            raise SourceError(f"another process writes to {tree.root}", hint="try again")
    root = Path(tree.root)
    digest_folder(root, tree.package, cache=cache, progress=progress, unpacked=unpacked.hashes)


def _remembered(key: str, cache: Cache) -> Tree | None:
    data = cache.load("sources", key)
    try:
        tree = msgspec.msgpack.decode(data, type=Tree) if data is not None else None
    except msgspec.MsgspecError:
        return None
    return msgspec.structs.replace(tree, root=str(cache.tree_folder(tree.digest))) if tree else None


def _is_whole(tree: Tree, cache: Cache, progress: Progress) -> bool:
    """True if the unpacked tree still has the contents that its digest says."""
    try:
        hashes, _ = digest_folder(Path(tree.root), tree.package, cache=cache, progress=progress)
    except SourceError:
        return False
    return combine(hashes, tree.omitted) == tree.digest

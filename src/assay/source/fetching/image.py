"""Copies an engine's package out of a container image, which is created and never run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from typing import IO, TYPE_CHECKING, cast

from assay.errors import EngineNotFound, InputError, SourceError
from assay.source.fetching.names import Names, Unpacked, UnpackLimits, Writer
from assay.source.fetching.tool import last_lines, run_tool, running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assay.source.progress import Progress

# nerdctl is left out: its manual says that its `cp` is not safe with an image that is not trusted
_TOOLS = ("docker", "podman")
_TIMEOUT_S = 600.0
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]*")
_ABSENT = re.compile(r"could not (?:find|be found)|no such (?:file|container:path)", re.I)
_PREFIXES = ("/usr/local", "/usr", "/opt/venv", "/opt/conda", "/root/.venv", "/app/.venv", "/venv")
_PYTHONS = ("python3.12", "python3.11", "python3.10", "python3.13", "python3")


class Image:
    """One image in the store of a container tool on this machine."""

    def __init__(self, reference: str) -> None:
        """Ask for its id.

        Raises:
            InputError: the reference is malformed.
            EngineNotFound: it is not on this machine; assay does not pull images, which are huge.
            SourceError: there is no container tool, or it does not answer.
        """
        if not _REFERENCE.fullmatch(reference):
            raise InputError(f"not the reference of an image: {reference!r}")
        tool = next((found for name in _TOOLS if (found := shutil.which(name))), None)
        if tool is None:
            raise SourceError(
                f"cannot read image {reference}: neither {' nor '.join(_TOOLS)} is on the PATH",
                hint="name the release that the image holds instead, such as sglang==0.5.10",
            )
        self.reference = reference
        self._tool = tool
        self.identity, self._environment = self._inspect()

    def _inspect(self) -> tuple[str, tuple[str, ...]]:
        outcome = run_tool((self._tool, "image", "inspect", self.reference), timeout_s=60)
        name = self._tool.rsplit("/", 1)[-1]
        if outcome.code == 0:
            try:
                answer = json.loads(outcome.out)[0]
                return str(answer["Id"]), tuple(map(str, (answer.get("Config") or {}).get("Env") or ()))
            except (ValueError, LookupError, TypeError) as error:
                raise SourceError(f"{name} image inspect gave no JSON list of images") from error
        if re.search(r"no such image|image not known|no such object", outcome.err, re.I):
            raise EngineNotFound(
                f"image {self.reference} is not on this machine",
                hint=f"{name} pull {self.reference}, or name the release that it holds: sglang==0.5.10",
            )
        raise SourceError(
            f"cannot read image {self.reference}: {name} failed with status {outcome.code}",
            hint=f"see that {name} works here ({name} info), or name the release that the image holds",
            details=last_lines(outcome.err),
        )

    def copy_package(self, packages: Sequence[str], into: Path, *, progress: Progress) -> Unpacked:
        """Copy the first of these packages that is found in a usual place below the folder `into`.

        Raises:
            EngineNotFound: none is there; `details` says where it was looked for.
            SourceError: the image cannot be read, or is made so as to harm.
        """
        name = f"assay-{os.urandom(6).hex()}"
        try:
            # the command is never run: `create` only insists on one where the image has none
            created = run_tool(
                (self._tool, "create", f"--name={name}", self.identity, "true"), timeout_s=_TIMEOUT_S
            )
            if created.code != 0:
                raise SourceError(
                    f"cannot make a container of image {self.reference}", details=last_lines(created.err)
                )
            return self._search(name, packages, into, progress)
        finally:
            run_tool((self._tool, "rm", name), timeout_s=60)

    def _search(self, container: str, packages: Sequence[str], into: Path, progress: Progress) -> Unpacked:
        looked = [(package, path) for package in packages for path in self._places(package)]
        for number, (package, path) in enumerate(looked):
            progress("search image", number, len(looked))
            if found := self._copy(container, package, path, into):
                return found
        raise EngineNotFound(
            f"no {' or '.join(packages)} package in the usual places of image {self.reference}",
            hint="copy it out yourself and name the folder, or name the release",
            details=tuple(f"looked at {path}" for _, path in looked),
        )

    def _places(self, package: str) -> list[str]:
        """Paths in the image where the package is likely to be, the likeliest first."""
        stated = dict(pair.partition("=")[::2] for pair in self._environment)
        prefixes = [stated.get("VIRTUAL_ENV", ""), *stated.get("PATH", "").split(":"), *_PREFIXES]
        prefixes = [prefix.removesuffix("/bin") for prefix in prefixes if prefix.startswith("/")]
        libraries = [
            f"{prefix}/lib/{python}/{kind}/{package}"
            for prefix in dict.fromkeys(prefixes)
            if not prefix.endswith("/sbin")
            for python in _PYTHONS
            for kind in ("dist-packages", "site-packages")
        ]
        return [f"/sgl-workspace/{package}/python/{package}", *libraries]

    def _copy(self, container: str, package: str, path: str, into: Path) -> Unpacked | None:
        follow = ("-L",) if self._tool.endswith("docker") else ()
        command = (self._tool, "cp", *follow, f"{container}:{path}", "-")
        with (
            tempfile.TemporaryFile(dir=into) as err,
            running(command, out=subprocess.PIPE, err=err) as process,
        ):
            found = untar(cast("IO[bytes]", process.stdout), self.reference, package, into)
            code = process.wait(_TIMEOUT_S)
            err.seek(0)
            said = err.read(1 << 16).decode(errors="replace")
        if code == 0 and found is not None and f"{package}/__init__.py" in found.hashes:
            return found
        if code != 0 and (found is not None or not _ABSENT.search(said)):
            raise SourceError(
                f"copying {path} out of image {self.reference} failed", details=last_lines(said)
            )
        shutil.rmtree(into / package, ignore_errors=True)
        return None


def untar(
    stream: IO[bytes], archive: str, package: str, into: Path, limits: UnpackLimits | None = None
) -> Unpacked | None:
    """Unpack the package folder from a stream of tar data; None if the stream is empty.

    Raises:
        SourceError: it is broken, or made so as to harm.
    """
    limits = limits or UnpackLimits()
    names, writer = Names(archive, limits), Writer(archive, into, limits)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                path = names.add(member.name, folder=member.isdir())
                if not path.startswith(f"{package}/") or member.isdir():
                    continue
                content = tar.extractfile(member) if member.isreg() else None
                if content is None:
                    writer.omit(path, "a link or special file")
                else:
                    writer.write(path, content, member.size)
    except tarfile.ReadError as error:
        if writer.hashes or "empty" not in str(error):
            raise SourceError(f"{archive}: the copy of it is broken: {error}") from error
        return None
    return Unpacked(package=package, hashes=writer.hashes, omitted=tuple(writer.omitted))

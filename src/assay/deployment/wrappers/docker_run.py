"""Takes off `docker run` and `docker exec`, also of podman and nerdctl: image, environment, entry point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.deployment.files import read_user_file
from assay.deployment.launch import Fault, Launch, Variable
from assay.deployment.wrappers.options import Split, assignment, split_options
from assay.deployment.wrappers.table import CONTAINER_EXEC, CONTAINER_RUN, ENGINE_VALUES, Wrapper
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.deployment.text import UserFile, Word

_ENGINE = Wrapper(values=ENGINE_VALUES)


def unwrap_container(launch: Launch) -> list[Launch] | None:
    """What runs in the container; None if the command starts nothing in one.

    The container has the variables of `--env` and `--env-file` only. Without a command after the image the
    launch has no words, or those of `--entrypoint`.
    """
    words = launch.words
    at = split_options(words, 1, _ENGINE).end
    if at < len(words) and words[at].text == "container":
        at += 1
    verb = words[at].text if at < len(words) else ""
    if verb not in ("run", "exec"):
        return None
    split = split_options(words, at + 1, CONTAINER_RUN if verb == "run" else CONTAINER_EXEC)
    if split.end >= len(words):
        return None
    return [_inside(launch, split, verb)]


def _inside(launch: Launch, split: Split, verb: str) -> Launch:
    words = launch.words[split.end + 1 :]
    entrypoint = split.last({"--entrypoint"})
    if entrypoint is not None and entrypoint.text and verb == "run":
        words = (entrypoint, *words)
    read = _EnvironmentFiles(launch)
    for option, value in split.values:
        if option == "--env-file":
            read.add(value)
    directory = split.last(CONTAINER_RUN.directory)
    name = split.last({"--name"})
    return msgspec.structs.replace(
        launch,
        name=name.text if name is not None and verb == "run" else launch.name,
        words=words,
        environment=(*read.variables, *_given(launch, split)),
        image=launch.words[split.end].text if verb == "run" else None,
        directory=directory.text if directory else None,
        faults=(*launch.faults, *read.faults),
        files=(*launch.files, *read.files),
    )


def _given(launch: Launch, split: Split) -> list[Variable]:
    """The variables of `-e NAME=value` and `-e NAME`; these win over files."""
    variables: list[Variable] = []
    for option, value in split.values:
        if option in CONTAINER_RUN.environment:
            variables.append(
                assignment(value) or _passed(launch, value.text, value.file, value.start, value.end)
            )
    return variables


def _passed(launch: Launch, name: str, file: UserFile, start: int, end: int) -> Variable:
    """A variable handed on from outside; unknown if nothing here sets it."""
    for variable in reversed(launch.environment):
        if variable.name == name:
            return variable
    return Variable(name=name, value="", file=file, start=start, end=end, known=False)


class _EnvironmentFiles:
    """The files of `--env-file`, looked for beside the user's own file."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.variables: list[Variable] = []
        self.faults: list[Fault] = []
        self.files: list[UserFile] = []

    def add(self, value: Word) -> None:
        """Read one of them; one that cannot be read is a fault."""
        if not value.known:
            return
        path = Path(value.text)
        user_file = value.file.path
        if not path.is_absolute() and not user_file.startswith("<"):
            path = Path(user_file).parent / path
        try:
            file = read_user_file(path)
        except (InputError, ValueError) as error:
            self.faults.append(
                Fault(
                    kind="missing-file",
                    place=value.place,
                    message=f"the environment file cannot be read here: {error}",
                    help="its variables are not known to assay",
                )
            )
            return
        self.files.append(file)
        self._read(file)

    def _read(self, file: UserFile) -> None:
        """Docker's format: `NAME=value` with quotes kept, `NAME` handed on, `#` lines left out."""
        start = 0
        for line in file.text.splitlines(keepends=True):
            end = start + len(line.rstrip("\r\n"))
            text = line.strip("\r\n").lstrip()
            first = end - len(text)
            name, equals, value = text.partition("=")
            if text and not text.startswith("#"):
                self.variables.append(
                    Variable(name=name, value=value, file=file, start=first, end=end)
                    if equals
                    else _passed(self._launch, name.strip(), file, first, end)
                )
            start += len(line)

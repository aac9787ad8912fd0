"""The file of arguments that a command line names (`--config`), read as the engine would."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.deployment import UserFile, YamlMapping, YamlScalar, YamlSequence, read_user_file, read_yaml
from assay.errors import InputError
from assay.source.command_line.parsed_command import ConfigEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment import YamlNode
    from assay.engines import Server


class ConfigReader:
    """Reads the file for `assay.source.parse`, and keeps it for places in messages.

    A path of the serving host may not exist here: it is looked for as it is, under the launch's working
    directory, and by its name beside the user's file. Not found means not known, never wrong.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.file: UserFile | None = None

    def __call__(self, path: str) -> Sequence[ConfigEntry] | str | None:
        """The entries of the file, why it cannot be used, or None if it is not here."""
        found = self._find(Path(path))
        if found is None:
            return None
        try:
            self.file = read_user_file(found)
            documents = read_yaml(self.file)
        except InputError as error:
            return error.message
        if not documents:
            return ()
        if len(documents) > 1:
            return f"{found} holds {len(documents)} YAML documents; the engine reads files with one"
        return _entries(documents[0], found)

    def _find(self, path: Path) -> Path | None:
        launch = self._server.launch
        beside = [Path(file.path).parent for file in launch.files if not file.path.startswith("<")]
        places = [path] if path.is_absolute() else [Path(launch.directory or "."), *beside]
        candidates = [place if path.is_absolute() else place / path for place in places]
        candidates += [folder / path.name for folder in beside]
        return next((candidate for candidate in candidates if candidate.is_file()), None)


def _entries(document: YamlNode, found: Path) -> Sequence[ConfigEntry] | str:
    if isinstance(document, YamlScalar) and document.tag == "null":
        return ()
    if not isinstance(document, YamlMapping):
        return f"{found} must hold a mapping of option names to values"
    return tuple(
        ConfigEntry(key=entry.key.value(), value=_plain(entry.value), position=entry.key.start)
        for entry in document.entries
    )


def _plain(node: YamlNode) -> Any:
    """What PyYAML's safe loader would give; the reader has bounded depth and size."""
    if isinstance(node, YamlMapping):
        return {entry.key.value(): _plain(entry.value) for entry in node.entries}
    if isinstance(node, YamlSequence):
        return [_plain(item) for item in node.items]
    return node.value()

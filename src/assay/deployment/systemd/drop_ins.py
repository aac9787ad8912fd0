"""Finds the drop-ins of a unit beside it, in systemd's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.deployment.files import read_user_file
from assay.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from assay.deployment.systemd.specifiers import UnitName
    from assay.deployment.text import UserFile

_LIMIT_FILES = 100


def drop_ins(path: Path, unit: UnitName) -> list[UserFile]:
    """Every drop-in that holds for the unit, by file name; of two of one name the more specific folder's.

    Raises:
        InputError: one cannot be read, or there are more than a hundred.
    """
    found: dict[str, Path] = {}
    for name in _folders(unit, path.name):
        folder = path.parent / name
        try:
            entries = (
                [entry for entry in folder.iterdir() if entry.name.endswith(".conf")]
                if folder.is_dir()
                else []
            )
        except OSError as error:
            raise InputError(f"cannot read {folder}: {error.strerror}") from error
        for entry in entries:
            found.setdefault(entry.name, entry)
    if len(found) > _LIMIT_FILES:
        raise InputError(f"{path} has {len(found)} drop-ins, more than the {_LIMIT_FILES} that assay reads")
    files = (found[name] for name in sorted(found) if not found[name].name.startswith("."))
    return [read_user_file(entry) for entry in files if not _masked(entry)]


def _masked(path: Path) -> bool:
    return path.is_symlink() and str(path.resolve()) == "/dev/null"


def _folders(unit: UnitName, file_name: str) -> list[str]:
    """`a-b@0.service.d`, `a-b@.service.d`, `a-@0.service.d`, `a-@.service.d`, `service.d`."""
    names = [f"{file_name}.d"]
    prefix = unit.prefix
    ends = ([f"@{unit.instance}"] if unit.instance else []) + (
        ["@"] if unit.instance or unit.template else []
    )
    while prefix:
        names += [f"{prefix}{end}.service.d" for end in ends or [""]]
        dash = prefix[:-1].rfind("-")
        prefix = prefix[: dash + 1] if dash > 0 else ""
    return list(dict.fromkeys([*names, "service.d"]))

"""Finds names of modules that a function elsewhere replaces: `setattr(module, "name", value)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.source import Modules, Sites

_SET = re.compile(rb"setattr\(\s*(?!self\b)(\w+),\s*[\"'](\w+)[\"']")
_FROM = re.compile(r"\bfrom\s+(\.*)([\w.]*)\s+import\s+(?:\(([^)]*)\)|([^\n(]*))")


def replaced_names(sites: Sites, modules: Modules) -> dict[str, frozenset[str]]:
    """By dotted name of a module of the tree, the names in it that are replaced from outside.

    Looks at texts only: to parse all files that hold such a line would take as long as to follow a start.
    """
    found: dict[str, set[str]] = {}
    for hit in sites.matching(_SET):
        owner, name = (group.decode() for group in hit.groups)
        for each in _imported_as(hit.module, hit.text.decode(errors="replace"), owner):
            if modules.has(each):
                found.setdefault(each, set()).add(name)
    return {module: frozenset(names) for module, names in found.items()}


def _imported_as(where: str, text: str, name: str) -> Iterator[str]:
    """What the import statements of a module bind a name to, should it be a module."""
    for match in re.finditer(rf"\bimport\s+([\w.]+)\s+as\s+{re.escape(name)}\b", text):
        yield match.group(1)
    for match in _FROM.finditer(text):
        dots, source, several, one = match.groups()
        above = where.rsplit(".", len(dots))[0] if dots else ""
        for bound in re.findall(rf"(\w+)\s+as\s+{re.escape(name)}\b|\b({re.escape(name)})\b", several or one):
            yield ".".join(part for part in (above, source, bound[0] or bound[1]) if part)

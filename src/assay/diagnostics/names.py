"""The names that were probably meant: spelling, underscores, other engines' words."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CUTOFF = 0.75
_LONGEST = 200
"""No name that anybody meant is longer, and likeness takes time."""


def nearest(name: str, known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """At most three of the known names, likeliest first.

    `elsewhere` maps names that other engines use to ours; it is asked before spelling.

    >>> nearest("--tp_size", ["--tp-size", "--dp-size"])
    ('--tp-size',)
    >>> nearest("--max-model-len", ["--context-length"], {"--max-model-len": "--context-length"})
    ('--context-length',)
    """
    if len(name) > _LONGEST:
        return ()
    folded = {_folded(candidate): candidate for candidate in reversed(list(known))}
    wanted = _folded(name)
    if wanted in folded:
        return (folded[wanted],)
    translated = (elsewhere or {}).get(name)
    if translated is not None and _folded(translated) in folded:
        return (translated,)
    parts = sorted(wanted.split("-"))
    shuffled = [each for key, each in folded.items() if sorted(key.split("-")) == parts]
    close = difflib.get_close_matches(wanted, folded, n=3, cutoff=_CUTOFF)
    return tuple(dict.fromkeys([*shuffled, *(folded[key] for key in close)]))[:3]


def _folded(name: str) -> str:
    return name.lower().strip("-").replace("_", "-")


def meant(names: tuple[str, ...]) -> str:
    """`did you mean …?`, or an empty string.

    >>> meant(("a",)), meant(("a", "b")), meant(("a", "b", "c")), meant(())
    ('did you mean `a`?', 'did you mean `a` or `b`?', 'did you mean `a`, `b` or `c`?', '')
    """
    if not names:
        return ""
    quoted = [f"`{name}`" for name in names]
    said = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return f"did you mean {said}?"

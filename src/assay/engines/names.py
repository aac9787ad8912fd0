"""The names that were probably meant: spelling, underscores, missing words, other engines' words."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CUTOFF = 0.75
_LONGEST = 200
"""No name that anybody meant is longer, and likeness takes time."""
_AS_GOOD = 0.07
"""A name that is so much less like the written one than the best is left out."""
_SURE = 0.9
"""From here on a name is a spelling mistake, not one with a word left out."""
_MOST = 3
_LONG = {
    "addr": "address",
    "attn": "attention",
    "bs": "batch size",
    "ctx": "context",
    "disagg": "disaggregation",
    "expr": "experimental",
    "frac": "fraction",
    "len": "length",
    "mem": "memory",
    "quant": "quantization",
    "reqs": "requests",
    "spec": "speculative",
}
_SWITCH = frozenset({"enable", "disable"})
_FILLER = frozenset({"use", "is", "server", "max", "num", "type", "mode", "size", "path"})


def nearest(name: str, known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """At most three of the known names, likeliest first; never one that says the opposite.

    `elsewhere` maps names that other engines use to ours; it is asked before spelling.

    >>> nearest("--tp_size", ["--tp-size", "--dp-size"]), nearest("--tpSize", ["--tp-size", "--dp-size"])
    (('--tp-size',), ('--tp-size',))
    >>> nearest("--max-model-len", ["--context-length"], {"--max-model-len": "--context-length"})
    ('--context-length',)
    >>> nearest("--rank", ["--node-rank", "--node"]), nearest("fp8", ["auto", "fp8_e5m2", "fp8_e4m3"])
    (('--node-rank',), ('fp8_e5m2', 'fp8_e4m3'))
    """
    if len(name) > _LONGEST:
        return ()
    folded = {_folded(candidate): candidate for candidate in reversed(list(known))}
    folded = dict(reversed(folded.items()))
    wanted = _folded(name)
    squeezed = [each for key, each in folded.items() if key.replace("-", "") == wanted.replace("-", "")]
    if squeezed:
        return (folded.get(wanted, squeezed[0]),)
    dashes = "--" if name.startswith("-") else ""
    translated = (elsewhere or {}).get(dashes + wanted)
    if translated is not None and _folded(translated.partition(" ")[0]) in folded:
        return (translated,)
    folded = {key: each for key, each in folded.items() if _is_off(key) == _is_off(wanted)}
    same = [each for key, each in folded.items() if _words(key) == _words(wanted)]
    return tuple(dict.fromkeys(same or [folded[key] for key in _like(wanted, list(folded))]))[:_MOST]


def opposite(name: str, known: Iterable[str]) -> str | None:
    """The known flag that turns off what this one would turn on, or the other way round.

    >>> opposite("--enable-cuda-graph", ["--disable-cuda-graph"]), opposite("--no-log", ["--log"])
    ('--disable-cuda-graph', '--log')
    """
    wanted = _folded(name)
    for each in known:
        key = _folded(each)
        if _is_off(key) != _is_off(wanted) and _words(key) - _SWITCH == _words(wanted) - _SWITCH:
            return each
    return None


def _folded(name: str) -> str:
    """The name without what people write differently: case, `_`, `.`, camel case, `no-`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "-", name)
    plain = re.sub(r"[-_.]+", "-", split.lower()).strip("-")
    return re.sub(r"^no-(?:enable-)?", "disable-", plain)


def _is_off(folded: str) -> bool:
    return folded.startswith("disable-")


def _words(folded: str) -> frozenset[str]:
    """Its words, abbreviations written out."""
    return frozenset(" ".join(_LONG.get(word, word) for word in folded.split("-")).split())


def _like(wanted: str, keys: list[str]) -> list[str]:
    """Names that begin so, or are spelt like it, or have a word more or less."""
    begun = [key for key in keys if len(wanted) > 2 and key.startswith(wanted)]
    if begun:
        return begun
    close = difflib.get_close_matches(wanted, keys, n=_MOST, cutoff=_CUTOFF)
    ratios = {key: difflib.SequenceMatcher(None, key, wanted).ratio() for key in close}
    best = max(ratios.values(), default=0.0)
    by_words = [] if best >= _SURE else _by_words(wanted, keys)
    return by_words or [key for key in close if ratios[key] >= best - _AS_GOOD]


def _by_words(wanted: str, keys: list[str]) -> list[str]:
    """Names with one word more, or without a word that says little; none where that fits too many."""
    words = _words(wanted)
    more = [key for key in keys if words < _words(key) and len(_words(key) - words) == 1]
    fewer = [key for key in keys if _words(key) < words and words - _words(key) <= _FILLER | _SWITCH]
    found = more or [key for key in fewer if len(_words(key)) > 1]
    return sorted(found, key=len) if len(found) <= _MOST else []


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

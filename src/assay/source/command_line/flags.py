"""Which option a word of a command line stands for: exact flags, abbreviations, joined values, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from assay.source.declarations import Declarations, Option

_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_FLAG_OF_UNKNOWN = re.compile(r"(--[A-Za-z][\w-]*)=", re.ASCII)


@dataclass(frozen=True)
class Match:
    """What one word was taken for."""

    option: Option | None
    """None if no option has such a flag, or several may be meant."""
    flag: str
    explicit: str | None = None
    """The part after `=`, or after a short option."""
    known: bool = True
    """False if the explicit part only shows at run time."""
    candidates: tuple[str, ...] = ()
    """The flags that an ambiguous word may stand for."""


class Flags:
    """The flags of a parser."""

    def __init__(self, declarations: Declarations) -> None:
        self.options = {flag: option for option in declarations.options for flag in option.flags}
        """The option of each flag."""
        self._abbreviations = declarations.abbreviations
        self._negative_flags = any(_NEGATIVE_NUMBER.match(flag) for flag in self.options)

    def match_open(self, text: str) -> Match | None:
        """A word that only shows at run time is an option if it begins with `--flag=`, else a value."""
        written = _FLAG_OF_UNKNOWN.match(text)
        found = list(self._candidates(written.group(1))) if written else []
        exact = [match for match in found if written and match.flag == written.group(1)]
        if written and len(exact or found) == 1:
            match = (exact or found)[0]
            return Match(match.option, match.flag, text[written.end() :], known=False)
        return None

    def match(self, text: str) -> Match | None:
        """What argparse's `_parse_optional` makes of a word; None for an argument."""
        if len(text) < 2 or text[0] != "-":
            return None
        if text in self.options:
            return Match(self.options[text], text)
        flag, equals, explicit = text.partition("=")
        if equals and flag in self.options:
            return Match(self.options[flag], flag, explicit)
        found = list(self._candidates(text))
        if len(found) > 1:
            return Match(None, text, candidates=tuple(match.flag for match in found))
        if found:
            return found[0]
        if (_NEGATIVE_NUMBER.match(text) and not self._negative_flags) or " " in text:
            return None
        return Match(None, text)

    def _candidates(self, text: str) -> Iterator[Match]:
        """Flags that the text may abbreviate, as `_get_option_tuples` finds them."""
        if text.startswith("--"):
            prefix, equals, explicit = text.partition("=")
            for flag, option in self.options.items() if self._abbreviations else ():
                if flag.startswith(prefix):
                    yield Match(option, flag, explicit if equals else None)
            return
        for flag, option in self.options.items():
            if flag == text[:2]:
                yield Match(option, flag, text[2:])
            elif flag.startswith(text):
                yield Match(option, flag)

    def near(self, flag: str) -> tuple[str, ...]:
        """The flags that are most like a misspelt one, best first."""
        known = [known for known in self.options if known.startswith("--")]
        return tuple(get_close_matches(flag.replace("_", "-"), known, n=3, cutoff=0.75))

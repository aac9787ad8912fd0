"""Keep secrets out of what is printed or written down: values of secret names, and what looks like one."""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MASK = "***"
_SHORT = 3
_LONGEST_NAME = 60
_LIKENESS = 0.83
"""One letter too many, too few or wrong."""

_WORD = re.compile(r"token|secret|passw|passphrase|api[-_]?key|access[-_]?key|credential", re.IGNORECASE)
"""What a text without any secret's name does not hold; quicker than a look at each of its names."""
_SECRET_NAME = re.compile(
    r"token(?:[-_.]?\d+)?$|secret|passw|passphrase|api[-_]?key|access[-_]?key|credential", re.IGNORECASE
)
_NOT_SECRET = re.compile(
    r"(?:^|[-_.])(?:per|first|next|last|bos|eos|pad|mask|unk)[-_.]token$"
    r"|(?<![a-z])(?:max|min|num|total|length|size|count|draft|budget)(?:[-_.]|$)",
    re.IGNORECASE,
)
# from a name's first character only: linear on any text; groups not possessive, see toml_file/toml.py
_NAMED = re.compile(r"(?<![$A-Za-z0-9_.-])[A-Za-z0-9_.-]++")
# a quote ends a value only where something can follow it: a secret may hold quotes that nobody escaped
_END = r"(?:[\s,}\]);]|\Z)"
_VALUE = re.compile(
    r"(?:\\*[\"'])?(?P<between>\s*+[=:]\s*+|(?:\s|\\{1,6}(?:\n|n(?=\s)))+)(?:"
    rf"\\+[\"'](?P<escaped>(?:(?!\\{{0,8}}[\"']{_END})[^\n])*)"
    rf"|\"(?P<double>(?:[^\"\\]|\\.|\"(?!{_END}))*)"
    rf"|'(?P<single>(?:[^']|'(?!{_END}))*)"
    rf"|(?P<bare>(?:(?!\\\s|[\"'\\]{{1,8}}{_END})\S)+))",
    re.DOTALL,
)
_QUOTED = {
    quote: re.compile(rf"(?P<between>=)(?P<bare>(?:[^{quote}\\]|\\.|{quote}(?!{_END}))*)", re.DOTALL)
    for quote in "\"'"
}
"""Where the quote stands before the name."""
_SHORTENED = re.compile(r"--(?:admin-)?api(?:-ke?)?")
_REFERENCE = re.compile(r"\$(?:\w+|\{\w+(?::?\?[^}]*)?\}|\(.*)|%[\w%]")
_TYPICAL = ("token", "secret", "password", "passwd", "passphrase", "credential", "apikey", "accesskey")
_SPELT_RIGHT = {*_TYPICAL, "tokens", "tokenizer"}
"""No slips: where such a word stands was judged before."""
_TYPICAL_LETTERS = [sorted(name) for name in _TYPICAL]
_URL = re.compile(r"://(\S++)")
_NO_PORT = re.compile(r":(?!\d*\Z)")


def is_secret_name(name: str) -> bool:
    """Whether an option or variable of that name holds a secret.

    >>> is_secret_name("HF_TOKEN"), is_secret_name("--api-key"), is_secret_name("--max-total-tokens")
    (True, True, False)
    """
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)


@functools.lru_cache(maxsize=4096)
def may_be_secret_name(name: str) -> bool:
    """Whether it is such a name, or one with a slip in it.

    >>> may_be_secret_name("--api-kye"), may_be_secret_name("HF_TOKNE"), may_be_secret_name("--tp-size")
    (True, True, False)
    """
    if is_secret_name(name) or _SHORTENED.fullmatch(name):
        return True
    if len(name) > _LONGEST_NAME or _NOT_SECRET.search(name):
        return False
    parts = [part for part in re.split(r"[-_.]+", name.lower()) if part]
    pairs = (first + second for first, second in itertools.pairwise(parts))
    tried = [part for part in (*parts, *pairs) if part not in _SPELT_RIGHT]
    return any(
        sorted(part) in _TYPICAL_LETTERS or difflib.get_close_matches(part, _TYPICAL, n=1, cutoff=_LIKENESS)
        for part in tried
    )


def _names_secret(name: str) -> bool:
    """Slips are looked for in what is plainly an option or a variable, not in words of a sentence."""
    if name.startswith("--") or ("_" in name and name.isupper()):
        return may_be_secret_name(name)
    return is_secret_name(name)


def is_reference(value: str) -> bool:
    """Whether it only says where the secret is.

    >>> is_reference("$KEY"), is_reference("${KEY:?unset}"), is_reference("a$KEY")
    (True, True, False)
    """
    return _REFERENCE.fullmatch(value) is not None


@functools.lru_cache(maxsize=16)  # reports ask for the same line once for each finding on it
def secret_spans(text: str, secrets: frozenset[str] = frozenset()) -> tuple[tuple[int, int], ...]:
    """Stretches of the text that hold one of the secrets or what looks like one, ordered and apart."""
    spans = [*_in_urls(text), *_assigned(text)]
    for secret in secrets:
        spans += _occurrences(text, secret)
    return tuple(_merged(spans))


def _in_urls(text: str) -> Iterator[tuple[int, int]]:
    """Users and passwords before a host; a password may hold `@` and `/`."""
    for url in _URL.finditer(text) if "://" in text else ():
        end = url[1].rfind("@")
        authority = url[1].partition("/")[0]
        if end > 0 and ("@" in authority or _NO_PORT.search(authority)):
            yield url.start(1), url.start(1) + end


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    """Values that stand behind the name of a secret."""
    done = 0
    for name in _NAMED.finditer(text):
        if name.start() < done or not _names_secret(name[0]):
            continue
        before = text[max(name.start() - 1, 0) : name.start()]
        value = _QUOTED.get(before, _VALUE).match(text, name.end()) or _VALUE.match(text, name.end())
        if value is None:
            continue
        done = value.end()
        kind = value.lastgroup or "bare"
        apart = not value["between"].strip()
        if apart and (value[kind].startswith("--") or not name[0].startswith("-")):
            done = name.end()  # the next option, or a sentence that speaks of a token
        elif value[kind] and not is_reference(value[kind]):
            yield value.span(kind)


def _occurrences(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where a secret stands; a very short one only as a word of its own, or no text would be readable."""
    at = text.find(secret) if secret else -1
    while at >= 0:
        end = at + len(secret)
        around = text[max(at - 1, 0) : at] + text[end : end + 1]
        if len(secret) > _SHORT or not any(char.isalnum() or char in "-_" for char in around):
            yield at, end
        at = text.find(secret, end)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def mask(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """The text without the given secrets and without whatever looks like one.

    >>> mask("--api-key sk-123 --port 1"), mask("https://me:pw@host/"), mask("x=abcd", frozenset({"abcd"}))
    ('--api-key *** --port 1', 'https://***@host/', 'x=***')
    """
    return masked(text, secret_spans(text, secrets))


def masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the mask in place of those stretches, which are ordered and apart."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], MASK]
        at = end
    return "".join([*pieces, text[at:]])


def writable(text: str) -> str:
    """The text as UTF-8 can hold it: bytes that were none, kept as surrogates, become `?`.

    >>> writable("a" + chr(0xDCFF))
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def mask_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without the values of secret options and without what looks like a secret.

    >>> mask_words(["serve", "--api-key", "sk-1", "--admin-api-key=sk-2", "--port", "1"])
    ('serve', '--api-key', '***', '--admin-api-key=***', '--port', '1')
    """
    done: list[str] = []
    secret = False
    for word in words:
        name, equals, _ = word.partition("=")
        option = word.startswith("-") and may_be_secret_name(name)
        if secret and not word.startswith("--"):
            done.append(MASK)
        elif option and equals:
            done.append(f"{name}={MASK}")
        else:
            done.append(mask(word))
        secret = option and not equals
    return tuple(done)


def secrets_in_words(words: Sequence[str]) -> frozenset[str]:
    """The values that `mask_words` hides, to hide them in other texts: a server's log repeats its options."""
    found = set()
    for word, after in itertools.pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if word.startswith("-") and may_be_secret_name(name):
            found.add(value if equals else "" if after.startswith("--") else after)
    return frozenset(found - {""})

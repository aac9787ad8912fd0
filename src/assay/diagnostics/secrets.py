"""Keep secrets out of what lint prints: values of secret options and variables, and what looks like one."""

from __future__ import annotations

import re

MASK = "***"

_NAME = (
    r"[A-Za-z0-9_.-]*(?:token|secret|passw|passphrase|api[-_]?key|access[-_]?key|credential)[A-Za-z0-9_.-]*"
)
_SECRET_NAME = re.compile(
    r"token(?:[-_.]?\d+)?$|secret|passw|passphrase|api[-_]?key|access[-_]?key|credential", re.IGNORECASE
)
_NOT_SECRET = re.compile(
    r"(?:^|[-_.])(?:per|first|next|last|bos|eos|pad|mask|unk)[-_.]token$|(?<![a-z])(?:max|min|num|total|length|size|count|draft|budget)(?:[-_.]|$)",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    rf"(?<![$A-Za-z0-9_.-])(?:(?P<name>{_NAME})[\"']?\s*[=:]\s*|(?P<option>-{_NAME})[\"']?\s+)"
    r"(?:\"(?P<double>[^\"]*)|'(?P<single>[^']*)|(?P<bare>[^\s\"'\\]+))",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(?<=://)[^/\s:@\"']*:[^/\s@\"']+(?=@)")


def is_secret_name(name: str) -> bool:
    """Whether an option or variable of that name holds a secret.

    >>> is_secret_name("HF_TOKEN"), is_secret_name("--api-key"), is_secret_name("--max-total-tokens")
    (True, True, False)
    """
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)


def secret_spans(text: str, secrets: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """Stretches of the text that hold one of the secrets or what looks like one, ordered and apart."""
    spans = [match.span() for match in _IN_URL.finditer(text)]
    spans += [match.span(match.lastgroup or 0) for match in _ASSIGNED.finditer(text) if _holds_secret(match)]
    for secret in secrets:
        at = text.find(secret) if secret else -1
        while at >= 0:
            spans.append((at, at + len(secret)))
            at = text.find(secret, at + len(secret))
    return _merged(spans)


def _holds_secret(match: re.Match[str]) -> bool:
    """A secret's name with a value behind it that is neither the next option nor a reference."""
    name = match["name"] or match["option"]
    return is_secret_name(name) and not match[match.lastgroup or 0].startswith(("-", "$", "%"))


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
    for start, end in reversed(secret_spans(text, secrets)):
        text = text[:start] + MASK + text[end:]
    return text

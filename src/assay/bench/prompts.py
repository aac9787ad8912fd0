"""Prompts: random words of a given length, or lines of the user's own JSONL; the same for the same seed."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import msgspec

from assay._value import Value
from assay.bench.requests import Prompt
from assay.errors import WorkloadError

_TEXT = """
the of and to in is that it was for on are as with his they at be this have from or one had by word
but not what all were we when your can said there use an each which she do how their if will up
other about out many then them these so some her would make like him into time has look two more
write go see number no way could people my than first water been call who its now find long down day
did get come made may part over new sound take only little work know place year live me back give
most very after thing our just name good sentence man think say great where help through much before
line right too mean old any same tell boy follow came want show also around form three small set put
end does another well large must big even such because turn here why ask went men read need land
different home us move try kind hand picture again change off play spell air away animal house point
page letter mother answer found study still learn should world
"""
WORDS = tuple(_TEXT.split())
"""Words that most vocabularies hold as one token with the space in front."""

_MOST_BYTES = 1 << 30
_UNIQUE = 4


class RandomPrompts(Value):
    """Prompts of random words; each rung has its own."""

    input_tokens: int = 1024
    """Tokens of a prompt, which the server's count then verifies."""
    output_tokens: int = 128
    """Tokens to ask for."""
    spread: float = 0.0
    """Lengths are drawn evenly from so much, as a share, around these."""
    tokens_per_word: float = 1.0
    """What the server's tokenizer makes of a word; `fitted` finds it."""
    fixed_tokens: float = 0.0
    """Tokens that a prompt has without any word: the chat template."""

    def words(self, tokens: int) -> int:
        """How many words make so many tokens."""
        return max(1, round((tokens - self.fixed_tokens) / self.tokens_per_word))


class OwnPrompts(Value):
    """Prompts from a JSONL file, in its order; a later rung goes on where the one before stopped."""

    path: str
    """The file."""
    output_tokens: int | None = None
    """Tokens to ask for where a line does not say; `None`: as many as the model likes."""


def random_prompts(asked: RandomPrompts, *, seed: str, count: int) -> list[Prompt]:
    """Prompts of random words; lengths are drawn evenly from `1 ± spread` of what is asked.

    No two prompts of one seed begin alike: the first words spell the prompt's number from a place that the
    seed draws, so that no prefix cache can help beyond a chat template.
    """
    spread = asked.spread
    if asked.input_tokens < 1 or asked.output_tokens < 1:
        raise WorkloadError("prompts and outputs need at least one token")
    if not 0 <= spread < 1:
        raise WorkloadError(f"--random-range-ratio {spread}: expected at least 0 and below 1")
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    start = draw.randrange(len(WORDS) ** _UNIQUE)
    prompts = []
    for number in range(count):
        tokens = _drawn(draw, asked.input_tokens, spread)
        length = asked.words(tokens)
        words = [*_spelt(start + number), *draw.choices(WORDS, k=max(0, length - _UNIQUE))][:length]
        prompts.append(
            Prompt(
                text=" ".join(words),
                asked_tokens=tokens,
                output_tokens=_drawn(draw, asked.output_tokens, spread),
            )
        )
    return prompts


def _drawn(draw: random.Random, middle: int, spread: float) -> int:
    return max(1, draw.randint(math.floor(middle * (1 - spread)), math.ceil(middle * (1 + spread))))


def _spelt(number: int) -> list[str]:
    """The number in words, its fastest digit first."""
    words = []
    for _ in range(_UNIQUE):
        number, digit = divmod(number, len(WORDS))
        words.append(WORDS[digit])
    return words


class _Line(msgspec.Struct):
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    output_tokens: int | None = None
    max_tokens: int | None = None


def own_prompts(path: Path, *, output_tokens: int | None) -> list[Prompt]:
    """One prompt for each line of a JSONL file: `{"prompt": …}` or `{"messages": […]}`, in the file's order.

    A line's `output_tokens` or `max_tokens` goes before `output_tokens`.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise WorkloadError(f"{path}: more than 1 GiB")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WorkloadError(f"--dataset-path {path}: {error.strerror}") from None
    prompts = [
        _read(path, number, line, output_tokens) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not prompts:
        raise WorkloadError(f"{path} has no prompts")
    return prompts


def _read(path: Path, number: int, line: bytes, output_tokens: int | None) -> Prompt:
    try:
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path}:{number}: {error}") from None
    if bool(read.prompt) == bool(read.messages):
        raise WorkloadError(
            f'{path}:{number}: expected one of "prompt" and "messages"',
            hint='a line is {"prompt": "…"} or {"messages": [{"role": "user", "content": "…"}]}',
        )
    asked = read.output_tokens or read.max_tokens or output_tokens
    return Prompt(text=read.prompt or "", messages=tuple(read.messages or ()), output_tokens=asked)

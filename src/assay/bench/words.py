"""Words that prompts are made of, how many make a token, and how lengths are drawn."""

from __future__ import annotations

import math
import random
from typing import Literal

from assay._value import Value
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
MOST_TOKENS = 1 << 22
"""No prompt or answer is longer."""
UNIQUE = 4
"""So many words tell a prompt from every other."""

Shape = Literal["uniform", "normal", "lognormal", "exponential"]
"""How lengths are distributed around what was asked."""


class WordFit(Value):
    """How many words make so many tokens; `fitted` finds it."""

    tokens_per_word: float = 1.0
    """What the server's tokenizer makes of a word."""
    fixed_tokens: float = 0.0
    """Tokens that a prompt has without any word: the chat template."""

    def words(self, tokens: int) -> int:
        """How many words a prompt of so many tokens has."""
        return max(1, round((tokens - self.fixed_tokens) / self.tokens_per_word))

    def more_words(self, tokens: int) -> int:
        """How many words add so many tokens to a prompt."""
        return max(0, round(tokens / self.tokens_per_word))


def drawn(draw: random.Random, middle: int, spread: float, shape: Shape = "uniform") -> int:
    """A length of at least 1 whose mean is `middle`.

    `spread`, as a share of it: half the width of `uniform`, the standard deviation of `normal` and of
    `lognormal`; `exponential` has none of its own.
    """
    if shape == "exponential":
        return max(1, round(draw.expovariate(1 / middle)))
    if shape == "normal":
        return max(1, round(draw.gauss(middle, spread * middle)))
    if shape == "lognormal":
        squared = math.log1p(spread**2)
        return max(1, round(draw.lognormvariate(math.log(middle) - squared / 2, math.sqrt(squared))))
    return max(1, draw.randint(math.floor(middle * (1 - spread)), math.ceil(middle * (1 + spread))))


def checked_lengths(spread: float, shape: Shape, *lengths: int) -> None:
    """Refuse lengths that cannot be drawn.

    Raises:
        WorkloadError: a length is below 1, or the spread does not fit the shape.
    """
    if not 1 <= min(lengths) <= max(lengths) <= MOST_TOKENS:
        raise WorkloadError(f"lengths, groups and turns: 1 to {MOST_TOKENS} was expected")
    if not 0 <= spread < (1 if shape == "uniform" else 10):
        most = "1" if shape == "uniform" else "10"
        raise WorkloadError(f"--random-range-ratio {spread}: expected at least 0 and below {most}")


class Speller:
    """Gives texts of which no two begin alike.

    The first words spell the number of a text from a place that the seed draws, so that no prefix cache can
    help beyond a chat template.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._number = draw.randrange(len(WORDS) ** UNIQUE)

    def text(self, count: int) -> str:
        """The next text, of so many words."""
        words = [*_spelt(self._number), *self._draw.choices(WORDS, k=max(0, count - UNIQUE))][:count]
        self._number += 1
        return " ".join(words)


def _spelt(number: int) -> list[str]:
    """The number in words, its fastest digit first."""
    words = []
    for _ in range(UNIQUE):
        number, digit = divmod(number, len(WORDS))
        words.append(WORDS[digit])
    return words

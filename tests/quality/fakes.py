"""Servers that corrupt their outputs in known ways, as lists of outputs and log-probabilities."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from assay.quality import Output

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrst"]
Corrupt = Callable[[random.Random, int, int], bool]
"""Whether the answer at that place, to a prompt of that length, is corrupted."""


def text(draw: random.Random, words: int = 60) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(words))


def repeated(draw: random.Random) -> str:
    return f"{text(draw, 6)} " + " ".join([text(draw, 3)] * 20)


def outputs(
    seed: int, count: int = 1200, corrupt: Corrupt = lambda *_: False, how: str = "repeats"
) -> list[Output]:
    """Answers of a server in the order of time; one prompt in ten is long."""
    draw, found = random.Random(seed), []
    for at in range(count):
        prompt = draw.choice([4000, 5000]) if draw.random() < 0.1 else draw.randint(100, 900)
        answer, finish = text(draw), "stop" if draw.random() < 0.3 else "length"
        if corrupt(draw, at, prompt):
            answer = {"repeats": repeated(draw), "strange": "\ufffd" * 40 + answer[:20], "empty": " "}[how]
        found.append(Output(text=answer, tokens=draw.randint(40, 80), finish=finish, prompt_tokens=prompt))
    return found


def logprobs(
    seed: int, kl: float = 5e-4, loss: float = 0.0, prompts: int = 64, tokens: int = 256
) -> list[list[float]]:
    """Log-probabilities of the same tokens under numerics of that divergence, heavy-tailed by prompt."""
    truth, draw, found = random.Random(1), random.Random(seed), []
    for _ in range(prompts):
        scale = math.exp(draw.gauss(0, 0.35))
        row = []
        for _ in range(tokens):
            here = math.log(max(1e-9, truth.random()))
            each = kl * scale * math.exp(draw.gauss(0, 1.0) - 0.5)
            row.append(here + draw.gauss(-each - loss, math.sqrt(2 * each)))
        found.append(row)
    return found


def starts(count: int, kl: float = 5e-4) -> Sequence[list[list[float]]]:
    """Several starts of the baseline."""
    return [logprobs(100 + at, kl) for at in range(count)]

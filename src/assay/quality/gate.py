"""Asks a server what quality is judged by, and holds a candidate's answers against those of the baseline."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.bench import answers, prompt_logprobs, replies
from assay.errors import InputError
from assay.quality.judge import Beside, Gate, Judgement, judge
from assay.quality.logprobs import distance
from assay.quality.outputs import Output, check_outputs
from assay.quality.paired import paired
from assay.quality.sampled import Sampled, sampled_faults

if TYPE_CHECKING:
    from assay._secret import Secret
    from assay.bench import Target
    from assay.quality.questions import Question

_WORDS = (
    *(
        "the",
        "a",
        "river",
        "engine",
        "of",
        "and",
        "to",
        "in",
        "was",
        "by",
        "light",
        "people",
        "small",
        "when",
    ),
    *(
        "city",
        "paper",
        "number",
        "under",
        "with",
        "from",
        "seven",
        "reason",
        "water",
        "writes",
        "could",
        "long",
    ),
    *("north", "because", "every", "memory", "table", "after", "before", "music", "field", "answer", "open"),
)


class AskedFor(Value):
    """How much is asked; on a server in use it takes under two minutes."""

    prompts: int = 32
    """Fixed prompts whose log-probabilities are asked for, and as many answers of each kind."""
    words: int = 160
    """Words of a prompt."""
    output_tokens: int = 64
    """Tokens of an answer."""
    seed: int = 0
    """Of the prompts."""


class Answers(Value):
    """All that a start of a server was asked for."""

    logprobs: tuple[tuple[float | None, ...], ...] = ()
    """Of each token of each prompt, `None` for one without a number; empty where the server gives none."""
    outputs: tuple[Output, ...] = ()
    """Greedy answers, many at a time."""
    sampled: tuple[Sampled, ...] = ()
    """Answers at temperature 1."""
    right: tuple[bool, ...] = ()
    """Whether each of the user's own questions was answered rightly; empty where they were not asked."""


def ask_answers(
    where: Target,
    model: str,
    asked: AskedFor | None = None,
    *,
    questions: Sequence[Question] = (),
    key: Secret | None = None,
) -> Answers:
    """Ask the server; nothing is judged but whether the user's own questions were answered rightly.

    Raises:
        MeasurementError: it does not answer.
    """
    asked = asked or AskedFor()
    prompts = fixed_prompts(asked)
    given = prompt_logprobs(where, model, prompts, key=key)
    tokens = asked.output_tokens
    greedy = answers(where, model, prompts, max_tokens=tokens, key=key)
    drawn = answers(where, model, prompts, max_tokens=tokens, temperature=1.0, key=key)
    put = [(each.prompt, each.max_tokens) for each in questions]
    said = replies(where, model, put, key=key) if put else ()
    return Answers(
        right=tuple(question.right(reply) for question, reply in zip(questions, said, strict=True)),
        logprobs=tuple(tuple(each if each == each else None for each in row) for row in given or ()),
        outputs=tuple(
            Output(text=each.text, tokens=each.tokens, finish=each.finish, prompt_tokens=each.prompt_tokens)
            for each in greedy
        ),
        sampled=tuple(
            Sampled(logprob=each.logprob or 0.0, tokens=each.tokens, ended=each.finish == "stop")
            for each in drawn
        ),
    )


def judge_answers(
    baselines: Sequence[Answers], candidate: Answers, *, lossy: bool = False, gate: Gate | None = None
) -> Judgement:
    """The verdict on a candidate: how far it is from the first start of the baseline, against how far the
    others are.

    Where the server gives no log-probabilities, only outputs and samples speak; that sees broken answers, and
    no small change.

    Raises:
        ValueError: no start of the baseline, or other prompts or questions.
    """
    reference, others = baselines[0], baselines[1:]
    outputs = [each for one in baselines for each in one.outputs]
    samples = [each for one in baselines for each in one.sampled]
    faults = (
        *check_outputs(outputs, candidate.outputs),
        *(sampled_faults(samples, candidate.sampled) if samples and candidate.sampled else ()),
    )
    right = next((each.right for each in baselines if each.right), ())
    beside = Beside(
        faults=faults,
        outputs=len(candidate.outputs),
        questions=paired(right, candidate.right) if right and candidate.right else None,
        lossy=lossy,
    )
    if not reference.logprobs or not candidate.logprobs:
        return judge(None, (), beside, gate)
    own = [distance(_rows(reference), _rows(each)) for each in others if each.logprobs]
    return judge(distance(_rows(reference), _rows(candidate)), own, beside, gate)


def fixed_prompts(asked: AskedFor) -> tuple[str, ...]:
    """The prompts: words by chance, the same for the same seed, of which no two begin alike."""
    found = []
    for at in range(asked.prompts):
        draw = random.Random(f"{asked.seed}/{at}")  # noqa: S311 - to be repeated, not to be secret
        found.append(f"{at}: " + " ".join(draw.choice(_WORDS) for _ in range(asked.words)))
    return tuple(found)


def write_answers(path: Path, found: Answers) -> None:
    """Keep them, so that a study that goes on need not ask again."""
    path.write_bytes(msgspec.json.encode(found))


def read_answers(path: Path) -> Answers:
    """What `write_answers` kept.

    Raises:
        InputError: it is not there, or no such file.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Answers)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path}: answers of an earlier start cannot be read: {error}") from error


def _rows(found: Answers) -> list[list[float]]:
    return [[float("nan") if each is None else each for each in row] for row in found.logprobs]

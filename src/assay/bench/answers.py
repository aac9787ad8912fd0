"""Asks a server for whole answers and log-probabilities, a few at a time; nothing of it is timed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay._value import Value
from assay.bench.ask import OK, ask
from assay.errors import MeasurementError

if TYPE_CHECKING:
    from assay._secret import Secret
    from assay.bench.requests import Target

_AT_ONCE = 8
_WAIT_S = 120.0


class Answer(Value):
    """One whole answer."""

    text: str
    """What the server wrote."""
    tokens: int
    """Tokens of it, as the server counts; 0 where it does not."""
    prompt_tokens: int
    """Tokens of the prompt, likewise."""
    finish: str
    """Why it ended: `stop`, `length`."""
    logprob: float | None
    """Mean log-probability of its tokens, nats; `None` where the server does not give it."""


def answers(
    where: Target,
    model: str,
    prompts: Sequence[str],
    *,
    max_tokens: int,
    temperature: float = 0.0,
    key: Secret | None = None,
) -> tuple[Answer, ...]:
    """The answers to all prompts, by `/v1/completions`, in their order.

    Raises:
        MeasurementError: one of them was not answered.
    """

    def one(prompt: str) -> Answer:
        asked = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": temperature}
        return _answer(_posted(where, "/v1/completions", {**asked, "logprobs": 1}, key, _Completion))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(one, prompts))


def answer(
    where: Target,
    model: str,
    prompt: str,
    *,
    max_tokens: int,
    wait_s: float,
    key: Secret | None = None,
) -> Answer:
    """The greedy answer to one prompt, waited for so long.

    Raises:
        MeasurementError: it was not answered.
    """
    asked = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0.0}
    return _answer(_posted(where, "/v1/completions", asked, key, _Completion, wait_s))


def replies(
    where: Target,
    model: str,
    questions: Sequence[tuple[str, int]],
    *,
    key: Secret | None = None,
) -> tuple[str, ...]:
    """What the server replies to each question, greedily, within so many tokens, in their order.

    Asked as a user's message, by `/v1/chat/completions`; where the server has no such route, or its model no
    template for a conversation, by `/v1/completions`. Which, the first question tells.

    Raises:
        MeasurementError: one of them was not answered.
    """

    def by_chat(question: tuple[str, int]) -> str:
        asked = {"model": model, "messages": [{"role": "user", "content": question[0]}], "temperature": 0}
        asked["max_tokens"] = question[1]
        return _reply(_posted(where, "/v1/chat/completions", asked, key, _Chat))

    def by_completion(question: tuple[str, int]) -> str:
        text, tokens = question
        return answer(where, model, text, max_tokens=tokens, wait_s=_WAIT_S, key=key).text

    way = by_chat
    try:
        by_chat((questions[0][0], 1))
    except MeasurementError:
        way = by_completion
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(way, questions))


def prompt_logprobs(
    where: Target, model: str, prompts: Sequence[str], *, key: Secret | None = None
) -> tuple[tuple[float, ...], ...] | None:
    """Log-probability of each token of each prompt given those before it; `None` where the server gives none.

    vLLM gives them by `prompt_logprobs` of `/v1/completions`, SGLang by `/generate`.
    """

    def of_completion(prompt: str) -> tuple[float, ...]:
        asked = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
        return _of_completion(_posted(where, "/v1/completions", asked, key, _Completion))

    def of_generate(prompt: str) -> tuple[float, ...]:
        sampling = {"max_new_tokens": 1, "temperature": 0}
        asked = {"text": prompt, "sampling_params": sampling, "return_logprob": True, "logprob_start_len": 0}
        return _of_generate(_posted(where, "/generate", asked, key, _Generated))

    for way in (of_completion, of_generate):
        try:
            if not way(prompts[0]):
                continue
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                return tuple(pool.map(way, prompts))
        except MeasurementError:
            continue
    return None


class _Usage(msgspec.Struct):
    completion_tokens: int = 0
    prompt_tokens: int = 0


class _Number(msgspec.Struct):
    logprob: float | None = None


class _Logprobs(msgspec.Struct):
    token_logprobs: list[float | None] | None = None


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    prompt_logprobs: list[dict[str, _Number] | None] | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Turn(msgspec.Struct):
    message: _Message


class _Chat(msgspec.Struct):
    choices: list[_Turn]


class _Meta(msgspec.Struct):
    input_token_logprobs: list[tuple[float | None, int, str | None]] | None = None


class _Generated(msgspec.Struct):
    meta_info: _Meta


_T = TypeVar("_T")


def _posted(
    where: Target,
    path: str,
    asked: dict[str, Any],
    key: Secret | None,
    type_: type[_T],
    wait_s: float = _WAIT_S,
) -> _T:
    try:
        body = msgspec.json.encode(asked)
        status, said = ask(where, path, method="POST", body=body, key=key, wait_s=wait_s)
        if status != OK:
            raise MeasurementError(f"{where.url}{path} answered {status}")
        return msgspec.json.decode(said, type=type_)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise MeasurementError(f"{where.url}{path}: {error}") from error


def _answer(said: _Completion) -> Answer:
    if not said.choices:
        raise MeasurementError("a completion without a choice")
    choice, usage = said.choices[0], said.usage or _Usage()
    given = (choice.logprobs.token_logprobs if choice.logprobs else None) or []
    numbers = [each for each in given if each is not None]
    return Answer(
        text=choice.text,
        tokens=usage.completion_tokens,
        prompt_tokens=usage.prompt_tokens,
        finish=choice.finish_reason or "",
        logprob=math.fsum(numbers) / len(numbers) if numbers else None,
    )


def _reply(said: _Chat) -> str:
    """The reply, else what was thought where nothing else came."""
    message = said.choices[0].message if said.choices else _Message()
    return message.content or message.reasoning_content or ""


def _of_completion(said: _Completion) -> tuple[float, ...]:
    """For each token a table of candidates, the token itself the first; the first token has none."""
    tables = (said.choices[0].prompt_logprobs if said.choices else None) or []
    return tuple(_number(next(iter(each.values())).logprob) if each else math.nan for each in tables[1:])


def _of_generate(said: _Generated) -> tuple[float, ...]:
    """For each token its log-probability, number and text; the first token has none."""
    return tuple(_number(each[0]) for each in (said.meta_info.input_token_logprobs or [])[1:])


def _number(given: float | None) -> float:
    """A token without a number is that, and no missing answer."""
    return math.nan if given is None else given

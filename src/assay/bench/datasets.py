"""Prompts from files: own JSONL, ShareGPT, traces with times; the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from assay._value import Value
from assay.bench.requests import Json, Prompt
from assay.bench.words import MOST_TOKENS, WORDS, Speller, WordFit
from assay.errors import WorkloadError

_MOST_BYTES = 1 << 30
_CHARS_A_TOKEN = 4
_LEAST, _MOST_PROMPT, _MOST_WHOLE = 4, 1024, 2048
"""Tokens below and above which vLLM and SGLang leave a ShareGPT conversation out."""
_BLOCK = 512
"""Tokens that one hash id of a trace stands for."""


class OwnPrompts(Value, tag="custom", tag_field="kind"):
    """Prompts from a JSONL file, in its order; a later rung goes on where the one before stopped."""

    path: str
    """The file."""
    output_tokens: int | None = None
    """Tokens to ask for where a line does not say; `None`: as many as the model likes."""


class ShareGptPrompts(Value, tag="sharegpt", tag_field="kind"):
    """Conversations of a ShareGPT file, in random order; a later rung goes on where one before stopped."""

    path: str
    """The file: a JSON list of `{"conversations": [{"from": "human", "value": "…"}, …]}`."""
    output_tokens: int | None = None
    """Tokens to ask for; `None`: a quarter of the characters of the answer in the file."""
    turns: int = 1
    """Questions of a conversation, at most; the file's own answers stand between them."""


class TracePrompts(Value, tag="trace", tag_field="kind"):
    """Requests of a trace at its times, in the format of Mooncake's traces."""

    path: str
    """A JSONL file: `timestamp` in ms, and `input_length` and `output_length`, or a prompt of its own."""
    slowdown: float = 1.0
    """Times are stretched by so much."""
    fit: WordFit = WordFit()
    """How many words make a token here."""


class _Line(msgspec.Struct):
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    output_tokens: int | None = None
    max_tokens: int | None = None
    timestamp: float | None = None
    input_length: int | None = None
    output_length: int | None = None
    hash_ids: list[int] = []


def own_prompts(path: Path, *, output_tokens: int | None) -> list[Prompt]:
    """One prompt for each line of a JSONL file: `{"prompt": …}` or `{"messages": […]}`, in the file's order.

    A line's `output_tokens` or `max_tokens` goes before `output_tokens`.
    """
    return [_own(path, number, line, output_tokens) for number, line in _lines(path)]


def _lines(path: Path) -> Iterator[tuple[int, _Line]]:
    """The lines of a JSONL file with their numbers; at least one."""
    empty = True
    for number, line in enumerate(_bytes(path).splitlines(), 1):
        if line.strip():
            empty = False
            try:
                yield number, msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise WorkloadError(f"{path}:{number}: {error}") from None
    if empty:
        raise WorkloadError(f"{path} has no prompts")


def line_count(path: Path) -> int:
    """How many requests a JSONL file has."""
    return sum(1 for _ in _lines(path))


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise WorkloadError(f"{path}: more than 1 GiB")
        return path.read_bytes()
    except OSError as error:
        raise WorkloadError(f"--dataset-path {path}: {error.strerror}") from None


def _own(path: Path, number: int, read: _Line, output_tokens: int | None) -> Prompt:
    if bool(read.prompt) == bool(read.messages):
        raise WorkloadError(
            f'{path}:{number}: expected one of "prompt" and "messages"',
            hint='a line is {"prompt": "…"} or {"messages": [{"role": "user", "content": "…"}]}',
        )
    asked = read.output_tokens or read.max_tokens or read.output_length or output_tokens
    _at_least_one(f"{path}:{number}", asked)
    return Prompt(text=read.prompt or "", messages=tuple(read.messages or ()), output_tokens=asked)


def _at_least_one(where: str, output_tokens: int | None) -> None:
    if output_tokens is not None and not 1 <= output_tokens <= MOST_TOKENS:
        raise WorkloadError(f"{where}: {output_tokens} tokens of output: 1 to {MOST_TOKENS} was expected")


class _Said(msgspec.Struct):
    value: str = ""
    speaker: str = msgspec.field(name="from", default="")


class _Conversation(msgspec.Struct):
    conversations: list[_Said] = []


def sharegpt_prompts(asked: ShareGptPrompts, *, seed: str) -> list[list[Prompt]]:
    """The conversations of the file that are neither too short nor too long, each as its turns."""
    path = Path(asked.path)
    _at_least_one("--sharegpt-output-len", asked.output_tokens)
    try:
        found = msgspec.json.decode(_bytes(path), type=list[_Conversation])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WorkloadError(f"--dataset-path {path}: {error}") from None
    kept = [turns for each in found if (turns := _turns(each, asked))]
    if not kept:
        raise WorkloadError(
            f"{path} has no conversation of fitting length",
            hint="a question and an answer of at least 4 tokens, not above 1,024 and 2,048 together",
        )
    random.Random(seed).shuffle(kept)  # noqa: S311 - to be repeated, not to be secret
    return kept


def _turns(each: _Conversation, asked: ShareGptPrompts) -> list[Prompt]:
    """The questions of a conversation, each with all that was said before it."""
    said, turns = each.conversations, list[Prompt]()
    before: list[dict[str, Json]] = []
    for question, answer in zip(said[::2], said[1::2], strict=False):
        if question.speaker not in ("human", "user") or len(turns) == asked.turns:
            break
        tokens, output = (len(part.value) // _CHARS_A_TOKEN for part in (question, answer))
        fits = tokens <= _MOST_PROMPT and tokens + output <= _MOST_WHOLE
        if min(tokens, output) < _LEAST or not fits:
            break
        before.append({"role": "user", "content": question.value})
        turns.append(
            Prompt(
                text=question.value if asked.turns == 1 else "",
                messages=() if asked.turns == 1 else tuple(before),
                output_tokens=asked.output_tokens or output,
                turn=len(turns) + 1,
            )
        )
        before.append({"role": "assistant", "content": answer.value})
    return turns


def trace_prompts(asked: TracePrompts, *, seed: str) -> list[Prompt]:
    """The requests of a trace in the order of their times, from 0 on.

    Prompts that share `hash_ids` share the words that these stand for, 512 tokens each.
    """
    path = Path(asked.path)
    if not 0 < asked.slowdown < 1e6:
        raise WorkloadError(f"--trace-slowdown {asked.slowdown:g}: more than 0 was expected")
    lines = sorted(_timed(path), key=lambda each: each[1])
    speller = Speller(random.Random(seed))  # noqa: S311 - to be repeated, not to be secret
    first = lines[0][1]
    prompts = []
    for number, at_ms, line in lines:
        prompt = _own(path, number, line, None) if line.prompt or line.messages else None
        prompt = prompt or _made(path, number, line, asked.fit, speller, seed)
        at_s = (at_ms - first) / 1000 * asked.slowdown
        prompts.append(msgspec.structs.replace(prompt, at_s=at_s))
    return prompts


def _timed(path: Path) -> Iterator[tuple[int, float, _Line]]:
    for number, line in _lines(path):
        if line.timestamp is None or not abs(line.timestamp) < 1e15:
            raise WorkloadError(
                f"{path}:{number}: no timestamp", hint="a line of a trace has timestamp, in ms"
            )
        yield number, line.timestamp, line


def _made(path: Path, number: int, line: _Line, fit: WordFit, speller: Speller, seed: str) -> Prompt:
    """A prompt of the length that a trace tells."""
    if not line.input_length or not 0 < line.input_length <= MOST_TOKENS:
        raise WorkloadError(f"{path}:{number}: expected a prompt, or an input_length of at least 1")
    output = line.output_length or line.output_tokens
    _at_least_one(f"{path}:{number}", output)
    words: list[str] = []
    for each in line.hash_ids[: line.input_length // _BLOCK + 1]:
        draw = random.Random(f"{seed}/{each}")  # noqa: S311 - to be repeated, not to be secret
        words += draw.choices(WORDS, k=max(1, fit.more_words(_BLOCK)))
    length = fit.words(line.input_length)
    text = " ".join(words[:length]) if words else speller.text(length)
    if 0 < len(words) < length:
        text += " " + speller.text(length - len(words))
    return Prompt(text=text, asked_tokens=line.input_length, output_tokens=output)

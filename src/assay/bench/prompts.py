"""Prompts of random words: alone, behind shared prefixes, in conversations; the same for the same seed."""

from __future__ import annotations

import random

from assay._value import Value
from assay.bench.requests import Json, Prompt
from assay.bench.words import Shape, Speller, WordFit, checked_lengths, drawn
from assay.errors import WorkloadError


class RandomPrompts(Value, tag="random", tag_field="kind"):
    """Prompts of random words; each rung has its own."""

    input_tokens: int = 1024
    """Tokens of a prompt, which the server's count then verifies; of a conversation's each question."""
    output_tokens: int = 128
    """Tokens to ask for."""
    spread: float = 0.0
    """How far lengths are drawn around these, as a share; what it means depends on `shape`."""
    shape: Shape = "uniform"
    """How they are distributed."""
    prefix_tokens: int = 0
    """Tokens more in front of every prompt, the same for all of a rung."""
    turns: int = 1
    """Questions of a conversation, each sent when the one before was answered; 1: no conversations."""
    fit: WordFit = WordFit()
    """How many words make a token here."""


class SharedPrefixPrompts(Value, tag="shared-prefix", tag_field="kind"):
    """Groups of prompts that begin alike, in random order, as SGLang's generated-shared-prefix."""

    groups: int = 64
    """How many different beginnings."""
    prefix_tokens: int = 2048
    """Tokens of a beginning."""
    question_tokens: int = 128
    """Tokens that follow it, of which no two are alike."""
    output_tokens: int = 256
    """Tokens to ask for."""
    spread: float = 0.0
    """Questions' and answers' lengths are drawn evenly from so much, as a share, around these."""
    fit: WordFit = WordFit()
    """How many words make a token here."""


def random_prompts(asked: RandomPrompts, *, seed: str, count: int) -> list[Prompt]:
    """Prompts of random words of which no two of a seed begin alike, but for a prefix that was asked for."""
    checked_lengths(asked.spread, asked.shape, asked.input_tokens, asked.output_tokens, asked.turns)
    if asked.prefix_tokens < 0:
        raise WorkloadError(f"--random-prefix-len {asked.prefix_tokens}: expected at least 0")
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    speller = Speller(draw)
    if asked.turns > 1:
        return _conversations(asked, draw, speller, count)
    prefix = _prefix(speller, asked.fit, asked.prefix_tokens)
    prompts = []
    for _ in range(count):
        tokens = drawn(draw, asked.input_tokens, asked.spread, asked.shape)
        prompts.append(
            Prompt(
                text=prefix + speller.text(asked.fit.words(tokens)),
                asked_tokens=tokens + asked.prefix_tokens,
                output_tokens=drawn(draw, asked.output_tokens, asked.spread, asked.shape),
            )
        )
    return prompts


def _prefix(speller: Speller, fit: WordFit, tokens: int) -> str:
    return speller.text(max(1, fit.more_words(tokens))) + " " if tokens else ""


def shared_prefix_prompts(asked: SharedPrefixPrompts, *, seed: str, count: int) -> list[Prompt]:
    """Prompts that share their beginnings group by group, in random order."""
    lengths = (asked.groups, asked.prefix_tokens, asked.question_tokens, asked.output_tokens)
    checked_lengths(asked.spread, "uniform", *lengths)
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    speller = Speller(draw)
    prefixes = [_prefix(speller, asked.fit, asked.prefix_tokens) for _ in range(min(asked.groups, count))]
    members = [number % len(prefixes) for number in range(count)]
    draw.shuffle(members)
    prompts = []
    for member in members:
        tokens = drawn(draw, asked.question_tokens, asked.spread)
        prompts.append(
            Prompt(
                text=prefixes[member] + speller.text(asked.fit.words(tokens)),
                asked_tokens=tokens + asked.prefix_tokens,
                output_tokens=drawn(draw, asked.output_tokens, asked.spread),
            )
        )
    return prompts


def _conversations(asked: RandomPrompts, draw: random.Random, speller: Speller, count: int) -> list[Prompt]:
    """Whole conversations, turn after turn; the last one is cut where `count` says."""
    prompts: list[Prompt] = []
    opening = _prefix(speller, asked.fit, asked.prefix_tokens)
    while len(prompts) < count:
        messages: list[dict[str, Json]] = []
        tokens = asked.prefix_tokens
        for turn in range(1, min(asked.turns, count - len(prompts)) + 1):
            length = drawn(draw, asked.input_tokens, asked.spread, asked.shape)
            answer = drawn(draw, asked.output_tokens, asked.spread, asked.shape)
            words = asked.fit.words(length) if turn == 1 else asked.fit.more_words(length)
            text = (opening if turn == 1 else "") + speller.text(max(1, words))
            messages.append({"role": "user", "content": text})
            tokens += length
            prompts.append(
                Prompt(messages=tuple(messages), asked_tokens=tokens, output_tokens=answer, turn=turn)
            )
            said = speller.text(max(1, asked.fit.more_words(answer)))
            messages.append({"role": "assistant", "content": said})
            tokens += answer
    return prompts

"""Random prompts are fitted to the server's tokenizer: known answers over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from tests.bench.servers import Scripted, Step, said, streamed, usage

from assay.bench import Level, OwnPrompts, RandomPrompts, Sending, Workload, fitted, measure

Server = Callable[..., Scripted]


def counting(_connection: int, _nth: int, request: bytes) -> Sequence[Step]:
    """Counts two tokens and a half for each word, and 20 for the template."""
    words = json.loads(request.partition(b"\r\n\r\n")[2])["messages"][0]["content"].split()
    return streamed(said("a"), said("b", "length"), usage(round(2.5 * len(words)) + 20, 2))


def workload(prompts: RandomPrompts | OwnPrompts) -> Workload:
    return Workload(sending=Sending(model="m", endpoint="/v1/chat/completions"), prompts=prompts)


def test_prompts_have_the_length_asked_for(scripted: Server) -> None:
    server = scripted(counting)
    fit = fitted(server.where, workload(RandomPrompts(input_tokens=1000, output_tokens=2, spread=0.2)))
    assert isinstance(fit.prompts, RandomPrompts)
    assert fit.prompts.fit.tokens_per_word == pytest.approx(2.5, rel=0.01)
    assert fit.prompts.fit.fixed_tokens == pytest.approx(20, abs=1)
    [(rung, records)] = list(measure(server.where, fit, [Level(requests=10, concurrency=1)]))
    for each in records:
        assert each.prompt_tokens == pytest.approx(each.asked_prompt_tokens, abs=3)
    assert "prompt-length" not in {doubt.code for doubt in rung.doubts}


def test_the_luck_of_the_words_is_no_template_of_less_than_nothing(scripted: Server) -> None:
    def uneven(_connection: int, _nth: int, request: bytes) -> Sequence[Step]:
        words = json.loads(request.partition(b"\r\n\r\n")[2])["messages"][0]["content"].split()
        return streamed(said("a"), said("b", "length"), usage({32: 100, 96: 360}[len(words)], 2))

    fit = fitted(scripted(uneven).where, workload(RandomPrompts(input_tokens=64, output_tokens=2)))
    assert isinstance(fit.prompts, RandomPrompts)
    assert fit.prompts.fit.fixed_tokens == 0
    assert fit.prompts.fit.tokens_per_word == pytest.approx(460 / 128)


def test_a_server_that_does_not_count_changes_nothing(scripted: Server) -> None:
    server = scripted(lambda *_: streamed(said("a", "stop")))
    asked = workload(RandomPrompts(input_tokens=100))
    assert fitted(server.where, asked) == asked
    assert fitted(scripted(lambda *_: ["close"]).where, asked) == asked
    own = workload(OwnPrompts(path="x"))
    assert fitted(server.where, own) == own

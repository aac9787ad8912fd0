"""What is asked of a server, and what is made of its answers: healthy, otherwise, broken, and silent ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from assay.bench import prompt_logprobs, target
from assay.errors import MeasurementError
from assay.quality import (
    Answers,
    AskedFor,
    Question,
    ask_answers,
    judge_answers,
    read_answers,
    write_answers,
)
from tests.http_server import serving

ASKED = AskedFor(prompts=16, words=40, output_tokens=24)


def chance(text: str) -> float:
    """A number below one that a text always has."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


class Server:
    """How a made-up server answers."""

    def __init__(
        self,
        *,
        shift: float = 0.0,
        text: Callable[[str], str] = lambda prompt: f"w{int(1e6 * chance(prompt))} and so on",
        dialect: str = "vllm",
        wrong: int = 0,
        template: bool = True,
    ) -> None:
        self.shift, self.text, self.dialect = shift, text, dialect
        self.wrong, self.template = wrong, template

    def sum(self, question: str) -> str:
        """Right but for the first `wrong` questions."""
        one, other = (int(each) for each in question.split("+"))
        return f"The sum is {one + other + (one < self.wrong)}."

    def logprobs(self, prompt: str, start: int) -> list[float]:
        words = prompt.split()
        return [
            -3 * chance(f"{word}{at}") + 1e-4 * chance(f"{start}{word}{at}") - self.shift
            for at, word in enumerate(words)
        ]

    def answer(self, path: str, asked: dict[str, object], start: int) -> dict[str, object] | None:
        if path == "/generate" and self.dialect == "sglang":
            found = self.logprobs(str(asked["text"]), start)
            return {"meta_info": {"input_token_logprobs": [[each, 5, None] for each in found]}}
        if path == "/v1/chat/completions" and self.template:
            said = json.dumps(asked["messages"])
            question = next(each for each in SUMS if f'"{each}"' in said)
            return {"choices": [{"message": {"content": self.sum(question)}}]}
        if path != "/v1/completions":
            return None
        prompt = str(asked["prompt"])
        if prompt in SUMS:
            return {"choices": [{"text": self.sum(prompt), "finish_reason": "stop"}]}
        choice: dict[str, object] = {"text": self.text(prompt), "finish_reason": "length"}
        if "prompt_logprobs" in asked and self.dialect == "vllm":
            rest = [{"7": {"logprob": each, "rank": 1}} for each in self.logprobs(prompt, start)[1:]]
            choice["prompt_logprobs"] = [None, *rest]
        tokens = {"completion_tokens": 24, "prompt_tokens": len(prompt.split())}
        return {"choices": [choice], "usage": tokens}


SUMS = {f"{at}+{3 * at}": 4 * at for at in range(200)}
QUESTIONS = tuple(Question(prompt=text, grader="number", expected=right) for text, right in SUMS.items())


def asked_of(server: Server, start: int = 0, questions: Sequence[Question] = ()) -> Answers:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = server.answer(self.path, asked, start)
            data = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as url:
        return ask_answers(target(url), "m", ASKED, questions=questions)


def baselines(dialect: str = "vllm") -> list[Answers]:
    return [asked_of(Server(dialect=dialect), start) for start in range(4)]


@pytest.mark.parametrize("dialect", ["vllm", "sglang"])
def test_an_unchanged_server_is_the_same(dialect: str) -> None:
    known = baselines(dialect)
    assert {len(each.logprobs) for each in known} == {ASKED.prompts}
    found = judge_answers(known, asked_of(Server(dialect=dialect), 9))
    assert (found.verdict, found.needs_word) == ("same", False)
    assert found.smallest_k3 is not None


@pytest.mark.parametrize(
    ("candidate", "verdict"),
    [
        (Server(shift=0.002), "numerics_changed"),
        (Server(shift=0.3), "damaged"),
        (Server(text=lambda _: "again and so " * 20), "damaged"),
        (Server(text=lambda _: ""), "damaged"),
    ],
    ids=["numerics", "other model", "repeats", "empty"],
)
def test_what_is_otherwise_is_called_by_its_size(candidate: Server, verdict: str) -> None:
    assert judge_answers(baselines(), asked_of(candidate, 9)).verdict == verdict


def test_without_log_probabilities_answers_alone_speak() -> None:
    known = baselines("neither")
    assert known[0].logprobs == ()
    assert judge_answers(known, asked_of(Server(dialect="neither"), 9)).verdict == "same"
    broken = asked_of(Server(dialect="neither", text=lambda _: ""), 9)
    assert judge_answers(known, broken).verdict == "damaged"


def test_a_lossy_change_needs_the_users_word_whatever_is_found() -> None:
    assert judge_answers(baselines(), asked_of(Server(), 9), lossy=True).needs_word


def test_a_server_that_does_not_answer_is_an_error_and_no_verdict() -> None:
    with pytest.raises(MeasurementError):
        ask_answers(target("http://127.0.0.1:1"), "m", ASKED)
    assert prompt_logprobs(target("http://127.0.0.1:1"), "m", ["a b"]) is None


def test_answers_are_kept_for_a_study_that_goes_on(tmp_path: Path) -> None:
    found = asked_of(Server())
    write_answers(tmp_path / "a.json", found)
    assert read_answers(tmp_path / "a.json") == found


@pytest.mark.parametrize("template", [True, False], ids=["by chat", "without a template"])
@pytest.mark.parametrize(("wrong", "verdict"), [(0, "same"), (2, "same"), (5, "suspicious"), (20, "damaged")])
def test_questions_that_are_lost_speak_by_how_many(
    wrong: int, verdict: str, *, template: bool, tmp_path: Path
) -> None:
    known = [asked_of(Server(template=template), 0, QUESTIONS), *baselines()[1:]]
    write_answers(tmp_path / "a.json", asked_of(Server(wrong=wrong, template=template), 9, QUESTIONS))
    found = judge_answers(known, read_answers(tmp_path / "a.json"))
    assert found.verdict == verdict
    assert found.questions is not None
    assert (found.questions.questions, found.questions.lost, found.questions.gained) == (200, wrong, 0)


def test_questions_that_pass_make_a_suspicious_change_of_numerics_one_that_may_ship() -> None:
    shifted = Server(shift=0.02)
    assert judge_answers(baselines(), asked_of(shifted, 9)).verdict == "suspicious"
    known = [asked_of(Server(), 0, QUESTIONS), *baselines()[1:]]
    assert judge_answers(known, asked_of(shifted, 9, QUESTIONS)).verdict == "numerics_changed"

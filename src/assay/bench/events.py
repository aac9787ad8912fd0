"""Server-sent events of OpenAI's routes and of SGLang's own: split into events, read what one says."""

from __future__ import annotations

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
"""Tokens as a server counts them; an event with an impossible count is garbage."""


_NULL = msgspec.Raw(b"null")
"""What is not there; told from what is by being this very object, since there are many events."""


class _Detail(msgspec.Struct, frozen=True):
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class Usage(msgspec.Struct, frozen=True):
    """Token counts as the server gives them."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    prompt_tokens_details: _Detail | None = None
    completion_tokens_details: _Detail | None = None

    @property
    def cached(self) -> int | None:
        """Prompt tokens that came from the prefix cache."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None

    @property
    def reasoning(self) -> int | None:
        """Completion tokens of the reasoning channel; SGLang puts them beside, OpenAI and vLLM inside."""
        inside = self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else None
        return self.reasoning_tokens if inside is None else inside


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: msgspec.Raw = _NULL


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta | None = None
    text: str | None = None
    finish_reason: str | None = None


class _Ending(msgspec.Struct, frozen=True):
    type: str = ""
    message: str | None = None


class Generation(msgspec.Struct, frozen=True):
    """`meta_info` of SGLang's `/generate`: counts so far, in every event."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    finish_reason: _Ending | str | None = None
    spec_accept_length: float | None = None

    @property
    def ending(self) -> _Ending:
        """Why it stopped; an empty type where it goes on."""
        reason = self.finish_reason
        return _Ending(type=reason) if isinstance(reason, str) else reason or _Ending()


class Chunk(msgspec.Struct, frozen=True):
    """One event's JSON, as far as it matters here."""

    choices: list[_Choice] | None = None
    usage: Usage | None = None
    error: msgspec.Raw = _NULL
    object: str | None = None
    message: str | None = None
    text: str | None = None
    """All text so far, or what is new of it, as the server is set up; `/generate` only."""
    meta_info: Generation | None = None

    @property
    def failure(self) -> str:
        """The error that the server puts into a stream of status 200, or nothing."""
        if self.error is not _NULL and bytes(self.error) != b"null":
            return bytes(self.error).decode("utf-8", "replace")
        if self.meta_info is not None and self.meta_info.ending.type == "abort":
            return self.meta_info.ending.message or "aborted"
        return (self.message or "error") if self.object == "error" else ""

    @property
    def only_text(self) -> int:
        """Characters of text where that is all that the event says, as nearly all do; else 0."""
        choices = self.choices
        if not choices or self.usage is not None or self.error is not _NULL or self.object == "error":
            return 0
        choice, delta = choices[0], choices[0].delta
        if len(choices) > 1 or choice.finish_reason:
            return 0
        if delta is None:
            return len(choice.text or "")
        if delta.reasoning_content or delta.reasoning or choice.text or delta.tool_calls is not _NULL:
            return 0
        return len(delta.content or "")

    def said(self) -> tuple[int, int, bool]:
        """Characters of text, characters of reasoning, whether there is a tool call."""
        text = reasoning = 0
        call = False
        for choice in self.choices or ():
            text += len(choice.text or "")
            delta = choice.delta
            if delta is not None:
                text += len(delta.content or "")
                reasoning += len(delta.reasoning_content or delta.reasoning or "")
                tools = delta.tool_calls
                call = call or (tools is not _NULL and bytes(tools) not in (b"null", b"[]"))
        return text, reasoning, call

    @property
    def finish(self) -> str:
        """Why the server stopped, in the event that says so."""
        return next((each.finish_reason for each in self.choices or () if each.finish_reason), "")


class EventSplitter:
    """Cuts a byte stream into the data of its events, whatever the line ends and the reads."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, body: bytes) -> list[bytes]:
        """The data of each event that these bytes complete."""
        if b"\n" not in body:
            self._tail.append(body)
            return []
        *lines, rest = b"".join((*self._tail, body)).split(b"\n")
        self._tail = [rest] if rest else []
        events = []
        for line in lines:
            line = line.removesuffix(b"\r")  # noqa: PLW2901
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
        return events

    @property
    def left(self) -> bytes:
        """What was begun and not ended."""
        return b"\n".join((*self._data, *self._tail))

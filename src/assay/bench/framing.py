"""Follows the framing of an HTTP response: where its head ends, where it ends, what its body is."""

from __future__ import annotations

import httptools

_FINAL = 200
"""Statuses below are only a word before the answer."""


class Framing:
    """One response, fed with the bytes of each read as they came.

    Only llhttp's state machine says that a response is over: a suffix is a hint at best (a head whose last
    header ends in 0 looks like the last chunk).
    """

    def __init__(self) -> None:
        self.head = False
        self.done = False
        self.chunked = False
        self.trailers = False
        self.sized = False
        self.error = ""
        self._keep_alive = False
        self._parser = httptools.HttpResponseParser(self)

    @property
    def status(self) -> int:
        """The status code, once the head is in."""
        return self._parser.get_status_code()

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow on the connection."""
        return self.done and self._keep_alive

    @property
    def until_close(self) -> bool:
        """Whether the body ends where the connection does."""
        return self.head and not self.chunked and not self.sized

    def close(self) -> None:
        """Let go of the parser, which holds this object: without a collector nobody else would part them."""
        del self._parser

    def feed(self, data: bytes) -> None:
        """Take the bytes of one read; what is no HTTP sets `error`."""
        if self.error:
            return
        if self.done:
            self.error = "bytes after the end of the response"
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.done:
                self.error = f"no HTTP: {error}"

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for each header."""
        name = name.lower()
        if name == b"transfer-encoding":
            self.chunked = value.lower().rpartition(b",")[2].strip() == b"chunked"
        elif name == b"content-length":
            self.sized = True
        elif name == b"trailer":
            self.trailers = True

    def on_headers_complete(self) -> None:
        """Called by the parser at the end of the head; 1xx heads are only a word before the answer."""
        self.head = self.status >= _FINAL

    def on_message_complete(self) -> None:
        """Called by the parser at the end of the response."""
        self.done = self.status >= _FINAL
        self._keep_alive = self._parser.should_keep_alive()  # llhttp forgets it right after

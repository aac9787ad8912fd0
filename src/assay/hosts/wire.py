"""What is said to a shell on a host, and how its answer is told from everything else: frames with a nonce.

The shell is `sh -s NONCE`, whose text comes on stdin. It says `ready` with its process number, waits for
`go`, runs the command and says `end` with the status. Before `go` nothing was run;
without `end` nobody knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.hosts.command import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

GO = b"go\n"

_RUN = r"""{
LC_ALL=C; export LC_ALL
printf '\n@assay-%%s ready %%s\n' NONCE "$$"
printf '\n@assay-%%s ready\n' NONCE >&2
IFS= read -r assay_go && [ "$assay_go" = go ] || exit 0
(
%s
)%s
assay_status=$?
printf '\n@assay-%%s end %%s\n' NONCE "$assay_status"
printf '\n@assay-%%s end\n' NONCE >&2
exit 0
}
"""

_BECOME_ROOT = r"""{
LC_ALL=C; export LC_ALL
if command -v sudo >/dev/null 2>&1; then
%s
printf '\n@assay-%%s refused %%s\n' NONCE "$?"
else printf '\n@assay-%%s no-sudo\n' NONCE
fi
exit 0
}
"""
_ROOT_SHELL = r"""printf '\n@assay-%s root\n' "$0"; exec sh -s "$0" """


def run_text(body: bytes, nonce: str, *, with_stdin: bool) -> bytes:
    """Makes a waiting shell run `body`; its stdin is what follows `go`, or empty."""
    stdin = b"" if with_stdin else b" </dev/null"
    return _RUN.replace("NONCE", nonce).encode() % (body, stdin)


def root_text(sudo: Sequence[str], nonce: str) -> bytes:
    """Makes a waiting shell start another one, as root, that waits in the same way and first says `root`."""
    words = [*sudo, "--", "sh", "-c", _ROOT_SHELL, nonce]
    return _BECOME_ROOT.replace("NONCE", nonce).encode() % b" ".join(map(quote, words))


def password_prompt(nonce: str) -> str:
    """What sudo shall print when it wants the password: a frame."""
    return f"\n@assay-{nonce} password\n"


_LONGEST_FRAME = 100
_PREAMBLE_BYTES = 65536


class Framed:
    """One stream of the answer: text before `ready`, the command's own output, and the frames between."""

    def __init__(self, nonce: str, limit_bytes: int) -> None:
        self._mark = f"\n@assay-{nonce} ".encode()
        self._limit = limit_bytes
        self._pending = b""
        self._part = "before"
        self.preamble = bytearray()
        """What login scripts, ssh and sudo said."""
        self.body = bytearray()
        """What the command wrote, at most the limit."""
        self.cut = False
        """Whether it wrote more."""

    def feed(self, data: bytes) -> list[list[str]]:
        """Take in what came; gives the words of the frames in it."""
        frames = []
        data = self._pending + data
        while (at := data.find(self._mark)) >= 0:
            line, newline, rest = data[at + len(self._mark) :].partition(b"\n")
            if not newline and len(line) < _LONGEST_FRAME:
                break
            self._keep(data[:at])
            words = line.decode("ascii", "replace").split()
            frames.append(words)
            self._part = {"ready": "within", "end": "after"}.get(words[0] if words else "", self._part)
            data = rest
        held = len(data) - at if at >= 0 else _tail(data, self._mark)
        self._keep(data[: len(data) - held])
        self._pending = data[len(data) - held :]
        return frames

    def finish(self) -> None:
        """Nothing more comes."""
        self._keep(self._pending)
        self._pending = b""

    def _keep(self, text: bytes) -> None:
        if self._part == "before":
            self.preamble += text[: _PREAMBLE_BYTES - len(self.preamble)]
        elif self._part == "within":
            room = self._limit - len(self.body)
            self.cut = self.cut or len(text) > room
            self.body += text[:room]


def _tail(data: bytes, mark: bytes) -> int:
    """How many bytes at the end may be the beginning of a mark, which has its only newline first."""
    at = data.rfind(b"\n")
    return len(data) - at if at >= 0 and mark.startswith(data[at:]) else 0

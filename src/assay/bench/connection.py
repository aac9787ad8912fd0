"""One connection of the load: a socket, TLS where asked for, and the exchange under way."""

from __future__ import annotations

import errno
import socket
import ssl
import struct
from typing import Literal

from assay.bench.framing import Framing
from assay.bench.job import Exchange, Fate

State = Literal["connecting", "tunnel", "handshake", "idle", "busy"]

SO_TIMESTAMPNS = 35
"""Linux's number on every platform that Python runs on but alpha, parisc and sparc; not in `socket`."""
READ_BYTES = 65536
TIMESPEC = struct.Struct("@qq")
"""How a kernel of 64 bits says when a segment came."""
NO_STAMP = bytes(TIMESPEC.size)


class Connection:
    """A socket that never blocks, and what is known of the exchange on it."""

    __slots__ = (
        "due_ns",
        "fast",
        "fd",
        "framing",
        "index",
        "kernel",
        "nth",
        "number",
        "out",
        "reads",
        "retries",
        "sent_ns",
        "sock",
        "stamps",
        "state",
        "tls",
        "unfed",
        "wants_out",
    )

    def __init__(self, number: int, family: int, address: object, tls: TlsPipe | None) -> None:
        self.number = number
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fd = self.sock.fileno()
        self.tls = tls
        self.state: State = "connecting"
        self.out = b""
        self.wants_out = True
        self.nth = 0
        self.index = -1
        self.retries = 0
        self.due_ns = self.sent_ns = 0
        self.framing = Framing()
        self.clear()
        code = self.sock.connect_ex(address)  # type: ignore[arg-type]  # an address as getaddrinfo gave it
        if code not in (0, errno.EINPROGRESS):
            self.close()
            raise OSError(code, errno.errorcode.get(code, str(code)))

    def close(self) -> None:
        """Give the socket and all that was held for it back."""
        self.framing.close()
        self.sock.close()

    def stamp_reads(self) -> bool:
        """Ask the kernel to say when each segment came; whether it will."""
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            return False
        return True

    def clear(self) -> None:
        """Forget the exchange."""
        self.framing.close()
        self.stamps: list[int] = []
        self.kernel: list[bytes] = []
        self.reads: list[bytes] = []
        self.unfed = 0
        self.fast = False
        self.framing = Framing()

    def exchange(self, fate: Fate, detail: str) -> Exchange:
        """What is known of the exchange, as it is recorded."""
        place = (self.index, self.number, self.nth, self.retries, self.due_ns, self.sent_ns)
        sizes, data = list(map(len, self.reads)), b"".join(self.reads)
        return Exchange(*place, fate, detail, self.stamps, b"".join(self.kernel), sizes, data)

    def follow(self) -> Framing:
        """The framing, fed with all that came; each byte is fed once."""
        framing = self.framing
        if self.unfed < len(self.reads):
            framing.feed(b"".join(self.reads[self.unfed :]))
            self.unfed = len(self.reads)
        self.fast = framing.head and framing.chunked and not framing.trailers
        return framing

    def tunnelled(self, data: bytes) -> bool:
        """Take in what the proxy says; whether it has connected.

        Raises:
            OSError: it does not.
        """
        self.reads.append(data)
        head, end, rest = b"".join(self.reads).partition(b"\r\n\r\n")
        if data and not end and len(head) < READ_BYTES:
            return False
        line = head.partition(b"\r\n")[0]
        if rest or line.split(b" ")[1:2] != [b"200"]:
            said = line[:80].decode("ascii", "replace") or "nothing"
            raise OSError(errno.ECONNREFUSED, f"the proxy does not connect: {said}")
        self.clear()
        return True

    def flush(self) -> bool:
        """Send what waits; whether all of it left."""
        if self.tls is not None:
            self.out += self.tls.outgoing.read()
        while self.out:
            try:
                sent = self.sock.send(self.out)
            except BlockingIOError:
                return False
            self.out = self.out[sent:]
        return True

    def put(self, data: bytes) -> None:
        """Queue bytes to be sent, through TLS where there is one."""
        if self.tls is None:
            self.out = data
        else:
            self.tls.layer.write(data)


class TlsPipe:
    """TLS apart from the socket, so that the kernel's stamps of the socket stay ours."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.layer = context.wrap_bio(self.incoming, self.outgoing, server_hostname=host)

    def handshake(self) -> bool:
        """Go on with the handshake; whether it is done."""
        try:
            self.layer.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def opened(self, data: bytes) -> bytes | None:
        """The clear bytes that these make readable; `None` when the peer said that it is done."""
        self.incoming.write(data)
        return self.drained()

    def drained(self) -> bytes | None:
        """The clear bytes that wait."""
        parts: list[bytes] = []
        while True:
            try:
                part = self.layer.read(READ_BYTES)
            except ssl.SSLWantReadError:
                return b"".join(parts)
            except ssl.SSLZeroReturnError:
                return b"".join(parts) or None
            if not part:
                return b"".join(parts) or None
            parts.append(part)


def tls_context(*, verify: bool) -> ssl.SSLContext:
    """As every client has it, or one that takes any certificate."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context

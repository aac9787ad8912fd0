"""The timed loop: sends when due, reads what is ready, records bytes and stamps, parses nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator

from assay.bench.connection import NO_STAMP, READ_BYTES, Connection, TlsPipe, tls_context
from assay.bench.guard import Guard
from assay.bench.job import STALLED, Ended, Exchange, Fate, Job, Report
from assay.bench.poller import READ, WRITE, Poller
from assay.bench.spool import PIECE, SpoolWriter

_LAST_CHUNK = b"0\r\n\r\n"
_TICK_NS = 100_000_000
_BUSY_PER_S, _CALM_PER_S = 1000, 250
"""Reads wait for company from so many reads a second in all, while one stream has fewer than so many."""
_OPEN_AHEAD = 256
_A_TURN, _BEHIND = 64, 16
"""So many connections are looked at in a turn that waits, for responses with so many reads to follow."""
_GUARDED = 3
"""So many ticks lie between two looks for responses without end."""
_GRACE_S = 2.0
_STDIN = 0

Say = Callable[[Report], None]


class Loop:
    """Drives one rung; used once."""

    def __init__(self, job: Job, spool: int, say: Say) -> None:
        self._job, self._say = job, say
        self._spool = SpoolWriter(spool)
        self._requests = os.open(job.requests, os.O_RDONLY)
        self._poller = Poller()
        self._connections: dict[int, Connection] = {}
        self._idle: list[Connection] = []
        self._opened = 0
        self._queue: Iterator[int] = iter(())
        self._due: list[int] = []
        self._at = 0
        self._sent = self._done = self._failed = self._in_flight = 0
        self._left = 0
        self._why = ""
        self._ended: Ended | None = None
        self._last_news = 0
        self._lazy = False
        self._rota: list[Connection] = []
        self._reads = self._turns = self._lazy_turns = 0
        self._family: int = socket.AF_INET
        self._address: object = None
        self._context = tls_context(verify=job.verify) if job.tls else None
        self._guard = Guard(job)
        self._ticks = self._silent = 0
        self._poller.watch(_STDIN, READ)

    # ---- the passes -----------------------------------------------------------------------------------

    def connect(self) -> str:
        """Open the connections that will be needed; why that could not be done, or nothing.

        Names such as localhost have several addresses: the first at which somebody answers is used.
        """
        job = self._job
        error = ""
        for info in socket.getaddrinfo(job.host, job.port, type=socket.SOCK_STREAM):
            self._family, self._address = info[0], info[4]
            try:
                error = self._connect()
            except OSError as failure:
                error = failure.strerror or str(failure)
            if not error:
                break
            for connection in list(self._connections.values()):
                self._drop(connection)
            self._idle.clear()
        return error

    def _connect(self) -> str:
        job = self._job
        timed = len(job.numbers) - job.warmups
        wanted = min(job.concurrency or _OPEN_AHEAD, max(timed, 1))
        until = time.monotonic_ns() + int(job.connect_s * 1e9)
        for _ in range(wanted):
            self._open()
        while len(self._idle) < wanted and self._ended is None:
            left = until - time.monotonic_ns()
            if left <= 0:
                return f"no connection within {job.connect_s:g} s"
            self._serve(self._poller.ready(min(left / 1e9, 0.1), fine=False))
            if len(self._connections) < wanted:
                return self._why
        return ""

    def warm(self) -> Ended:
        """Send the warm-ups, as a closed loop."""
        return self._closed(range(self._job.warmups))

    def timed(self, began_ns: int) -> Ended:
        """Send the rest, as the job says, from that moment on."""
        job = self._job
        self._sent = self._done = self._failed = self._turns = self._lazy_turns = 0
        indices = range(job.warmups, len(job.numbers))
        if job.due_ns is None:
            return self._closed(indices)
        self._due = [began_ns + due for due in job.due_ns]
        self._queue, self._at, self._left = self._heads(indices), 0, len(indices)
        self._run(self._send_due)
        return self._finished()

    def _closed(self, indices: range) -> Ended:
        self._queue, self._left = self._heads(indices), len(indices)
        free, self._idle = self._idle, []
        for connection in free:
            self._next(connection)
        while len(self._connections) < min(self._job.concurrency or len(free), len(indices)):
            if not self._fresh(0):
                break
        self._run(None)
        return self._finished()

    def _heads(self, indices: range) -> Iterator[int]:
        """Requests that wait for no other."""
        follows = self._job.follows
        return (index for index in indices if not (follows and follows[index]))

    def _following(self, ended: int) -> int:
        """What comes after a request that ended: the one that waited for it, else the next in line; or -1."""
        follows = self._job.follows
        if 0 <= ended < len(follows) - 1 and follows[ended + 1]:
            return ended + 1
        return next(self._queue, -1)

    def _run(self, send: Callable[[], int] | None) -> None:
        """Turn until every request has ended, or somebody stops it."""
        tick = time.monotonic_ns()
        self._last_news = tick
        while self._left and self._ended is None:
            now = time.monotonic_ns()
            if now >= tick:
                self._tick(now)
                tick = now + _TICK_NS
            wait_ns = min(tick - now, send() - now) if send else tick - now
            lazy = min(self._job.lazy_ns, wait_ns) if self._lazy else 0
            if lazy > 0:
                self._catch_up()
                time.sleep(max(0, now + lazy - time.monotonic_ns()) / 1e9)
                wait_ns -= lazy
                self._lazy_turns += 1
            self._turns += 1
            if self._spool.waiting >= PIECE:
                self._spool.write()
            self._serve(self._poller.ready(max(0, wait_ns) / 1e9, fine=send is not None))

    def _send_due(self) -> int:
        """Send what is due; when the next one is."""
        due, limit = self._due, self._job.concurrency
        while self._at < len(due) and due[self._at] <= time.monotonic_ns():
            if limit and self._in_flight >= limit:
                return due[self._at] + 10**12  # a response that ends makes room
            self._at += 1
            if self._idle:
                self._next(self._idle.pop(), due[self._at - 1])
            else:
                self._fresh(due[self._at - 1])
        return due[self._at] if self._at < len(due) else time.monotonic_ns() + 10**12

    def _finished(self) -> Ended:
        for connection in list(self._connections.values()):
            if connection.index >= 0:
                self._record(connection, "unfinished", self._ended or "")
                self._drop(connection)
        while self._spool.waiting:
            self._spool.write()
        return self._ended or "complete"

    # ---- connections and sends ------------------------------------------------------------------------

    def _open(self) -> Connection:
        self._opened += 1
        pipe = TlsPipe(self._context, self._job.server) if self._context else None
        connection = Connection(self._opened, self._family, self._address, pipe)
        if self._job.kernel_stamps:
            connection.stamp_reads()
        self._connections[connection.fd] = connection
        self._poller.watch(connection.fd, READ | WRITE)
        return connection

    def _fresh(self, due_ns: int, ended: int = -1) -> bool:
        """Take the next request to a new connection; whether there was one.

        In a closed loop, requests for which no connection can be made are over, one after the other.
        """
        index = self._following(ended)
        while index >= 0 and not self._on_new_connection(index, due_ns, 0) and not self._due:
            index = self._following(index)
        return index >= 0

    def _on_new_connection(self, index: int, due_ns: int, retries: int) -> bool:
        """Begin a connection for that request; whether one could be begun."""
        self._take_off()
        try:
            connection = self._open()
        except OSError as error:
            why = error.strerror or str(error)
            now = time.monotonic_ns()
            self._put(Exchange(index, 0, 0, retries, due_ns, now, "unreachable", why, [], b"", [], b""))
            return False
        connection.index, connection.due_ns, connection.retries = index, due_ns, retries
        return True

    def _next(self, connection: Connection, due_ns: int = 0, ended: int = -1) -> None:
        """Send the next request on a connection that is free; without one, it stays free."""
        index = self._following(ended)
        if index < 0:
            connection.index = -1
            self._idle.append(connection)
            return
        self._take_off()
        connection.index, connection.due_ns, connection.retries = index, due_ns, 0
        self._send(connection)

    def _take_off(self) -> None:
        """One more in flight; silence counts from here where there was none."""
        if not self._in_flight:
            self._last_news = time.monotonic_ns()
        self._in_flight += 1

    def _send(self, connection: Connection) -> None:
        self._sent += connection.retries == 0
        connection.clear()
        connection.state = "busy"
        connection.nth += 1
        at, job = connection.index, self._job
        connection.put(os.pread(self._requests, job.ends[at] - job.begins[at], job.begins[at]))
        connection.sent_ns = time.monotonic_ns()
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        try:
            wants_out = not connection.flush()
        except OSError as error:
            self._lost(connection, "reset", error.strerror or str(error))
            return
        if wants_out != connection.wants_out:
            connection.wants_out = wants_out
            self._poller.change(connection.fd, READ | WRITE if wants_out else READ)

    def _go_on(self, connection: Connection) -> None:
        """A connection that waited to write can: it is connected, or the rest of a request can leave."""
        if connection.state == "connecting":
            code = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._lost(connection, "unreachable", os.strerror(code))
                return
            if self._job.connect:
                connection.state, connection.out = "tunnel", self._job.connect
                self._flush(connection)
            else:
                self._connected(connection)
        else:
            self._flush(connection)

    def _connected(self, connection: Connection) -> None:
        connection.state = "handshake"
        self._flush(connection)
        self._shake(connection)

    def _shake(self, connection: Connection) -> None:
        """Go on with the handshake, or begin where it is done."""
        if connection.tls is not None:
            try:
                done = connection.tls.handshake()
            except ssl.SSLError as error:
                self._lost(connection, "unreachable", f"TLS: {error.reason or error}")
                return
            self._flush(connection)
            if not done:
                return
        connection.state = "idle"
        if connection.index < 0:
            self._idle.append(connection)
        else:
            self._send(connection)

    # ---- reads ----------------------------------------------------------------------------------------

    def _serve(self, ready: list[tuple[int, int]]) -> None:
        """Read once from whatever is ready: the path of every event."""
        connections, clock = self._connections, time.monotonic_ns
        stamp = 0
        for fd, mask in ready:
            connection = connections.get(fd)
            if connection is None:
                self._listen(fd)
                continue
            if connection.wants_out and mask & ~READ:
                self._go_on(connection)
                continue
            try:
                data, ancillary, _, _ = connection.sock.recvmsg(READ_BYTES, 64)
            except BlockingIOError:
                continue
            except OSError as error:
                self._lost(connection, "reset", errno.errorcode.get(error.errno or 0, str(error)))
                continue
            stamp = clock()
            if connection.tls is not None or connection.state != "busy":
                self._slow(connection, data, stamp, ancillary[0][2] if ancillary else NO_STAMP)
                continue
            if not data:
                self._lost(connection, "closed", "")
                continue
            connection.stamps.append(stamp)
            connection.kernel.append(ancillary[0][2] if ancillary else NO_STAMP)
            connection.reads.append(data)
            if not connection.fast or data[-5:] == _LAST_CHUNK or len(data) < 7:
                self._look(connection)
        if stamp:
            self._reads += len(ready)

    def _slow(self, connection: Connection, data: bytes, stamp: int, kernel: bytes) -> None:
        """Bytes through TLS, or on a connection that waits for none."""
        clear: bytes | None = data or None
        if connection.state == "tunnel":
            try:
                if connection.tunnelled(data):
                    self._connected(connection)
            except OSError as error:
                self._lost(connection, "unreachable", error.strerror or "")
            return
        if connection.tls is not None and data:
            try:
                if connection.state == "handshake":
                    connection.tls.incoming.write(data)
                    self._shake(connection)
                    return
                clear = connection.tls.opened(data)
            except ssl.SSLError as error:
                self._lost(connection, "garbage", f"TLS: {error.reason or error}")
                return
        if clear is None or (clear and connection.state != "busy"):
            self._lost(connection, "closed", "")
        elif clear:
            connection.stamps.append(stamp)
            connection.kernel.append(kernel)
            connection.reads.append(clear)
            self._look(connection)

    def _look(self, connection: Connection) -> None:
        """See whether the response is over."""
        framing = connection.follow()
        if framing.error:
            self._record(connection, "garbage", framing.error)
            self._replace(connection)
        elif framing.done:
            keep = framing.keep_alive
            self._record(connection, "complete", "")
            if keep:
                self._free(connection)
            else:
                self._replace(connection)

    def _catch_up(self) -> None:
        """While reads wait for company, follow some responses, so that little is left to do at their ends.

        Many streams that end together would otherwise keep each other's next request back.
        """
        if not self._rota:
            self._rota = list(self._connections.values())
        for connection in self._rota[-_A_TURN:]:
            if connection.state == "busy" and len(connection.reads) - connection.unfed >= _BEHIND:
                self._look(connection)
        del self._rota[-_A_TURN:]

    def _lost(self, connection: Connection, fate: Fate, detail: str) -> None:
        """The connection is gone: the exchange on it ends, or is tried once more where no byte had come."""
        index, due_ns = connection.index, connection.due_ns
        if index < 0:
            self._why = detail or "the server closed it"
            with contextlib.suppress(ValueError):
                self._idle.remove(connection)
            self._drop(connection)
            return
        raced = fate in ("closed", "reset") and not connection.reads and connection.nth > 1
        if raced and not connection.retries:
            self._drop(connection)
            self._in_flight -= 1
            if not self._on_new_connection(index, due_ns, 1) and not self._due:
                self._fresh(0, index)
            return
        whole = fate == "closed" and connection.follow().until_close and not connection.framing.error
        self._record(connection, "complete" if whole else fate, detail)
        self._replace(connection)

    def _free(self, connection: Connection) -> None:
        ended = connection.index
        connection.state, connection.index = "idle", -1
        if self._job.due_ns is None or not self._due:
            self._next(connection, ended=ended)
        else:
            self._idle.append(connection)

    def _replace(self, connection: Connection) -> None:
        """A connection of no more use makes room for a new one, in a closed loop at once."""
        ended = connection.index
        self._drop(connection)
        if not self._due and self._ended is None:
            self._fresh(0, ended)

    def _drop(self, connection: Connection) -> None:
        connection.index = -1
        self._connections.pop(connection.fd, None)
        self._poller.forget(connection.fd)
        connection.close()

    # ---- the record -----------------------------------------------------------------------------------

    def _record(self, connection: Connection, fate: Fate, detail: str) -> None:
        self._put(connection.exchange(fate, detail))
        connection.clear()

    def _put(self, exchange: Exchange) -> None:
        exchange.index = self._job.numbers[exchange.index]
        exchange.connection = exchange.connection * self._job.processes + self._job.process
        self._spool.add(exchange)
        self._in_flight -= 1
        self._left -= 1
        self._done += exchange.fate == "complete"
        self._last_news = max(self._last_news, *exchange.stamps_ns[-1:], 0)
        self._failed += exchange.fate != "complete"

    def _tick(self, now: int) -> None:
        """Ten times a second: adapt, spool, report, look for responses without end."""
        rate = self._reads * 1e9 / _TICK_NS
        self._lazy = rate >= _BUSY_PER_S and rate < _CALM_PER_S * max(1, self._in_flight)
        self._reads = 0
        self._spool.write()
        quiet = self._quiet_s(now)
        self._say(self.report(quiet_s=quiet))
        if 0 < quiet - self._job.stall_s < _GRACE_S:
            return  # who reads the reports sees whether other processes are as quiet, and ends it all
        self._ticks += 1
        if self._ticks % _GUARDED:
            return
        self._silent = self._guard.silent(self._connections.values(), now)
        for connection, fate, detail in list(self._guard.endings(self._connections.values(), now)):
            self._record(connection, fate, detail)
            self._replace(connection)

    def _quiet_s(self, now: int) -> float:
        """Seconds since the last event; responses under way are asked only where it seems long ago."""
        if not self._in_flight:
            return 0.0
        if now - self._last_news > min(1.0, self._job.stall_s / 4) * 1e9:
            news = self._guard.last_news(self._connections.values())
            self._last_news = max(self._last_news, news)
        return max(0, now - self._last_news) / 1e9

    def report(self, *, quiet_s: float = 0.0) -> Report:
        """How far it is."""
        return Report(
            sent=self._sent,
            done=self._done,
            failed=self._failed,
            in_flight=self._in_flight,
            quiet_s=quiet_s,
            silent=self._silent,
            lazy_share=self._lazy_turns / max(1, self._turns),
        )

    def _listen(self, fd: int) -> None:
        """Whatever comes on stdin, its end above all, means stop."""
        if fd == _STDIN and self._ended is None:
            self._ended = "stalled" if os.read(_STDIN, 1) == STALLED else "interrupted"

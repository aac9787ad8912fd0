"""Asks a server's `/metrics` before, during and after a rung, beside the process that drives the load."""

from __future__ import annotations

import threading
import time

from assay._secret import Secret
from assay.bench.ask import OK, ask
from assay.bench.requests import Target
from assay.bench.server_metrics import (
    EngineMetrics,
    Sample,
    ServerReport,
    engine_of,
    parsed_metrics,
    server_report,
)
from assay.bench.undisturbed import undisturbed

_EVERY_S, _JOIN_S = 1.0, 5.0
_SETTLE_S, _PAUSE_S = 2.0, 0.1


class Watch:
    """A thread that samples while it is entered; without metrics at that address it does nothing."""

    def __init__(self, where: Target | None, key: Secret | None) -> None:
        self._where, self._key = where, key
        self._samples: list[Sample] = []
        self._names: EngineMetrics | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        """Take the first sample, of a server that is idle if it gets so within two seconds."""
        first = self._sample()
        self._names = None if first is None else engine_of(first)
        if first is None or self._names is None:
            return self
        self._samples.append(self._settled(first) or first)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Sample no more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)

    def report(self) -> ServerReport | None:
        """What the server said; after the watch. Waits up to two seconds until it has counted all."""
        if self._names is None:
            return None
        last = self._settled(self._sample())
        if last is not None:
            self._samples.append(last)
        return server_report(self._samples)

    def _settled(self, sample: Sample | None) -> Sample | None:
        """That sample, or the first later one in which nothing runs, or the last within two seconds."""
        until = time.monotonic() + _SETTLE_S
        while sample is not None and self._busy(sample) and time.monotonic() < until:
            time.sleep(_PAUSE_S)
            sample = self._sample() or sample
        return sample

    def _busy(self, sample: Sample) -> bool:
        assert self._names is not None
        return sample.get(self._names.running, 0) + sample.get(self._names.queued, 0) > 0

    def _watch(self) -> None:
        with undisturbed():
            while not self._stop.wait(_EVERY_S):
                sample = self._sample()
                if sample is not None and self._names is not None and self._names.running in sample:
                    self._samples.append(sample)

    def _sample(self) -> Sample | None:
        return None if self._where is None else metrics_sample(self._where, key=self._key)


def metrics_sample(where: Target, *, key: Secret | None = None, wait_s: float = 2.0) -> Sample | None:
    """What the metrics at that very address say now; `None` where nobody gives any."""
    try:
        status, data = ask(where, "", key=key, wait_s=wait_s)
    except OSError:
        return None
    return parsed_metrics(data.decode("utf-8", "replace")) if status == OK else None

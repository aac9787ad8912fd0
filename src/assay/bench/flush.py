"""Empties the server's prefix cache between rungs, and makes sure that it did."""

from __future__ import annotations

import time

from assay._secret import Secret
from assay.bench.ask import OK, ask
from assay.bench.requests import Target
from assay.errors import MeasurementError

PATHS = ("/flush_cache", "/reset_prefix_cache")
"""SGLang's and vLLM's routes; vLLM has its own with `VLLM_SERVER_DEV_MODE=1` only."""
_TRIES, _WAIT_S = 10, 0.3


def flush_cache(where: Target, key: Secret | None) -> None:
    """Empty the prefix cache; servers refuse while a request runs, so it is tried for some seconds.

    Raises:
        MeasurementError: the server has no such route, or did not do it.
    """
    said = ""
    for _ in range(_TRIES):
        for path in PATHS:
            try:
                status, body = ask(where, path, method="POST", key=key)
            except OSError as error:
                said = f"{path}: {error}"
                continue
            if status == OK:
                return
            if status not in (404, 405):
                answer = body.decode("utf-8", "replace")
                answer = key.hidden_in(answer) if key else answer  # some servers say what was sent to them
                said = f"{path} answered {status}: {answer[:200].strip()}"
        if not said:
            break
        time.sleep(_WAIT_S)
    raise MeasurementError(
        f"{where.url}: the prefix cache was not flushed: {said or 'no route for it'}",
        hint="SGLang has /flush_cache; vLLM has /reset_prefix_cache under VLLM_SERVER_DEV_MODE=1; "
        "random prompts need no flush: no two begin alike",
    )

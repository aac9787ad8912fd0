"""What the options of `assay triage --bounds` say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from assay.bounds import Measured, Profile, profile
from assay.candidates import Asked
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.cli.triage_options import TriageOptions

_MOST_TRACE_BYTES = 1 << 30


def asked_bounds(options: TriageOptions) -> Asked | None:
    """The options as one value; None where bounds are not asked for.

    Raises:
        InputError: one of them is not understood, or given without `--bounds`, or the trace cannot be read.
    """
    if not options.bounds:
        _refuse_others(options)
        return None
    if not 0 < options.context <= 1 << 32:
        raise InputError(f"--context {options.context}: a number of tokens was expected")
    length = options.accept_length
    if length is not None and not 1 <= length < 1000:
        raise InputError(f"--accept-length {length:g}: at least 1 was expected")
    return Asked(
        context_tokens=options.context,
        measured=tuple(_measured(each) for each in options.measured),
        acceptance=_acceptance(options.acceptance),
        accept_length=length,
        profile=None if options.profile is None else _profile(options.profile),
    )


def _refuse_others(options: TriageOptions) -> None:
    given = {
        "--measured": options.measured,
        "--acceptance": options.acceptance,
        "--accept-length": options.accept_length,
        "--profile": options.profile,
    }
    named = [name for name, value in given.items() if value]
    if named:
        raise InputError(f"{', '.join(named)} is for bounds", hint="say --bounds, too")


def _measured(text: str) -> Measured:
    concurrency, _, rate = text.partition(":")
    try:
        found = Measured(concurrency=int(concurrency), tokens_per_s=float(rate))
    except ValueError:
        found = Measured(concurrency=0, tokens_per_s=0.0)
    if not 0 < found.concurrency < 1 << 20 or not 0 < found.tokens_per_s < math.inf:
        raise InputError(
            f"--measured {text}: CONCURRENCY:TOKENS_PER_S was expected", hint="such as --measured 64:1582"
        )
    return found


def _acceptance(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError:
        found = (2.0,)
    if any(not 0 <= each <= 1 for each in found) or list(found) != sorted(found, reverse=True):
        raise InputError(
            f"--acceptance {text}: falling shares between 0 and 1 were expected",
            hint="the chance that the first, the second, … drafted token is kept: .85,.67,.51",
        )
    return found


def _profile(path: Path) -> Profile:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_TRACE_BYTES + 1)  # devices and pipes have no size
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(data) > _MOST_TRACE_BYTES:
        raise InputError(f"{path}: larger than {_MOST_TRACE_BYTES >> 20} MiB")
    return profile(data, str(path))

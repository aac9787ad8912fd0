"""The options of `assay triage` and `assay explain`: each is stated once, and its help with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TriageOptions:
    """Options of `assay triage`.

    Parameters
    ----------
    engine
        Engine to ask about instead of the file's: `sglang==0.5.9`, a folder, `installed:PATH`, `image:REF`.
    bounds
        Say, too, what each option can give at the most, beside its verdict.
    measured
        For bounds: what the server did, as CONCURRENCY:TOKENS_PER_S, such as 64:1582; may be repeated.
    acceptance
        For bounds: the chance that the first, second, … drafted token is kept, such as .85,.67,.51.
    accept_length
        For bounds: tokens of a step for each request. Default: what --acceptance says.
    context
        For bounds: tokens that each request has in its cache.
    profile
        For bounds: a trace of torch's profiler (.json, .json.gz).
    json
        Every finding as JSON (docs/reference/findings-json.md).
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    """

    engine: str | None = None
    bounds: Switch = False
    measured: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    acceptance: str = ""
    accept_length: float | None = None
    context: int = 2000
    profile: Path | None = None
    json: Switch = False
    cache: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `assay explain`.

    Parameters
    ----------
    deployment
        The deployment file that the question is about.
    together
        Ask how the options go together, too: independent, conflicting, or one sets the other.
    verify
        Read every cited line again, and run every cited test anew; exit code 1 if one does not hold.
    what_if
        Ask again under other capabilities, variables and options that the deciding tests look at.
    engine
        Engine to ask about instead of the file's: `sglang==0.5.9`, a folder, `installed:PATH`, `image:REF`.
    json
        The list of findings as JSON (docs/reference/findings-json.md).
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    """

    deployment: Annotated[Path, Parameter(alias="-d")]
    together: Switch = False
    verify: Switch = False
    what_if: Switch = False
    engine: str | None = None
    json: Switch = False
    cache: Path | None = None

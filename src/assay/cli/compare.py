"""`assay compare`: whether one measured server is worse than another, from result files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from assay.errors import InputError


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of `assay compare`.

    Parameters
    ----------
    margin
        A loss up to so many per cent is none that matters.
    metric
        A figure that decides, such as output_throughput or p99_ttft_ms; may be repeated. Default: output
        tokens a second in a closed loop; median TTFT and TPOT in an open one.
    paired
        Run i of A and run i of B belong together, as when they were measured A B B A.
    primary
        The load at which a gain must be shown for `ship`, such as "concurrency 64"; declare it before you
        look. Default: the last one of A.
    noise
        Runs of one unchanged configuration, each of a fresh start: what starts differ by is learnt from them.
    json
        Print the comparison as JSON.
    """

    margin: float = 3.0
    metric: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    paired: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    primary: str | None = None
    noise: str | None = None
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False


def compare(a: str, b: str, /, *, options: CompareOptions | None = None) -> int:
    """Say whether B is worse than A, and whether to ship it, from result files of repeated runs.

    Reads result files of assay bench, vllm bench serve, sglang.bench_serving,
    guidellm, aiperf and inference-perf. One run of each carries no verdict. Exit code 0: same or
    better; 1: worse; 2: inconclusive, or files that cannot be read; 3: a doubt
    forbids a verdict. Runs that are pairs of fresh starts (A B B A) also give a
    decision by the rule of `assay tune`: ship, revert, or not shown.

    Parameters
    ----------
    a
        The baseline: a result file, a folder of them, or several with commas between.
    b
        What is held against it, likewise.
    """
    from assay import reports  # loaded only when it runs: `--help` stays fast
    from assay.bench import EXIT_CODES, Rule, compare, read_arm
    from assay.decisions import ConfirmationRule, decide_files

    options = options or CompareOptions()
    if not 0 < options.margin < 100:
        raise InputError(f"--margin {options.margin:g}: between 0 and 100 per cent was expected")
    rule = Rule(margin=options.margin / 100, metrics=options.metric, paired=options.paired)
    found = compare(read_arm(a), read_arm(b), rule)
    decision = decide_files(
        found,
        ConfirmationRule(margin=rule.margin),
        primary=options.primary,
        known=read_arm(options.noise) if options.noise else (),
    )
    if options.json:
        print(reports.compare_json(found, decision))
    else:
        print(reports.compare_text(found), reports.decision_text(decision), sep="\n\n")
    return EXIT_CODES[found.outcome]

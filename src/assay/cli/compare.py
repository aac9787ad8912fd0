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
    json
        Print the comparison as JSON.
    """

    margin: float = 3.0
    metric: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    paired: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False


def compare(a: str, b: str, /, *, options: CompareOptions | None = None) -> int:
    """Say whether B is worse than A, from result files of repeated runs of each.

    Reads result files of assay bench, vllm bench serve, sglang.bench_serving,
    guidellm and aiperf. One run of each carries no verdict. Exit code 0: same or
    better; 1: worse; 2: inconclusive, or files that cannot be read; 3: a doubt
    forbids a verdict.

    Parameters
    ----------
    a
        The baseline: a result file, a folder of them, or several with commas between.
    b
        What is held against it, likewise.
    """
    from assay import reports  # loaded only when it runs: `--help` stays fast
    from assay.bench import EXIT_CODES, Rule, compare, read_arm

    options = options or CompareOptions()
    if not 0 < options.margin < 100:
        raise InputError(f"--margin {options.margin:g}: between 0 and 100 per cent was expected")
    rule = Rule(margin=options.margin / 100, metrics=options.metric, paired=options.paired)
    found = compare(read_arm(a), read_arm(b), rule)
    print(reports.compare_json(found) if options.json else reports.compare_text(found))
    return EXIT_CODES[found.outcome]

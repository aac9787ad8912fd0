"""Whether two arms did the same work, and what else forbids a verdict between them; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.bench.results import Measurement, Objection, RunFile

_LENGTHS = 0.05


def objections(a: Sequence[RunFile], b: Sequence[RunFile], load: str) -> list[Objection]:
    """All objections to a verdict between the runs of A and B at one load, those that block first."""
    at_a, at_b = _at(a, load), _at(b, load)
    every = [*_own("A", at_a), *_own("B", at_b)]
    if len({each.tool for each in (*a, *b)}) > 1:
        every += _tools(a, b)  # their words for the work differ as well
    else:
        every += [*_versions(a, b), *_work(at_a, at_b), *_models(at_a, at_b)]
    every += [*_lengths(at_a, at_b), *_order(a, b), *_repeats(("A", a), ("B", b), load=load)]
    every += [*_starts("A", at_a), *_starts("B", at_b)]
    return sorted(every, key=lambda each: not each.blocks)


def _at(files: Sequence[RunFile], load: str) -> list[Measurement]:
    return [each for file in files for each in file.measurements if each.load == load]


def _own(arm: str, runs: Sequence[Measurement]) -> Iterator[Objection]:
    """What the runs say against themselves, each kind once."""
    kinds: dict[tuple[str, bool], list[Objection]] = {}
    for run in runs:
        for each in run.objections:
            kinds.setdefault((each.code, each.blocks), []).append(each)
    for (code, blocks), found in kinds.items():
        where = f"{arm}, {len(found)} of {len(runs)} runs" if len(runs) > 1 else arm
        yield Objection(code=code, blocks=blocks, text=f"{where}: {found[0].text}", mend=found[0].mend)


def _tools(a: Sequence[RunFile], b: Sequence[RunFile]) -> Iterator[Objection]:
    tools_a, tools_b = {each.tool for each in a}, {each.tool for each in b}
    yield Objection(
        code="tools-differ",
        blocks=True,
        text=f"A was measured by {_listed(tools_a)}, B by {_listed(tools_b)}: "
        "the same words mean other figures",
        mend="measure both with one tool",
    )


def _versions(a: Sequence[RunFile], b: Sequence[RunFile]) -> Iterator[Objection]:
    versions_a, versions_b = ({each.version for each in files} for files in (a, b))
    if versions_a != versions_b:
        yield Objection(
            code="tool-versions-differ",
            blocks=False,
            text=f"the tool's versions differ: {_listed(versions_a)} and {_listed(versions_b)}",
            mend="measure both with one version",
        )


def _work(a: Sequence[Measurement], b: Sequence[Measurement]) -> Iterator[Objection]:
    for name in sorted({name for each in (*a, *b) for name in each.work}):
        of_a, of_b = ({each.work.get(name, "not said") for each in runs} for runs in (a, b))
        if of_a != of_b or len(of_a) > 1:
            yield Objection(
                code="workload-differs",
                blocks=True,
                text=f"{name} differs: {_listed(of_a)} in A, {_listed(of_b)} in B",
                mend="give both arms the same prompts, lengths and sampling",
            )


def _models(a: Sequence[Measurement], b: Sequence[Measurement]) -> Iterator[Objection]:
    models_a, models_b = ({each.model for each in runs} for runs in (a, b))
    if models_a != models_b:
        yield Objection(
            code="models-differ",
            blocks=False,
            text=f"A is of the model {_listed(models_a)}, B of {_listed(models_b)}",
            mend="nothing, where that is what is compared",
        )
    if sorted(each.seed for each in a) != sorted(each.seed for each in b) and len(a) == len(b):
        yield Objection(
            code="seeds-differ",
            blocks=False,
            text="A and B were not asked the same prompts: their seeds differ",
            mend="the same --seed values for both arms",
        )


def _lengths(a: Sequence[Measurement], b: Sequence[Measurement]) -> Iterator[Objection]:
    for what, of in (("prompt", _mean_input), ("output", _mean_output)):
        of_a, of_b = of(a), of(b)
        if of_a and of_b and abs(of_b / of_a - 1) > _LENGTHS:
            yield Objection(
                code="lengths-differ",
                blocks=True,
                text=f"a request of A has {of_a:.0f} {what} tokens on average, one of B {of_b:.0f}",
                mend="fixed lengths: --random-output-len with --ignore-eos",
            )


def _mean_input(runs: Sequence[Measurement]) -> float | None:
    return _mean([(each.input_tokens, each.completed) for each in runs])


def _mean_output(runs: Sequence[Measurement]) -> float | None:
    return _mean([(each.output_tokens, each.completed) for each in runs])


def _mean(counts: Sequence[tuple[int | None, int]]) -> float | None:
    known = [(tokens, requests) for tokens, requests in counts if tokens is not None and requests]
    return sum(tokens for tokens, _ in known) / sum(requests for _, requests in known) if known else None


def _order(a: Sequence[RunFile], b: Sequence[RunFile]) -> Iterator[Objection]:
    dates_a, dates_b = [each.date for each in a], [each.date for each in b]
    if len(a) < 2 or len(b) < 2 or not all((*dates_a, *dates_b)):
        return
    if max(dates_a) <= min(dates_b) or max(dates_b) <= min(dates_a):
        yield Objection(
            code="not-interleaved",
            blocks=False,
            text="all runs of one arm came before all of the other: what drifted meanwhile is in the change",
            mend="alternate: A B B A, with --paired",
        )


def _repeats(*arms: tuple[str, Sequence[RunFile]], load: str) -> Iterator[Objection]:
    for arm, files in arms:
        if any(
            file.tool != "assay bench" and sum(each.load == load for each in file.measurements) > 1
            for file in files
        ):
            yield Objection(
                code="repeats-in-one-file",
                blocks=False,
                text=f"{arm} has several runs in one file: were they of one start of the server, then what "
                "differs between starts is not in the interval",
                mend="restart the server before each run",
            )


def _starts(arm: str, runs: Sequence[Measurement]) -> Iterator[Objection]:
    """Repeats on one life of a server do not show what differs between lives."""
    starts = [each.started for each in runs if each.started is not None]
    if len(set(starts)) < len(starts):
        yield Objection(
            code="one-start",
            blocks=False,
            text=f"{len(starts)} runs of {arm} are of {len(set(starts))} starts of the server: what differs "
            "between starts is not, or not wholly, in the interval",
            mend="restart the server before each run",
        )


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(name[:80] or "not said" for name in names))

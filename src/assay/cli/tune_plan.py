"""What `assay tune` plans before anything is started: source, candidates, loads, budget."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay._masking import mask_words
from assay.bench import shares_prefixes
from assay.candidates import Asked as Loads
from assay.candidates import Own, Wanted, candidates, effect_bounds
from assay.cli import bench_plan
from assay.cli.progress import Reporter
from assay.decisions import ConfirmationRule
from assay.deployment import load_deployment, not_run, parse_engine, start_command, unwrap
from assay.engines import find_server, is_followed, knobs
from assay.errors import InputError, Refused, SourceError
from assay.findings import Opened, open_deployment
from assay.quality import read_questions
from assay.rollout import parse_change
from assay.source import default_cache, open_tree, read
from assay.study import Budget, Scope, StudyBegan, digest
from assay.trials import Sieve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.bench import Level, Workload
    from assay.candidates import Candidates
    from assay.cli.bench_options import LoadOptions
    from assay.cli.tune_options import TuneOptions
    from assay.deployment import Deployment, Launch
    from assay.engines import Server
    from assay.quality import Question
    from assay.rollout import Change
    from assay.source import Declarations, Progress, Tree
    from assay.trials import Asked


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is tuned, after a look at its file and its engine's source."""

    path: Path
    """The deployment file."""
    deployment: Deployment
    """What it says."""
    launch: Launch
    """Its command, wrappers and all."""
    server: Server
    """The server that this starts."""
    tree: Tree
    """The engine's source."""
    declarations: Declarations
    """What that declares."""
    opened: Opened | None
    """What more may be asked of it; None where its start-up code is not followed."""
    why_not: str
    """Why not."""

    @property
    def words(self) -> tuple[str, ...]:
        """The command, program first. May hold secrets."""
        return tuple(word.text for word in self.launch.words)


def looked_at(target: str, options: TuneOptions) -> Subject:
    """Read the file and the engine's source.

    Raises:
        InputError: it is no deployment file, or starts no server that assay knows.
        SourceError: the engine's source cannot be had or read.
    """
    if not target.endswith(".toml"):
        raise InputError(
            f"{target!r} is no deployment file", hint="`assay describe UNIT@HOST -o FILE.toml` writes one"
        )
    path = Path(target)
    deployment = load_deployment(path, environment=os.environ, home=Path.home())
    launch = start_command(deployment, environment=os.environ, home=Path.home())
    found = [server for each in unwrap(launch) if (server := find_server(each)) is not None]
    if len(found) != 1 or found[0].launch.image is not None:
        raise InputError(f"{target} does not start one server that assay knows by itself")
    [server] = found
    if any(not word.known for word in launch.words):
        raise InputError(f"{target}: words of its command only show when it runs", hint="write them out")
    reference = not_run(parse_engine(options.engine) if options.engine else deployment.engine)
    cache = options.cache or default_cache(os.environ)
    with Reporter(sys.stderr) as progress:
        tree = open_tree(reference, engine=server.engine, cache=cache, progress=progress)
        declarations = read(tree, cache=cache, progress=progress)
        opened, why_not = _opened(path, server, options, cache, progress)
    return Subject(
        path=path, deployment=deployment, launch=launch, server=server, tree=tree,
        declarations=declarations, opened=opened, why_not=why_not,
    )  # fmt: skip


def _opened(
    path: Path, server: Server, options: TuneOptions, cache: Path, progress: Progress
) -> tuple[Opened | None, str]:
    """What the source can be asked, or why it cannot."""
    if options.unchecked:
        return None, "--unchecked"
    if not is_followed(server.engine):
        return None, f"assay does not follow the start-up code of {server.engine.name} yet"
    try:
        found = open_deployment(
            path,
            engine=parse_engine(options.engine) if options.engine else None,
            environment=os.environ,
            home=Path.home(),
            cache=cache,
            progress=progress,
        )
    except (InputError, SourceError) as error:
        return None, error.message
    return found, ""


def own_candidates(words: Sequence[str], deployment: Deployment) -> tuple[Own, ...]:
    """Those of the command line, then those of the file.

    Raises:
        InputError: one is no option.
        Refused: one holds a secret.
    """
    given = [Own(change=parse_change(each.split())) for each in words]
    given += [
        Own(change=parse_change(each.set, each.without), why=each.why) for each in deployment.candidates
    ]
    return tuple(given)


def listed(subject: Subject, own: Sequence[Own], options: TuneOptions, load: LoadOptions) -> Candidates:
    """What is worth a trial, and what is not."""
    levels = bench_plan.levels(load)
    flows = tuple(level.concurrency or 1 for level in levels)
    opened = subject.opened
    words = subject.words
    bounds = effect_bounds(opened, Loads(concurrency=flows)) if opened is not None else {}
    wanted = Wanted(
        table=knobs(subject.server.engine),
        only=options.only,
        own=own,
        words=words,
        model=subject.deployment.model,
        concurrency=max(flows),
        prefixes=shares_prefixes(bench_plan.workload(load, "").prompts),
        lossy=options.lossy,
        bounds=bounds,
    )
    declared = subject.declarations.options
    if opened is None:
        return candidates(wanted, declared, why_not_triaged=subject.why_not)
    sieve = Sieve(opened.case, words)
    with Reporter(sys.stderr) as progress:

        def ask(change: Change) -> tuple[Asked, ...]:
            progress(f"asking the engine's source about {change}", 0, None)
            return sieve.sift(change).asked

        return candidates(wanted, declared, ask=ask)


def began(
    subject: Subject, found: Candidates, id: str, options: TuneOptions, load: LoadOptions
) -> StudyBegan:
    """The study as it will stand in the journal.

    Raises:
        InputError: the load or the budget is wrong.
        Refused: the load has no figure that decides.
    """
    levels, asked = bench_plan.levels(load), bench_plan.workload(load, "")
    deployment = subject.deployment
    model = digest(deployment.model.config_text)[:16]
    hardware = f"{deployment.hardware.count}x {deployment.hardware.accelerator.name}"
    scope = Scope(source=subject.tree.digest, model=model, hardware=hardware)
    rule, budget = ConfirmationRule(margin=_margin(options.margin)), _budget(options)
    work, command = digest(levels, asked), digest(subject.words)
    gate, own = not options.no_quality, questions(options)
    folder = options.result_dir or Path(f"assay-tune-{id}")
    return StudyBegan(
        id=id,
        target=f"{deployment.name} ({subject.path.name})",
        engine=f"{subject.server.engine.name} {subject.tree.version or subject.declarations.version}".strip(),
        scope=scope,
        command=command,
        work=work,
        plan=digest(
            found.planned,
            work,
            command,
            scope,
            rule,
            budget,
            gate,
            load.seed,
            options.primary,
            own,
            options.search,
        ),
        candidates=found,
        levels=_levels(levels, options.primary),
        rule=rule,
        budget=budget,
        gate=gate,
        search=options.search,
        questions=len(own),
        folder=str(folder.absolute()),
        asked=" ".join(mask_words(["assay", *sys.argv[1:]])),
    )


def questions(options: TuneOptions) -> tuple[Question, ...]:
    """The user's own, of their file.

    Raises:
        InputError: it cannot be read, a line is wrong, or nobody would ask them.
    """
    if options.questions is None:
        return ()
    if options.no_quality:
        raise InputError("--questions and --no-quality exclude each other")
    return read_questions(options.questions)


def _levels(levels: Sequence[Level], primary: str | None) -> tuple[str, ...]:
    """Their names, the primary one first."""
    if any(level.open for level in levels):
        raise Refused(
            "a study measures how much a server gives to so many requests at a time, and no open load",
            hint="--max-concurrency without --request-rate, ramp or trace",
        )
    names = [level.name for level in levels]
    if len(set(names)) < len(names):
        raise InputError("one load is named twice", hint="--max-concurrency 1,4,16")
    first = primary or max(levels, key=lambda level: level.concurrency or 0).name
    if first not in names:
        raise InputError(f"--primary {first}: no such load", hint=f"measured are {', '.join(names)}")
    return (first, *(name for name in names if name != first))


def _budget(options: TuneOptions) -> Budget:
    for option, value in (("--hours", options.hours), ("--start-minutes", options.start_minutes)):
        if not 0 < value < math.inf:
            raise InputError(f"{option} {value:g}: a number above 0 was expected")
    if options.downtime is not None and not 0 < options.downtime < math.inf:
        raise InputError(f"--downtime {options.downtime:g}: a number above 0 was expected")
    return Budget(hours=options.hours, downtime_hours=options.downtime, start_minutes=options.start_minutes)


def _margin(margin: float) -> float:
    if not 0 < margin < 1:
        raise InputError(f"--margin {margin:g}: a share between 0 and 1 was expected, such as 0.03")
    return margin


def workload(load: LoadOptions) -> Workload:
    """What is sent; the model's name is asked of the server."""
    return bench_plan.workload(load, "")

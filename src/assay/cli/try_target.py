"""What `assay try` is about: a deployment file, or one made from what runs, and what its source says."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay import reports
from assay.cli.host_options import check_target, check_user
from assay.deployment import Deployment, EngineReference, Live, load_deployment, parse_engine
from assay.engines import is_followed, server_of
from assay.errors import InputError, Refused, SourceError
from assay.facts import LiveDeployment, deployment_text, differences, engine_of, read_live
from assay.findings import open_deployment
from assay.rollout import check_permission
from assay.source import default_cache
from assay.trials import PredictedSetting, Sifted, not_triaged, predict, sift

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.cli.try_options import TryOptions
    from assay.findings import Case
    from assay.hosts import Host
    from assay.rollout import Change
    from assay.source import Progress


@dataclass(frozen=True, kw_only=True)
class Named:
    """What the user named."""

    live: Live
    """The unit and its machine."""
    path: Path | None = None
    """The deployment file, if that was named."""
    deployment: Deployment | None = None
    """What it says."""


def named(target: str, options: TryOptions) -> Named:
    """A deployment file that lets assay restart the service, or a unit that the user lets it restart.

    Raises:
        Refused: neither is said; a dry run needs neither.
        InputError: it is no target.
    """
    check_user(target, options)
    if not target.endswith(".toml"):
        unit, host = check_target(target)
        if not options.in_place and not options.dry_run:
            raise Refused(
                f"nobody says that {unit} on {host or 'this machine'} may be restarted",
                hint="it stops serving for minutes, twice; if that may be, say --in-place, or write a "
                'deployment file with [trials] where = "in_place": `assay describe`',
            )
        return Named(live=Live(unit=unit, user=options.user, host=host))
    if options.in_place:
        raise InputError("--in-place goes with UNIT@HOST", hint="in a file, [trials] says where")
    path = Path(target)
    deployment = load_deployment(path, environment=os.environ, home=Path.home())
    if not options.dry_run:
        check_permission(deployment)
    if deployment.live is None:
        raise InputError(
            f"{target} does not say where it runs", hint="write [live], as `assay describe` does"
        )
    return Named(live=deployment.live, path=path, deployment=deployment)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is tried, after a look at it."""

    live: Live
    """The unit, its machine, and how it is asked."""
    seen: LiveDeployment
    """What runs."""
    engine: EngineReference | None
    """Where its source is to be had, if anybody says."""
    path: Path
    """The deployment file."""
    fault: str
    """Why that cannot be asked about, or empty."""


@contextlib.contextmanager
def looked_at(who: Named, host: Host, options: TryOptions, folder: Path) -> Iterator[Subject]:
    """Look at what runs; where no file was named, one is written into `folder`, or for a dry run aside.

    Raises:
        HostError: the machine or the unit is not there.
    """
    live = who.live
    sudo = not live.user and host.run(["id", "-u"]).checked().out.strip() != b"0"
    seen = read_live(host, live.unit, sudo=sudo, user=live.user)
    release = options.engine or (str(who.deployment.engine) if who.deployment else engine_of(seen))
    engine = parse_engine(release) if release else None
    if who.path is not None:
        yield Subject(live=who.live, seen=seen, engine=engine, path=who.path, fault="")
        return
    served = seen.served
    model = served.models[0].name if served and served.models else None
    url = served.url if served else None
    live = Live(unit=live.unit, user=live.user, host=live.host, url=url, model=model)
    with contextlib.ExitStack() as stack:
        if options.dry_run:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-")))
        path, fault = _written(seen, folder, options)
        yield Subject(live=live, seen=seen, engine=engine, path=path, fault=fault)


def _written(seen: LiveDeployment, folder: Path, options: TryOptions) -> tuple[Path, str]:
    """The deployment file that says what runs, and why it cannot be asked about, if so."""
    name = re.sub(r"[^\w.-]", "-", seen.unit.unit.removesuffix(".service") if seen.unit else "served")
    path, config = folder / f"{name}.toml", folder / f"{name}-config.json"
    text = reports.remarks(seen, differences(seen)) + deployment_text(
        seen,
        name=name,
        config_file=config.name if seen.config_text is not None else None,
        engine=options.engine,
        where="in_place" if options.in_place else "nowhere",
    )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if seen.config_text is not None:
            _put(config, seen.config_text)
        _put(path, text)
    except FileExistsError as error:
        raise InputError(
            f"{error.filename} is there already", hint="name it as the target, or another --result-dir"
        ) from None
    try:
        load_deployment(path, environment=os.environ, home=Path.home())
    except InputError as error:
        # each detail begins with the file's own path
        faults = [line.removeprefix(f"{path}:").strip() for line in error.details] or [error.message]
        return path, f"what runs does not say enough: {'; '.join(faults)}"
    return path, ""


def _put(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", errors="replace") as stream:
        stream.write(text)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the engine's source says of the change."""

    sifted: Sifted
    """Each option of it."""
    case: Case | None
    """What more may be asked of; None where it was not triaged."""

    def prediction(self, before: tuple[str, ...], after: tuple[str, ...]) -> tuple[PredictedSetting, ...]:
        """What both commands resolve to; nothing where it was not triaged."""
        return predict(self.case, before, after) if self.case is not None else ()


def asked(subject: Subject, change: Change, options: TryOptions, progress: Progress) -> Asked:
    """Triage of each option in the deployment as it runs; where that cannot be had, why not."""
    if options.unchecked:
        return Asked(sifted=not_triaged(change, "--unchecked"), case=None)
    server = server_of(subject.seen.words)
    if server is not None and not is_followed(server.engine):
        why = f"assay does not follow the start-up code of {server.engine.name} yet"
        return Asked(sifted=not_triaged(change, why), case=None)
    if subject.fault:
        return Asked(sifted=not_triaged(change, subject.fault), case=None)
    try:
        opened = open_deployment(
            subject.path,
            engine=parse_engine(options.engine) if options.engine else None,
            environment=os.environ,
            home=Path.home(),
            cache=options.cache or default_cache(os.environ),
            progress=progress,
        )
        progress("asking the engine's source", 0, None)
        sifted = sift(opened.case, subject.seen.words, change)
    except (InputError, SourceError) as error:
        return Asked(sifted=not_triaged(change, error.message), case=None)
    return Asked(sifted=sifted, case=opened.case if sifted.triaged else None)

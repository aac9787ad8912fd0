"""Opens both versions of an engine and one command, and compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.deployment import not_run, read_target
from assay.diagnostics import MASK, is_secret_name, mask, secrets_of
from assay.drift.change import Change, Drift, EngineAt
from assay.drift.compare import Side, compare, in_order, key_of
from assay.drift.resolved import Started, changed_start, compared, evened
from assay.engines import find_server, is_followed, option_history
from assay.errors import InputError
from assay.findings import stated_facts
from assay.flow import EngineSource, resolve
from assay.source import ConfigReader, Constant, no_progress, open_tree, parse, read

if TYPE_CHECKING:
    from assay.deployment import Deployment, EngineReference, Target
    from assay.engines import Server
    from assay.source import Declarations, Progress, Tree


def open_drift(  # noqa: PLR0913 - both versions, the file, and where things are looked for
    older: EngineReference,
    newer: EngineReference,
    target: Path,
    *,
    environment: Mapping[str, str],
    home: Path,
    cache: Path,
    progress: Progress = no_progress,
) -> Drift:
    """What going from one version to another does to the command in a file.

    Args:
        older: the version that the command is for.
        newer: the version that it may go to.
        target: a deployment file, unit, script, compose file or manifest that starts one server.
        environment: where models and files are looked for.
        home: likewise.
        cache: folder for fetched sources and what was read from them.
        progress: told how far fetching and reading have come.

    Raises:
        InputError: the file cannot be read, or does not start one server.
        SourceError: a version's source cannot be had or read.
    """
    opened = read_target(target, environment=environment, home=home)
    server = _only_server(target, opened)
    trees = [
        open_tree(not_run(each), engine=server.engine, cache=cache, progress=progress)
        for each in (older, newer)
    ]
    declared = [read(tree, cache=cache, progress=progress) for tree in trees]
    before, now = (
        Side(
            declarations,
            parse(declarations, server.arguments, ConfigReader(server), serves=server.serves),
            _name(tree, declarations),
        )
        for tree, declarations in zip(trees, declared, strict=True)
    )
    own = server.engine.environment_prefixes
    variables = [each.name for each in server.launch.environment if each.name.startswith(own)]
    words = [word.text for word in server.arguments]
    changes = compare(before, now, words, variables, option_history(server.engine))
    started = (
        [_started(opened.deployment, server, *each) for each in zip(trees, (before, now), strict=True)]
        if opened.deployment is not None and is_followed(server.engine)
        else []
    )
    if started:
        changes = _with_start(changes, started[0], started[1])
    secrets = secrets_of(server, before.parsed) | secrets_of(server, now.parsed)
    return Drift(
        target=str(target),
        older=_engine_at(trees[0], declared[0]),
        newer=_engine_at(trees[1], declared[1]),
        changes=tuple(_without_secrets(change, secrets) for change in changes),
        compared=len(compared(started[0], started[1])) if started else 0,
        unknown_words=sum(not word.known for word in server.arguments),
    )


def _started(deployment: Deployment, server: Server, tree: Tree, side: Side) -> Started:
    """What start-up code of one version makes of the command, as far as the file's facts tell."""
    source = EngineSource(Path(tree.root), side.declarations, server.engine.name)
    facts = stated_facts(deployment, server)
    found = resolve(source, facts, server.arguments, read_config=ConfigReader(server))
    return Started(found, {key_of(each): each for each in side.declarations.options}, side.name)


def _with_start(changes: Sequence[Change], older: Started, newer: Started) -> tuple[Change, ...]:
    """The changes of the declarations, and what start-up code makes of them."""
    settled = tuple(evened(changes, older, newer))
    told = {change.name for change in settled if change.effect == "differs"}
    return in_order([*settled, *changed_start(older, newer, told)])


def _only_server(target: Path, opened: Target) -> Server:
    launches = opened.launches
    servers = [server for launch in launches if (server := find_server(launch)) is not None]
    if len(servers) != 1:
        raise InputError(
            f"{target} starts {len(servers) or 'no'} servers that assay knows",
            hint="give a file that starts one, such as a deployment file that names it",
        )
    return servers[0]


def _without_secrets(change: Change, secrets: frozenset[str]) -> Change:
    """The change with no value of a secret in it."""
    before, after = change.before, change.after
    if is_secret_name(change.name):
        hidden = Constant(known=True, value=MASK)
        before, after = (hidden if value is not None and value.value else value for value in (before, after))
    return msgspec.structs.replace(
        change,
        written=mask(change.written, secrets),
        says=mask(change.says, secrets),
        before=before,
        after=after,
    )


def _name(tree: Tree, declarations: Declarations) -> str:
    return f"{tree.engine} {tree.version or declarations.version}".strip()


def _engine_at(tree: Tree, declarations: Declarations) -> EngineAt:
    return EngineAt(
        name=tree.engine,
        version=tree.version or declarations.version,
        digest=tree.digest,
        origin=tree.origin,
        unread=tuple(f"{gap.site}: {gap.reason}" for gap in declarations.gaps),
    )

"""Opens a deployment file for questions: its server, its engine's source, what it states as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.deployment import not_run, read_target
from assay.engines import find_server
from assay.errors import InputError, UnknownIdiom
from assay.facts import Facts, facts_of
from assay.findings.case import Case
from assay.flow import EngineSource
from assay.source import ConfigReader, Tree, no_progress, open_tree, read

if TYPE_CHECKING:
    from assay.deployment import Deployment, EngineReference, Target
    from assay.engines import Server
    from assay.source import Declarations, Progress


@dataclass(frozen=True)
class Opened:
    """A deployment, ready to be asked about."""

    path: Path
    """Its file."""
    deployment: Deployment
    """What the file says."""
    server: Server
    """The server that it starts."""
    tree: Tree
    """The engine's source."""
    case: Case
    """What questions are asked of."""


def open_deployment(
    path: Path,
    *,
    engine: EngineReference | None = None,
    environment: Mapping[str, str],
    home: Path,
    cache: Path,
    progress: Progress = no_progress,
) -> Opened:
    """Read a deployment file and its engine's source.

    Args:
        path: the deployment file.
        engine: the engine to ask about instead of the file's own.
        environment: where the model is looked for.
        home: likewise.
        cache: folder for fetched sources and what was read from them.
        progress: told how far fetching and reading have come.

    Raises:
        InputError: the file cannot be read, is no deployment file, or starts no server or several.
        SourceError: the engine's source cannot be had or read.
    """
    target = read_target(path, environment=environment, home=home)
    if target.deployment is None:
        raise InputError(
            f"{path} is no deployment file: it does not say which model and machine it is about",
            hint=f'write one (TOML) that says so and names it: unit = "{path.name}"; '
            "see docs/reference/deployment-file.md",
        )
    server = _only_server(path, target)
    reference = not_run(engine or target.deployment.engine)
    tree = open_tree(reference, engine=server.engine, cache=cache, progress=progress)
    declarations = read(tree, cache=cache, progress=progress)
    _check_followed(server, tree, declarations)
    source = EngineSource(Path(tree.root), declarations, server.engine.name)
    facts = stated_facts(target.deployment, server)
    case = Case(source, facts, server.arguments, read_config=ConfigReader(server))
    return Opened(path=path, deployment=target.deployment, server=server, tree=tree, case=case)


_FOLLOWED = ("sglang-argparse", "vllm-config")
"""The idioms whose start-up code is followed."""


def _check_followed(server: Server, tree: Tree, declarations: Declarations) -> None:
    """Refuse an engine of which only the declarations are understood: every answer would be `unknown`."""
    if declarations.idiom not in _FOLLOWED:
        release = f"{server.engine.name} {tree.version or declarations.version}".strip()
        raise UnknownIdiom(
            f"the start-up code of {release} is written in a way that assay does not follow yet",
            hint="`assay lint` and `assay drift` read its options; "
            "what they do in a deployment can be asked of SGLang up to 0.5.13.post1 and of vLLM",
        )


def _only_server(path: Path, target: Target) -> Server:
    servers = [server for launch in target.launches if (server := find_server(launch)) is not None]
    if len(servers) != 1:
        names = ", ".join(dict.fromkeys(server.launch.name for server in servers))
        raise InputError(
            f"{path} starts {len(servers) or 'no'} servers that assay knows{f': {names}' if names else ''}",
            hint="name one service, container or command in the deployment file",
        )
    return servers[0]


def stated_facts(deployment: Deployment, server: Server) -> Facts:
    """What a file states; a variable whose value only shows at run time leaves the environment open."""
    variables = server.launch.environment
    known = {each.name: each.value for each in variables if each.known}
    facts = facts_of(deployment, environment=known)
    return msgspec.structs.replace(facts, environment_is_complete=all(each.known for each in variables))

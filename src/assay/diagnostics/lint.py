"""Lint: find the server in a target, open its engine's source, run all checks."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.deployment import not_run, parse_engine, read_target
from assay.diagnostics.accepted import accepted
from assay.diagnostics.case import Case
from assay.diagnostics.refused import refused
from assay.diagnostics.result import EngineSeen, LintResult
from assay.diagnostics.secret_values import secrets_of
from assay.diagnostics.surroundings import environment, faults
from assay.engines import find_server, option_history
from assay.errors import InputError
from assay.source import ConfigReader, no_progress, open_tree, parse, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assay.deployment import EngineReference, Launch, Place
    from assay.diagnostics.diagnostic import Diagnostic
    from assay.engines import Server
    from assay.findings import Opened
    from assay.source import Declarations, Parsed, Progress, Tree

_IMAGE_VERSION = re.compile(r":v?(?P<version>\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?:[-_]|$)")
_IGNORED = re.compile(r"^[ \t]*+[#;][ \t]*+assay:\s*ignore\s*[= ]\s*(?P<codes>[A-Z0-9, ]+)", re.MULTILINE)


_MOST_SERVERS = 256
_MOST_WORDS = 10_000
_MOST_FINDINGS = 1000
_TOO_MUCH = "name the file or command that starts the server itself"


class Choice(Value):
    """An engine to check against, and why this one."""

    engine: EngineReference
    """The engine."""
    reason: str
    """`--engine`, the image's tag, and so on."""


def lint(
    target: str,
    launches: Sequence[Launch],
    *,
    engine: Choice | None = None,
    cache: Path,
    progress: Progress = no_progress,
) -> tuple[LintResult, ...]:
    """Check every server among the launches of one target; an empty result if there is none.

    Args:
        target: the file's path as the user gave it, for messages.
        launches: what the target starts, as the readers of `deployment` give it.
        engine: what to check against; None: what the launch itself says.
        cache: folder for fetched sources and what was read from them.
        progress: told how far fetching and reading have come.

    Raises:
        InputError: nothing says which version of the engine runs.
        SourceError: the engine's source cannot be had or read.
    """
    servers = [server for launch in launches if (server := find_server(launch)) is not None]
    if any(len(server.arguments) > _MOST_WORDS for server in servers):
        raise InputError(f"{target}: a command of more than {_MOST_WORDS:,} words", hint=_TOO_MUCH)
    if len(servers) > _MOST_SERVERS:
        raise InputError(f"{target} starts more than {_MOST_SERVERS} servers", hint=_TOO_MUCH)
    results: list[LintResult] = []
    for server in servers:
        own = engine_of(server, launches)
        choice = _over(engine, own) if engine else own
        if choice is None:
            raise InputError(
                f"{target}: nothing says which version of {server.engine.name} runs",
                hint=f"add --engine {server.engine.name}==VERSION, or --engine installed:FOLDER",
            )
        results.append(_lint_server(target, server, choice, cache, progress))
        if sum(len(result.diagnostics) for result in results) > _MOST_FINDINGS:
            raise InputError(f"{target}: more than {_MOST_FINDINGS:,} findings", hint=_TOO_MUCH)
    return tuple(results)


def lint_file(  # noqa: PLR0913 - where things are looked for, and what is asked
    path: Path,
    *,
    engine: EngineReference | None = None,
    environment: Mapping[str, str],
    home: Path,
    cache: Path,
    verdicts: bool = False,
    progress: Progress = no_progress,
) -> tuple[LintResult, ...]:
    """Check every server that a file starts; an empty result if it starts none.

    `engine` is what to check against, before whatever the file says; `environment` and `home` are where the
    model of a deployment file is looked for; `verdicts` asks of such a file, too, what each option of the
    command does for its model on its machine, which takes a while. The rest is as in `lint`.

    Raises:
        InputError: the file cannot be read, or nothing says which version of the engine runs.
        SourceError: the engine's source cannot be had or read.
    """
    target = read_target(path, environment=environment, home=home)
    choice = None
    if engine is not None:
        choice = Choice(engine=engine, reason="--engine")
    elif target.engine is not None:
        choice = Choice(engine=not_run(target.engine), reason="the deployment file")
    found = lint(str(path), target.launches, engine=choice, cache=cache, progress=progress)
    if not verdicts or target.deployment is None:
        return found
    from assay.findings import open_deployment  # what follows an engine is loaded only for it

    opened = open_deployment(
        path, engine=engine, environment=environment, home=home, cache=cache, progress=progress
    )
    return tuple(_with_verdicts(result, opened, progress) for result in found)


def _with_verdicts(result: LintResult, opened: Opened, progress: Progress) -> LintResult:
    from assay.diagnostics.verdicts import verdicts

    config, declarations = ConfigReader(opened.server), opened.case.source.declarations
    parsed = parse(declarations, opened.server.arguments, config)
    case = _case(opened.server, opened.tree, declarations, parsed, config)
    more = verdicts(case, opened.case, result.diagnostics, progress)
    return msgspec.structs.replace(result, diagnostics=_in_order(case, (*result.diagnostics, *more)))


def engine_of(server: Server, launches: Iterable[Launch]) -> Choice | None:
    """The engine that a launch itself names: interpreter, image tag, or an install command beside it."""
    name = server.engine.name
    interpreter = server.interpreter
    image = server.launch.image
    if interpreter and not image and Path(interpreter).exists():
        installed = not_run(parse_engine(f"installed:{interpreter}"))
        return Choice(engine=installed, reason=f"the interpreter {interpreter}")
    if image and (match := _IMAGE_VERSION.search(image)):
        release = parse_engine(f"{name}=={match['version']}")
        return Choice(engine=release, reason=f"the tag of the image {image}")
    pinned = re.compile(rf"{name}(?:\[[\w,-]*\])?==(?P<version>[\w.]+)")
    for launch in launches:
        if any(word.text == "install" for word in launch.words):
            for word in launch.words:
                if match := pinned.fullmatch(word.text):
                    return Choice(
                        engine=parse_engine(f"{name}=={match['version']}"), reason="the install command"
                    )
    return None


def _over(engine: Choice, own: Choice | None) -> Choice:
    """The engine asked for, saying so if the target itself names another release."""
    kinds = {engine.engine.kind, own.engine.kind if own else None}
    if own is None or kinds != {"release"} or own.engine == engine.engine:
        return engine
    return Choice(engine=engine.engine, reason=f"{engine.reason}, though {own.reason} says {own.engine}")


def _lint_server(target: str, server: Server, choice: Choice, cache: Path, progress: Progress) -> LintResult:
    tree = open_tree(choice.engine, engine=server.engine, cache=cache, progress=progress)
    declarations = read(tree, cache=cache, progress=progress)
    config = ConfigReader(server)
    parsed = parse(declarations, server.arguments, config, serves=server.serves)
    case = _case(server, tree, declarations, parsed, config)
    files = server.launch.files + ((config.file,) if config.file else ())
    return LintResult(
        target=target,
        server=server.launch.name,
        engine=EngineSeen(
            name=tree.engine,
            version=tree.version,
            digest=tree.digest,
            origin=tree.origin,
            chosen_by=choice.reason,
        ),
        diagnostics=checked(case),
        unknown_words=sum(not word.known for word in server.arguments),
        files=files,
        secrets=secrets_of(server, parsed),
        unread=_unread(tree, declarations),
        started_at=case.place(None),
    )


def _case(
    server: Server, tree: Tree, declarations: Declarations, parsed: Parsed, config: ConfigReader
) -> Case:
    left_out = [*(each.file for each in tree.omitted), *declarations.unsearched]
    return Case(
        server=server,
        declarations=declarations,
        parsed=parsed,
        engine=f"{server.engine.name} {tree.version or ''}".strip(),
        history=option_history(server.engine),
        searched=not left_out,
        searched_python=not any(file.endswith(".py") for file in left_out),
        config=config.file,
    )


def _unread(tree: Tree, declarations: Declarations) -> tuple[str, ...]:
    """What of the source no finding covers."""
    return (
        *(f"{gap.site}: {gap.reason}" for gap in declarations.gaps),
        *(f"{omitted.file}: {omitted.reason}" for omitted in tree.omitted),
        *(f"{file}: too large to be searched for words" for file in declarations.unsearched),
    )


def checked(case: Case) -> tuple[Diagnostic, ...]:
    """All findings on one server, in the order of the files, less what the files themselves ask to ignore."""
    broken = list(faults(case))
    others = (  # a value that its quoting destroyed is told once
        other
        for other in itertools.chain(refused(case), accepted(case))
        if not any(_overlap(other.place, fault.place) for fault in broken)
    )
    return _in_order(
        case, itertools.islice(itertools.chain(broken, environment(case), others), _MOST_FINDINGS + 1)
    )


def _in_order(case: Case, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings in the order of the files, each once, less what the files themselves ask to ignore."""
    ignored = _ignored(case)
    order = {file.path: number for number, file in enumerate(case.server.launch.files)}
    return tuple(
        sorted(
            (each for each in _unique(found) if each.code not in ignored),
            key=lambda each: (order.get(each.place.file, len(order)), each.place.line, each.place.column),
        )
    )


def _unique(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Without a second finding of the same code at the same place (one line can start several servers)."""
    seen = set()
    for each in found:
        if (key := (each.code, each.place, each.message)) not in seen:
            seen.add(key)
            yield each


def _overlap(one: Place, other: Place) -> bool:
    if one.file != other.file:
        return False
    starts = (one.line, one.column), (other.line, other.column)
    ends = (one.end_line, one.end_column), (other.end_line, other.end_column)
    return starts[0] < ends[1] and starts[1] < ends[0]


def _ignored(case: Case) -> set[str]:
    """Codes that a comment `# assay: ignore=ASY110,ASY111` in one of the files names."""
    return {
        code.strip()
        for file in case.server.launch.files
        for match in _IGNORED.finditer(file.text)
        for code in match["codes"].split(",")
    }


def without(result: LintResult, codes: frozenset[str]) -> LintResult:
    """The result less findings of these codes."""
    kept = tuple(each for each in result.diagnostics if each.code not in codes)
    return msgspec.structs.replace(result, diagnostics=kept)

"""Takes off the programs that only start another command, down to the program that runs in the end.

Known, with the options that take a value, are: `env`, `exec`, `nohup`, `nice`, `ionice`, `taskset`, `chrt`,
`numactl`, `stdbuf`, `setsid`, `time`, `timeout`, `sudo`, `command`, `gosu`, `tini`, `dumb-init`,
`catatonit`, `srun`, `mpirun`, `uv run`, `poetry run` and its like, `conda run`, `nsys profile`,
`systemd-run`, `ssh`, `tmux new`, `screen`, `su -c`, `apptainer exec`, `sh -c` of six shells, and `run` and
`exec` of `docker`, `podman` and `nerdctl`. An option not known to take a value is taken for a switch, so
the command begins at the first word that is neither an option nor the value of a known one.

`sudo` without `-E`, `systemd-run` without `--scope` and containers do not hand their environment on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assay.deployment.shell.script import split_script
from assay.deployment.wrappers.docker_run import unwrap_container
from assay.deployment.wrappers.options import Split, assignment, split_options, tail
from assay.deployment.wrappers.table import (
    ENGINES,
    SHELL_VALUES,
    SHELLS,
    USER_SCRIPT,
    USERS,
    WRAPPERS,
)
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.deployment.launch import Fault, Launch, Variable
    from assay.deployment.text import Word
    from assay.deployment.wrappers.table import Wrapper

SCRIPT_LIMIT = 8
"""Scripts within each other."""
STEP_LIMIT = 64
"""Wrappers within each other."""
ITEM_LIMIT = 400_000
"""Words and variables of all launches together."""


def unwrap(launch: Launch) -> tuple[Launch, ...]:
    """The commands that a launch starts in the end, wrappers taken off; each word keeps its place.

    One launch for each command of a script behind `sh -c`. A launch that is no wrapper, or whose wrapper
    starts nothing, comes back as it is. Faults of nested scripts are added to the launch's own.

    Raises:
        InputError: too many wrappers within each other, or too many words.
    """
    done: list[Launch] = []
    waiting = [(launch, 0, 0)]
    words = 0
    while waiting:
        current, steps, scripts = waiting.pop()
        inner = _step(current)
        if inner is None:
            done.append(current)
            continue
        words += sum(len(one.words) + len(one.environment) for one in inner)
        scripts += len(inner) != 1 or _is_script(current)
        if steps >= STEP_LIMIT or scripts > SCRIPT_LIMIT or words > ITEM_LIMIT:
            raise InputError(
                f"{launch.name}: too many commands within each other",
                hint="name the file or command that starts the server itself",
            )
        waiting += [(one, steps + 1, scripts) for one in reversed(inner)]
    return tuple(done)


def _name(launch: Launch) -> str:
    return launch.words[0].text.rsplit("/", 1)[-1] if launch.words else ""


def _is_script(launch: Launch) -> bool:
    return _name(launch) in SHELLS | USERS


def _step(launch: Launch) -> list[Launch] | None:
    """Take off the outermost wrapper; None if there is none."""
    name = _name(launch)
    if name in SHELLS:
        return _script(launch)
    if name in ENGINES:
        return unwrap_container(launch)
    if name in USERS:
        return _as_user(launch)
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    start = _subcommand(launch.words, wrapper) if wrapper.subcommand else 1
    return None if start is None else _unwrapped(launch, wrapper, start)


def _subcommand(words: tuple[Word, ...], wrapper: Wrapper) -> int | None:
    """Offset after `run`, with options of the program itself before it."""
    split = split_options(words, 1, wrapper)
    if split.end < len(words) and words[split.end].text in wrapper.subcommand:
        return split.end + 1
    return None


def _unwrapped(launch: Launch, wrapper: Wrapper, start: int) -> list[Launch] | None:
    split = split_options(launch.words, start, wrapper)
    if split.switches & wrapper.without_command:
        return None
    at = split.end
    assigned: list[Variable] = []
    while wrapper.assigns and at < len(launch.words) and (variable := assignment(launch.words[at])):
        assigned.append(variable)
        at += 1
    words = launch.words[at + wrapper.positional :]
    name = _name(launch)
    if name == "env" and (script := split.last({"-S", "--split-string"})):
        return _split_string(launch, script, words, _environment(launch, wrapper, split))
    if name == "uv":
        words = _module_run(launch, split, words)
    if not words:
        return None
    environment = (*_environment(launch, wrapper, split), *assigned)
    if wrapper.script and len(words) == 1:
        return _commands(msgspec.structs.replace(launch, environment=environment), words[0], ())
    directory, image = split.last(wrapper.directory), split.last(wrapper.image)
    return [
        msgspec.structs.replace(
            launch,
            words=words,
            environment=environment,
            directory=directory.text if directory else launch.directory,
            image=image.text if image else launch.image,
        )
    ]


def _environment(launch: Launch, wrapper: Wrapper, split: Split) -> tuple[Variable, ...]:
    """What is left of the environment, and what the wrapper's options add."""
    kept = launch.environment
    if split.switches & wrapper.clears:
        kept = ()
    if wrapper.keeps is not None and not split.switches & wrapper.keeps:
        named = split.last({"--preserve-env"})
        names = named.text.split(",") if named else []
        kept = tuple(variable for variable in kept if variable.name in names)
    unset = {value.text for option, value in split.values if option in ("-u", "--unset")}
    if unset and _name(launch) == "env":
        kept = tuple(variable for variable in kept if variable.name not in unset)
    added = [assignment(value) for option, value in split.values if option in wrapper.environment]
    if exports := split.last(wrapper.exports):
        kept, added = _exported(kept, exports)
    return (*kept, *(variable for variable in added if variable is not None))


def _exported(
    kept: tuple[Variable, ...], exports: Word
) -> tuple[tuple[Variable, ...], list[Variable | None]]:
    """`srun --export=ALL,A=1`: what stays of the environment, and what is added."""
    items = exports.text.split(",")
    if "ALL" not in items:
        kept = tuple(variable for variable in kept if variable.name in items)
    starts = [sum(len(item) + 1 for item in items[:at]) for at in range(len(items[:1000]))]
    parts = [tail(exports, start, start + len(item)) for start, item in zip(starts, items, strict=False)]
    return kept, [assignment(part) for part in parts]


def _module_run(launch: Launch, split: Split, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`uv run -m module` is `python -m module`."""
    if not split.switches & {"-m", "--module"}:
        return words
    place = launch.words[0]
    python = msgspec.structs.replace(
        place, text="python", offsets=(place.start,) * 6 + (place.end,), editable=False
    )
    dash = msgspec.structs.replace(python, text="-m", offsets=(place.start,) * 2 + (place.end,))
    return (python, dash, *words)


def _split_string(
    launch: Launch, script: Word, rest: tuple[Word, ...], environment: tuple[Variable, ...]
) -> list[Launch] | None:
    """`env -S 'A=1 cmd'`: the string's words come before the others."""
    commands = split_script(script.written(), arguments=(), syntax=script.syntax, editable=False)
    if len(commands) != 1:
        return None
    command = commands[0]
    return [
        msgspec.structs.replace(
            launch, words=command.words + rest, environment=environment + command.environment
        )
    ]


def _script(launch: Launch) -> list[Launch] | None:
    """The commands of `sh -c 'script' zero one`; None if the shell reads its script from elsewhere."""
    at = _after_dash_c(launch.words)
    if at is None or at >= len(launch.words):
        return None
    return _commands(launch, launch.words[at], launch.words[at + 1 :])


def _as_user(launch: Launch) -> list[Launch] | None:
    """`su - name -c 'script'`."""
    for at, word in enumerate(launch.words[:-1]):
        if word.text in USER_SCRIPT:
            return _commands(msgspec.structs.replace(launch, environment=()), launch.words[at + 1], ())
    return None


def _commands(launch: Launch, script: Word, arguments: tuple[Word, ...]) -> list[Launch] | None:
    """The commands of a script, in the environment of the launch; None if there are none."""
    commands = split_script(
        script.written(),
        variables={variable.name: variable for variable in launch.environment},
        arguments=arguments,
        syntax=script.syntax,
        editable=_stands_as_it_is(script),
    )
    return [
        msgspec.structs.replace(
            launch,
            words=command.words,
            environment=command.environment,
            directory=command.directory or launch.directory,
            image=None if command.words and command.words[0].text.startswith("-") else launch.image,
            faults=tuple(dict.fromkeys((*launch.faults, *(_within(script, one) for one in command.faults)))),
        )
        for command in commands
    ] or None


def _stands_as_it_is(script: Word) -> bool:
    """Whether a script is written in the file character for character, as in a block of YAML."""
    text = script.file.text
    return (
        script.syntax == "yaml"
        and script.raw[:1] in ("|", ">")
        and all(
            text[at : at + 1] == char or (char == " " and text[at : at + 1] == "\n")
            for at, char in zip(script.offsets, script.text, strict=False)
        )
    )


def _within(script: Word, fault: Fault) -> Fault:
    """A fault of a script; quotes and backslashes put into a script that is itself quoted would break it."""
    quoted = script.raw[:1] in ("'", '"')
    if quoted and any(set(edit.text) & set("'\"\\") for edit in fault.edits):
        return msgspec.structs.replace(fault, edits=())
    return fault


def _after_dash_c(words: tuple[Word, ...]) -> int | None:
    """Offset of the script of `bash -euo pipefail -c script`."""
    at, found = 1, False
    while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
        text = words[at].text
        cluster = not text.startswith("--")
        found |= cluster and text.startswith("-") and "c" in text
        takes = text in SHELL_VALUES or (cluster and text[-1:] in "oO")
        at += 2 if takes else 1
    if at < len(words) and words[at].text in ("-", "--"):
        at += 1
    return at if found else None

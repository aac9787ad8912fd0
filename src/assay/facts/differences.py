"""Where a deployment is not as a reader of its unit would think: asked, resolved and running side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from assay._masking import mask_words, may_be_secret_name
from assay._value import Value
from assay.deployment import launch_of_words, unwrap
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment import Launch
    from assay.facts.live import LiveDeployment
    from assay.facts.served import Settings

Kind = Literal["not-reloaded", "not-restarted", "resolved-otherwise", "other-gpu-user", "not-serving"]


class Difference(Value):
    """Something that is not as a reader of the unit would think."""

    kind: Kind
    """Which."""
    message: str
    """What was asked and what runs."""
    help: str
    """What a person can do."""


def differences(live: LiveDeployment) -> tuple[Difference, ...]:
    """What a reader of the unit would not think; pure."""
    return (*_of_unit(live), *_of_settings(live), *_of_gpus(live))


def _of_unit(live: LiveDeployment) -> list[Difference]:
    unit, found = live.unit, []
    if unit is None:
        return []
    if unit.need_daemon_reload:
        found.append(
            Difference(
                kind="not-reloaded",
                message=f"{unit.unit} was edited but never reloaded: systemd still goes by the older text",
                help="`systemctl daemon-reload` makes the next start use the newer one: see `systemctl cat`",
            )
        )
    if live.process and live.starts and not same_command(live.starts[-1].words, live.process.words):
        found.append(
            Difference(
                kind="not-restarted",
                message=f"process {live.process.pid} was started with other words than {unit.unit} has now",
                help="the unit was changed after its last start; a restart would use: "
                + " ".join(mask_words(live.starts[-1].words)),
            )
        )
    if unit.main_pid is None or (live.served is not None and not live.served.models):
        why = unit.active_state if unit.main_pid is None else "it runs, and does not answer"
        found.append(
            Difference(
                kind="not-serving",
                message=f"{unit.unit} does not serve: {why}",
                help=f"see `journalctl -u {unit.unit}`",
            )
        )
    return found


def same_command(asked: Sequence[str], running: Sequence[str]) -> bool:
    """Whether the words could be the same; true where nobody can tell.

    Scripts get an interpreter, wrappers (`numactl`, `sh -c 'exec …'`) give way to what they start, and some
    programs write other words over their own. systemd's `$` is not resolved in `asked`: `${X}` may be
    anything, and a word `$X` any number of words.
    """
    if not any(word.startswith("--") for word in running):
        return True
    launches = _unwrapped(asked)
    if any(not word.known for launch in launches for word in launch.words):
        return True
    forms = [tuple(asked), *(tuple(word.text for word in launch.words) for launch in launches)]
    return any(_could_run(form, running) for form in forms)


def _unwrapped(asked: Sequence[str]) -> tuple[Launch, ...]:
    try:
        return unwrap(launch_of_words(tuple(asked)))
    except InputError:  # wrappers without end
        return ()


def _could_run(asked: Sequence[str], running: Sequence[str]) -> bool:
    tail = asked[1:]
    if any(re.fullmatch(r"\$\w+", word) for word in tail):
        return True
    ran = running[max(len(running) - len(tail), 0) :]
    return len(ran) == len(tail) and all(map(_could_be, tail, ran))


def _could_be(asked: str, ran: str) -> bool:
    parts = re.split(r"(\$\$|\$\{\w*\})", asked)
    known = {"$$": r"\$"}
    pattern = (known.get(part, ".*") if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.fullmatch("".join(pattern), ran, re.DOTALL) is not None


def _of_settings(live: LiveDeployment) -> list[Difference]:
    settings = live.served.settings if live.served else {}
    told = ((flag, resolved_otherwise(flag, asked, settings)) for flag, asked in _single_values(live.words))
    return [
        Difference(
            kind="resolved-otherwise",
            message=message,
            help=f"`assay explain {flag.lstrip('-')}` says by which line",
        )
        for flag, message in told
        if message
    ]


def resolved_otherwise(flag: str, asked: str | None, settings: Settings) -> str:
    """What a server made of an option, in a sentence, if that is not what was asked; else nothing.

    `asked` is None for a switch. What the server does not say, and secrets, are no difference.
    """
    name = flag.lstrip("-").replace("-", "_")
    if name not in settings or may_be_secret_name(flag):
        return ""
    resolved = settings[name]
    if asked is None:
        return f"{flag} was asked for, the server runs without" if resolved is False else ""
    if isinstance(resolved, bool) or _same_value(asked, resolved):
        return ""
    return f"{flag} {asked} was asked for, the server runs with {resolved}"


def _single_values(words: Sequence[str]) -> list[tuple[str, str]]:
    """Options with exactly one value, as far as words alone can tell."""
    found = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            continue
        after = list(words[at + 1 : at + 3])
        if equals:
            found.append((name, value))
        elif after and not after[0].startswith("-") and (len(after) == 1 or after[1].startswith("-")):
            found.append((name, after[0]))
    return found


def _same_value(asked: str, resolved: float | str | None) -> bool:
    if isinstance(resolved, str):
        return asked == resolved
    if resolved is None:
        return asked.lower() in ("none", "null")
    return float(resolved) in _numbers(asked)


def _numbers(text: str) -> tuple[float, ...]:
    """What engines read in a number; `2k` is 2,000 to some and 2,048 to others.

    >>> _numbers("0.9"), _numbers("2k"), _numbers("fp8")
    ((0.9,), (2000.0, 2048.0), ())
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt])", text, re.ASCII | re.IGNORECASE)
    try:
        if match is None:
            return (float(text),)
        power = "kmgt".index(match[2].lower()) + 1
        return float(match[1]) * 1000**power, float(match[1]) * 1024**power
    except ValueError:
        return ()


def _of_gpus(live: LiveDeployment) -> list[Difference]:
    if live.unit is None or not live.processes:
        return []
    others = [user for user in live.gpus.users if user.pid not in live.processes]
    return [
        Difference(
            kind="other-gpu-user",
            message=f"process {user.pid} ({user.name[:60]}) uses a GPU and is not of {live.unit.unit}"
            + (f": {user.memory_mib} MiB" if user.memory_mib else ""),
            help="measurements beside it say little; see whose it is",
        )
        for user in others
    ]

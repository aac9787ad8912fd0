"""A live deployment as remarks, a short text or JSON; secrets are masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask, mask_words, secrets_in_words, writable
from assay.reports.harmless import harmless_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.facts import ContainerState, Difference, LiveDeployment, Served


def remarks(live: LiveDeployment, found: Sequence[Difference]) -> str:
    """What stands at the top of a deployment file that was written from a live one."""
    lines = ["Written by `assay describe`: check it before you go by it."]
    lines += [f"{each.kind}: {mask(each.message)}; {mask(each.help)}" for each in found]
    lines += [f"not read: {mask(note)}" for note in live.notes]
    return "".join(f"# {_one_line(line)}\n" for line in lines) + "\n"


def described(live: LiveDeployment, found: Sequence[Difference], written: str) -> str:
    """What was seen and what is odd, for a person."""
    lines = [f"{written} is written."]
    if live.unit:
        lines.append(f"{live.unit.unit} on {live.host}: {live.unit.active_state}, {len(live.gpus.gpus)} GPUs")
    if live.container:
        state = live.container
        lines.append(f"{state.name} on {live.host}: {state.status}, {len(live.gpus.gpus)} GPUs")
    lines += [f"{each.kind}: {mask(each.message)}\n  {mask(each.help)}" for each in found]
    lines += [f"not read: {mask(note)}" for note in live.notes]
    return harmless_lines("\n".join(lines))


def live_json(live: LiveDeployment, found: Sequence[Difference]) -> str:
    """Everything that was read, without secrets; docs/reference/live-json.md."""
    process, secrets = live.process, secrets_in_words(live.words)
    value = {
        "version": 1,
        "host": live.host,
        "unit": live.unit,
        "container": _container(live.container),
        "asked": [_words(start.words, secrets) for start in live.starts],
        "running": _words(process.words, secrets) if process else None,
        "pid": process.pid if process else None,
        "environment": {name: writable(mask(text, secrets)) for name, text in process.environment}
        if process
        else {},
        "gpus": live.gpus,
        "installed": live.installed,
        "served": _masked(live.served, secrets),
        "config": None if live.config_text is None else _parsed(live.config_text),
        "differences": [_difference(each) for each in found],
        "notes": [writable(mask(note)) for note in live.notes],
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _difference(each: Difference) -> dict[str, str]:
    return {"kind": each.kind, "message": writable(mask(each.message)), "help": writable(mask(each.help))}


def _words(words: Sequence[str], secrets: frozenset[str]) -> list[str]:
    return [writable(mask(word, secrets)) for word in mask_words(words)]


def _masked(served: Served | None, secrets: frozenset[str]) -> Served | None:
    if served is None:
        return None
    settings = {
        writable(name): writable(mask(each, secrets)) if isinstance(each, str) else each
        for name, each in served.settings.items()
    }
    return msgspec.structs.replace(served, settings=settings)


def _parsed(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _container(state: ContainerState | None) -> dict[str, object] | None:
    """All but its words, which stand under `running`, masked."""
    if state is None:
        return None
    return {name: getattr(state, name) for name in state.__struct_fields__ if name != "words"}


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)

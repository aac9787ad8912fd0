"""What the source says that both arms resolve to: every setting before and after a change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay._value import Value
from assay.trials.sift import case_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.findings import Case
    from assay.flow import Resolution


class PredictedSetting(Value):
    """One field of the engine's arguments, as start-up code leaves it."""

    field: str
    """Its name, as the server names it, too."""
    known: bool
    """False if it could not be told in one of the arms."""
    before: Any = None
    """In the arm that runs; None where not known."""
    after: Any = None
    """In the arm with the change; None where not known."""
    at: str = ""
    """FILE:LINE that sets it in the arm with the change, if a line does."""

    @property
    def changes(self) -> bool:
        """Whether the arms surely differ in it."""
        return self.known and self.before != self.after


def are_one(prediction: Sequence[PredictedSetting], drawn: frozenset[str]) -> bool:
    """Whether both arms surely resolve to the same; not where nothing was predicted, or a field is not known.

    `drawn` are settings that differ from start to start by themselves.
    """
    told = [each for each in prediction if each.field not in drawn]
    return bool(told) and all(each.known and not each.changes for each in told)


def predict(case: Case, before: tuple[str, ...], after: tuple[str, ...]) -> tuple[PredictedSetting, ...]:
    """Every field of both arms; empty if one of them is not followed to its end.

    Args:
        case: the deployment.
        before: the words that run, program first.
        after: the words as they shall be.
    """
    one, other = (case_of(case, words).present.base.resolution for words in (before, after))
    held = {each.name: each for each in other.fields}
    found = []
    for each in one.fields:
        then = held.get(each.name)
        if then is None:
            continue
        known = each.known and then.known
        found.append(
            PredictedSetting(
                field=each.name,
                known=known,
                before=each.value if known else None,
                after=then.value if known else None,
                at=_line(other, each.name),
            )
        )
    return tuple(found)


def _line(resolution: Resolution, name: str) -> str:
    held = resolution.field(name)
    site = held.provenance.site if held else None
    return f"{site.file}:{site.line}" if site else ""

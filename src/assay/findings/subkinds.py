"""The sub-kinds of verdicts: one closed list, from which help and the reference page are made."""

from __future__ import annotations

from assay._value import Value
from assay.findings.finding import Verdict


class Subkind(Value):
    """One reason for a verdict."""

    name: str
    """Short name, as in JSON."""
    verdict: Verdict
    """The verdict that it belongs to."""
    title: str
    """The reason in a few words, for tables."""
    meaning: str
    """What was found."""
    to_do: str
    """What to do about it."""


def _rows(verdict: Verdict, *rows: tuple[str, str, str, str]) -> tuple[Subkind, ...]:
    return tuple(
        Subkind(name=name, verdict=verdict, title=title, meaning=meaning, to_do=to_do)
        for name, title, meaning, to_do in rows
    )


_INCOMPATIBLE = _rows(
    "incompatible",
    (
        "missing",
        "not in this version",
        "The engine's parser has no such option; the finding names the nearest ones, and the releases that "
        "have it.",
        "Correct the name, or move to a release that has it.",
    ),
    (
        "removed",
        "refused by name",
        "The option is only declared to be refused with a message.",
        "Follow the engine's message, which the finding quotes.",
    ),
    (
        "not_a_choice",
        "not among the choices",
        "The parser refuses the value: the option's choices do not hold it.",
        "Take one of the choices.",
    ),
    (
        "wrong_type",
        "not a value of its type",
        "The parser refuses the value, or a switch was asked to take a value that no command line can give.",
        "Give a value of the declared type; a switch can only be left out.",
    ),
    (
        "rejected_at_start",
        "refused at start",
        "Start-up code raises under the facts of this deployment, though it starts without the option.",
        "Read the tests before the line that raises: one of them names what does not go together.",
    ),
    (
        "raises_in_worker",
        "raises after the start",
        "Arguments resolve, but a worker process reaches a line that raises.",
        "Do not set it here; the guards say what would have to be different.",
    ),
    (
        "overridden",
        "reset by the engine",
        "Start-up code resets the option to what it is without it.",
        "Leave it out, or change what the cited rule depends on.",
    ),
    (
        "command_does_not_start",
        "the command itself fails",
        "The deployment's own command is refused, and this option does not change that.",
        "Mend the command first: the first finding of `assay triage` names settings that do.",
    ),
)
_ALREADY_ON = _rows(
    "already_on",
    (
        "declared_default",
        "the default",
        "The value is the declared default, and nothing changes it.",
        "Leave it out, or keep it to pin the value against a later version.",
    ),
    (
        "set_at_start",
        "set by the engine itself",
        "The engine's start-up code sets this very value here; the cited line does.",
        "Leave it out, or keep it to pin the value.",
    ),
    (
        "set_at_run_time",
        "set while it runs",
        "A worker writes this value back after the arguments were resolved, whatever was asked for.",
        "Leave it out.",
    ),
)
_DEAD = _rows(
    "dead",
    (
        "nobody_reads",
        "no reader",
        "No line of the tree names the option outside its own declaration, or whatever bears its name is "
        "another thing: an attribute that objects of another class give themselves, a variable, a parameter.",
        "Take it out of the command: it has no effect in any deployment of this release.",
    ),
    (
        "accepted_and_ignored",
        "accepted and ignored",
        "The parser accepts the option for old commands and stores nothing.",
        "Take it out of the command, and use what the message names instead.",
    ),
)
_NO_OP = _rows(
    "no_op",
    (
        "hardware",
        "another accelerator",
        "The lines that read it are behind a test of the accelerator that is false here.",
        "Leave it out on this machine.",
    ),
    (
        "model",
        "another kind of model",
        "The lines that read it are behind a test of the model that is false here.",
        "Leave it out for this model.",
    ),
    (
        "layout",
        "another parallel layout",
        "The lines that read it need another number of processes or another way to split the model.",
        "Reconsider it when the layout changes.",
    ),
    (
        "other_option",
        "needs another option",
        "The lines that read it are behind a test of another option that is false here.",
        "Ask about both together: `assay explain A B --together`.",
    ),
    (
        "environment",
        "needs an environment variable",
        "The lines that read it are behind a test of an environment variable that is false here.",
        "Set that variable too, if the option is wanted.",
    ),
    (
        "library",
        "needs a library",
        "The lines that read it are behind a test of an installed library that is false here.",
        "Install that library, if the option is wanted.",
    ),
    (
        "other_class",
        "other class only",
        "Only a class reads it that is not built here.",
        "Leave it out; the guards say what would build that class.",
    ),
    (
        "same_value",
        "the same arrives",
        "The lines that read it are reached and do the same with both values.",
        "Leave it out; another value may tell the runs apart.",
    ),
    (
        "not_reached",
        "its readers are not reached",
        "Nothing that runs here leads to the lines that read it.",
        "Leave it out.",
    ),
)
_EFFECTIVE = _rows(
    "effective",
    (
        "required_to_start",
        "needed to start",
        "The command is refused without it, and starts with it.",
        "Set it, or another of the settings that let the command start.",
    ),
    (
        "changes_other_option",
        "changes other options",
        "Beside its own value it makes the engine resolve other options otherwise.",
        "Look at the side effects before the option itself.",
    ),
    (
        "takes_another_branch",
        "another branch is taken",
        "A reached test comes out otherwise.",
        "Measure it: assay knows that it does something, not whether that helps.",
    ),
    (
        "value_used",
        "another value is used",
        "A reached line computes with another value.",
        "Measure it.",
    ),
    (
        "logging_only",
        "changes what is logged",
        "The only difference that was found is what is logged, or how often.",
        "Expect little, unless logging is slow.",
    ),
)
_UNKNOWN = _rows(
    "unknown",
    (
        "open_condition",
        "depends on something not known",
        "A test or value depends on something that the deployment does not state.",
        "State the named facts in the deployment file, and ask again.",
    ),
    (
        "reader_not_followed",
        "its readers were not followed",
        "Lines that read the option could not be followed to their end.",
        "Try it, or read the cited lines.",
    ),
    (
        "may_not_start",
        "may be refused",
        "Start-up code may raise, depending on something not known.",
        "State the named facts in the deployment file, and ask again.",
    ),
    (
        "needs_a_value",
        "ask with a value",
        "Any text or object may be given, and the one that assay made up was refused.",
        "Ask with the value that you mean: `assay explain OPTION=VALUE -d DEPLOYMENT`.",
    ),
)

SUBKINDS: tuple[Subkind, ...] = (*_INCOMPATIBLE, *_ALREADY_ON, *_DEAD, *_NO_OP, *_EFFECTIVE, *_UNKNOWN)
"""Every reason that a finding may have, in the order of the verdicts."""

SUBKIND: dict[str, Subkind] = {each.name: each for each in SUBKINDS}
"""The same by name."""

"""Parses a command line as the engine's parser would: CPython's argparse, for parsers without positionals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.source.command_line.config_file import ReadConfig, merge_config
from assay.source.command_line.conversion import NotConverted, convert
from assay.source.command_line.flags import Flags, Match
from assay.source.command_line.flexible import rewritten
from assay.source.command_line.option_values import UNKNOWN, Occurrence, Text, count_values, effect, needs
from assay.source.command_line.parsed_command import ArgumentWord, Given, Item, Parsed, Problem, ProblemKind
from assay.source.declarations import Constant, Declarations, Option
from assay.source.declaring.fold import SUPPRESS

_REFUSALS: dict[str, tuple[ProblemKind, str]] = {
    "refused": ("refused-option", "the engine refuses this option"),
    "help": ("prints-help", "prints the help text and ends instead of serving"),
}


@dataclass
class _State:
    items: Sequence[Item]
    matches: dict[int, Match] = field(default_factory=dict)
    pattern: str = ""
    """Like argparse's: `O` an option, `A` an argument, `-` the first `--`."""
    given: list[Given] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    leftovers: list[Problem] = field(default_factory=list)
    """What argparse reports after everything else: words that it does not recognise."""
    namespace: dict[str, Constant] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    """Destinations that an option has stored something in."""
    complete: bool = True


def parse(
    declarations: Declarations,
    words: Sequence[ArgumentWord],
    read_config: ReadConfig | None = None,
    *,
    serves: bool = False,
) -> Parsed:
    """What the engine's parser makes of these words, with all problems and not only the first.

    Args:
        declarations: the options of the engine.
        words: the command line after the entry point; a word that is not `known` may stand for anything.
        read_config: reads a file of arguments (`--config`); without it, such a file is taken as not known.
        serves: whether the program is a command with a sub-command, such as `vllm serve`.
    """
    merged = merge_config(declarations, words, read_config)
    items = rewritten(merged.items, serves=serves) if declarations.spelling == "flexible" else merged.items
    state = _State(items, complete=merged.complete)
    _Parser(declarations).run(state)
    problems = [*merged.problems, *state.problems, *state.leftovers]
    if not merged.problems:
        problems.extend(_unread_files(declarations, state.given))
    return Parsed(
        given=tuple(state.given),
        namespace=state.namespace,
        problems=tuple(problems),
        complete=state.complete,
    )


class _Parser:
    """One parser; the work is on a state, so that a parser can be used again."""

    def __init__(self, declarations: Declarations) -> None:
        self._options = declarations.options
        self._flags = Flags(declarations)
        self._positional = declarations.positional

    def run(self, state: _State) -> None:
        """Parse all words: what each is, then option by option, then what is required."""
        self._classify(state)
        for option in (*self._options, *([self._positional] if self._positional else [])):
            if option.default.value != SUPPRESS:
                state.namespace.setdefault(option.dest, option.default)
        at = 0
        while at < len(state.items):
            at = self._option(state, at) if at in state.matches else self._word(state, at)
        for option in self._options:
            if id(option) not in state.seen and not option.required:
                _convert_default(state, option)
        if state.complete:
            missing = (o for o in self._options if o.required and id(o) not in state.seen)
            state.problems.extend(_missing(option) for option in missing)

    def _classify(self, state: _State) -> None:
        for at, item in enumerate(state.items):
            if "-" in state.pattern:
                state.pattern += "A"
            elif item.text == "--" and item.known:
                state.pattern += "-"
            else:
                match = self._flags.match(item.text) if item.known else self._flags.match_open(item.text)
                if match is not None:
                    state.matches[at] = match
                if match is not None and match.candidates:
                    message = f"ambiguous option: {item.text} could match {', '.join(match.candidates)}"
                    state.problems.append(_problem("ambiguous", item, message, match.candidates))
                state.pattern += "A" if match is None else "O"

    def _word(self, state: _State, at: int) -> int:
        """A word that belongs to no option: the first may be the positional argument."""
        option, item = self._positional, state.items[at]
        if option is None or id(option) in state.seen:
            return _stray(state, at)
        texts = (Text(item.text, item.known, item),)
        _take(state, Occurrence(option, option.flags[0], item, texts))
        state.complete = state.complete and item.known  # it may hold several words
        return at + 1

    def _option(self, state: _State, at: int) -> int:
        """Take the option at that word with its values; the index of the word to go on with."""
        match, item = state.matches[at], state.items[at]
        if match.option is None:
            return self._not_an_option(state, at, match)
        occurrence = Occurrence(match.option, match.flag, item)
        explicit = match.explicit
        if explicit is not None:
            joined = list(self._joined(match))
            occurrence, explicit = Occurrence(joined[-1][0], joined[-1][1], item), joined[-1][2]
            if explicit is not None and count_values(occurrence.option, "A") != 1:
                return _refuse_explicit(state, at, occurrence, explicit)
            for option, flag, _ in joined[:-1]:
                _take(state, Occurrence(option, flag, item))
        if explicit is not None:
            occurrence.texts = (Text(explicit, match.known, item),)
            _take(state, occurrence)
            return at + 1
        count = count_values(occurrence.option, state.pattern[at + 1 :])
        if count is None:
            return _refuse(state, at, occurrence, "missing-value", needs(occurrence.option))
        values = state.items[at + 1 : at + 1 + count]
        occurrence.texts = tuple(Text(value.text, value.known, value) for value in values)
        if occurrence.option.nargs in ("?", "*", "+") and not all(value.known for value in values):
            state.complete = False  # it may hold several words, and options among them
        _take(state, occurrence)
        return at + 1 + count

    def _joined(self, match: Match) -> Iterator[tuple[Option, str, str | None]]:
        """The options of one word: `-abc` is `-a -b -c` where those take no value."""
        option, flag, explicit = match.option, match.flag, match.explicit
        while option is not None:
            following = f"-{explicit[0]}" if explicit else ""
            if (
                not explicit
                or flag.startswith("--")
                or count_values(option, "A") != 0
                or following not in self._flags.options
            ):
                yield option, flag, explicit
                return
            yield option, flag, None
            option, flag, explicit = self._flags.options[following], following, explicit[1:] or None

    def _not_an_option(self, state: _State, at: int, match: Match) -> int:
        """An unknown option takes the words that look like its values, so that a fault is told once."""
        end = at + 1
        while end < len(state.items) and state.pattern[end] == "A":
            end += 1
        if not match.candidates:
            item = state.items[at]
            values = tuple(other.at for other in state.items[at + 1 : end] if other.at is not None)
            message = f"unrecognized arguments: {item.text}"
            near = self._flags.near(match.flag.partition("=")[0])
            state.leftovers.append(_problem("unknown-option", item, message, near, values))
        return end


def _stray(state: _State, at: int) -> int:
    """A word that belongs to no option."""
    item = state.items[at]
    if item.known:
        message = f"unrecognized arguments: {item.text}"
        state.leftovers.append(_problem("stray-word", item, message))
    else:
        state.complete = False
    return at + 1


def _take(state: _State, occurrence: Occurrence) -> None:
    """Convert and check the values of one occurrence, and do what the option's action does."""
    option = occurrence.option
    state.seen.add(id(option))
    value = occurrence.value()
    if option.action in _REFUSALS:
        kind, message = _REFUSALS[option.action]
        occurrence.problem(kind, (option.action == "refused" and option.deprecated) or message)
    stored = effect(option, occurrence.flag, value, state.namespace.get(option.dest))
    if stored is not None:
        state.namespace[option.dest] = stored
        state.stored.add(option.dest)
    state.problems.extend(occurrence.problems)
    places = dict.fromkeys(text.item.at for text in occurrence.texts if text.item.at is not None)
    state.given.append(
        Given(
            option=option,
            flag=occurrence.flag,
            at=occurrence.item.at,
            value_at=tuple(places),
            value=UNKNOWN if stored is None else stored,
            config=occurrence.item.config,
        )
    )


def _refuse_explicit(state: _State, at: int, occurrence: Occurrence, explicit: str) -> int:
    """`--flag=value` for an option that takes no value, or more than one."""
    if count_values(occurrence.option, "A") is None:
        return _refuse(state, at, occurrence, "missing-value", needs(occurrence.option))
    return _refuse(state, at, occurrence, "extra-value", f"ignored explicit argument {explicit!r}")


def _refuse(state: _State, at: int, occurrence: Occurrence, kind: ProblemKind, message: str) -> int:
    state.seen.add(id(occurrence.option))
    occurrence.problem(kind, message)
    state.problems.extend(occurrence.problems)
    return at + 1


def _convert_default(state: _State, option: Option) -> None:
    """A default that is text is converted like a value, if nothing else was stored."""
    default = option.default
    if not default.known or not isinstance(default.value, str) or default.value == SUPPRESS:
        return
    held = state.namespace.get(option.dest)
    if option.dest in state.stored or held is None or held.value != default.value:
        return
    known = option.converter != "opaque"
    try:
        value = convert(option.converter, default.value) if known else None
    except NotConverted as error:
        message = f"argument {'/'.join(option.flags)}: {error}"
        state.problems.append(Problem(kind="bad-default", message=message, option=option))
        return
    state.namespace[option.dest] = Constant(known=known, value=value, text=default.text)


def _missing(option: Option) -> Problem:
    message = f"the following arguments are required: {'/'.join(option.flags)}"
    return Problem(kind="missing-required", message=message, option=option)


def _unread_files(declarations: Declarations, given: Sequence[Given]) -> Iterator[Problem]:
    """`--config=FILE` and abbreviations: the engine only reads the file where flag and path are two words."""
    flag = declarations.config_option
    for one in given:
        if flag in one.option.flags:
            message = f"the file is not read in this form; write {flag} and the path as two words"
            yield Problem(
                kind="config-not-read", message=message, at=one.at, value_at=one.value_at, option=one.option
            )


def _problem(
    kind: ProblemKind,
    item: Item,
    message: str,
    candidates: tuple[str, ...] = (),
    values: tuple[int, ...] = (),
) -> Problem:
    return Problem(
        kind=kind, message=message, at=item.at, value_at=values, candidates=candidates, config=item.config
    )

"""What argparse makes of the values of one option: how many it takes, what they become, what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from assay.source.command_line.conversion import NotConverted, convert, lora_module, lora_path
from assay.source.command_line.parsed_command import Item, Problem, ProblemKind
from assay.source.declarations import Constant, Option

UNKNOWN = Constant(known=False)
_LORA = {"lora-paths": lora_path, "lora-modules": lora_module}


@dataclass(frozen=True)
class Text:
    """The text of one value, and the word that it stands in."""

    text: str
    known: bool
    item: Item


@dataclass
class Occurrence:
    """One time that an option is given, and what is wrong with it."""

    option: Option
    flag: str
    item: Item
    texts: Sequence[Text] = ()
    problems: list[Problem] = field(default_factory=list)

    def value(self) -> Constant:
        """What argparse's `_get_values` gives; not known where a value is wrong or not understood."""
        texts = self.texts
        if not texts and self.option.nargs == "?":
            const = self.option.const or Constant(known=True)
            if not isinstance(const.value, str):
                return const
            texts = (Text(const.value, const.known, self.item),)
        values = [self._converted(text) for text in texts]
        pairs = zip(values, texts, strict=True)
        allowed = [self._is_allowed(value.value, text) for value, text in pairs if value.known]
        if not all(allowed) or len(allowed) < len(texts):
            return UNKNOWN
        single = len(texts) == 1 and self.option.nargs in (None, "?")
        value = values[0].value if single else [value.value for value in values]
        return self._lora(value) if self.option.converter in _LORA else Constant(known=True, value=value)

    def _converted(self, text: Text) -> Constant:
        if not text.known or self.option.converter == "opaque":
            return UNKNOWN
        try:
            return Constant(known=True, value=_convert(self.option, text.text))
        except NotConverted as error:
            self.problem("bad-value", str(error), text.item)
            return UNKNOWN

    def _is_allowed(self, value: Any, text: Text) -> bool:
        choices = self.option.choices
        if choices is None or not choices.known or value in choices.value:
            return True
        message = f"invalid choice: {value!r} (choose from {', '.join(map(repr, choices.value))})"
        near = get_close_matches(str(value), [str(choice) for choice in choices.value], n=3, cutoff=0.6)
        self.problem("bad-choice", message, text.item, tuple(near))
        return False

    def _lora(self, value: Any) -> Constant:
        texts = value if isinstance(value, list) else [value]
        try:
            read = _LORA[self.option.converter]
            return Constant(known=True, value=[read(text) for text in texts if text])
        except NotConverted as error:
            self.problem("bad-value", str(error), self.texts[0].item if self.texts else None)
            return UNKNOWN

    def problem(
        self, kind: ProblemKind, message: str, value: Item | None = None, candidates: tuple[str, ...] = ()
    ) -> None:
        """Note that something is wrong with this occurrence."""
        self.problems.append(
            Problem(
                kind=kind,
                message=f"argument {'/'.join(self.option.flags)}: {message}",
                at=self.item.at,
                value_at=() if value is None or value.at is None else (value.at,),
                option=self.option,
                candidates=candidates,
                config=self.item.config,
            )
        )


def _convert(option: Option, text: str) -> Any:
    return convert(option.converter, text, option.keys, nullable=option.nullable)


def count_values(option: Option, pattern: str) -> int | None:
    """How many of the following words the option takes; None if there are too few.

    Args:
        pattern: a letter for each following word, `A` for an argument, anything else for none.
    """
    nargs = option.nargs
    available = len(pattern) - len(pattern.lstrip("A"))
    if nargs in ("?", "*"):
        return min(available, 1) if nargs == "?" else available
    if nargs == "...":
        return len(pattern) - len(pattern.lstrip("AO"))
    if nargs == "+":
        return available or None
    wanted = 1 if nargs is None else nargs
    return wanted if isinstance(wanted, int) and available >= wanted else None


def needs(option: Option) -> str:
    """What argparse says where there are too few values."""
    if option.nargs is None:
        return "expected one argument"
    if option.nargs == "+":
        return "expected at least one argument"
    return f"expected {option.nargs} argument{'' if option.nargs == 1 else 's'}"


def effect(option: Option, flag: str, value: Constant, before: Constant | None) -> Constant | None:
    """What the destination holds after the option was given; None if the option leaves it alone."""
    if option.action in ("ignored", "refused", "help"):
        return None
    if option.action == "store_const":
        return option.const or Constant(known=True)
    if option.action == "boolean":
        return Constant(known=True, value=not flag.startswith("--no-") and flag not in option.opposites)
    if option.action == "append":
        held = before or Constant(known=True)
        if not value.known or not held.known or not isinstance(held.value, list | None):
            return UNKNOWN
        return Constant(known=True, value=[*(held.value or []), value.value])
    return value if option.action == "store" else UNKNOWN

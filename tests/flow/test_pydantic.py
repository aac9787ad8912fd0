"""pydantic's dataclasses as the interpreter carries them out, beside pydantic's own documented behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flow.test_interpreter import run

from assay.flow.attributes import type_name
from assay.flow.values import Raised

CONFIG = """
from dataclasses import InitVar
from enum import Enum, IntEnum
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic.dataclasses import dataclass

Mode = Literal["fast", "small"]


class Kind(str, Enum):
    ONE = "one"


class Level(IntEnum):
    LOW = 0
    HIGH = 2


@dataclass
class Inner:
    size: int = Field(default=1, ge=1)
    seen: int = 0

    @model_validator(mode="after")
    def _count(self):
        self.seen += 1
        return self


@dataclass
class Config:
    mode: Mode = "fast"
    kind: Kind = Kind.ONE
    level: Level = Level.LOW
    share: float = 0.5
    names: list[str] | None = None
    inner: Inner = Field(default_factory=Inner)
    total: int = Field(default=None, init=False)
    factor: InitVar[int] = 2

    def __post_init__(self, factor):
        self.total = self.inner.size * factor

    @field_validator("mode", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("names", mode="wrap")
    @classmethod
    def _keeps_none(cls, value, handler):
        return ["none"] if value is None else handler(value)


def main():
    return {body}
"""


def result(folder: Path, body: str) -> object:
    return run(folder, CONFIG.replace("{body}", body))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("Config().total", 2),
        ("Config(factor=5).total", 5),
        ('Config(mode="SMALL").mode', "small"),
        ('Config(kind="one").kind is Kind.ONE', True),
        ('Config(level="2").level is Level.HIGH', True),
        ("Config(share=1).share", 1.0),
        ('Config(names=("a", "b")).names', ["a", "b"]),
        ("Config(names=None).names", ["none"]),
        ("Config().names", None),  # a default is not checked
        ('Config(inner={"size": 3}).total', 6),
        ("Inner().seen", 1),
        ("Config(inner=Inner()).inner.seen", 2),  # and again as part of another
    ],
)
def test_arguments_become_what_their_types_say(tmp_path: Path, body: str, wanted: object) -> None:
    assert result(tmp_path, body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        'Config(mode="slow")',
        'Config(kind="two")',
        "Config(level=1)",
        'Config(share="much")',
        'Config(names="a")',
        "Config(other=1)",
        "Config(inner=Inner(size=0))",
        'Config(inner={"size": 0})',
        "Config(total=1)",
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(Raised) as raised:
        result(tmp_path, body)
    assert type_name(raised.value.error) == "ValidationError"

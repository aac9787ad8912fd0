"""The base of every value that crosses a room's boundary: frozen, keyword-only, unknown keys forbidden."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec


class _ValueMeta(msgspec.StructMeta):
    """Makes subclasses keyword-only too; msgspec does not inherit that setting."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        config.setdefault("kw_only", True)
        return super().__new__(mcls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, metaclass=_ValueMeta, frozen=True, forbid_unknown_fields=True):
    """An immutable record.

    `msgspec.json.encode(value)` gives its JSON; collections are tuples; every field has a docstring.
    """

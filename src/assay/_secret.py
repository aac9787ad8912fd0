"""A text that never prints itself."""

from __future__ import annotations

import hmac
from typing import NoReturn

HIDDEN = "****"


class Secret:
    """A password or key; only `reveal` gives it.

    >>> password = Secret("hunter2")
    >>> password, f"{password:>5}", str(password), password.reveal()
    (Secret(****), '****', '****', 'hunter2')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself: for the one place that hands it on."""
        return self._value

    def hidden_in(self, text: str) -> str:
        """`text` with the secret replaced by `****`."""
        return text.replace(self._value, HIDDEN) if self._value else text

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written down")

"""Run B over run A: what differs, kept apart from what run A came to."""

from __future__ import annotations

from typing import Any


class Overlay:
    changed: set[Any]

"""The append-only record of what was planned, done and measured: values in, values out; no secrets."""

from assay.journal.journal import Entry, Journal
from assay.journal.lock import locked

__all__ = ["Entry", "Journal", "locked"]

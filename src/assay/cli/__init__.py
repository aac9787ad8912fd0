"""The command line: arguments in, one call, text or JSON out."""

from assay.cli.main import main, run

__all__ = ["main", "run"]

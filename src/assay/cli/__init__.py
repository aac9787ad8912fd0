"""The command line: arguments in, one call, text or JSON out."""

from assay.cli.main import main

__all__ = ["main"]

"""assay tunes LLM inference servers by evidence."""

__version__ = "0.1.0"

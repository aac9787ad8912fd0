"""Reads what a source tree declares, with `ast` alone; nothing of it is run."""

"""Reads deployment files (TOML), and tells every fault of one at once."""

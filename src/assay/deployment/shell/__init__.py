"""Reads shell text into the commands that it starts, without running anything."""

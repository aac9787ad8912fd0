"""Reads systemd units as systemd does: drop-ins, environment files, quoting, and what is lost on the way."""

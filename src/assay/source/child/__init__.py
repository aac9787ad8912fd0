"""Reads untrusted source in a child process with limits."""

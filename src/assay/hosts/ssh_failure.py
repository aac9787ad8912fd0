"""Why ssh did not connect, from what it said, and what the user can do."""

from __future__ import annotations

from assay.errors import InputError, Unreachable
from assay.hosts.command import last_lines

_REASONS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one that is known",
        "find out from an administrator why; only then replace the key in your known_hosts",
    ),
    (
        "ost key verification failed",
        "its host key is not known",
        "run `ssh {host}` once by hand and compare the fingerprint with the machine's own",
    ),
    (
        "host key is known for",
        "its host key is not known",
        "run `ssh {host}` once by hand and compare the fingerprint with the machine's own",
    ),
    (
        "Permission denied (",
        "it takes none of your keys",
        "make `ssh {host}` work without a question: put a key there, or load one with ssh-add",
    ),
    (
        "Too many authentication failures",
        "it takes none of your keys",
        "name the right key with IdentityFile and IdentitiesOnly in ~/.ssh/config",
    ),
    ("Could not resolve hostname", "its name has no address", "see that `ssh {host}` works by hand"),
    ("Connection refused", "it refuses connections", "see that sshd runs there, on that port"),
    ("No route to host", "there is no way to it", "see that it is on and the network reaches it"),
    ("timed out", "it does not answer", "see that it is on and the network reaches it"),
    ("Connection closed by", "it closed the connection", "see the log of sshd there"),
)


def unreachable(host: str, said: str) -> Unreachable | InputError:
    """The error for what ssh said before it gave up."""
    details = last_lines(said.encode())
    if any(
        text in said for text in ("Bad configuration option", "Bad owner or permissions on", "terminating,")
    ):
        return InputError(f"{host}: ssh does not take its configuration", details=details)
    for text, reason, hint in _REASONS:
        if text in said:
            return Unreachable(
                f"{host}: {reason}; nothing was run", hint=hint.format(host=host), details=details
            )
    return Unreachable(
        f"{host}: ssh did not connect; nothing was run",
        hint=f"see that `ssh {host}` works by hand, without a question",
        details=details,
    )

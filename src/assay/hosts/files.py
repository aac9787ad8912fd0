"""Files on a host, by commands that every Linux has."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from assay.errors import CommandFailed, InputError
from assay.hosts.command import Script, last_lines, shown

if TYPE_CHECKING:
    from assay.hosts.host import Host

READ_BYTES = 64 << 20
_FILE_S = 300.0

_WRITE = r"""
set -eu
umask 077
sum=$2 mode=$3 owner=$4
# the x keeps newlines at a name's end
path=$(readlink -f -- "$1" && echo x) || { echo "$1: the folder is not there" >&2; exit 1; }
path=${path%?x}
if [ -e "$path" ] && [ ! -f "$path" ]; then echo "$path: not a regular file" >&2; exit 1; fi
if [ -e "$path" ]; then
  [ -n "$owner" ] || owner=$(stat -c %u:%g -- "$path")
  [ -n "$mode" ] || mode=$(stat -c %a -- "$path")
fi
new=$(mktemp "${path%/*}/.assay-XXXXXXXXXX")
trap 'rm -f -- "$new"' EXIT
# where nobody listens any more, saying so must not end us before we have tidied up
trap '' PIPE
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
dd of="$new" bs=65536 conv=fsync status=none
got=$(sha256sum <"$new")
[ "${got%% *}" = "$sum" ] || { echo "$path: what arrived is not what was sent" >&2; exit 1; }
[ -z "$owner" ] || chown -- "$owner" "$new"
chmod -- "${mode:-644}" "$new"
mv -f -- "$new" "$path"
sync -- "${path%/*}/" 2>/dev/null || sync
"""


def read(host: Host, path: str, *, sudo: bool, limit_bytes: int) -> bytes:
    """See Host.read."""
    command = ["head", "-c", str(limit_bytes + 1), "--", _checked(path)]
    result = host.run(command, timeout_s=_FILE_S, sudo=sudo, limit_bytes=limit_bytes + 1)
    if not result.ok:
        raise _failed(host, f"cannot read {path}", result.err)
    if len(result.out) > limit_bytes:
        raise CommandFailed(f"{host.name}: {shown(path)} has more than {limit_bytes:,} bytes")
    return result.out


def write(host: Host, path: str, data: bytes, *, mode: int | None, owner: str | None, sudo: bool) -> None:
    """See Host.write."""
    digest = hashlib.sha256(data).hexdigest()
    octal = "" if mode is None else f"{mode:o}"
    script = Script(
        text=_WRITE,
        arguments=(_checked(path), digest, octal, owner or ""),
        name=f"the writing of {shown(path)}",
    )
    result = host.run(script, stdin=data, timeout_s=_FILE_S, sudo=sudo)
    if not result.ok:
        raise _failed(host, f"cannot write {path}; what was there is as it was", result.err)


def exists(host: Host, path: str, *, sudo: bool) -> bool:
    """See Host.exists."""
    result = host.run(["ls", "-d", "--", _checked(path)], sudo=sudo)
    if result.ok:
        return True
    if b"No such file or directory" in result.err or b"Not a directory" in result.err:
        return False
    raise _failed(host, f"cannot tell whether there is {path}", result.err)


def remove(host: Host, path: str, *, sudo: bool) -> None:
    """See Host.remove."""
    result = host.run(["rm", "-f", "--", _checked(path)], sudo=sudo)
    if not result.ok:
        raise _failed(host, f"cannot remove {path}", result.err)


def _failed(host: Host, what: str, err: bytes) -> CommandFailed:
    text = err.decode("utf-8", "replace")
    reasons = {
        "No space left": "free space on that disk",
        "Permission denied": "use a user who may, or sudo",
        "Operation not permitted": "use a user who may, or sudo",
    }
    hint = next((hint for reason, hint in reasons.items() if reason in text), "")
    return CommandFailed(f"{host.name}: {shown(what)}", hint=hint, details=last_lines(err))


def _checked(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise InputError(f"a path on a host is absolute, which {path!r} is not")
    return path

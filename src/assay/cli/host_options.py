"""How the verbs that look at machines reach them: options, and what a user writes for a target."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from assay.deployment import compose_service
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.hosts import Host


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """Options of every verb that looks at a machine.

    Parameters
    ----------
    ssh_config
        A configuration for ssh in the place of your own.
    askpass
        A program that prints the password for sudo there. Default: sudo must ask for none.
    user
        With UNIT@HOST: a unit of the user who logs in there, as of `systemctl --user`.
    """

    ssh_config: Path | None = None
    askpass: Path | None = None
    user: Annotated[bool, Parameter(negative=(), show_default=False)] = False


def open_host(name: str | None, options: HostOptions) -> Host:
    """The machine of that name for ssh, or this one.

    Raises:
        InputError: the name cannot be a machine's.
    """
    from assay.hosts import LocalHost, SshHost, askpass

    password = askpass(options.askpass) if options.askpass else None
    if name is None:
        return LocalHost(password=password)
    return SshHost(name, config=options.ssh_config, password=password)


_UNIT = re.compile(r"[A-Za-z0-9_][\w:.@\\-]*", re.ASCII)


def check_target(
    text: str, *, other: str = "a deployment file, which ends in .toml"
) -> tuple[str, str | None]:
    """Splits `UNIT@HOST` or `UNIT` into unit and machine; `llm` is `llm.service`.

    A service of docker compose is a `compose:PROJECT/SERVICE`.

    `other` is what the verb takes besides, for the message.

    >>> check_target("compose:llm/server@gpu1")
    ('compose:llm/server', 'gpu1')
    >>> check_target("llm@a.service@deploy@gpu1"), check_target("llm@gpu1"), check_target("llm.service")
    (('llm@a.service', 'deploy@gpu1'), ('llm.service', 'gpu1'), ('llm.service', None))

    Raises:
        InputError: one of them is empty, or the unit cannot be a service's name.
    """
    if match := re.match(r"(?:docker|podman|nerdctl):", text):
        raise InputError(
            f"{text!r} is a container, and assay changes what makes them: systemd units, services of compose",
            hint="name the unit that runs it, or compose:PROJECT/SERVICE; `assay describe` looks at it",
        )
    if text.startswith("compose:"):
        service, at, host = text.partition("@")
        if compose_service(service) is None or (at and not host):
            raise InputError(f"{text!r} is no compose:PROJECT/SERVICE@HOST")
        return service, host or None
    if match := re.fullmatch(r"(?P<unit>.+?\.service)(?:@(?P<host>.+))?", text, re.DOTALL):
        unit, at, host = match["unit"], "", match["host"]
    else:
        unit, at, host = text.partition("@")
    if not _UNIT.fullmatch(unit) or (at and not host):
        raise InputError(
            f"{text!r} is no UNIT@HOST",
            hint=f"name a systemd service, such as llm.service@gpu1 or llm.service, or {other}",
        )
    return unit if unit.endswith(".service") else f"{unit}.service", host or None


def check_user(target: str, options: HostOptions) -> None:
    """`--user` goes with a unit: a deployment file says so itself.

    Raises:
        InputError: it was given with something else.
    """
    if options.user and (target.endswith(".toml") or target.startswith(("http://", "https://"))):
        raise InputError(
            "--user goes with UNIT@HOST", hint="a deployment file says it: user = true, in [live]"
        )

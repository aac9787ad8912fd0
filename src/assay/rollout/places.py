"""Where a unit's rollouts lie on its machine; a user's own manager is asked where it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import CommandFailed, Refused
from assay.hosts import Script
from assay.rollout.drop_in import Layout, UnitFolders, layout

if TYPE_CHECKING:
    from assay.hosts import Host

_LOOK = r"""
systemctl --user show -p UnitPath --value || exit 1
echo "$HOME"
loginctl show-user "$(id -u)" -p Linger --value 2>/dev/null || echo unknown
"""


def places_of(host: Host, unit: str, *, user: bool) -> Layout:
    """Where things lie for a unit of the machine's manager, or of that of the user who logs in there.

    Raises:
        CommandFailed: the user has no manager there.
        Refused: it ends with the user's last session, and the service and the switch with it.
    """
    if not user:
        return layout(unit)
    said = host.run(Script(text=_LOOK, name="the look at the user's manager"))
    if not said.ok:
        raise CommandFailed(
            f"{host.name}: the manager of the user who logs in there does not answer",
            details=tuple(said.err.decode("utf-8", "replace").splitlines()[-1:]),
            hint="`systemctl --user status` must work over ssh: see pam_systemd and XDG_RUNTIME_DIR",
        )
    folders, lingers = parse_user_folders(said.out)
    if not lingers:
        raise Refused(
            f"{host.name}: the user's manager ends with the last session, and {unit} with it",
            hint="`loginctl enable-linger` keeps it running, also after a reboot",
        )
    return layout(unit, folders)


def parse_user_folders(out: bytes) -> tuple[UnitFolders, bool]:
    """Reads the manager's search path, the home folder, and whether the manager stays without a session.

    >>> path = b"/home/me/.config/systemd/user.control /run/user/7/systemd/user.control /etc/systemd/user"
    >>> folders, lingers = parse_user_folders(path + b"\\n/home/me\\nyes\\n")
    >>> folders.config, folders.runtime, folders.state, lingers
    ('/home/me/.config/systemd/user', '/run/user/7/systemd/user', '/home/me/.local/state', True)

    Raises:
        CommandFailed: that is no answer.
    """
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    controls = [each for each in lines[0].split() if each.endswith("/user.control")] if lines else []
    if len(lines) < 3 or len(controls) != 2 or not lines[1].startswith("/"):
        raise CommandFailed("the user's manager did not say where it looks for units")
    config, runtime = (each.removesuffix(".control") for each in controls)
    folders = UnitFolders(config=config, runtime=runtime, state=f"{lines[1].rstrip('/')}/.local/state")
    return folders, lines[2] == "yes"

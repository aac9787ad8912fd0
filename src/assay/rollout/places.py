"""Where a service's rollouts lie on its machine; a user's own manager and docker are asked."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from assay.deployment import UserFile, compose_service, states_command
from assay.errors import CommandFailed, Refused
from assay.hosts import Script
from assay.rollout.drop_in import ComposeProject, Layout, UnitFolders, compose_layout, layout

if TYPE_CHECKING:
    from assay.hosts import Host

_LOOK = r"""
systemctl --user show -p UnitPath --value || exit 1
echo "$HOME"
loginctl show-user "$(id -u)" -p Linger --value 2>/dev/null || echo unknown
"""
_LABELS = (
    *("com.docker.compose.project.working_dir", "com.docker.compose.project.config_files"),
    *("com.docker.compose.project.environment_file", "com.docker.compose.version"),
)
_FORMAT = "[" + ",".join(f'{{{{json (index .Config.Labels "{label}")}}}}' for label in _LABELS) + "]"
_LABELLED = r"""
ids=$(docker ps -aq --filter "label=com.docker.compose.project=$1" \
  --filter "label=com.docker.compose.service=$2" --filter label=com.docker.compose.oneoff=False) || exit 1
[ -z "$ids" ] || docker inspect --type container --format "$3" $ids
docker compose version >/dev/null 2>&1 && echo "docker compose"
command -v docker-compose >/dev/null 2>&1 && echo docker-compose
:
"""
_PATH = re.compile(r"/[\w./@+:=~ -]*", re.ASCII)


def places_of(host: Host, unit: str, *, user: bool) -> Layout:
    """Where things lie for a unit of the machine's manager, or of that of the user who logs in there.

    Raises:
        CommandFailed: the user has no manager there.
        Refused: it ends with the user's last session, and the service and the switch with it.
    """
    if service := compose_service(unit):
        return _compose_places(host, unit, *service)
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


def _compose_places(host: Host, unit: str, name: str, service: str) -> Layout:
    """Where things lie for `compose:PROJECT/SERVICE`, by the labels that compose gives its containers.

    Raises:
        CommandFailed: docker does not answer, or there is no such container.
        Refused: it has several, or its files cannot be told.
    """
    sudo = host.run(["id", "-u"]).checked().out.strip() != b"0"
    script = Script(text=_LABELLED, arguments=(name, service, _FORMAT), name="the look at compose's labels")
    said = host.run(script, sudo=sudo, timeout_s=60.0).checked().out
    project = _without_trial(parse_labels(said, name, service, host.name), unit, host, sudo=sudo)
    # a link stays a link: what it leads to is the file
    ends = (
        host.run(["readlink", "-f", "--", *project.files], sudo=sudo).checked().out.decode("utf-8", "replace")
    )
    project = msgspec.structs.replace(project, files=tuple(ends.splitlines()))
    if not all(_PATH.fullmatch(each) for each in (project.folder, *project.files)):
        raise Refused(
            f"{host.name}: the paths of {unit} hold characters that assay does not write into commands",
            hint="move the project into a folder with a plain name",
        )
    stating = [
        path
        for path in project.files
        if states_command(
            UserFile(path=path, text=host.read(path, sudo=sudo).decode("utf-8", "surrogateescape")), service
        )
    ]
    if not stating:
        raise Refused(
            f"{host.name}: no file of {unit} states its command: {', '.join(project.files)}",
            hint="write its `command` there, as a list (`extends` and `include` are not followed)",
        )
    return compose_layout(unit, project, stating[-1])


def _without_trial(project: ComposeProject, unit: str, host: Host, *, sudo: bool) -> ComposeProject:
    """A container that was made for a trial names the trial's file in the place of the user's."""
    places = compose_layout(unit, project, kept="")
    if places.trial not in project.files:
        return project
    words = host.read(f"{places.run}/words", sudo=sudo).decode("utf-8", "surrogateescape").splitlines()
    files = tuple(words[4] if each == places.trial else each for each in project.files)
    return msgspec.structs.replace(project, files=files)


def parse_labels(out: bytes, name: str, service: str, host: str) -> ComposeProject:
    """Reads the labels of the service's containers, and which compose there is.

    >>> said = b'["/srv/llm", "docker-compose.yml", null, "1.29.2"]\\ndocker-compose\\n'
    >>> parse_labels(said, "llm", "server", "gpu1").files
    ('/srv/llm/docker-compose.yml',)

    Raises:
        CommandFailed: there is no such container, or no compose that made it.
        Refused: there are several.
    """
    lines = out.decode("utf-8", "replace").splitlines()
    boxes = [json.loads(line) for line in lines if line.startswith("[")]
    if not boxes:
        raise CommandFailed(
            f"{host}: compose has no service {service} of a project {name}",
            hint="`docker ps -a` lists containers; `assay describe docker:NAME` says which service one is of",
        )
    if len(boxes) > 1:
        raise Refused(
            f"{host}: compose has {len(boxes)} containers of {name}/{service}",
            hint="assay changes services with one; `docker compose up -d --scale` makes it one",
        )
    folder, files, env_file, version = boxes[0]
    if not folder or not files:
        raise Refused(f"{host}: the container of {name}/{service} does not say which files it was made from")
    program = "docker-compose" if str(version).startswith("1.") else "docker compose"
    if program not in lines:
        raise CommandFailed(f"{host}: {program} is not installed, and {name}/{service} was made by it")
    paths = tuple(path if path.startswith("/") else f"{folder}/{path}" for path in files.split(","))
    return ComposeProject(
        program=tuple(program.split()),
        project=name,
        service=service,
        folder=folder,
        files=paths,
        env_file=env_file or "",
    )


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

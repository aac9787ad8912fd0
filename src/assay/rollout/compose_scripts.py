"""What the steps of a rollout do to a service of docker compose: shell functions that go before `scripts`.

A container keeps the command of a trial over a reboot, as its engine starts it again, and timers do not
outlive one. So all marks lie on the disk, and a unit in /etc, made when the switch is armed, takes back at
boot.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.rollout.drop_in import ComposeProject

_FUNCTIONS = r"""
target=compose lock_s=300
later() {
  name=$1
  shift
  systemctl is-active --quiet "$name.service" && return 0
  systemd-run --quiet --collect --unit="$name" --setenv="HOME=${HOME:-/root}" "$@"
}
boxes() {
  docker ps "$@" --filter "label=com.docker.compose.project=$project" \
    --filter "label=com.docker.compose.service=$service" --filter label=com.docker.compose.oneoff=False
}
t_reload() { :; }
t_state() { if old config -q >/dev/null 2>&1; then echo loaded; else echo "not taken by docker compose"; fi; }
t_stop() { sync; old_later "$switch-stop" stop "$service"; }
t_start() { new_later "$switch-start" up -d --no-deps --no-build "$service"; }
t_back() {
  systemctl stop "$switch-stop.service" "$switch-start.service" 2>/dev/null || :
  old up -d --no-deps --no-build "$service" >&2
}
t_again() { old restart "$service" >&2; }
t_armed() {
  printf '%s\n' "$run" "$id" "$unit" "$trial" "$kept" "$var" "$switch" >"$run/words"
  cat >"$run/boot.sh" <<'END'
cd "${0%/*}" || exit 1
set --
while IFS= read -r each; do set -- "$@" "$each"; done <words
exec sh ./revert.sh "$@"
END
  cat >"/etc/systemd/system/$switch-boot.service" <<END
[Unit]
Description=takes back what assay had on trial when the machine went down
Wants=docker.service
After=docker.service
[Service]
Type=oneshot
ExecStart=/bin/sh $run/boot.sh
Restart=on-failure
RestartSec=3
StartLimitIntervalSec=0
[Install]
WantedBy=multi-user.target
END
  systemctl daemon-reload
  systemctl enable --quiet "$switch-boot.service"
  sync
}
t_disarmed() {
  systemctl disable --quiet "$switch-boot.service" 2>/dev/null || :
  rm -f "/etc/systemd/system/$switch-boot.service"
  systemctl daemon-reload
}
t_as() {
  chmod --reference="$kept" "$folder/.assay-new"
  chown --reference="$kept" "$folder/.assay-new"
  sha256sum <"$kept" >"$run/base"
}
t_kept() {
  runs=$(docker inspect -f '{{index .Config.Labels "com.docker.compose.config-hash"}}' $(boxes -q))
  said=$(old config --hash="$service")
  [ "$runs" = "${said##* }" ] || { echo "the file as it would be kept is not what runs" >&2; return 1; }
}
"""


def functions_of(project: ComposeProject, kept: str) -> str:
    """The functions for one service: `old` is compose with the files as they are, `new` with the trial's."""
    head = [
        *project.program,
        *("-p", project.project, "--project-directory", project.folder),
        *(("--env-file", project.env_file) if project.env_file else ()),
    ]
    old = shlex.join([*head, *(word for file in project.files for word in ("-f", file))])
    files = ["-f " + ('"$trial"' if file == kept else shlex.quote(file)) for file in project.files]
    new = " ".join([shlex.join(head), *files])
    lines = [f"project={shlex.quote(project.project)} service={shlex.quote(project.service)}", _FUNCTIONS]
    for name, words in (("old", old), ("new", new)):
        lines += [
            f'{name}() {{ {words} "$@"; }}',
            f'{name}_later() {{ later_unit=$1; shift; later "$later_unit" {words} "$@"; }}',
        ]
    return "\n".join(lines) + "\n"


LOOK = r"""
systemctl is-active --quiet "$2-start.service" && echo starting
ids=$(boxes -aq --no-trunc) || exit 1
[ -z "$ids" ] || docker inspect --type container --format "$3" $ids 2>/dev/null || :
[ ! -e "$1" ] || echo trial
"""
"""`$1`: the trial's file; `$2`: the switch; `$3`: the format. Changes nothing. Whether a container is being
made is asked first: one that is made meanwhile is then seen at the next look, and not taken for lost."""

# the text that compose makes of its files holds all variables: only these two keys leave the machine
RESOLVED = r"""
trial=$1
if [ -e "$trial" ]; then said=$(new config); else said=$(old config); fi || exit 1
printf '%s\n' "$said" | awk -v name="$service" '
  /^[^ ]/ { top = $0 }
  top == "services:" && /^  [^ ]/ { ours = ($0 == "  " name ":" || $0 == "  \"" name "\":") }
  ours && /^    [^ -]/ { key = ($1 == "command:" || $1 == "entrypoint:") }
  ours && key { print substr($0, 5) }
'
"""
"""`$1`: the trial's file. Prints `command` and `entrypoint` of the service, as YAML."""

HASH = r"""
said=$(old config --hash="$service") || exit 1
echo "${said##* }"
"""
"""Prints the digest that compose gives the service as its files are."""

CHECK = r"""
trial=$1
if [ -e "$trial" ]; then new config -q; else old config -q; fi 2>&1
:
"""
"""`$1`: the trial's file. Prints what compose says of its files."""

LOG = r"""
for id in $(boxes -aq); do
  docker logs --tail 400 ${1:+--since "$1"} "$id" 2>&1
done
[ -z "$1" ] || journalctl -q -o cat --no-pager -n 50 --since "@${2%%.*}" -u "$3-start.service" || :
"""
"""`$1`: since when, as docker takes it; `$2`: the same in seconds; `$3`: the switch."""

"""What is run on the machine: short shell scripts, each whole under one lock, each safe to run twice.

A lost link leaves open whether a script was run, so each may be run again. Whoever changes something first
looks whether the switch is still armed for this very rollout; after it has fired, nothing of ours changes
anything any more.
"""

from __future__ import annotations

ANOTHER, NOT_ARMED, NO_SWITCH, LEFTOVER, NO_TOOL, LOCKED, EDITED, ELSEWHERE = 10, 12, 13, 14, 15, 16, 17, 18
"""Exit statuses: another rollout is under way; ours is over; its timer is gone; a trial without marks is
there; a tool is missing; the lock was not to be had; the kept file is not the one that was promoted; it is
kept in another file than we were told."""

USER = r"""
scope=--user
systemctl() { command systemctl --user "$@"; }
"""
"""Goes before each of the others where the unit is of a user's own manager."""

# what the steps do to a systemd unit; `compose_scripts` has the same of a service of docker compose
_HEAD = r"""
set -eu
umask 077
run=$1 id=$2 unit=$3 trial=$4 kept=$5 var=$6 switch=$7
if [ -z "${target-}" ]; then
  lock_s=20
  t_reload() { systemctl daemon-reload; }
  t_state() { systemctl show -p LoadState --value -- "$unit"; }
  t_stop() { systemctl stop --no-block "$unit"; }
  t_start() {
    systemctl reset-failed "$unit" 2>/dev/null || :
    systemctl start --no-block "$unit"
  }
  t_back() {
    systemctl reset-failed "$unit" 2>/dev/null || :
    systemctl restart --no-block "$unit"
  }
  t_again() { t_back; }
  t_armed() { :; }
  t_disarmed() { :; }
  t_as() {
    mode=644
    for each; do
      case $(stat -Lc %a -- "$each") in *[4567]) ;; *) mode=600 ;; esac
    done
    chmod "$mode" "$folder/.assay-new"
  }
  t_kept() { :; }
fi
"""
_LOCK = r"""
mkdir -p "$run"
exec 9>>"$run/lock"
flock -w "$lock_s" 9 || exit 16
"""
_MINE = r"""
[ "$(head -n 1 "$run/armed" 2>/dev/null)" = "$id" ] || exit 12
systemctl is-active --quiet "$switch.timer" || systemctl is-active --quiet "$switch-trial.timer" || exit 13
"""
# `until` is in seconds since the boot; unless told otherwise a timer, too, may only be started 5 times in
# 10 s, and a restart that is refused leaves none
_ARM = r"""
arm() {
  systemctl stop "$1.timer" 2>/dev/null || :
  systemctl reset-failed "$1.service" 2>/dev/null || :
  systemd-run ${scope-} --quiet --collect --unit="$1" --on-active="${2}s" --timer-property=AccuracySec=1s \
    --timer-property=IgnoreOnIsolate=yes --timer-property=StartLimitIntervalSec=0 \
    --property=IgnoreOnIsolate=yes --property=StartLimitIntervalSec=0 \
    --property=Restart=on-failure --property=RestartSec=3 \
    sh "$run/revert.sh" "$run" "$id" "$unit" "$trial" "$kept" "$var" "$switch"
  systemctl is-active --quiet "$1.timer"
  until_s "$2"
}
until_s() {
  read -r up rest </proc/uptime
  echo $((${up%.*} + $1)) >"$run/until"
}
"""

# a link that is cut ends stdin early: what arrived must be what was sent
_TAKE = r"""
take() {
  cat >"$1"
  sum=$(sha256sum <"$1")
  [ "${sum%% *}" = "$2" ] || { rm -f -- "$1"; echo "what arrived is not what was sent" >&2; exit 1; }
}
"""
_PUT_BACK = r"""
put_back() {
  if [ -e "$var/$id/kept.conf" ]; then
    cp -p -- "$var/$id/kept.conf" "${kept%/*}/.assay-back"
    mv -f -- "${kept%/*}/.assay-back" "$kept"
  elif [ -e "$var/$id/none" ]; then
    rm -f -- "$kept"
    rmdir -- "${kept%/*}" 2>/dev/null || :
  fi
}
previous_is_last() {
  if [ -e "$var/$id/previous" ]; then
    cp -p -- "$var/$id/previous" "$var/last.new"
    mv -f -- "$var/last.new" "$var/last"
  else
    rm -f -- "$var/last"
  fi
}
"""

CHECK = r"""
for tool in flock systemd-run systemd-analyze journalctl busctl sha256sum; do
  command -v "$tool" >/dev/null 2>&1 || { echo "$tool"; exit 15; }
done
"""
"""Needs no arguments: whether everything that the others use is there."""

ARM = (
    _HEAD
    + _LOCK
    + _ARM
    + _TAKE
    + r"""
if [ -e "$run/armed" ]; then
  [ "$(head -n 1 "$run/armed")" = "$id" ] && systemctl is-active --quiet "$switch.timer" && exit 0
  cat "$run/armed"
  exit 10
fi
[ ! -e "$trial" ] || exit 14
rm -f "$run/touched" "$run/promoting" "$run/reverted" "$run/trial" "$run/keep" "$run/base"
printf '%s\n' "$kept" >"$run/kept"
take "$run/revert.sh" "${10}"
printf '%s\n%s\n%s\n' "$id" "$8" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$run/armed.new"
arm "$switch" "$9"
t_armed
mv -f "$run/armed.new" "$run/armed"
"""
)
"""`$8`: who; `$9`: seconds; `$10`: SHA-256 of stdin, the text of REVERT.
Without `armed` a timer that fires does nothing."""

RENEW = (
    _HEAD
    + _LOCK
    + _ARM
    + _MINE
    + r"""
systemctl is-active --quiet "$switch.timer" || exit 13
systemctl restart "$switch.timer"
until_s "$8"
"""
)
"""`$8`: seconds."""

WRITE = (
    _HEAD
    + _LOCK
    + _MINE
    + _TAKE
    + r"""
folder=${trial%/*} digest=$8
shift 8
mkdir -p -m 755 "$folder"
take "$folder/.assay-new" "$digest"
t_as "$@"
mv -f -- "$folder/.assay-new" "$trial"
"""
)
"""`$8`: SHA-256 of stdin, its text; further: the unit's files: where one of them is not for all to read, the
drop-in is not either, as it holds their words. Nobody but root may write it, whoever may write those."""

KEEP = (
    _HEAD
    + _LOCK
    + _MINE
    + _TAKE
    + r"""
take "$run/keep" "$8"
chmod --reference="$kept" "$run/keep"
chown --reference="$kept" "$run/keep"
sha256sum <"$kept" >"$run/base"
"""
)
"""`$8`: SHA-256 of stdin: the text that a promotion writes into `kept`, which is a file of the user's."""

RELOAD = _HEAD + _LOCK + _MINE + "t_reload\n"
STOP = _HEAD + _LOCK + _MINE + ': >"$run/touched"\nt_stop\n'
START = _HEAD + _LOCK + _MINE + "t_start\n"
TRIAL = (
    _HEAD
    + _LOCK
    + _ARM
    + _MINE
    + r"""
if [ "$(head -n 1 "$run/trial" 2>/dev/null)" != "$9" ] ||
  ! systemctl is-active --quiet "$switch-trial.timer"; then
  arm "$switch-trial" "$8"
fi
printf '%s\n%s\n' "$9" "$8" >"$run/trial"
systemctl stop "$switch.timer" 2>/dev/null || :
"""
)
"""`$8`: seconds; `$9`: the start's invocation. The longer switch is armed before the shorter one stops."""

LENGTHEN = (
    _HEAD
    + _LOCK
    + _ARM
    + _MINE
    + r"""
arm "$switch" "$8"
arm "$switch-trial" "$8"
printf '%s\n%s\n' "$9" "$8" >"$run/trial"
systemctl stop "$switch.timer" 2>/dev/null || :
"""
)
"""`$8`: seconds; `$9`: the start's invocation. Another length for a trial's switch: the first one bridges the
moment in which the other is armed anew."""

EXTEND = (
    _HEAD
    + _LOCK
    + _ARM
    + _MINE
    + r"""
systemctl is-active --quiet "$switch-trial.timer" || exit 13
systemctl restart "$switch-trial.timer"
until_s "$(tail -n 1 "$run/trial")"
"""
)
"""The trial's switch from its beginning: the same timer, so that there is no moment without one."""

WATCH = (
    _HEAD
    + _LOCK
    + _ARM
    + _MINE
    + r"""
systemctl is-active --quiet "$switch-trial.timer" || exit 13
if systemctl is-active --quiet "$switch.timer"; then
  systemctl restart "$switch.timer"
  until_s "$8"
else
  arm "$switch" "$8"
fi
systemctl restart "$switch-trial.timer"
"""
)
"""`$8`: seconds. A second, shorter switch beside the trial's while somebody watches; both begin anew."""

REVERT = (
    _HEAD
    + _LOCK
    + _PUT_BACK
    + r"""
[ "$(head -n 1 "$run/armed" 2>/dev/null)" = "$id" ] || exit 0
rm -f -- "$trial" "${trial%/*}/.assay-new"
rmdir -- "${trial%/*}" 2>/dev/null || :
if [ -e "$run/promoting" ]; then
  put_back
  [ "$(cat "$var/last" 2>/dev/null)" != "$id" ] || previous_is_last
fi
t_reload
state=$(t_state)
if [ "$state" != loaded ]; then
  echo "$unit is $state, so it cannot be started again" >&2
  exec 9>&-
  sleep 20  # a person must mend it: no reload every three seconds until then
  exit 1
fi
[ ! -e "$run/touched" ] || t_back
mv -f "$run/armed" "$run/reverted"
t_disarmed
systemctl stop "$switch.timer" "$switch-trial.timer" 2>/dev/null || :
"""
)
"""What the switch does, and what taking back is: one text for both. If it fails, systemd tries again."""

PROMOTE = (
    _HEAD
    + _LOCK
    + _MINE
    + _PUT_BACK
    + r"""
# one that was cut short goes on: the trial's file may be gone already
if [ -e "$run/promoting" ] && [ ! -e "$trial" ]; then exit 0; fi
[ "$(cat "$run/kept" 2>/dev/null || echo "$kept")" = "$kept" ] || exit 18
from=$trial
[ ! -e "$run/keep" ] || from=$run/keep
mkdir -p -m 700 "$var/$id"
if [ ! -e "$run/promoting" ]; then
  [ ! -e "$run/base" ] || [ "$(sha256sum <"$kept")" = "$(cat "$run/base")" ] || exit 17
  printf '%s\n' "$kept" >"$var/$id/where"
  if [ -e "$kept" ]; then cp -p -- "$kept" "$var/$id/kept.conf"; else : >"$var/$id/none"; fi
  if [ -e "$var/last" ]; then cp -p -- "$var/last" "$var/$id/previous"; fi
  sync
  : >"$run/promoting"
fi
mkdir -p -m 755 "${kept%/*}"
moved=
undo() {
  status=$?
  rm -f -- "${kept%/*}/.assay-new"
  [ "$status" != 0 ] || return 0
  [ -z "$moved" ] || put_back
  rm -f "$run/promoting"
}
trap undo EXIT
cp -p -- "$from" "${kept%/*}/.assay-new"
cmp -s -- "$from" "${kept%/*}/.assay-new"
sync -- "${kept%/*}/.assay-new" 2>/dev/null || sync
moved=1
mv -f -- "${kept%/*}/.assay-new" "$kept"
sync
t_reload
t_kept
"""
)
"""Puts the trial's text where it stays; the trial is still there and still wins. Where it cannot, as on a
full disk, what was there is put back, and the trial goes on. Where `keep` lies, that is the text."""

SWAP = (
    _HEAD
    + _LOCK
    + _MINE
    + r"""
rm -f -- "$trial"
rmdir -- "${trial%/*}" 2>/dev/null || :
t_reload
"""
)
DISARM = (
    _HEAD
    + _LOCK
    + r"""
[ -e "$run/armed" ] || [ "$(cat "$var/last" 2>/dev/null)" != "$id" ] || exit 0
"""
    + _MINE
    + r"""
sha256sum <"$kept" >"$var/$id/promoted"
printf '%s\n' "$id" >"$var/last.new"
mv -f "$var/last.new" "$var/last"
sync
rm -f "$run/armed"
rm -f "$run/promoting" "$run/touched" "$run/trial" "$run/until"
t_disarmed
systemctl stop "$switch.timer" "$switch-trial.timer" 2>/dev/null || :
"""
)
"""The promotion counts from the moment at which `armed` is gone: until then the switch takes it back."""

UNKEEP = (
    _HEAD
    + _LOCK
    + _PUT_BACK
    + r"""
if [ -e "$run/armed" ]; then cat "$run/armed"; exit 10; fi
[ "$(cat "$var/last" 2>/dev/null)" = "$id" ] || exit 12
[ "$(cat "$var/$id/where" 2>/dev/null || echo "$kept")" = "$kept" ] || exit 18
if [ ! -e "$var/$id/unkeeping" ]; then
  [ "$(sha256sum <"$kept")" = "$(cat "$var/$id/promoted")" ] || exit 17
  : >"$var/$id/unkeeping"
fi
put_back
t_reload
[ "$(t_state)" = loaded ]
t_back
previous_is_last
"""
)
"""Takes a promoted change back: the file that was there before it, or none."""

DRAINED = (
    _HEAD
    + r"""
mkdir -p -m 700 "$var"
printf '%s\n%s\n%s\n' "$id" "$8" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$var/drained"
"""
)
"""`$8`: who. Where a balancer sends nothing any more: that outlives a reboot, so the mark does, too."""
UNDRAINED = _HEAD + 'rm -f -- "$var/drained"\n'
RESTART = (
    _HEAD
    + _LOCK
    + r"""
if [ -e "$run/armed" ]; then cat "$run/armed"; exit 10; fi
t_again
"""
)
"""A fresh start of what the unit says, while no rollout is under way. Run twice, it restarts twice."""

MARKS = (
    _HEAD
    + r"""
say() { [ -e "$2" ] && { printf '%s ' "$1"; tr '\n' ' ' <"$2"; echo; }; :; }
say armed "$run/armed"
say reverted "$run/reverted"
say trial "$run/trial"
say until "$run/until"
say last "$var/last"
say drained "$var/drained"
for mark in touched promoting; do [ ! -e "$run/$mark" ] || echo "$mark"; done
[ ! -e "$trial" ] || echo trial-file
case $kept in
  *zz-assay*) [ ! -e "$kept" ] || echo kept-file ;;
  *) [ ! -e "$var/last" ] || echo kept-file ;;
esac
for each in "$switch" "$switch-trial"; do
  systemctl is-active --quiet "$each.timer" && echo "switch $each"
done
printf 'boot '; cat /proc/sys/kernel/random/boot_id
printf 'uptime '; cat /proc/uptime
"""
)
"""What is to be seen of rollouts; changes nothing."""

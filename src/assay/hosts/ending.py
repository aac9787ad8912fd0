"""How a command that took too long is ended on its machine, with all that it started."""

from __future__ import annotations

END = r"""
top=$1 nonce=$2
# number, parent, group and state of every process
table() {
  if [ -r /proc/self/stat ]; then
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/ (.*) / /' | awk '{ print $1, $3, $4, $2 }'
  else
    ps -A -o pid= -o ppid= -o pgid= -o stat=
  fi
}
words=$(tr '\0' ' ' <"/proc/$top/cmdline" 2>/dev/null || ps -p "$top" -o args= 2>/dev/null)
case $words in
  *"$nonce"*) ;;
  *) echo ended; exit 0 ;;
esac
all=$top
# what was known, its group and everything below: also what was started since
look() {
  found=$(table | awk -v known="$(echo $all)" -v top="$top" '
    { pid[NR] = $1; parent[NR] = $2; group[NR] = $3 }
    END {
      split(known, list, " ")
      for (i in list) has[list[i]] = 1
      do {
        more = 0
        for (i = 1; i <= NR; i++)
          if (!(pid[i] in has) && ((parent[i] in has) || group[i] == top)) { has[pid[i]] = 1; more = 1 }
      } while (more)
      for (one in has) print one
    }' | sort)
}
# with no `--`, which not every shell takes here
send() {
  for one in $all; do kill "-$1" "$one" 2>/dev/null; done
}
# one that ended and whose parent has not asked yet does not count
alive() {
  table | awk -v known="$(echo $all)" '
    BEGIN { split(known, list, " "); for (i in list) has[list[i]] = 1 }
    ($1 in has) && $4 !~ /^[ZX]/ { some = 1 }
    END { exit !some }'
}
wait_for_the_end() {
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    alive || return 0
    sleep 0.1 2>/dev/null || sleep 1
  done
  return 1
}
look; all=$found
send TERM
wait_for_the_end
# stopped, they start nothing more
look
for try in 1 2 3 4 5; do
  all=$found
  send STOP
  look
  [ "$found" != "$all" ] || break
done
all=$found
send KILL
if wait_for_the_end; then echo ended; else echo alive; fi
"""
"""A script with two arguments: the number of the waiting shell's process, and its nonce. Says `ended`."""


def ending_of(out: bytes) -> bool:
    """Whether the script found or left nothing alive."""
    return out.split() == [b"ended"]

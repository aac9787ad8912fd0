"""How a command that took too long is ended on its machine, with all that it started."""

from __future__ import annotations

END = r"""
top=$1 nonce=$2
case $(ps -p "$top" -o args= 2>/dev/null || tr '\0' ' ' <"/proc/$top/cmdline" 2>/dev/null) in
  *"$nonce"*) ;;
  *) echo ended; exit 0 ;;
esac
all=$top
# what was known, its group and everything below: also what was started since
look() {
  found=$(ps -A -o pid= -o ppid= -o pgid= 2>/dev/null | awk -v known="$(echo $all)" -v top="$top" '
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
  [ -n "$found" ] || found=-$top
}
send() {
  for one in $all; do kill -s "$1" -- "$one" 2>/dev/null; done
}
alive() {
  for one in $all; do
    kill -s 0 -- "$one" 2>/dev/null || continue
    # a process that ended and whose parent has not asked yet does not count
    case $(ps -o stat= -p "$one" 2>/dev/null) in Z*) ;; *) return 0 ;; esac
  done
  return 1
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

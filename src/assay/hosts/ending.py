"""How a command that took too long is ended on its machine, with all that it started."""

from __future__ import annotations

END = r"""
top=$1 nonce=$2
case $(ps -p "$top" -o args= 2>/dev/null || tr '\0' ' ' <"/proc/$top/cmdline" 2>/dev/null) in
  *"$nonce"*) ;;
  *) echo ended; exit 0 ;;
esac
family() {
  ps -A -o pid= -o ppid= -o pgid= 2>/dev/null | awk -v top="$top" '
    { pid[NR] = $1; parent[NR] = $2; group[NR] = $3 }
    END {
      has[top] = 1
      do {
        more = 0
        for (i = 1; i <= NR; i++)
          if (!(pid[i] in has) && ((parent[i] in has) || group[i] == top)) { has[pid[i]] = 1; more = 1 }
      } while (more)
      for (one in has) print one
    }'
}
all=$(family)
[ -n "$all" ] || all=-$top
alive() {
  for one in $all; do kill -0 -- "$one" 2>/dev/null && return 0; done
  return 1
}
for signal in TERM KILL; do
  for one in $all; do kill -s "$signal" -- "$one" 2>/dev/null; done
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    alive || { echo ended; exit 0; }
    sleep 0.1 2>/dev/null || sleep 1
  done
done
echo alive
"""
"""A script with two arguments: the number of the waiting shell's process, and its nonce. Says `ended`."""


def ending_of(out: bytes) -> bool:
    """Whether the script found or left nothing alive."""
    return out.split() == [b"ended"]

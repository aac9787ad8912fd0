"""sudo's questions and answers, with a stand-in for sudo; `tests/rig/test_hosts.py` has the real one."""

from __future__ import annotations

import copy
import pickle
import traceback
from pathlib import Path

import pytest

from assay.errors import CommandFailed, InputError
from assay.hosts import LocalHost, Script, Secret, askpass

PASSWORD = "planted s3cret \\ ' \u00e4"  # noqa: S105 -- planted, to be looked for

STAND_IN = r"""#!/bin/sh
# as sudo: -n never asks; -S asks on stderr and reads one line of stdin, byte by byte; three tries
ask= quiet= prompt=
while :; do
  case $1 in -n) quiet=1 ;; -S) ask=1 ;; -p) prompt=$2; shift ;; --) shift; break ;; esac
  shift
done
MODE
tries=0
while [ $tries -lt 3 ]; do
  [ -z "$quiet" ] || { echo "sudo: a password is required" >&2; exit 1; }
  printf %s "$prompt" >&2
  IFS= read -r got || { echo "sudo: no password was provided" >&2; exit 1; }
  [ "$got" != "PASSWORD" ] || exec env AS_ROOT=yes "$@"
  tries=$((tries + 1))
done
echo "sudo: 3 incorrect password attempts" >&2
exit 1
"""
FREE = 'exec env AS_ROOT=yes "$@"'
WHO = Script(text='echo "$AS_ROOT"; cat')


def put_sudo(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str = ":") -> None:
    text = STAND_IN.replace("PASSWORD", PASSWORD.replace("\\", "\\\\")).replace("MODE", mode)
    (folder / "sudo").write_text(text)
    (folder / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("mode", [":", FREE])
@pytest.mark.parametrize("stdin", [None, b"", b"line\nline\0\n"])
def test_a_password_is_given_only_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, stdin: bytes | None
) -> None:
    put_sudo(tmp_path, monkeypatch, mode)
    asked = []
    host = LocalHost(password=lambda: asked.append(1) or Secret(PASSWORD))  # type: ignore[func-returns-value]
    for _ in range(2):
        result = host.run(WHO, stdin=stdin, sudo=True)
        assert (result.status, result.out, result.err) == (0, b"yes\n" + (stdin or b""), b"")
    assert host.run(["sh", "-c", "exit 7"], sudo=True).status == 7
    assert host.run(["sh", "-c", "cat; kill -9 $$"], sudo=True, stdin=b"x").status == 137
    assert asked == ([1] if mode == ":" else [])


def test_without_a_password_sudo_runs_the_words_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_sudo(tmp_path, monkeypatch, f'echo "$@" >{tmp_path}/log\n{FREE}')
    host = LocalHost()
    assert host.run(["cat", "-"], stdin=b"x", sudo=True).out == b"x"
    assert (tmp_path / "log").read_text() == "cat -\n"
    assert host.run(WHO, stdin=b"x", sudo=True).out == b"yes\nx"
    assert host.run(["no-such-program"], sudo=True).status == 127


def test_a_warning_of_sudo_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warning = "sudo: unable to resolve host gpu1: Name or service not known"
    put_sudo(tmp_path, monkeypatch, f'echo "{warning}" >&2\n{FREE}')
    result = LocalHost().run(["false"], sudo=True)
    assert (result.status, result.err.decode()) == (1, warning + "\n")
    with pytest.raises(CommandFailed, match="cannot read"):
        LocalHost().read("/no/such/file", sudo=True)


def test_no_password_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_sudo(tmp_path, monkeypatch)
    for command in (["touch", f"{tmp_path}/x"], Script(text=f"touch {tmp_path}/x")):
        with pytest.raises(CommandFailed, match=r"sudo refused; .* was not run") as caught:
            LocalHost().run(command, sudo=True)
        assert "let assay ask for it" in caught.value.hint
    assert not (tmp_path / "x").exists()


def test_a_wrong_password_is_tried_once_and_then_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_sudo(tmp_path, monkeypatch)
    answers = [Secret("wrong"), Secret(PASSWORD)]
    host = LocalHost(password=lambda: answers.pop(0))
    with pytest.raises(CommandFailed, match="did not take the password"):
        host.run(["true"], sudo=True)
    assert len(answers) == 1
    assert host.run(["true"], sudo=True).ok


def test_a_password_of_two_lines_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_sudo(tmp_path, monkeypatch)
    host = LocalHost(password=lambda: Secret(f"{PASSWORD}\ntouch {tmp_path}/was-run"))
    with pytest.raises(InputError, match="one line"):
        host.run(["true"], sudo=True)
    assert not (tmp_path / "was-run").exists()


def test_no_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("sh", "true"):
        (tmp_path / program).symlink_to(f"/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path))
    for password in (None, lambda: Secret(PASSWORD)):
        with pytest.raises(CommandFailed, match="there is no sudo"):
            LocalHost(password=password).run(["true"], sudo=True)


def test_files_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_sudo(tmp_path, monkeypatch)
    host = LocalHost(password=lambda: Secret(PASSWORD))
    path = f"{tmp_path}/f"
    host.write(path, b"x\0y", sudo=True)
    assert host.read(path, sudo=True) == b"x\0y"
    assert host.exists(path, sudo=True)
    host.remove(path, sudo=True)
    assert not host.exists(path, sudo=True)


def test_a_password_shows_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret(PASSWORD)
    host = LocalHost(password=lambda: secret)
    texts = [repr(secret), str(secret), f"{secret} {secret:>30}", repr([secret]), repr(host)]
    for mode in (
        'printf %s "$prompt" >&2; IFS= read -r got; printf "sudo: %s" "$got" >&2; exit 1',
        "prompt=; exit 1",
    ):
        put_sudo(tmp_path, monkeypatch, mode)
        with pytest.raises(CommandFailed) as caught:
            host.run(["true"], sudo=True)
        texts += ["".join(traceback.format_exception(caught.value)), repr(caught.value.__dict__)]
    assert not [text for text in texts if "s3cret" in text]
    for writing in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            writing(secret)


def test_secrets_are_compared_by_what_they_hold() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1


def test_a_program_may_be_asked(tmp_path: Path) -> None:
    program = tmp_path / "ask"
    program.write_text(f"#!/bin/sh\ncat <<'E'\n{PASSWORD}\nE\n")
    program.chmod(0o755)
    assert askpass(program)().reveal() == PASSWORD
    program.write_text("#!/bin/sh\necho s3cret; exit 1\n")
    with pytest.raises(CommandFailed, match="ask gave no password") as caught:
        askpass(program)()
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))

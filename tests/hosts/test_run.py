"""Commands arrive as they are, and what comes of them is told apart, here and over a real ssh."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hosts.loopback import nap, running, wait_until

from assay.errors import CommandFailed, HostError, InputError, OutcomeUnknown
from assay.hosts import Host, LocalHost, Script

WORDS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20), max_size=6)
ODD = ["", " ", "'", '"', "\\", "\n", "\r\n", "$(false)", "`false`", "${HOME}", "-n", "--", "*", "~", "a\tb"]
ODD += ["!", "!!", ";", "&", "|", "#", "\x01", "\x7f", "\udcff", "\U0001f600", "%s%n", "it's", "''", "\\'"]


def printed(host: Host, words: list[str]) -> list[str]:
    result = host.run(["printf", "%s\\0", *words])
    assert result.ok
    return [word.decode("utf-8", "surrogateescape") for word in result.out.split(b"\0")[:-1]]


def test_words_arrive_with_every_odd_character(host: Host) -> None:
    assert printed(host, ODD) == ODD
    assert host.run(Script(text='printf "%s\\0" "$@"', arguments=tuple(ODD))).out.count(b"\0") == len(ODD)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS)
def test_any_words_arrive(host: Host, words: list[str]) -> None:
    assert printed(host, ["first", *words]) == ["first", *words]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3000), noise=st.binary(max_size=300))
def test_any_bytes_go_in_and_come_out(host: Host, data: bytes, noise: bytes) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in noise)
    result = host.run(Script(text=f"cat; printf '{octal}' >&2"), stdin=data)
    assert (result.status, result.out, result.err) == (0, data, noise)


def test_20_megabytes_each_way(host: Host) -> None:
    data = os.urandom(20 << 20)
    assert host.run(["cat"], stdin=data).out == data


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 255", 255),
        ("no-such-program-at-all", 127),
        ("sh -c 'kill -9 $$'", 137),
        ("sh -c 'kill -TERM $$'", 143),
        ("set -eu; false; exit 0", 1),
    ],
)
def test_the_status_is_the_commands_own(host: Host, script: str, status: int) -> None:
    result = host.run(Script(text=script))
    assert result.status == status
    assert result.ok == (status == 0)


def test_a_result_that_must_be_good_says_what_failed(host: Host) -> None:
    with pytest.raises(CommandFailed, match="sh failed, ended by signal 9") as caught:
        host.run(["sh", "-c", "echo reason >&2; kill -9 $$"]).checked()
    assert caught.value.exit_code == 4
    assert "reason" in caught.value.details


def test_stdin_is_empty_unless_given(host: Host) -> None:
    assert host.run(["cat"]).out == b""
    assert host.run(["cat"], stdin=b"").out == b""


def test_a_command_need_not_read_its_stdin(host: Host) -> None:
    assert host.run(["true"], stdin=bytes(5 << 20)).ok


def test_output_beyond_the_limit_is_cut_and_the_command_goes_on(host: Host) -> None:
    result = host.run(Script(text="head -c 3000000 /dev/zero; echo done >&2"), limit_bytes=1000)
    assert (len(result.out), result.cut, result.err, result.status) == (1000, True, b"done\n", 0)


def test_what_runs_on_in_the_background_is_not_waited_for(host: Host) -> None:
    start = time.monotonic()
    result = host.run(Script(text=f"{nap(56)} & echo $!"))
    assert time.monotonic() - start < 30
    assert running(nap(56)) == [int(result.out)]
    os.kill(int(result.out), signal.SIGKILL)


def test_too_long_means_ended_with_all_that_it_started(host: Host) -> None:
    text = f"trap '' TERM; {nap(51)} & ({nap(52)} & wait) & {nap(53)}; {nap(54)}"
    with pytest.raises(CommandFailed, match=r"took longer than 0\.5 s and was ended"):
        host.run(Script(text=text), timeout_s=0.5)
    wait_until(lambda: not any(running(nap(seconds)) for seconds in range(51, 55)))


def test_a_shell_that_is_killed_leaves_the_outcome_unknown(host: Host) -> None:
    with pytest.raises(OutcomeUnknown, match="the shell that ran a script was killed") as caught:
        host.run(Script(text="kill -9 $$; sleep 0.2"))
    assert caught.value.hint
    assert host.run(["true"]).ok


def test_an_interrupt_ends_the_command(host: Host) -> None:
    def interrupt() -> None:
        wait_until(lambda: running(nap(58)))
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a background job
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            host.run(nap(58).split())
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: not running(nap(58)))
    assert host.run(["true"]).ok


def test_commands_may_run_side_by_side(host: Host) -> None:
    outs: list[bytes] = []
    threads = [
        threading.Thread(target=lambda at=at: outs.append(host.run(["echo", str(at)]).out)) for at in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outs) == [f"{at}\n".encode() for at in range(6)]


@pytest.mark.parametrize("words", [[], [""], ["-rf"], ["echo", "a\0b"]])
def test_words_that_are_no_command_are_refused(host: Host, words: list[str]) -> None:
    with pytest.raises(InputError):
        host.run(words)


def test_messages_are_english_and_scripts_have_their_own_words(host: Host) -> None:
    assert host.run(Script(text='echo "$#" "$LC_ALL"', arguments=("a", "b"))).out == b"2 C\n"


def test_a_result_and_a_script_do_not_print_what_they_hold(host: Host) -> None:
    result = host.run(["echo", "s3cret-of-a-file"])
    assert "s3cret" not in repr(result)
    assert "s3cret" not in repr(Script(text="echo s3cret", arguments=("s3cret",)))
    assert str(result.status) in repr(result)


def test_a_program_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="cannot start sh"):
        LocalHost().run(["true"])

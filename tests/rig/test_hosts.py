"""Hosts over ssh against real machines that break: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig`."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rig.rigs import PASSWORD, Rig, a_rig, wait_until

from assay.deployment import quote_systemd
from assay.errors import AssayError, CommandFailed, HostError, OutcomeUnknown, Unreachable
from assay.hosts import (
    CommandResult,
    Host,
    Script,
    Secret,
    SshHost,
    start_commands,
    unit_state,
)

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]


PLANTED = "planted-s3cret"
NOTICED_S = 12
"""A dead link is noticed within this: three keepalives of one second, and a busy machine."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig() as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_left(rig: Rig) -> Iterator[None]:
    """After each test the machine has no process of ours."""
    yield
    wait_until(lambda: not rig.processes())


def outcome_of(act: Callable[[], object]) -> object:
    """What it gives, or raises."""
    try:
        return act()
    except AssayError as error:
        return error


def during(rig: Rig, host: Host, seconds: str, act: Callable[[], object]) -> CommandResult | object:
    """What comes of a `sleep` during which something happens."""

    def wait_and_act() -> None:
        wait_until(lambda: f"sleep {seconds}" in rig.inside("ps", "-A", "-o", "args="))
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    outcome = outcome_of(lambda: host.run(["sleep", seconds], timeout_s=60))
    thread.join()
    return outcome


def test_a_cut_link_leaves_the_outcome_unknown_and_the_command_running(rig: Rig) -> None:
    with rig.host() as host:
        outcome = during(rig, host, "61.25", lambda: rig.call("link", "rig1", "down"))
        assert isinstance(outcome, OutcomeUnknown)
        assert "the link was lost while sleep ran" in outcome.message
        assert "sleep 61.25" in rig.processes()
        start = time.monotonic()
        assert isinstance(outcome_of(lambda: host.run(["true"])), Unreachable)
        assert time.monotonic() - start < NOTICED_S
        rig.call("link", "rig1", "up")
        state = host.run(["pgrep", "-f", "sleep 61.25"])
        assert state.ok
        host.run(["kill", state.out.decode().strip()])


def test_a_link_that_is_cut_before_a_command_means_nothing_was_run(rig: Rig) -> None:
    with rig.host() as host:
        assert host.run(["true"]).ok
        rig.call("link", "rig1", "down")
        outcome = outcome_of(lambda: host.run(["touch", "/root/was-run"]))
        rig.call("link", "rig1", "up")
        assert isinstance(outcome, Unreachable)
        assert "nothing was run" in outcome.message
        assert not host.exists("/root/was-run")


def test_a_cut_that_heals_soon_is_not_noticed(rig: Rig) -> None:
    with rig.host() as host:

        def blink() -> None:
            rig.call("link", "rig1", "down")
            rig.call("link", "rig1", "up")

        outcome = during(rig, host, "3.25", blink)
        assert isinstance(outcome, CommandResult)
        assert outcome.ok


def test_a_machine_that_hangs(rig: Rig) -> None:
    with rig.host() as host:
        try:
            outcome = during(rig, host, "8.25", lambda: rig.call("freeze", "rig1"))
            assert isinstance(outcome, OutcomeUnknown)
            with rig.host() as other:
                start = time.monotonic()
                assert isinstance(outcome_of(lambda: other.run(["true"])), Unreachable)
                assert time.monotonic() - start < NOTICED_S
        finally:
            rig.call("thaw", "rig1")
        assert host.run(["echo", "thawed"]).out == b"thawed\n"


def test_sshd_is_killed_and_comes_back(rig: Rig) -> None:
    with rig.host() as host:
        outcome = during(rig, host, "4.5", lambda: rig.call("sshd", "rig1", "kill"))
        assert isinstance(outcome, OutcomeUnknown)
        refused = outcome_of(lambda: host.run(["true"]))
        assert isinstance(refused, Unreachable)
        assert "refuses connections" in refused.message
        rig.call("sshd", "rig1", "start")
        assert host.run(["true"]).ok


def test_a_reboot_and_a_power_cut(rig: Rig) -> None:
    with rig.host() as host:
        before = host.read("/proc/sys/kernel/random/boot_id")
        outcome = outcome_of(lambda: host.run(Script(text="systemctl reboot; sleep 62.25"), timeout_s=30))
        assert isinstance(outcome, OutcomeUnknown)
        wait_until(lambda: not isinstance(outcome_of(lambda: host.run(["true"])), HostError), 60)
        rig.call("power", "rig1", "cycle")
        assert host.read("/proc/sys/kernel/random/boot_id") != before


def test_a_time_out_ends_the_command_or_says_that_it_could_not(rig: Rig) -> None:
    with rig.host() as host:
        ended = outcome_of(
            lambda: host.run(Script(text="trap '' TERM; sleep 63.25 & setsid sleep 63.5 & wait"), timeout_s=1)
        )
        assert isinstance(ended, CommandFailed)
        assert "was ended" in ended.message
        assert not rig.processes().count("sleep")
    # keepalives that are slower than the time-out
    with SshHost("rig1", config=rig.config, connect_timeout_s=2, keepalive_s=10) as host:
        threading.Timer(1, lambda: rig.call("link", "rig1", "down")).start()
        lost = outcome_of(lambda: host.run(["sleep", "64.25"], timeout_s=3))
        rig.call("link", "rig1", "up")
        assert isinstance(lost, OutcomeUnknown)
        assert "could not be ended: it may still run" in lost.message
        host.run(["pkill", "-f", "sleep 64.25"])


def test_a_full_disk_leaves_the_old_file_whole(rig: Rig) -> None:
    with rig.host() as host:
        host.write("/etc/llm.conf", b"old\n", mode=0o640)
        host.run(["chown", "ops:ops", "/etc/llm.conf"])
        rig.call("fill", "rig1")
        try:
            outcome = outcome_of(lambda: host.write("/etc/llm.conf", os.urandom(1 << 20)))
            assert isinstance(outcome, CommandFailed)
            assert "No space left on device" in " ".join(outcome.details)
            assert outcome.hint
            assert host.read("/etc/llm.conf") == b"old\n"
        finally:
            rig.call("unfill", "rig1")
        host.write("/etc/llm.conf", b"new\n")
        assert host.run(["stat", "-c", "%U:%G %a", "/etc/llm.conf"]).out == b"ops:ops 640\n"
        assert b".assay-" not in host.run(["ls", "-A", "/etc"]).out


def test_a_write_whose_link_is_cut_is_whole_or_not_there(rig: Rig) -> None:
    old, new = b"old\n" * 1000, os.urandom(40 << 20)
    with rig.host() as host:
        for pause in (0.05, 0.2, 0.4, 0.8):
            host.write("/root/f", old)
            timer = threading.Timer(pause, lambda: rig.call("link", "rig1", "down"))
            timer.start()
            outcome = outcome_of(lambda: host.write("/root/f", new))
            timer.join()
            rig.call("link", "rig1", "up")
            assert outcome is None or isinstance(outcome, OutcomeUnknown | Unreachable)
            wait_until(lambda: "dd of" not in rig.processes(), 60)
            digest = host.run(["sha256sum", "/root/f"]).out.split()[0].decode()
            assert digest in {hashlib.sha256(data).hexdigest() for data in (old, new)}
            assert outcome is not None or digest == hashlib.sha256(new).hexdigest()
        wait_until(lambda: b".assay-" not in host.run(["ls", "-A", "/root"]).out)


def test_20_megabytes_each_way(rig: Rig) -> None:
    data = os.urandom(20 << 20)
    with rig.host() as host:
        host.write("/root/big", data)
        assert host.read("/root/big") == data
        host.remove("/root/big")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: "", "its host key is not known"),
        (lambda text: re.sub(r"(?m)^rig1(,\S+)? (\S+) \S+$", r"rig1\1 \2 OTHER", text), "not the one"),
    ],
)
def test_host_keys(rig: Rig, change: Callable[[str], str], reason: str) -> None:
    known = rig.folder / "known"
    text = change((rig.folder / "state" / "known_hosts").read_text())
    other = (rig.folder / "state" / "known_hosts").read_text().splitlines()[1].split()[2]
    known.write_text(text.replace("OTHER", other))
    config = rig.folder / "config"
    config.write_text(rig.config.read_text().replace(str(rig.folder / "state" / "known_hosts"), str(known)))
    with SshHost("rig1", config=config) as host:
        outcome = outcome_of(lambda: host.run(["true"]))
    assert isinstance(outcome, Unreachable)
    assert reason in outcome.message


def test_a_jump_over_another_machine(rig: Rig) -> None:
    config = rig.folder / "jump"
    config.write_text(rig.config.read_text().replace("Host rig2\n", "Host rig2\n  ProxyJump rig1\n"))
    with SshHost("rig2", config=config, connect_timeout_s=3, keepalive_s=1) as host:
        assert host.run(["hostname"]).out == b"rig2\n"
        origin = host.run(Script(text='echo "$SSH_CONNECTION"')).out.split()[0].decode()
        assert origin in rig.inside("ip", "-o", "-4", "addr", host="rig1")
        threading.Timer(0.5, lambda: rig.call("link", "rig1", "down")).start()
        outcome = outcome_of(lambda: host.run(["sleep", "6"]))
        rig.call("link", "rig1", "up")
        assert isinstance(outcome, OutcomeUnknown)
    wait_until(lambda: not rig.processes("rig2"))


def secret() -> Secret:
    return Secret(PASSWORD)


@pytest.mark.parametrize("ask", [None, secret])
def test_sudo_without_a_password(rig: Rig, ask: Callable[[], Secret] | None) -> None:
    with rig.host("deploy@rig1", password=ask) as host:
        assert host.run(["id", "-u"], sudo=True).out == b"0\n"
        assert host.run(["cat"], sudo=True, stdin=b"a\0\n\xff").out == b"a\0\n\xff"
        assert host.run(Script(text="id -u; cat"), sudo=True, stdin=b"x").out == b"0\nx"
        assert host.run(["sh", "-c", "exit 255"], sudo=True).status == 255
        assert host.run(["sh", "-c", "kill -9 $$"], sudo=True).status == 137
        assert host.run(["id", "-u"]).out != b"0\n"
        host.write("/etc/of-root", b"x", mode=0o600, sudo=True)
        assert host.read("/etc/of-root", sudo=True) == b"x"
        refused = outcome_of(lambda: host.read("/etc/of-root"))
        assert isinstance(refused, CommandFailed)
        assert "sudo" in refused.hint
        hidden = outcome_of(lambda: host.exists("/root/.ssh/authorized_keys"))
        assert isinstance(hidden, CommandFailed)
        assert host.exists("/root/.ssh/authorized_keys", sudo=True)
        data = os.urandom(5 << 20)
        assert host.run(["cat"], sudo=True, stdin=data).out == data
        late = outcome_of(lambda: host.run(["sleep", "65.25"], sudo=True, timeout_s=1))
        assert isinstance(late, CommandFailed)
        host.remove("/etc/of-root", sudo=True)


def test_sudo_with_a_password(rig: Rig) -> None:
    with rig.host("ops@rig1", password=secret) as host:
        for _ in range(2):
            assert host.run(["id", "-u"], sudo=True).out == b"0\n"
            assert host.run(["cat"], sudo=True, stdin=b"a\0\n\xff").out == b"a\0\n\xff"
        result = host.run(Script(text="id -u; echo e >&2; exit 9"), sudo=True)
        assert (result.status, result.out, result.err) == (9, b"0\n", b"e\n")
        assert host.run(["env"], sudo=True).out.count(PASSWORD.encode()) == 0
        late = outcome_of(lambda: host.run(["sleep", "66.25"], sudo=True, timeout_s=1))
        assert isinstance(late, CommandFailed)
        host.write("/etc/of-root", os.urandom(1 << 20), sudo=True)
        host.remove("/etc/of-root", sudo=True)


def test_sudo_that_refuses(rig: Rig) -> None:
    cases = [
        ("ops@rig1", None, "sudo refused", "let assay ask"),
        ("ops@rig1", lambda: Secret("planted-s3cret"), "did not take the password", "password of the user"),
        ("guest@rig1", None, "sudo refused", "let assay ask"),
        ("guest@rig1", secret, "sudo refused", "administrator"),
    ]
    for name, ask, message, hint in cases:
        with rig.host(name, password=ask) as host:
            for command in (["touch", "/tmp/was-run"], Script(text="touch /tmp/was-run")):
                outcome = outcome_of(partial(host.run, command, sudo=True))
                assert isinstance(outcome, CommandFailed)
                assert message in outcome.message
                assert hint in outcome.hint
                assert "s3cret" not in "".join(traceback.format_exception(outcome))
            assert not host.exists("/tmp/was-run")


@contextlib.contextmanager
def sudo_rules(rig: Rig, *lines: str) -> Iterator[None]:
    """More lines of sudoers."""
    path = "/etc/sudoers.d/zz-test"
    with rig.host() as root:
        root.write(path, "".join(f"{line}\n" for line in lines).encode(), mode=0o440)
        yield
        root.remove(path)


def test_sudo_as_administrators_set_it(rig: Rig) -> None:
    for lines in (["Defaults lecture=always", "Defaults use_pty"], ["Defaults !use_pty"]):
        with sudo_rules(rig, *lines), rig.host("ops@rig1", password=secret) as host:
            result = host.run(["sh", "-c", "cat; id -u"], sudo=True, stdin=b"a\r\n\x03\x04b")
            assert (result.out, result.err) == (b"a\r\n\x03\x04b0\n", b"")
    with sudo_rules(rig, "Defaults requiretty"), rig.host("ops@rig1", password=secret) as host:
        outcome = outcome_of(lambda: host.run(["id"], sudo=True))
        assert isinstance(outcome, CommandFailed)
        assert "requiretty" in outcome.hint


def test_sudo_for_one_command_only(rig: Rig) -> None:
    rule = "guest ALL=(root) NOPASSWD: /usr/bin/systemctl reset-failed llm.service"
    with sudo_rules(rig, rule), rig.host("guest@rig1") as host:
        done = host.run(["systemctl", "reset-failed", "llm.service"], sudo=True)
        assert b"llm.service not loaded" in done.err
        for command in (["systemctl", "daemon-reload"], Script(text="id")):
            assert isinstance(outcome_of(partial(host.run, command, sudo=True)), CommandFailed)
    assert "COMMAND=/usr/bin/systemctl reset-failed llm.service" in rig.inside("journalctl", "-t", "sudo")


def test_a_warning_of_sudo_is_no_refusal(rig: Rig) -> None:
    rig.inside("hostname", "name-without-address")
    try:
        with rig.host("deploy@rig1") as host:
            result = host.run(["false"], sudo=True)
            assert result.status == 1
            assert b"unable to resolve host" in result.err
    finally:
        rig.inside("hostname", "rig1")


def test_a_machine_without_sudo(rig: Rig) -> None:
    rig.inside("mv", "/usr/bin/sudo", "/usr/bin/sudo.away")
    try:
        for ask in (None, secret):
            with rig.host("deploy@rig1", password=ask) as host:
                outcome = outcome_of(partial(host.run, ["id"], sudo=True))
                assert isinstance(outcome, CommandFailed)
                assert "there is no sudo" in outcome.message
    finally:
        rig.inside("mv", "/usr/bin/sudo.away", "/usr/bin/sudo")


def test_planted_secrets_show_nowhere(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in our texts and logs, nor in the machine's processes, environments and journal."""
    seen: list[str] = []
    look = (
        "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; "
        "journalctl --no-pager -o cat -a"
    )

    def watch() -> None:
        wait_until(lambda: "sleep 2.75" in rig.inside("ps", "-A", "-o", "args="))
        seen.append(rig.inside("sh", "-c", look))

    thread = threading.Thread(target=watch)
    thread.start()
    with caplog.at_level(logging.DEBUG), rig.host("ops@rig1", password=secret) as host:
        script = Script(text=f": {PLANTED}; sleep 2.75", arguments=(PLANTED,))
        result = host.run(script, stdin=PLANTED.encode(), sudo=True)
        host.write("/home/ops/token", PLANTED.encode())
        read = host.run(["cat", "/home/ops/token"])
        failed = outcome_of(lambda: host.write("/proc/token", PLANTED.encode()))
        assert isinstance(failed, CommandFailed)
    thread.join()
    assert "sleep\n2.75" in seen[0]
    texts = [caplog.text, repr(result), repr(read), repr(host), repr(script), *seen]
    texts += ["".join(traceback.format_exception(failed)), repr(failed.__dict__)]
    assert not [text for text in texts if PLANTED in text or PASSWORD in text.replace("assay-rig-", "")]


ODD = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=15)
ODD |= st.sampled_from(
    ["'", "\\", "$HOME", "$(id)", "\n", "-n", "--", "\udcff", "!", "*", "%s", '"', "~", ""]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(ODD, max_size=8))
def test_any_words_arrive_through_ssh_and_sudo(connections: dict[str, SshHost], words: list[str]) -> None:
    expected = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in ["first", *words])
    for name, host in connections.items():
        for sudo in (False, True):
            command = ["printf", "%s\\0", "first", *words]
            assert host.run(command, sudo=sudo).out == expected, name
        script = Script(text='printf "%s\\0" "$@"', arguments=("first", *words))
        assert host.run(script, sudo=True).out == expected, name


@pytest.fixture
def connections(rig: Rig) -> Iterator[dict[str, SshHost]]:
    with contextlib.ExitStack() as stack:
        yield {
            "free": stack.enter_context(rig.host("deploy@rig1")),
            "asked": stack.enter_context(rig.host("ops@rig1", password=secret)),
        }


def test_two_machines_and_two_connections_at_once(rig: Rig) -> None:
    with rig.host() as first, rig.host() as second, rig.host("rig2") as other:
        for host, name in ((first, b"rig1\n"), (second, b"rig1\n"), (other, b"rig2\n")):
            assert host.run(["hostname"]).out == name
        first.close()
        assert second.run(["hostname"]).ok


def test_more_commands_at_once_than_sshd_allows_sessions(rig: Rig) -> None:
    outcomes: list[object] = []
    with rig.host() as host:
        threads = [
            threading.Thread(target=lambda: outcomes.append(outcome_of(lambda: host.run(["sleep", "2"]))))
            for _ in range(14)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(outcomes) == 14
    assert all(isinstance(each, CommandResult) and each.ok for each in outcomes), outcomes


def test_a_unit_from_first_start_to_forgotten_reload(rig: Rig) -> None:
    words = [
        "-c",
        "import time; time.sleep(1e6)",
        '{"a": "b c"}',
        "50%",
        "$A",
        "${B}",
        "",
        "\u00e4\n'x' ; \\",
    ]
    path = "/run/systemd/system/assay-trial.service"
    with rig.host("deploy@rig1") as host:
        assert unit_state(host, "assay-trial.service").load_state == "not-found"
        command = " ".join(map(quote_systemd, words))
        text = f"[Service]\nRestart=always\nRestartSec=100ms\nExecStart=/usr/bin/python3 {command}\n"
        host.write(path, text.encode(), sudo=True)
        host.run(["systemctl", "daemon-reload"], sudo=True).checked()
        host.run(["systemctl", "start", "assay-trial.service"], sudo=True).checked()
        first = unit_state(host, "assay-trial.service")
        assert (first.active_state, first.sub_state, first.restarts) == ("active", "running", 0)
        running = host.read(f"/proc/{first.main_pid}/cmdline").decode().split("\0")[1:-1]
        assert running == words
        (asked,) = start_commands(host, "assay-trial.service")
        assert asked.words == ("/usr/bin/python3", *(word.replace("$", "$$") for word in words))
        host.run(["kill", "-9", str(first.main_pid)], sudo=True).checked()
        wait_until(lambda: unit_state(host, "assay-trial.service").restarts == 1)
        again = unit_state(host, "assay-trial.service")
        assert again.invocation_id != first.invocation_id
        host.write(path, text.replace("100ms", "200ms").encode(), sudo=True)
        assert unit_state(host, "assay-trial.service").need_daemon_reload
        host.run(["systemctl", "stop", "assay-trial.service"], sudo=True).checked()
        host.remove(path, sudo=True)
        host.run(["systemctl", "daemon-reload"], sudo=True).checked()

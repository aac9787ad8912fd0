"""ssh as the user has it: names, configuration, host keys, lost links, and what is left behind."""

from __future__ import annotations

import logging
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.hosts.loopback import LoopbackSshd, kill, loopback, nap, processes, running, wait_until
from tests.http_server import serving

from assay.errors import AssayError, HostError, InputError, OutcomeUnknown, Unreachable
from assay.hosts import CommandResult, Host, LocalHost, Script, SshHost


def over(sshd: LoopbackSshd, config: Path | None = None) -> SshHost:
    return SshHost("loop", config=config or sshd.config, connect_timeout_s=5, keepalive_s=1)


@pytest.mark.parametrize(
    "name",
    ["", "-oProxyCommand=touch x", "a b", "a;b", "a\n", "$(x)", "u@-oX", "-l@x", "a@b@c", "x'", "a/b", "a\0"],
)
def test_names_that_ssh_or_a_shell_could_misread_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        SshHost(name)


@pytest.mark.parametrize("name", ["gpu1", "deploy@gpu-1.example", "10.0.0.1", "fe80::1%eth0", "a_b", "u@a"])
def test_names_of_machines(name: str) -> None:
    with SshHost(name) as host:
        assert repr(host) == f"SshHost({name!r})"


def test_what_people_set_for_their_own_sessions_does_no_harm(sshd: LoopbackSshd) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        extra = (
            f"  LocalForward {taken.getsockname()[1]} 127.0.0.1:1\n  ExitOnForwardFailure yes\n"
            "  RemoteCommand tmux\n  RequestTTY force\n  ForwardX11 yes\n  LogLevel QUIET\n"
            "  ControlMaster auto\n  ControlPath /nonexistent/%C\n  ServerAliveInterval 0\n"
        )
        with over(sshd, sshd.write_config("own", extra=extra)) as host:
            assert host.run(["cat"], stdin=b"\r\n\0").out == b"\r\n\0"


def test_a_port_there_is_reached_and_let_go(sshd: LoopbackSshd) -> None:
    with socket.socket() as taken, serving(BaseHTTPRequestHandler) as url:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        extra = f"  LocalForward {taken.getsockname()[1]} 127.0.0.1:1\n  ExitOnForwardFailure yes\n"
        port = int(url.rpartition(":")[2])
        with over(sshd, sshd.write_config("forwards", extra=extra)) as host:
            with host.reach("127.0.0.1", port) as there:
                assert there != ("127.0.0.1", port)
                with socket.create_connection(there, timeout=5) as connection:
                    connection.sendall(b"BREW / HTTP/1.0\r\n\r\n")
                    assert b" 501 " in connection.recv(65536)
                assert running(f"127.0.0.1:{there[1]}:")
            wait_until(lambda: not running(f"127.0.0.1:{there[1]}:"))
            with pytest.raises(InputError), host.reach("a b", 1):
                """Not reached."""
    with LocalHost() as here, here.reach("127.0.0.1", port) as same:
        assert same == ("127.0.0.1", port)


def test_a_tunnel_of_an_assay_that_was_killed_ends(sshd: LoopbackSshd) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom assay.hosts import SshHost\n"
        "with SshHost('loop', config=Path(sys.argv[1])).reach('127.0.0.1', 9) as there:\n"
        "    print(there[1], flush=True)\n    input()\n"
    )
    command = [sys.executable, "-c", program, str(sshd.config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as assay:
        assert assay.stdout is not None
        port = int(assay.stdout.readline())
        assert running(f"127.0.0.1:{port}:")
        assay.kill()
    wait_until(lambda: not running(f"127.0.0.1:{port}:"))


def test_a_tunnel_to_a_machine_that_is_not_there(sshd: LoopbackSshd) -> None:
    config = sshd.write_config("gone", extra="")
    config.write_text(config.read_text().replace(f"Port {sshd.port}", "Port 1"))
    with SshHost("loop", config=config) as host, pytest.raises(Unreachable), host.reach("127.0.0.1", 9):
        """Not reached."""


def test_a_jump_host_of_the_configuration_is_used(sshd: LoopbackSshd) -> None:
    behind = sshd.write_config("jump", extra="")
    text = behind.read_text()
    behind.write_text(text + text.replace("Host loop\n", "Host behind\n") + "  ProxyJump loop\n")
    with SshHost("behind", config=behind) as host:
        assert host.run(["echo", "there"]).out == b"there\n"
        assert running(f"-W [127.0.0.1]:{sshd.port}")
    wait_until(lambda: not running(f"-W [127.0.0.1]:{sshd.port}"))


def test_login_scripts_may_print_what_they_like() -> None:
    noisy = "ForceCommand echo noise; echo more >&2; printf '@assay-'; eval \"$SSH_ORIGINAL_COMMAND\""
    server = loopback(noisy)
    try:
        with over(server) as host:
            result = host.run(Script(text="echo out; echo err >&2; exit 3"))
            assert (result.status, result.out, result.err) == (3, b"out\n", b"err\n")
    finally:
        server.stop()
        shutil.rmtree(server.folder)


def test_an_account_without_a_shell() -> None:
    server = loopback("ForceCommand echo This account is not available.; exit 1")
    try:
        with over(server) as host, pytest.raises(Unreachable, match="nothing was run"):
            host.run(["true"])
    finally:
        server.stop()
        shutil.rmtree(server.folder)


@pytest.mark.parametrize(
    ("key", "reason", "hint"),
    [
        ("", "its host key is not known", "fingerprint"),
        ("other", "not the one that is known", "administrator"),
    ],
)
def test_host_keys_are_verified(sshd: LoopbackSshd, key: str, reason: str, hint: str) -> None:
    config = sshd.write_config(f"keys-{key}", key=key)
    before = Path(f"{config}.known").read_text()
    with over(sshd, config) as host, pytest.raises(Unreachable, match=reason) as caught:
        host.run(["true"])
    assert hint in caught.value.hint
    assert Path(f"{config}.known").read_text() == before


def test_no_key_that_it_takes(sshd: LoopbackSshd) -> None:
    config = sshd.write_config("no-key")
    config.write_text(config.read_text().replace("/user\n", "/other\n"))
    with over(sshd, config) as host, pytest.raises(Unreachable, match="none of your keys") as caught:
        host.run(["true"])
    assert "without a question" in caught.value.hint


def test_nobody_there(own_sshd: LoopbackSshd) -> None:
    own_sshd.stop()
    with over(own_sshd) as host, pytest.raises(Unreachable, match="refuses connections"):
        host.run(["true"])
    with SshHost("no-such-name.invalid") as host, pytest.raises(Unreachable):
        host.run(["true"])


def test_a_wrong_configuration_is_the_users_to_mend(sshd: LoopbackSshd) -> None:
    config = sshd.write_config("wrong", extra="  NoSuchOption yes\n")
    with over(sshd, config) as host, pytest.raises(InputError, match="configuration"):
        host.run(["true"])


def test_no_ssh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with SshHost("gpu1") as host, pytest.raises(HostError, match="cannot start ssh"):
        host.run(["true"])


def during(host: Host, words: list[str], act: Callable[[], None]) -> CommandResult | AssayError:
    """What comes of a command during which something happens."""

    def wait_and_act() -> None:
        wait_until(lambda: running(" ".join(words)))
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    try:
        return host.run(words, timeout_s=30)
    except AssayError as error:
        return error
    finally:
        thread.join()


def test_a_lost_link_leaves_the_outcome_unknown_and_the_command_running(own_sshd: LoopbackSshd) -> None:
    def cut() -> None:
        for process in own_sshd.sessions():
            if "sshd" in processes().get(process, (0, ""))[1]:
                kill(process)

    with over(own_sshd) as host:
        outcome = during(host, nap(59).split(), cut)
        assert isinstance(outcome, OutcomeUnknown)
        assert "the link was lost while sleep ran" in outcome.message
        assert "state" in outcome.hint
        assert running(nap(59))
        assert host.run(["echo", "again"]).out == b"again\n"
    for process in running(nap(59)):
        kill(process)


def test_a_machine_that_hangs_leaves_the_outcome_unknown(own_sshd: LoopbackSshd) -> None:
    stopped: list[int] = []

    def freeze() -> None:
        for process in own_sshd.sessions():
            stopped.append(process)
            kill(process, signal.SIGSTOP)

    with over(own_sshd) as host:
        outcome = during(host, nap(57).split(), freeze)
        assert isinstance(outcome, OutcomeUnknown)
    for process in stopped:
        kill(process)


def test_a_kept_connection_that_died_is_made_again(own_sshd: LoopbackSshd) -> None:
    with over(own_sshd) as host:
        assert host.run(["true"]).ok
        for process in own_sshd.sessions():
            kill(process)
        assert host.run(["echo", "again"]).out == b"again\n"


def test_a_socket_whose_ssh_was_killed_is_replaced(sshd: LoopbackSshd) -> None:
    with over(sshd) as host:
        assert host.run(["true"]).ok
        (master,) = running(str(host._socket))
        kill(master)
        wait_until(lambda: not running(str(host._socket)))
        assert host._socket.exists()
        assert host.run(["echo", "again"]).out == b"again\n"
        assert len(running(str(host._socket))) == 1


def test_two_connections_at_once_do_not_share(sshd: LoopbackSshd) -> None:
    with over(sshd) as first, over(sshd) as second:
        assert first.run(["true"]).ok
        assert second.run(["true"]).ok
        assert first._socket != second._socket
        first.close()
        assert second.run(["echo", "still"]).out == b"still\n"
        with pytest.raises(HostError, match="closed by assay"):
            first.run(["true"])


def test_nothing_is_left_behind(own_sshd: LoopbackSshd, tmp_path: Path) -> None:
    with over(own_sshd) as host:
        folder = host._folder
        host.run(["true"])
        host.write(f"{tmp_path}/f", b"x")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    wait_until(lambda: not running(str(folder)) and not own_sshd.sessions())
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_a_program_that_forgets_to_close_leaves_nothing(own_sshd: LoopbackSshd) -> None:
    program = (
        "from pathlib import Path; from assay.hosts import SshHost\n"
        f"host = SshHost('loop', config=Path({str(own_sshd.config)!r}))\n"
        "host.run(['true']); print(host._folder)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()
    wait_until(lambda: not running(done.stdout.strip()))


def test_a_program_that_is_killed_leaves_its_connection_for_a_minute_only(own_sshd: LoopbackSshd) -> None:
    program = (
        "import os; from pathlib import Path; from assay.hosts import SshHost, ssh\n"
        f"ssh._PERSIST_S = 1; host = SshHost('loop', config=Path({str(own_sshd.config)!r}))\n"
        "host.run(['true']); print(host._folder, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    folder = Path(done.stdout.strip())
    assert running(str(folder))
    wait_until(lambda: not running(str(folder)) and not own_sshd.sessions())
    shutil.rmtree(folder)


def test_script_and_stdin_show_in_no_process_list(sshd: LoopbackSshd) -> None:
    seen: list[str] = []
    script = Script(text=f": planted-s3cret; {nap(60)}", arguments=("s3cret",))

    def look() -> None:
        wait_until(lambda: running(nap(60)))
        seen.extend(line for _, line in processes().values())
        for process in running(nap(60)):
            kill(process)

    thread = threading.Thread(target=look)
    thread.start()
    with over(sshd) as host:
        host.run(script, stdin=b"planted-s3cret")
    thread.join()
    assert any(nap(60) in line for line in seen)
    assert not [line for line in seen if "s3cret" in line]


def test_nothing_is_logged(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        host.run(["true"])
    assert caplog.text == ""

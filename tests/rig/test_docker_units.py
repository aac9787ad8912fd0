"""Units that are `docker run …`, with a real engine: `ASSAY_RIG=DIR pytest tests/rig/test_docker_units.py`"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.rig import service
from tests.rig.docker_host import SERVER, VOLUMES, a_docker_host
from tests.rig.rigs import Rig, wait_until
from tests.rig.service import serves

from assay._value import Value
from assay.cli import main
from assay.errors import ApplyFailed, Refused
from assay.rollout import (
    Look,
    Outcome,
    Patience,
    Request,
    apply,
    layout,
    parse_change,
    prepare,
    promote,
    rollback,
)

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

NAME = "llm-box"
PLACES = layout(service.UNIT)
QUICK = Patience(switch_s=10, trial_s=12, stop_s=30, ready_s=20, hold_s=1, token_s=3, lost_s=20, poll_s=0.1)
RUN = (
    f"docker run --rm --init --name {NAME} --network host "
    f"{' '.join(f'-v {each}' for each in VOLUMES)} "
    f"-e HF_TOKEN={service.TOKEN} -e PYTHONDONTWRITEBYTECODE=1"
)
TEXT = f"""[Unit]
After=docker.service
Requires=docker.service
StartLimitIntervalSec=0
[Service]
ExecStartPre=-/usr/bin/docker rm -f {NAME}
ExecStart=/usr/bin/{RUN} \\
  standin:1 {SERVER} --json-model-override-args '{{"a": "50%% $$HOME"}}'
ExecStop=/usr/bin/docker stop -t 2 {NAME}
Restart=on-failure
RestartSec=2
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_docker_host() as started:
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig) -> None:
    begin(rig, TEXT)
    wait_until(lambda: serves(rig), 40)


def begin(rig: Rig, text: str) -> None:
    """The unit as it is written, and nothing of ours."""
    rig.inside(
        "sh",
        "-c",
        f"systemctl stop '{PLACES.switch}*.timer' '{PLACES.switch}*.service' {service.UNIT} 2>/dev/null; "
        f"docker rm -f {NAME} >/dev/null 2>&1; rm -rf /run/assay /var/lib/assay {PLACES.trial} {PLACES.kept}",
    )
    rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
    rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "reset-failed")
    rig.inside("systemctl", "start", service.UNIT)


def inside_words(rig: Rig) -> list[str]:
    """The words of the server in the container, as docker's engine has them."""
    try:
        found: list[str] = json.loads(rig.inside("docker", "inspect", "-f", "{{json .Config.Cmd}}", NAME))
    except AssertionError:
        return []
    return found


def is_base(rig: Rig) -> bool:
    left = rig.inside("sh", "-c", f"ls {PLACES.trial} {PLACES.kept} {PLACES.run}/armed 2>/dev/null; true")
    timers = rig.inside("systemctl", "list-units", "--no-legend", f"{PLACES.switch}*.timer")
    words = inside_words(rig)
    return (
        not left and not timers.strip() and bool(words) and words[-1] == '{"a": "50% $HOME"}' and serves(rig)
    )


def silent(_kind: str, _body: Value) -> None:
    return None


def request(*change: str) -> Request:
    asked = parse_change(change or ("enable-mixed-chunk",))
    return Request(id="test-1", unit=service.UNIT, change=asked, who="me@here", patience=QUICK)


def test_kept_over_a_power_cut_and_taken_back(rig: Rig) -> None:
    with rig.host() as host:
        prepared = prepare(
            host, request("enable-mixed-chunk", "kv-cache-dtype=fp8_e5m2", 'served-model-name={"$x%"}')
        )
        assert service.TOKEN not in str(prepared.plan)
        outcome = apply(prepared, note=silent)
        assert isinstance(outcome, Outcome)
        assert outcome.result == "trial"
        added = ["--enable-mixed-chunk", "--kv-cache-dtype", "fp8_e5m2", "--served-model-name", '{"$x%"}']
        assert inside_words(rig)[-6:] == ['{"a": "50% $HOME"}', *added]
        promote(Look(host, service.UNIT, url=None, model=None, patience=QUICK), note=silent)
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: "--enable-mixed-chunk" in inside_words(rig) and serves(rig), 90)
    with rig.host() as host:
        rollback(Look(host, service.UNIT, url=None, model=None, patience=QUICK), note=silent)
    assert is_base(rig)


def test_a_trial_goes_back_by_itself(rig: Rig) -> None:
    with rig.host() as host:
        apply(prepare(host, request()), note=silent)
    assert "--enable-mixed-chunk" in inside_words(rig)
    wait_until(lambda: is_base(rig), 60)


def test_a_power_cut_during_a_trial(rig: Rig) -> None:
    with rig.host() as host:
        apply(prepare(host, request()), note=silent)
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: is_base(rig), 90)


def test_a_server_that_fails_in_its_container(rig: Rig) -> None:
    with rig.host() as host, pytest.raises(ApplyFailed, match="serves as before") as caught:
        apply(prepare(host, request("standin=oom")), note=silent)
    assert caught.value.hint.startswith("[out-of-memory]")
    assert is_base(rig)


def test_a_container_that_outlives_its_unit_is_waited_for(rig: Rig) -> None:
    """Killing docker's client leaves the server: neither systemd nor the unit's group sees it any more."""
    text = TEXT.replace("ExecStop=", "# ExecStop=").replace("[Install]", "KillSignal=SIGKILL\n[Install]")
    begin(rig, text.replace("--rm ", ""))
    wait_until(lambda: serves(rig), 40)
    asked, short = parse_change(["enable-mixed-chunk"]), replace(QUICK, stop_s=4)
    with rig.host() as host:
        prepared = prepare(host, Request(id="t", unit=service.UNIT, change=asked, who="me", patience=short))
        with pytest.raises(ApplyFailed, match="did not stop in time") as caught:
            apply(prepared, note=silent)
    assert "still runs" in caught.value.details[0]
    assert is_base(rig)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [(f"--name {NAME} ", "", "no name of its own"), ("--rm --init", "--rm --init -d", "runs detached")],
)
def test_containers_that_cannot_be_followed(rig: Rig, old: str, new: str, why: str) -> None:
    text = TEXT.replace(old, new).replace("[Service]", "[Service]\nType=simple")
    if "-d" in new:  # the client ends at once, which a unit of its kind would survive as this
        text = text.replace("Type=simple", "Type=oneshot\nRemainAfterExit=yes").replace(
            "Restart=on-failure\n", ""
        )
    begin(rig, text)
    wait_until(lambda: serves(rig), 40)
    try:
        with rig.host() as host, pytest.raises(Refused) as caught:
            prepare(host, request())
        assert why in caught.value.message or "does not run" in caught.value.message
    finally:
        rig.inside("sh", "-c", "docker ps -q | xargs -r docker rm -f")


def test_a_container_is_described(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ssh = ("--ssh-config", str(rig.config))
    file = tmp_path / "box.toml"
    assert main(["describe", f"docker:{NAME}@rig1", *ssh, "-o", str(file)]) == 0
    text = file.read_text()
    assert 'engine = "sglang==0.5.10"' in text
    assert "# it runs in image standin:1" in text
    assert "PYTHONDONTWRITEBYTECODE" not in text, "of its variables only those on the list are read"
    assert 'torch = "2.9.1+cu129"' in text
    assert (tmp_path / "box-config.json").exists()
    assert f"{NAME} on rig1: running" in capsys.readouterr().out
    assert main(["describe", f"docker:{NAME}@deploy@rig1", "--sudo", "--json", *ssh]) == 0
    said = capsys.readouterr()
    seen = json.loads(said.out)
    assert seen["container"]["name"] == NAME
    assert seen["container"]["own_network"] is False
    assert seen["running"][:3] == ["/opt/venv/bin/python3", "-m", "sglang.launch_server"]
    assert seen["served"]["models"][0]["name"] == "tiny"
    for secret in (service.KEY, service.TOKEN):
        assert secret not in text + said.out + said.err
    assert main(["describe", "docker:nosuch@rig1", *ssh]) == 4
    assert "says nothing of a container nosuch" in capsys.readouterr().err

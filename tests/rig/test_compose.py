"""Services of docker compose, with a real engine: `ASSAY_RIG=DIR pytest tests/rig/test_compose.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.docker_host import SERVER, VOLUMES, a_docker_host
from tests.rig.rigs import Rig, wait_until
from tests.rig.service import serves, written

from assay._value import Value
from assay.cli import main
from assay.errors import ApplyFailed, Refused
from assay.journal import Journal
from assay.rollout import Look, Outcome, Patience, Request, apply, parse_change, prepare, promote, rollback

pytestmark = [pytest.mark.rig, pytest.mark.timeout(400)]

NAME = "compose:llm/server"
FILE = "/srv/llm/docker-compose.yml"
QUICK = Patience(switch_s=10, trial_s=15, stop_s=30, ready_s=20, hold_s=1, token_s=3, lost_s=20, poll_s=0.1)
ITEMS = "\n".join(f"      - {json.dumps(word) if word.isdigit() else word}" for word in SERVER.split())
TEXT = f"""# ours
version: "2.4"
services:
  beside:
    image: standin:1
    network_mode: host
    volumes: &all [{", ".join(f'"{each}"' for each in VOLUMES)}]
    command: ["/usr/bin/sleep", "1000000"]
  server:
    image: standin:1
    network_mode: host
    init: true
    restart: unless-stopped
    stop_grace_period: 2s
    volumes: *all
    environment:
      HF_TOKEN: {service.TOKEN}
      PYTHONDONTWRITEBYTECODE: "1"
    command:
{ITEMS}
      - --json-model-override-args
      - '{{"a": "${{WHAT}}% $$HOME"}}'   # said in .env
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_docker_host() as started:
        started.inside("systemctl", "disable", "--now", service.UNIT)
        yield started


@pytest.fixture(autouse=True)
def base(rig: Rig) -> None:
    rig.call("link", "rig1", "up")
    rig.inside(
        "sh",
        "-c",
        "systemctl stop 'assay-revert-*' 2>/dev/null; docker ps -aq | xargs -r docker rm -f >/dev/null; "
        "rm -rf /var/lib/assay /etc/systemd/system/assay-revert-*; systemctl daemon-reload",
    )
    rig.put({FILE: TEXT.encode(), "/srv/llm/.env": b"WHAT=50\n"})
    compose(rig, "up", "-d")
    wait_until(lambda: serves(rig), 40)


def compose(rig: Rig, *words: str) -> str:
    """What the user's own compose does, in the project's folder."""
    said = rig.inside("sh", "-c", 'cd /srv/llm && docker-compose "$@" 2>&1; echo rc=$?', "sh", *words)
    assert said.endswith("rc=0\n"), said
    return said


def container(rig: Rig, name: str = "server") -> tuple[str, list[str]]:
    """The id of the service's container that runs, and its words."""
    asked = rig.inside(
        "sh",
        "-c",
        f"docker ps -q --filter label=com.docker.compose.service={name} | "
        "xargs -r docker inspect -f '[{{json .Id}}, {{json .Config.Cmd}}]'",
    )
    if not asked.strip():
        return "", []
    id, words = json.loads(asked)
    return id, words


def is_base(rig: Rig) -> bool:
    left = rig.inside(
        "sh", "-c", "ls /var/lib/assay/*/run/armed /etc/systemd/system/assay-* 2>/dev/null; true"
    )
    timers = rig.inside("systemctl", "list-units", "--no-legend", "assay-revert-*.timer")
    words = container(rig)[1]
    unchanged = rig.inside("cat", FILE) == TEXT
    return (
        unchanged and not left and not timers.strip() and words[-1:] == ['{"a": "50% $HOME"}'] and serves(rig)
    )


def silent(_kind: str, _body: Value) -> None:
    return None


def request(*change: str) -> Request:
    asked = parse_change(change or ("enable-mixed-chunk",))
    return Request(id="test-1", unit=NAME, change=asked, who="me@here", patience=QUICK)


def look(host: object) -> Look:
    return Look(host, NAME, url=None, model=None, patience=QUICK)  # type: ignore[arg-type]


def test_from_a_description_to_a_promotion_over_a_power_cut_and_back(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    ssh = ("--ssh-config", str(rig.config))
    file = tmp_path / "box.toml"
    assert main(["describe", f"{NAME}@rig1", *ssh, "-o", str(file)]) == 0
    text = file.read_text()
    assert f'unit = "{NAME}"' in text
    text = text.replace('"nowhere"', '"in_place"').replace('# gpus = "4x H100"', 'gpus = "4x H100"')
    file.write_text(text)
    said = capsys.readouterr()
    told = said.out + said.err
    change = ["+enable-mixed-chunk", '+served-model-name={"$x%"}', "--unchecked"]
    assert main(["apply", str(file), *change, "--dry-run", "--json", *ssh]) == 0
    plan = json.loads(told_of_it := capsys.readouterr().out)
    told += told_of_it
    assert "at boot" in plan["steps"][0]["does"]
    assert is_base(rig)

    before, beside = container(rig)[0], container(rig, "beside")[0]
    assert main(["apply", str(file), *change, "--hold", "1", "--json", *ssh]) == 0
    said = capsys.readouterr()
    told += said.out + said.err
    assert json.loads(said.out)["result"] == "trial"
    after, words = container(rig)
    assert after != before
    assert words[-4:] == ['{"a": "50% $HOME"}', "--enable-mixed-chunk", "--served-model-name", '{"$x%"}']
    assert main(["status", str(file), "--json", *ssh]) == 0
    assert json.loads(capsys.readouterr().out)["marks"]["switch"]
    assert rig.inside("cat", FILE) == TEXT
    assert main(["promote", str(file), *ssh]) == 0
    added = '\n      - "--enable-mixed-chunk"\n      - "--served-model-name"\n      - "{\\"$$x%\\"}"'
    assert rig.inside("cat", FILE) == TEXT.replace("$$HOME\"}'", f"$$HOME\"}}'{added}")
    assert container(rig)[0] == after, "it was not restarted"
    compose(rig, "up", "-d")
    assert container(rig)[0] == after, "for the user's own compose nothing is to be done"
    assert container(rig, "beside")[0] == beside

    rig.call("power", "rig1", "cycle")
    wait_until(lambda: "--enable-mixed-chunk" in container(rig)[1] and serves(rig), 90)
    assert main(["rollback", str(file), *ssh]) == 0
    assert is_base(rig)
    assert main(["rollback", str(file), *ssh]) == 3

    said = capsys.readouterr()
    journal = (tmp_path / "j.sqlite").read_bytes()
    for secret in (service.KEY, service.TOKEN):
        assert secret.encode() not in journal
        assert secret not in told + said.out + said.err + file.read_text()
    with Journal(tmp_path / "j.sqlite", who="t") as opened:
        kinds = [entry.kind for entry in opened.entries()]
    assert kinds == ["plan", *["step"] * 9, "outcome", "promote", "outcome", "rollback", "outcome"]


def test_a_trial_goes_back_by_itself(rig: Rig) -> None:
    with rig.host() as host:
        outcome = apply(prepare(host, request()), note=silent)
    assert isinstance(outcome, Outcome)
    assert "--enable-mixed-chunk" in container(rig)[1]
    wait_until(lambda: is_base(rig), 60)


def test_a_power_cut_during_a_trial(rig: Rig) -> None:
    """Its engine starts the container again with the trial's command; the unit at boot takes that back."""
    with rig.host() as host:
        apply(prepare(host, request()), note=silent)
    rig.call("power", "rig1", "cycle")
    wait_until(lambda: is_base(rig), 120)
    with rig.host() as host:
        assert look(host).marks.reverted is not None


@pytest.mark.parametrize("step", ["write", "stop", "start", "ready"])
def test_a_power_cut_at_a_step(rig: Rig, step: str) -> None:
    def cut(name: str) -> None:
        if name == step:
            rig.call("power", "rig1", "cycle")

    with rig.host() as host, pytest.raises(ApplyFailed, match=r"the trial with it is gone|fired|restarted"):
        apply(prepare(host, request()), note=silent, on_step=cut)
    wait_until(lambda: is_base(rig), 120)


def test_the_link_is_cut(rig: Rig) -> None:
    def cut(name: str) -> None:
        if name == "ready":
            rig.call("link", "rig1", "down")

    with rig.host() as host:
        prepared = prepare(host, request("ready-delay=1"))
        with pytest.raises(Exception):  # noqa: B017, PT011 -- whatever it makes of it, the machine goes back
            apply(prepared, note=silent, on_step=cut)
    rig.call("link", "rig1", "up")
    wait_until(lambda: is_base(rig), 90)


def test_a_server_that_fails_in_its_container(rig: Rig) -> None:
    with rig.host() as host, pytest.raises(ApplyFailed, match="serves as before") as caught:
        apply(prepare(host, request("standin=oom")), note=silent)
    assert caught.value.hint.startswith("[out-of-memory]")
    text = " ".join([caught.value.message, *caught.value.details])
    assert service.KEY not in text
    assert service.TOKEN not in text
    assert is_base(rig)


def test_a_file_that_was_edited_and_not_brought_up(rig: Rig) -> None:
    rig.put({FILE: TEXT.replace("stop_grace_period: 2s", "stop_grace_period: 3s").encode()})
    with rig.host() as host, pytest.raises(Refused, match="was made from other files"):
        prepare(host, request())
    rig.put({FILE: TEXT.encode(), "/srv/llm/.env": b"WHAT=60\n"})
    with rig.host() as host, pytest.raises(Refused, match=r"other words|other files"):
        prepare(host, request())


def test_an_edit_during_the_trial_is_not_lost(rig: Rig) -> None:
    with rig.host() as host:
        apply(prepare(host, request()), note=silent)
        edited = TEXT.replace("# ours", "# ours, and more")
        rig.put({FILE: edited.encode()})
        with pytest.raises(Refused, match="edited or removed since the trial began"):
            promote(look(host), note=silent)
        assert rig.inside("cat", FILE) == edited
        rollback(look(host), note=silent)
    assert rig.inside("cat", FILE) == edited
    assert "--enable-mixed-chunk" not in container(rig)[1]


def test_what_is_not_there(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    ssh = ("--ssh-config", str(rig.config))
    assert main(["status", "compose:llm/nosuch@rig1", *ssh]) == 4
    assert "compose has no service nosuch of a project llm" in capsys.readouterr().err
    rig.put({FILE: TEXT.replace("    command:\n      - /opt", "    x-command:\n      - /opt").encode()})
    assert main(["status", f"{NAME}@rig1", *ssh]) == 3
    assert "states its command" in capsys.readouterr().err


def test_the_set_up_is_looked_at(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    ssh = ("--ssh-config", str(rig.config))
    assert main(["doctor", f"{NAME}@rig1", "--json", *ssh]) == 0
    found = {each["name"]: each["status"] for each in json.loads(capsys.readouterr().out)["checks"]}
    assert {found[name] for name in ("systemd", "unit", "command", "rollout", "journal", "serves")} == {"ok"}
    assert main(["doctor", "compose:llm/nosuch@rig1", "--json", *ssh]) == 1
    assert "no service nosuch" in capsys.readouterr().out


def test_a_change_is_tried(rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    load = (
        "--max-concurrency",
        "1",
        "--num-prompts",
        "4",
        "--random-input-len",
        "8",
        "--random-output-len",
        "4",
    )
    words = (
        *("try", f"{NAME}@rig1", "+enable-mixed-chunk", "--in-place", "--unchecked", "--json"),
        *("--ssh-config", str(rig.config), "--journal", str(tmp_path / "j.sqlite")),
        *("--result-dir", str(out), "--hold", "1", *load),
    )
    assert main([*words]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["result"], told["effect"]["status"]) == ("reverted", "took")
    assert is_base(rig)
    everything = written(tmp_path) + said.out + said.err
    assert service.KEY not in everything
    assert service.TOKEN not in everything

"""`assay doctor` on a machine that lacks things: `ASSAY_RIG=DIR pytest -m rig tests/rig/test_doctor.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import serves
from tests.rig.test_rollout import clean

from assay.cli import main
from assay.rollout import layout

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        clean(started)
        yield started


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def examined(
    rig: Rig, capsys: pytest.CaptureFixture[str], target: str = "llm@rig1"
) -> tuple[int, dict[str, str], str]:
    """Exit code, the status of each point, and all that was said."""
    code = main(["doctor", target, "--ssh-config", str(rig.config), "--json"])
    said = capsys.readouterr()
    assert service.KEY not in said.out + said.err
    found = json.loads(said.out)["checks"]
    return code, {each["name"]: each["status"] for each in found}, said.out


def test_a_set_up_in_order(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = examined(rig, capsys)
    # there is no accelerator in these machines
    assert {name for name, status in found.items() if status != "ok"} == set()
    assert code == 0
    assert {"root", "systemd", "disk", "clock", "unit", "journal", "serves", "tunnel"} <= set(found)
    assert main(["doctor", "llm@rig1", "--ssh-config", str(rig.config)]) == 0
    said = capsys.readouterr().out
    assert said.endswith("nothing has to be fixed\n")
    assert "***" not in said
    assert max(map(len, said.splitlines())) <= 80
    assert examined(rig, capsys, "llm@deploy@rig1")[0] == 0


def test_what_is_missing_is_named_with_what_mends_it(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, said = examined(rig, capsys, "llm@guest@rig1")
    assert (code, found["root"], found["unit"]) == (1, "failed", "skipped")
    code, found, _ = examined(rig, capsys, "llm@ops@rig1")
    assert (code, found["root"]) == (1, "failed"), "sudo asks for a password, and there is none to give"
    code, found, said = examined(rig, capsys, "llm@nosuch")
    assert (code, found["machine"]) == (1, "failed")
    assert "ssh nosuch" in said
    code, found, said = examined(rig, capsys, "other@rig1")
    assert (code, found["unit"], found["serves"]) == (1, "failed", "skipped")


def test_a_full_disk(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.call("fill", "rig1")
    try:
        code, found, said = examined(rig, capsys)
    finally:
        rig.call("unfill", "rig1")
    assert (code, found["disk"]) == (1, "failed")
    assert "too little room" in said


def test_a_server_that_gives_no_token(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    text = service.UNIT_TEXT.replace("--port 31000", "--port 31000 --standin no-token")
    rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
    code, found, _ = examined(rig, capsys)
    assert (code, found["unit"], found["serves"]) == (1, "failed", "skipped"), "it was edited, not reloaded"
    rig.inside("systemctl", "daemon-reload")
    code, found, _ = examined(rig, capsys)
    assert (code, found["command"], found["serves"]) == (1, "failed", "failed")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: "completion_tokens" in asked(rig))
    code, found, said = examined(rig, capsys)
    assert (code, found["command"], found["serves"]) == (1, "ok", "failed")
    assert "gives no token" in said
    clean(rig)
    wait_until(lambda: serves(rig))
    assert examined(rig, capsys)[0] == 0


def asked(rig: Rig) -> str:
    ask = [
        *("curl", "-s", "-m", "2", "-H", f"Authorization: Bearer {service.KEY}", "-d", "{}"),
        "http://127.0.0.1:31000/v1/completions",
    ]
    try:
        return rig.inside(*ask)
    except AssertionError:
        return ""


def test_a_rollout_that_is_under_way(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    run = layout(service.UNIT).run
    rig.inside(
        "sh", "-c", f"mkdir -p {run} && printf 'other\\nme@there\\n2026-12-01T00:00:00Z\\n' >{run}/armed"
    )
    try:
        code, found, said = examined(rig, capsys)
    finally:
        rig.inside("rm", "-rf", run)
    assert (code, found["rollout"]) == (1, "failed")
    assert "me@there" in said

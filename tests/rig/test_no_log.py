"""A machine whose journal says nothing: a failure has a plainer name, and all else is as ever."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until
from tests.rig.service import serves
from tests.rig.test_rollout import Attempt, clean, failed, is_base

from assay.cli import main

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]

KEPT_NOWHERE = "/etc/systemd/journald.conf.d/none.conf"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        yield started


@pytest.fixture(params=["nothing is kept", "it logs elsewhere"])
def silent(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    clean(rig)
    if request.param == "nothing is kept":
        rig.put({KEPT_NOWHERE: b"[Journal]\nStorage=none\n"})
        rig.inside(
            "sh", "-c", "systemctl restart systemd-journald; rm -rf /run/log/journal/* /var/log/journal/*"
        )
    else:
        text = service.UNIT_TEXT.replace("[Install]", "StandardOutput=null\nStandardError=null\n[Install]")
        rig.put({f"/etc/systemd/system/{service.UNIT}": text.encode()})
        rig.inside("systemctl", "daemon-reload")
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: serves(rig))
    yield request.param
    rig.inside("sh", "-c", f"rm -f {KEPT_NOWHERE}; systemctl restart systemd-journald")


@pytest.mark.usefixtures("silent")
def test_a_failure_without_a_log_is_taken_back(rig: Rig) -> None:
    error = failed(Attempt(rig, "standin=oom").run(), "exited")
    assert "exit status 1" in error.message
    assert is_base(rig)
    error = failed(Attempt(rig, "standin=never").run(), "never-ready")
    assert is_base(rig)


def test_a_change_needs_no_log(rig: Rig, silent: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Attempt(rig, "enable-mixed-chunk").run()
    assert getattr(outcome, "result", outcome) == "trial"
    main(["doctor", "llm@rig1", "--json", "--ssh-config", str(rig.config)])
    checks = {each["name"]: each["status"] for each in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["journal"] == ("warning" if silent == "nothing is kept" else "ok")

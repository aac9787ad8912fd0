"""`assay describe` of a real unit over ssh: `ASSAY_RIG=/path/to/rig pytest -m rig tests/rig`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until

from assay.cli import main
from assay.deployment import load_deployment

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with a_rig(count=1) as started:
        service.install(started)
        yield started


def described(rig: Rig, capsys: pytest.CaptureFixture[str], *words: str, target: str = "llm@rig1") -> str:
    """What is printed."""
    main(["describe", target, "--ssh-config", str(rig.config), *words])
    said = capsys.readouterr()
    assert service.TOKEN not in said.out + said.err
    assert service.KEY not in said.out + said.err
    return said.out


def test_a_file_from_a_unit(rig: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wait_until(lambda: json.loads(described(rig, capsys, "--json"))["served"]["models"])
    out = tmp_path / "chat.toml"
    described(rig, capsys, "-o", str(out))
    text = out.read_text()
    assert service.KEY not in text
    assert service.TOKEN not in text
    # nobody knows the accelerators of a machine without nvidia-smi
    out.write_text(text.replace('# gpus = "4x H100"', 'gpus = "4x H100"'))
    loaded = load_deployment(out)
    words = [word.text for word in loaded.command.words]
    assert words[-2:] == ["--json-model-override-args", '{"a": "50% $HOME"}']
    assert str(loaded.engine) == "sglang==0.5.10"
    assert loaded.model.config["architectures"] == ("Qwen3ForCausalLM",)
    assert loaded.live is not None
    assert (loaded.live.unit, loaded.live.host) == ("llm.service", "rig1")
    assert (loaded.live.url, loaded.live.model) == ("http://127.0.0.1:31000", "tiny")
    assert [each.name for each in loaded.libraries] == ["torch", "flashinfer-python"]
    assert main(["describe", "llm@rig1", "-o", str(out)]) == 2


def test_variables_of_another_user_need_sudo(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(described(rig, capsys, "--json", target="llm@deploy@rig1"))
    assert plain["environment"] == {}
    assert plain["served"]["models"][0]["name"] == "tiny"
    assert "only its user and root" in plain["notes"][0]
    root = json.loads(described(rig, capsys, "--json", "--sudo", target="llm@deploy@rig1"))
    assert root["environment"] == {"NCCL_DEBUG": "WARN"}


def test_edited_and_never_reloaded_then_reloaded_and_never_restarted(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = service.UNIT_TEXT.replace("--port", "--chunked-prefill-size 4096 --port")
    rig.put({f"/etc/systemd/system/{service.UNIT}": edited.encode()})
    kinds = [one["kind"] for one in json.loads(described(rig, capsys, "--json"))["differences"]]
    assert kinds == ["not-reloaded"]
    rig.inside("systemctl", "daemon-reload")
    kinds = [one["kind"] for one in json.loads(described(rig, capsys, "--json"))["differences"]]
    assert kinds == ["not-restarted"]
    rig.inside("systemctl", "restart", service.UNIT)
    wait_until(lambda: 'differences": []' in described(rig, capsys, "--json"))


def test_what_is_not_there(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "nosuch@rig1", "--ssh-config", str(rig.config)]) == 4
    assert "has no unit nosuch.service" in capsys.readouterr().err
    assert main(["describe", "@rig1"]) == 2
    assert main(["describe", "http://127.0.0.1:1"]) == 4

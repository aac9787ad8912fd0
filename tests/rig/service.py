"""A service on a rig's machine: a stand-in server in a Python environment, started by a real systemd."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.rig.rigs import Rig

UNIT = "llm.service"
KEY = "planted-key-0f-the-unit"
"""The server's own key, in the unit."""
TOKEN = "hf_planted5ecret"  # noqa: S105 -- planted, to be looked for
"""A secret in the unit's environment."""
_PACKAGES = "/opt/venv/lib/python3.11/site-packages"

UNIT_TEXT = f"""[Unit]
Description=stand-in
StartLimitIntervalSec=0
[Service]
Environment=HF_TOKEN={TOKEN} NCCL_DEBUG=WARN PYTHONDONTWRITEBYTECODE=1
ExecStart=/opt/venv/bin/python3 -m sglang.launch_server --model-path /models/tiny --port 31000 \\
  --api-key {KEY} --json-model-override-args '{{"a": "50%% $$HOME"}}'
Restart=on-failure
RestartSec=1
TimeoutStopSec=3
[Install]
WantedBy=multi-user.target
"""


def files() -> dict[str, bytes]:
    """What a machine needs to run it."""
    server = (Path(__file__).parent / "standin" / "launch_server.txt").read_bytes()
    return {
        "/opt/venv/pyvenv.cfg": b"home = /usr/bin\ninclude-system-site-packages = false\n",
        f"{_PACKAGES}/sglang/__init__.py": b"",
        f"{_PACKAGES}/sglang/launch_server.py": server,
        f"{_PACKAGES}/sglang-0.5.10.dist-info/METADATA": b"Name: sglang\nVersion: 0.5.10\n",
        f"{_PACKAGES}/torch-2.9.1+cu129.dist-info/METADATA": b"Name: torch\n",
        f"{_PACKAGES}/flashinfer_python-0.6.7.dist-info/METADATA": b"Name: flashinfer_python\n",
        "/models/tiny/config.json": json.dumps({"architectures": ["Qwen3ForCausalLM"]}).encode(),
        f"/etc/systemd/system/{UNIT}": UNIT_TEXT.encode(),
    }


def install(rig: Rig, *, host: str = "rig1") -> None:
    """Put it there and start it."""
    rig.put(files(), host=host)
    rig.call("exec", host, "mkdir", "-p", "/opt/venv/bin")
    rig.call("exec", host, "ln", "-sf", "/usr/bin/python3", "/opt/venv/bin/python3")
    rig.call("exec", host, "systemctl", "daemon-reload")
    rig.call("exec", host, "systemctl", "enable", "--now", UNIT)


def written(folder: Path) -> str:
    """All that lies in a folder, what is packed unpacked: to be looked through for secrets."""
    texts = []
    for each in sorted(folder.rglob("*")):
        if each.is_file():
            data = each.read_bytes()
            data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            texts.append(data.decode("utf-8", "replace"))
    return "\n".join(texts)


def serves(rig: Rig) -> bool:
    """Whether it answers, asked without any of our code."""
    ask = [
        *("curl", "-s", "-m", "2", "-H", f"Authorization: Bearer {KEY}", "-d", "{}"),
        "http://127.0.0.1:31000/v1/completions",
    ]
    try:
        return "completion_tokens" in rig.inside(*ask)
    except AssertionError:
        return False

"""A real docker engine on a rig's machine, with an image of links: everything else comes from the machine."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager

from tests.rig import service
from tests.rig.rigs import Rig, a_rig, wait_until

VOLUMES = ("/usr:/usr:ro", "/opt:/opt:ro", "/models:/models:ro")
"""What a container needs of the machine."""
SERVER = (
    "/opt/venv/bin/python3 -m sglang.launch_server --model-path /models/tiny --port 31000 "
    f"--api-key {service.KEY}"
)


def image() -> bytes:
    """An image of links and empty folders."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("usr", "opt", "models", "sbin", "etc", "tmp", "proc", "sys", "dev"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
        for name in ("bin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(link)
    return packed.getvalue()


@contextmanager
def a_docker_host() -> Iterator[Rig]:
    """One machine with docker, docker-compose, the stand-in server's files and the image `standin:1`."""
    with a_rig(count=1, packages="docker.io,docker-compose,iptables") as started:
        # a rig's machine has a read-only /proc/sys, and its disk is an overlay already
        engine = {"storage-driver": "vfs", "bridge": "none", "ip-forward": False, "iptables": False}
        started.put({"/etc/docker/daemon.json": json.dumps(engine).encode()})
        started.inside("systemctl", "reset-failed", "docker.service", "docker.socket")
        started.inside("systemctl", "restart", "docker")
        wait_until(lambda: "ok" in started.inside("sh", "-c", "docker info >/dev/null 2>&1 && echo ok; true"))
        started.put({"/root/image.tar": image()})
        started.inside("docker", "import", "/root/image.tar", "standin:1")
        service.install(started)
        yield started

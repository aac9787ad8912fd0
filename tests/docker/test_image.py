"""`image:REF` against a real Docker: an image made from a few files, copied out of and never run.

ASSAY_DOCKER=1 with a daemon that `docker info` reaches; nothing is pulled, no container is started.
"""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.errors import EngineNotFound
from assay.source import open_tree

pytestmark = pytest.mark.skipif(
    not os.environ.get("ASSAY_DOCKER"), reason="NOT RUN AGAINST A REAL DOCKER: set ASSAY_DOCKER=1"
)

FILES = {
    "sglang/__init__.py": b"",
    "sglang/version.py": b'__version__ = "0.5.10"\n',
    "sglang/launch_server.py": b"",
    "sglang/srt/server_args.py": b"class ServerArgs: ...\n",
}


@pytest.fixture(params=["usr/local/lib/python3.12/dist-packages", "sgl-workspace/sglang/python"])
def image(request: pytest.FixtureRequest) -> Iterator[str]:
    name = "assay-test/engine:1"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for file, content in FILES.items():
            entry = tarfile.TarInfo(f"{request.param}/{file}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    subprocess.run(["docker", "import", "-", name], input=stream.getvalue(), check=True, capture_output=True)
    yield name
    subprocess.run(["docker", "rmi", name], check=True, capture_output=True)


def test_the_package_is_copied_out_and_no_container_stays(image: str, tmp_path: Path) -> None:
    tree = open_tree(parse_engine(f"image:{image}"), engine=None, cache=tmp_path)
    assert tree.version == "0.5.10"
    assert {str(path.relative_to(tree.root)) for path in tree.folder.rglob("*.py")} == set(FILES)
    command = ["docker", "ps", "-aq", "--filter", f"ancestor={image}"]
    left = subprocess.run(command, check=True, capture_output=True)
    assert left.stdout == b""


def test_an_image_that_is_not_here_is_not_pulled(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="not on this machine"):
        open_tree(parse_engine("image:assay-test/nosuch:9"), engine=None, cache=tmp_path)

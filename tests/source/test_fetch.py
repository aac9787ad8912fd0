"""Opening trees: real pip against indexes made here, folders, environments, and images by a stand-in."""

from __future__ import annotations

import contextlib
import http.server
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.deployment import parse_engine
from assay.engines import ENGINES, Engine
from assay.errors import AssayError, EngineNotFound, InputError, SourceError
from assay.source import Tree, no_progress, open_tree
from assay.source.fetching.pip import fetch_wheel
from assay.source.fetching.pip_failure import Attempt, failure_of
from assay.source.fetching.tool import redact

SECRET = "pw-5f0c1a"  # noqa: S105 - made up, to see that it is never shown


def open_(reference: str, cache: Path, engine: Engine | None = None) -> Tree:
    return open_tree(parse_engine(reference), engine=engine, cache=cache)


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """pip with no settings but those of the test."""
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return monkeypatch


@pytest.fixture
def index(pip: pytest.MonkeyPatch, wheels: Any, tmp_path: Path) -> Any:
    """An index in a folder, named to pip by its environment as a user would; `make` adds a wheel."""

    class Index:
        def make(self, *args: Any, **kwargs: Any) -> Path:
            folder = tmp_path / "index/sglang"
            folder.mkdir(parents=True, exist_ok=True)
            wheel = Path(shutil.copy(wheels.make(*args, **kwargs), folder))
            links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in folder.glob("*.whl"))
            (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
            return wheel

    pip.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    return Index()


@contextlib.contextmanager
def answering(status: int) -> Iterator[int]:
    """A loopback server that answers everything with that status; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_CONNECT = do_GET

        def log_message(self, *args: Any) -> None:
            del args

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def words(error: AssayError) -> str:
    return "\n".join([error.message, error.hint, *error.details])


# releases


def test_a_release_is_fetched_once(index: Any, cache: Path, pip: pytest.MonkeyPatch) -> None:
    index.make()
    tree = open_("sglang==0.5.10", cache)
    assert (tree.engine, tree.package, tree.version) == ("sglang", "sglang", "0.5.10")
    assert tree.origin == "wheel sglang-0.5.10-py3-none-any.whl"
    assert tree.folder.joinpath("srt/server_args.py").is_file()
    pip.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    pip.setattr("assay.source.fetching.pip._find_pip", lambda: pytest.fail("pip was asked for"))
    assert open_("sglang==0.5.10", cache) == tree


@pytest.mark.parametrize(
    "tag",
    [
        "cp311-cp311-manylinux_2_34_x86_64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp313-cp313-manylinux2014_aarch64",
        "cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp310-cp310-linux_x86_64",
    ],
)
def test_a_wheel_for_another_machine_is_fetched_too(index: Any, cache: Path, tag: str) -> None:
    index.make(tag=tag)
    assert open_("sglang==0.5.10", cache).origin == f"wheel sglang-0.5.10-{tag}.whl"


def test_a_version_that_is_not_there_names_its_neighbours(index: Any, cache: Path) -> None:
    for version in ("0.4.9", "0.5.8", "0.5.9", "0.5.10.post1", "0.5.11", "0.5.12", "0.5.13"):
        index.make(version=version)
    index.make(version="0.5.9.post1", tag="cp312-cp312-manylinux_2_34_x86_64")
    with pytest.raises(EngineNotFound, match=r"no wheel of sglang 0\.5\.10 in the package index") as caught:
        open_("sglang==0.5.10", cache)
    hint = "nearest versions there: 0.5.8, 0.5.9, 0.5.9.post1, 0.5.10.post1, 0.5.11, 0.5.12"
    assert caught.value.hint == hint
    assert "from versions" not in words(caught.value)


def test_a_package_that_is_not_there(index: Any, cache: Path) -> None:
    del index
    with pytest.raises(EngineNotFound, match="no package sglang with any wheel"):
        open_("sglang==0.5.10", cache)
    assert listing(cache / "v1") == {"scratch", "scratch/gate"}


def test_an_engine_that_assay_does_not_know(cache: Path) -> None:
    with pytest.raises(InputError, match="unknown engine 'nosuch'"):
        open_("nosuch==1", cache)


def test_a_release_of_another_engine_than_the_command_starts(cache: Path) -> None:
    other = msgspec.structs.replace(ENGINES["sglang"], name="other", distributions=("other",))
    with pytest.raises(InputError, match="is not other, which the command starts"):
        open_("sglang==0.5.10", cache, other)


@pytest.mark.parametrize(
    ("name", "version"),
    [("-r", "1"), ("--index-url=x", "1"), ("sglang", "-1"), ("sglang", "1 --pre"), ("sglang @ x", "1")],
)
def test_nothing_that_may_be_an_option_reaches_pip(tmp_path: Path, name: str, version: str) -> None:
    with pytest.raises(InputError, match="not a release"):
        fetch_wheel(name, version, tmp_path, progress=no_progress)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, r"asks for a login.*\(401\)"), (403, r"refused access \(403\)"), (503, "index")],
)
def test_an_index_that_refuses_is_said_without_the_secret(
    pip: pytest.MonkeyPatch, cache: Path, status: int, reason: str
) -> None:
    with answering(status) as port:
        pip.setenv("PIP_INDEX_URL", f"http://user:{SECRET}@127.0.0.1:{port}/simple")
        with pytest.raises(SourceError, match=reason) as caught:
            open_("sglang==0.5.10", cache)
    assert not isinstance(caught.value, EngineNotFound)
    assert caught.value.details
    assert f"127.0.0.1:{port}" in words(caught.value)
    assert SECRET not in words(caught.value)
    assert SECRET not in "".join(path.read_text() for path in cache.rglob("*") if path.is_file())


def test_an_empty_index_has_no_package(pip: pytest.MonkeyPatch, cache: Path) -> None:
    with answering(404) as port:
        pip.setenv("PIP_INDEX_URL", f"http://user:{SECRET}@127.0.0.1:{port}/simple")
        with pytest.raises(EngineNotFound, match="no package sglang") as caught:
            open_("sglang==0.5.10", cache)
    assert SECRET not in words(caught.value)


def test_no_network(pip: pytest.MonkeyPatch, cache: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    pip.setenv("PIP_INDEX_URL", f"http://user:{SECRET}@127.0.0.1:{port}/simple")
    with pytest.raises(SourceError, match="could not be reached") as caught:
        open_("sglang==0.5.10", cache)
    assert SECRET not in words(caught.value)
    assert "check the network" in caught.value.hint


def test_a_proxy_that_refuses(pip: pytest.MonkeyPatch, cache: Path) -> None:
    with answering(403) as port:
        pip.setenv("PIP_INDEX_URL", "https://pypi.invalid/simple")
        pip.setenv("HTTPS_PROXY", f"http://user:{SECRET}@127.0.0.1:{port}")
        with pytest.raises(SourceError, match="the proxy refused") as caught:
            open_("sglang==0.5.10", cache)
    assert SECRET not in words(caught.value)
    assert "HTTPS_PROXY" in caught.value.hint


@contextlib.contextmanager
def silent() -> Iterator[socket.socket]:
    """A loopback server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(60)
        yield server


def test_an_index_that_never_answers(pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with silent() as server:
        pip.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        with pytest.raises(SourceError, match="pip download took longer than 1 s"):
            fetch_wheel("sglang", "0.5.10", tmp_path, progress=no_progress, timeout_s=1)


def test_an_interrupt_ends_pip_and_leaves_nothing(pip: pytest.MonkeyPatch, cache: Path) -> None:
    program = (
        "import signal, sys; from pathlib import Path; from assay.deployment import parse_engine;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # it is ignored below a background job
        "from assay.source import open_tree;"
        "open_tree(parse_engine('sglang==0.5.10'), engine=None, cache=Path(sys.argv[1]))"
    )
    with silent() as server:
        pip.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        command = [sys.executable, "-c", program, str(cache)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            connection, _ = server.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
                # the end of pip shows as the end of its connection
                connection.settimeout(60)
                while connection.recv(1 << 16):
                    pass
    assert "KeyboardInterrupt" in err
    assert listing(cache / "v1") == {"scratch", "scratch/gate"}


def test_without_any_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="no pip here") as caught:
        open_("sglang==0.5.10", cache)
    assert "ensurepip" in caught.value.hint


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ERROR: OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: HTTP error 403 while getting https://u:pw@h/x.whl", r"refused access \(403\) at https://\*\*\*\*@h"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "not trusted"),
        ("ReadTimeoutError(\"HTTPSConnectionPool(host='h'): Read timed out.", "did not answer in time"),
        ("Could not fetch URL https://h/: connection error: Failed to resolve 'h'", "could not be reached"),
        ("ERROR: something new", "pip failed with status 2"),
    ],
)  # fmt: skip
def test_what_pip_says_becomes_a_reason(said: str, reason: str) -> None:
    error = failure_of(Attempt(code=2, err=said, log=""), "sglang==1")
    with pytest.raises(SourceError, match=reason) as caught:
        raise error or AssertionError
    assert "pw" not in words(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"https://user:{SECRET}@host/simple",
        f"https://{SECRET}@host/simple",
        f"http://user:a@{SECRET}@host",
        f"see https://host/simple?token={SECRET}, please",
        f"https://host/simple#{SECRET}",
        f"https://host/{SECRET}-a1b2c3d4e5f6a7b8/simple",
    ],
)
def test_secrets_in_urls_are_redacted(text: str) -> None:
    assert SECRET not in redact(text)
    assert "host" in redact(text)


@pytest.mark.registry
def test_the_published_release(cache: Path) -> None:
    tree = open_("sglang==0.5.10", cache)
    assert tree.version == "0.5.10"
    assert tree.omitted == ()
    assert tree.digest == "308ceec87b63c091abd365458bfa767281518ee0342673cb6745d3663c08d9b6"
    assert sum(1 for _ in tree.folder.rglob("*.py")) > 1600


@pytest.mark.registry
def test_a_version_that_was_never_published(cache: Path) -> None:
    with pytest.raises(EngineNotFound) as caught:
        open_("sglang==0.5.10.post9", cache)
    assert "0.5.10.post1" in caught.value.hint


# wheels, folders, environments


def test_a_wheel_file(wheels: Any, cache: Path) -> None:
    wheel = wheels.make(tag="cp311-cp311-manylinux_2_34_x86_64")
    tree = open_(str(wheel), cache)
    assert (tree.engine, tree.version, tree.origin) == ("sglang", "0.5.10", f"wheel {wheel}")


def test_a_wheel_file_that_is_not_there(cache: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nosuch\.whl"):
        open_("./nosuch.whl", cache)


@pytest.mark.parametrize("below", ["", "python", "python/sglang"])
def test_a_checkout_its_parts_and_the_package_itself(sglang_folder: Path, cache: Path, below: str) -> None:
    tree = open_(str(sglang_folder / below), cache)
    assert tree.root == str(sglang_folder / "python")
    assert (tree.engine, tree.version) == ("sglang", "0.5.10")


def test_a_relative_checkout(sglang_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sglang_folder.parent)
    assert open_("./checkout", cache).root == str(sglang_folder / "python")


def test_a_folder_without_the_package_says_where_it_looked(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(EngineNotFound, match="no sglang or vllm package in") as caught:
        open_(str(tmp_path), cache)
    assert caught.value.details == (
        f"looked for {tmp_path}/python/sglang/__init__.py",
        f"looked for {tmp_path}/sglang/__init__.py",
        f"looked for {tmp_path}/vllm/__init__.py",
    )
    with pytest.raises(EngineNotFound, match="no folder"):
        open_(str(tmp_path / "nosuch"), cache)


@pytest.mark.parametrize("packed", [False, True])
def test_a_checkout_names_its_commit(sglang_folder: Path, cache: Path, packed: bool) -> None:  # noqa: FBT001
    git = ["git", "-C", str(sglang_folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    if packed:
        subprocess.run([*git, "pack-refs", "--all"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert open_(str(sglang_folder), cache).origin == f"checkout {sglang_folder} at commit {commit[:12]}"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment of this interpreter without packages."""
    venv.create(tmp_path / "env", with_pip=False)
    return tmp_path / "env"


def site_packages(environment: Path) -> Path:
    (folder,) = environment.glob("lib/python3*/site-packages")
    return folder


def install(wheel: Path, environment: Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(environment / "bin/python"), "install", "-q"]
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True)


@pytest.mark.parametrize("named", ["", "bin/python", "site-packages"])
def test_an_installed_package(wheels: Any, environment: Path, cache: Path, named: str) -> None:
    install(wheels.make(), environment)
    place = site_packages(environment) if named == "site-packages" else environment / named
    tree = open_(f"installed:{place}", cache)
    assert (tree.version, tree.root) == ("0.5.10", str(site_packages(environment)))
    assert tree.digest == open_(str(wheels.make()), cache).digest


@pytest.mark.parametrize("how", ["direct_url", "pth", "finder"])
def test_an_editable_installation_is_followed(
    environment: Path, sglang_folder: Path, cache: Path, how: str
) -> None:
    packages = site_packages(environment)
    info = packages / "sglang-0.5.10.dev1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: sglang\nVersion: 0.5.10.dev1\n")
    source = sglang_folder / "python"
    if how == "direct_url":
        (info / "direct_url.json").write_text(
            f'{{"dir_info": {{"editable": true}}, "url": "{source.as_uri()}"}}'
        )
    elif how == "pth":
        (packages / "__editable__.sglang-0.5.10.pth").write_text(f"{source}\n")
    else:
        finder = f"MAPPING: dict[str, str] = {{'sglang': '{source / 'sglang'}'}}\n"
        (packages / "__editable___sglang_0_5_10_finder.py").write_text(finder)
    tree = open_(f"installed:{environment}", cache)
    assert (tree.root, tree.version) == (str(source), "0.5.10.dev1")
    assert tree.origin == f"installed in {packages}, editable from {source}"


def test_an_interpreter_elsewhere_is_asked_and_the_engine_not_imported(
    environment: Path, files: dict[str, bytes], tmp_path: Path, cache: Path
) -> None:
    files["sglang/__init__.py"] = b"raise SystemExit('imported')"
    for name, content in files.items():
        path = site_packages(environment) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    shim = tmp_path / "shims/python3"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {environment}/bin/python "$@"\n')
    shim.chmod(0o755)
    assert open_(f"installed:{shim}", cache).root == str(site_packages(environment))


def test_a_home_of_nobody(cache: Path) -> None:
    for reference in ("~nosuchuser/x", "installed:~nosuchuser/x", "~nosuchuser/x.whl"):
        with pytest.raises(InputError, match="no home folder of that user is known"):
            open_(reference, cache)


def test_an_environment_without_it(environment: Path, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(EngineNotFound, match="sglang or vllm is not installed in") as caught:
        open_(f"installed:{environment}", cache)
    assert str(site_packages(environment)) in "\n".join(caught.value.details)
    with pytest.raises(EngineNotFound, match="is not installed in the environment of"):
        open_("installed", cache)
    with pytest.raises(InputError, match="neither an environment's folder nor an interpreter"):
        open_(f"installed:{tmp_path}/nosuch", cache)


# images: a stand-in for docker, which is not usable where these tests run; it has the real one's command line


@pytest.fixture
def docker(tmp_path: Path, sglang_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers like docker 28 for one image, and notes each call in `calls`."""
    home = tmp_path / "docker"
    home.mkdir()
    with tarfile.open(home / "sglang.tar", "w") as tar:
        tar.add(sglang_folder / "python/sglang", "sglang")
    program = home / "docker"
    program.write_text(f"""#!{sys.executable}
import pathlib, sys
home = pathlib.Path({str(home)!r})
words = sys.argv[1:]
with open(home / "calls", "a") as calls:
    print(*words, file=calls)
if words[:2] == ["image", "inspect"]:
    if words[2] != "lmsysorg/sglang:v0.5.10":
        sys.exit(f"Error response from daemon: No such image: {{words[2]}}")
    print('[{{"Id": "sha256:abc", "Config": {{"Env": ["PATH=/opt/e/bin:/usr/bin", "HF_TOKEN={SECRET}"]}}}}]')
elif words[0] == "create":
    print("container-id")
elif words[0] == "cp":
    if words[-2].endswith(":" + (home / "place").read_text()):
        sys.stdout.buffer.write((home / "sglang.tar").read_bytes())
    else:
        sys.exit("Error response from daemon: Could not find the file")
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    return home


@pytest.mark.parametrize(
    "place", ["/sgl-workspace/sglang/python/sglang", "/opt/e/lib/python3.11/site-packages/sglang"]
)
def test_an_image_is_created_copied_from_and_removed(
    docker: Path, sglang_folder: Path, cache: Path, place: str
) -> None:
    (docker / "place").write_text(place)
    tree = open_("image:lmsysorg/sglang:v0.5.10", cache)
    assert (tree.version, tree.origin) == ("0.5.10", "image lmsysorg/sglang:v0.5.10")
    assert tree.digest == open_(str(sglang_folder), cache).digest
    calls = (docker / "calls").read_text().splitlines()
    name = calls[1].split()[1].removeprefix("--name=")
    assert calls[0] == "image inspect lmsysorg/sglang:v0.5.10"
    assert calls[1] == f"create --name={name} sha256:abc true"
    assert calls[-2] == f"cp -L {name}:{place} -"
    assert calls[-1] == f"rm {name}"
    assert open_("image:lmsysorg/sglang:v0.5.10", cache) == tree
    assert (docker / "calls").read_text().splitlines()[len(calls) :] == [calls[0]]


def test_an_image_that_was_not_pulled(docker: Path, cache: Path) -> None:
    del docker
    with pytest.raises(EngineNotFound, match="is not on this machine") as caught:
        open_("image:lmsysorg/sglang:v9", cache)
    assert "docker pull lmsysorg/sglang:v9" in caught.value.hint


def test_an_image_without_the_package(docker: Path, cache: Path) -> None:
    (docker / "place").write_text("/elsewhere")
    with pytest.raises(EngineNotFound, match="no sglang or vllm package in the usual places") as caught:
        open_("image:lmsysorg/sglang:v0.5.10", cache)
    assert "looked at /sgl-workspace/sglang/python/sglang" in caught.value.details
    assert (docker / "calls").read_text().splitlines()[-1].startswith("rm assay-")
    assert SECRET not in words(caught.value)


@pytest.mark.parametrize("said", ["", "unexpected EOF"])
def test_an_image_whose_copy_is_cut_off(docker: Path, cache: Path, said: str) -> None:
    (docker / "place").write_text("/sgl-workspace/sglang/python/sglang")
    tar = docker / "sglang.tar"
    whole = tar.read_bytes()
    tar.write_bytes(whole[: whole.index(b"tp_size")] if not said else whole[:2048])
    program = docker / "docker"
    program.write_text(program.read_text().replace("read_bytes())", f"read_bytes()); sys.exit({said!r})"))
    with pytest.raises(SourceError, match=r"broken" if not said else r"copying .* failed") as caught:
        open_("image:lmsysorg/sglang:v0.5.10", cache)
    assert not isinstance(caught.value, EngineNotFound)
    assert (docker / "calls").read_text().splitlines()[-1].startswith("rm assay-")
    assert listing(cache / "v1") == {"scratch", "scratch/gate"}


def test_a_container_tool_that_stops_working(docker: Path, cache: Path) -> None:
    (docker / "place").write_text("/elsewhere")
    program = docker / "docker"
    program.write_text(program.read_text().replace("Could not find the file", "Cannot connect"))
    with pytest.raises(SourceError, match=r"copying .* failed") as caught:
        open_("image:lmsysorg/sglang:v0.5.10", cache)
    assert caught.value.details == ("Error response from daemon: Cannot connect",)


def test_without_a_container_tool(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="neither docker nor podman is on the PATH") as caught:
        open_("image:lmsysorg/sglang:v0.5.10", cache)
    assert "sglang==0.5.10" in caught.value.hint


@pytest.mark.parametrize("reference", ["--privileged", "-v/:/host", "a b", "a;b"])
def test_an_image_that_may_be_an_option_is_refused(cache: Path, reference: str) -> None:
    with pytest.raises(InputError, match="not the reference of an image"):
        open_(f"image:{reference}", cache)


def test_the_engine_of_the_table(cache: Path, sglang_folder: Path) -> None:
    assert open_(str(sglang_folder), cache, ENGINES["sglang"]).engine == "sglang"

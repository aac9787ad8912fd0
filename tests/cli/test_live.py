"""`assay describe` of a URL, and what the verbs of rollouts refuse before they reach any machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.http_server import serving

from assay.cli import main
from assay.cli.noting import say, who

ANSWERS = {
    "/v1/models": {"data": [{"id": "tiny", "root": "Qwen/Qwen3-32B-FP8"}]},
    "/get_server_info": {
        "version": "0.5.10",
        "tp_size": 4,
        "api_key": "planted-s3cret",
        "x": "--api-key planted-s3cret",
    },
}


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = json.dumps(ANSWERS.get(self.path, {})).encode()
        self.send_response(200 if self.path in ANSWERS else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(_Server) as at:
        yield at


def test_a_url(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", url]) == 0
    text = capsys.readouterr().out
    assert 'engine = "sglang==0.5.10"' in text
    assert 'name = "Qwen/Qwen3-32B-FP8"' in text
    assert main(["describe", url, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["served"]["settings"]["tp_size"] == 4
    assert "s3cret" not in text + str(said)
    out = tmp_path / "new.toml"
    assert main(["describe", url, "-o", str(out)]) == 0
    assert out.read_text() == text
    assert main(["describe", url, "-o", str(out)]) == 2, "a file that is there is not written over"
    assert main(["describe", url, "-o", str(tmp_path / "no" / "new.toml")]) == 2


FILE = """
engine = "sglang==0.5.10"
command = "python -m sglang.launch_server --model-path /m"
[model]
preset = "Qwen/Qwen3-32B-FP8"
[hardware]
gpus = "H100"
"""
LIVE = '[live]\nunit = "llm.service"\nhost = "nosuch.invalid"\n'


@pytest.mark.parametrize(
    ("words", "more", "code", "said"),
    [
        (["apply", "FILE"], LIVE, 2, "nothing to change"),
        (["apply", "FILE", "+a"], "", 3, "does not say where the deployment runs"),
        (["apply", "FILE", "+a"], LIVE, 3, "does not let assay change llm.service"),
        (["apply", "FILE", "+api-key=s3cret"], LIVE, 3, "--api-key"),
        (["apply", "FILE", "+a", "--switch", "1"], f'{LIVE}[trials]\nwhere = "in_place"\n', 2, "--switch"),
        (["apply", "FILE", "+a", "--hold", "nan"], f'{LIVE}[trials]\nwhere = "in_place"\n', 2, "--hold"),
        (["try", "FILE", "+a"], LIVE, 3, "does not let assay change llm.service"),
        (["try", "FILE", "+a", "--in-place"], LIVE, 2, "--in-place goes with UNIT@HOST"),
        (["try", "FILE", "+a", "--dry-run"], "", 2, "does not say where it runs"),
        (["try", "FILE", "+a", "--keep", "--revert"], LIVE, 2, "exclude each other"),
        (["try", "FILE", "+a", "--max-concurrency", "x"], LIVE, 2, "--max-concurrency x"),
        (["try", "FILE", "+a", "--random-input-len", "0"], LIVE, 2, "0"),
        (["try", "FILE", "+a", "--random-range-ratio", "7"], LIVE, 2, "7"),
        (["try", "FILE", "+a", "--temperature", "nan"], LIVE, 2, "--temperature nan"),
        (["try", "FILE", "+a", "--dataset-name=custom", "--dataset-path=nope.jsonl"], LIVE, 2, "nope.jsonl"),
        (["try", "FILE", "+a", "--base-url", "ftp://x"], LIVE, 2, "--base-url ftp://x"),
        (["try", "FILE", "+a", "--engine", "foo"], LIVE, 2, "not an engine: 'foo'"),
        (["try", "FILE", "+a", "--switch", "4"], LIVE, 2, "--switch 4"),
        (["try", "FILE", "+hf-token=s3cret"], LIVE, 3, "--hf-token"),
        (["try", "llm@nosuch.invalid", "+a"], "", 3, "--in-place"),
        (["try", "FILE"], LIVE, 2, "nothing to change"),
        (["status", "FILE"], "", 2, "does not say where it runs"),
        (["promote", "FILE", "--ready-timeout", "-1"], LIVE, 2, "--ready-timeout"),
        (["rollback", "a@-oProxyCommand=x"], "", 2, "not the name of a machine"),
        (["status", "@"], "", 2, "is no UNIT@HOST"),
        (["status", "docker:llm@gpu1"], "", 2, "is a container"),
    ],
)
def test_what_is_refused_at_the_door(
    words: list[str],
    more: str,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    path = tmp_path / "chat.toml"
    path.write_text(FILE + more)
    assert main([str(path) if word == "FILE" else word for word in words]) == code
    told = capsys.readouterr()
    assert said in told.err
    assert "s3cret" not in told.out + told.err


def test_a_machine_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    path = tmp_path / "chat.toml"
    path.write_text(FILE + LIVE)
    config = tmp_path / "config"
    config.write_text("Host *\n  ProxyCommand false\n")
    assert main(["status", str(path), "--ssh-config", str(config)]) == 4
    assert "nosuch.invalid" in capsys.readouterr().err


def test_a_terminal_that_is_gone_ends_nothing_that_is_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _text: str) -> None:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    say("disarm")


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2_000_000_000)
    assert who().startswith("2000000000@")


def test_doctor_of_this_machine_and_of_a_file_that_lacks_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_JOURNAL", str(tmp_path / "j.sqlite"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    assert main(["doctor", "--json"]) == 0
    found = {each["name"]: each["status"] for each in json.loads(capsys.readouterr().out)["checks"]}
    assert found["python"] == found["cache"] == found["journal file"] == "ok"
    assert not (tmp_path / "j.sqlite").exists()

    path = tmp_path / "chat.toml"
    path.write_text(FILE.replace("[model]", "[mode]"))
    assert main(["doctor", str(path)]) == 1
    assert "FAILED   deployment" in capsys.readouterr().out
    path.write_text(FILE + LIVE)
    config = tmp_path / "config"
    config.write_text("Host *\n  ProxyCommand false\n")
    words = ["doctor", str(path), "--engine", str(tmp_path), "--ssh-config", str(config)]
    assert main(words) == 1
    said = capsys.readouterr().out
    for told in (
        "FAILED   machine: nosuch.invalid",
        "warning  permission",
        "FAILED   source",
        "2 to be fixed",
    ):
        assert told in said, said
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["doctor", "--cache", str(blocked / "cache")]) == 1
    assert "--cache or ASSAY_CACHE name another" in capsys.readouterr().out
    assert main(["doctor", "@"]) == 2


@pytest.mark.parametrize(
    "target", ["", "http://127.0.0.1:8000", "../x.service", "a b@gpu1", "-x@gpu1", "a;id", "x@"]
)
@pytest.mark.parametrize("verb", ["doctor", "status", "describe"])
def test_what_is_no_unit_is_said_before_any_machine_is_asked(
    verb: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if target.startswith("http") and verb == "describe":
        return  # which takes one
    assert main([verb, f"--target={target}"]) == 2
    said = capsys.readouterr()
    assert f"{target!r} is no UNIT@HOST" in said.err
    assert ("a deployment file" in said.err) == (verb != "describe"), "only what the verb takes is named"
    assert not said.out


@pytest.mark.parametrize("verb", ["doctor", "status", "triage", "apply"])
def test_a_folder_with_the_name_of_a_file(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "chat.toml"
    folder.mkdir()
    assert main([verb, str(folder), *(["+x"] if verb == "apply" else [])]) == (1 if verb == "doctor" else 2)
    said = capsys.readouterr()
    text = " ".join((said.out + said.err).split())
    assert "a folder" in text


@pytest.mark.parametrize(
    ("command", "said"), [("vllm serve m", "is not vllm"), ("/bin/true", "starts no server that assay knows")]
)
def test_doctor_holds_the_engine_against_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    path = tmp_path / "chat.toml"
    path.write_text(re.sub("(?m)^command = .*", f'command = "{command}"', FILE))
    assert main(["doctor", str(path), "--cache", str(tmp_path / "cache")]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert said in text.partition("FAILED source")[2]


@pytest.mark.parametrize("folder", ["a-file", "/proc"])
def test_doctor_does_not_promise_a_journal_where_nothing_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    (tmp_path / "a-file").write_text("")
    journal = tmp_path / folder / "new" / "j.sqlite"
    assert main(["doctor", "--journal", str(journal), "--cache", str(tmp_path / "cache")]) == 1
    assert "FAILED   journal file" in capsys.readouterr().out

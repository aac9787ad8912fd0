"""`--fix` on generated units, scripts, compose files and manifests changes what it means to and no more."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.cli import main
from assay.deployment import read_target

pytestmark = pytest.mark.registry

Group = tuple[str, ...]
Split = Callable[[list[str]], str]

SERVE = ("python", "-m", "sglang.launch_server", "--model-path", "/models/a b")
GROUPS: tuple[Group, ...] = (
    ("--port", "30001"),
    ("--tp-size", "4"),
    ("--cont", "4096"),
    ("--cont=4096",),
    ("--num-continuous-decode-steps", "4"),
    ("--num-continuous-decode-steps=4",),
    ("--trust-remote-code",),
    ("--served-model-name", 'it\'s "a" name'),
    ("--api-key", "k#y"),
    ("--log-level", "info"),
    ("--mm-process-config", '{"image": {"a": [1, "b c"]}}'),
    ("--cuda-graph-bs", "1", "2", "4"),
    ("--nosuch-option", "x"),
)
FULL = {"--cont": "--context-length", "--cont=4096": "--context-length=4096"}
DEAD = "--num-continuous-decode-steps"


def intended(groups: list[Group]) -> list[str]:
    """Dead options and all but the last of an option's occurrences go; short names are written in full."""
    live = [group for group in groups if not group[0].startswith(DEAD)]
    live = [(FULL.get(group[0], group[0]), *group[1:]) for group in live]
    names = [group[0].partition("=")[0] for group in live]
    kept = [
        group
        for at, group in enumerate(live)
        if names[at] not in names[at + 1 :] or names[at] in ("--nosuch-option",)
    ]
    return [*SERVE, *(word for group in kept for word in group)]


def regrouped(words: list[str]) -> list[Group]:
    """The options of a command line."""
    groups: list[Group] = []
    for word in words[len(SERVE) :]:
        groups = [*groups, (word,)] if word.startswith("--") else [*groups[:-1], (*groups[-1], word)]
    return groups


def systemd_quoted(word: str) -> str:
    if any(char in word for char in " '\"#;"):
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return word


def yaml_list(indent: str) -> Split:
    return lambda words: "".join(f"\n{indent}- {json.dumps(word)}" for word in words)


def joined(quote: Callable[[str], str], breaks: list[bool], gap: str) -> Split:
    """The words on one line or several."""

    def join(words: list[str]) -> str:
        text = quote(words[0])
        for at, word in enumerate(words[1:]):
            text += (gap if breaks[at % len(breaks)] else " ") + quote(word)
        return text

    return join


def written(kind: str, words: list[str], breaks: list[bool]) -> str:
    """A file of that kind that starts the command."""
    if kind == "service":
        line = joined(systemd_quoted, breaks, " \\\n    ")(words)
        return f"[Service]\nEnvironment=A=1\nExecStart=/nosuch/{line}\nRestart=always\n"
    if kind == "sh":
        line = joined(shlex.quote, breaks, " \\\n    ")(words)
        return f"#!/bin/bash\nset -e\nexport A=1\n{line}\n"
    if kind == "compose.yaml":
        return f"services:\n  llm:\n    image: x\n    command:{yaml_list('      ')(words)}\n    tty: true\n"
    if kind == "folded.yaml":
        line = joined(shlex.quote, breaks, "\n      ")(words)
        return f"services:\n  llm:\n    image: x\n    command: >-\n      {line}\n    tty: true\n"
    head = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: a\n    image: x\n"
    )
    program, arguments = json.dumps(words[:3]), yaml_list("    ")(words[3:])
    return f"{head}    command: {program}\n    args:{arguments}\n"


def argv(path: Path) -> list[str]:
    """What the process gets, by our own readers."""
    launches = read_target(path, environment={}, home=path.parent).launches
    commands = [[word.text.removeprefix("/nosuch/") for word in launch.words] for launch in launches]
    (command,) = [words for words in commands if words[0] == "python"]
    return command


def bash_argv(path: Path) -> list[str]:
    """What the process gets from a real shell."""
    fake = path.with_name("bin")
    fake.mkdir(exist_ok=True)
    (fake / "python").write_text("#!/bin/bash\nprintf '%s\\0' python \"$@\"\n")
    (fake / "python").chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", str(path)], capture_output=True, env=environment, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("kind", ["service", "sh", "compose.yaml", "folded.yaml", "pod.yaml"])
@given(
    groups=st.lists(st.sampled_from(GROUPS), max_size=7),
    breaks=st.lists(st.booleans(), min_size=1, max_size=9),
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
def test_fix_changes_only_what_it_means_to(
    kind: str,
    groups: list[Group],
    breaks: list[bool],
    engine_tree: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    folder = engine_tree("0.5.10")
    words = [*SERVE, *(word for group in groups for word in group)]
    path = tmp_path / f"llm.{kind}"
    path.write_text(written(kind, words, breaks))
    assert argv(path) == words
    main(
        ["lint", str(path), "--fix", "--engine", str(folder), "--cache", str(folder.with_name("lint-cache"))]
    )
    now = argv(path)
    if kind == "folded.yaml":  # words on lines of their own are left as they are
        now = intended(regrouped(now))
    assert now == intended(groups), path.read_text()
    if kind == "sh":
        assert bash_argv(path) == intended(groups)
    text = path.read_text()
    assert written(kind, ["python"], [True]).splitlines()[0] == text.splitlines()[0]
    assert text.endswith("\n")

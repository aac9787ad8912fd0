"""The programs that ask an engine's parser, against packages that are laid out as the engines' are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.engines import ARGUMENT_CHECKS

SGLANG = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", required=True)
        parser.add_argument("--tp-size", "--tp", type=int, default=1)
        parser.add_argument("--policy", choices=["fcfs", "lpm"])
print("a warning on import")
"""
VLLM_PARSER = "from argparse import ArgumentParser as FlexibleArgumentParser\n"
VLLM_ARGUMENTS = """
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--max-num-seqs", type=int)
    return parser
def validate_parsed_serve_args(args):
    if args.max_num_seqs == 0:
        raise ValueError("max_num_seqs is at least 1")
"""
LAYOUTS = {
    "sglang": {"sglang/srt/server_args.py": SGLANG},
    "vllm": {
        "vllm/utils/argparse_utils.py": VLLM_PARSER,
        "vllm/entrypoints/launchers/cli_args.py": VLLM_ARGUMENTS,
    },
    # until 0.30
    "vllm-older": {
        "vllm/utils/argparse_utils.py": VLLM_PARSER,
        "vllm/entrypoints/openai/cli_args.py": VLLM_ARGUMENTS,
    },
}


def asked(folder: Path, layout: str, words: list[str]) -> tuple[str, str]:
    for name, text in LAYOUTS[layout].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for package in {parent for path in folder.rglob("*.py") for parent in path.parents if parent != folder}:
        if folder in package.parents:
            (package / "__init__.py").touch()
    said = subprocess.run(
        [sys.executable, "-c", ARGUMENT_CHECKS[layout.partition("-")[0]]],
        input=json.dumps(words).encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
        timeout=60,
    )
    assert said.returncode == 0, said.stderr.decode()
    answer = json.loads(said.stdout.splitlines()[-1])
    return answer["status"], answer["message"]


@pytest.mark.parametrize(
    ("layout", "words", "status", "says"),
    [
        ("sglang", ["--model-path", "/m", "--tp", "2"], "takes", ""),
        ("sglang", ["--model-path", "/m", "--nope"], "refuses", "unrecognized arguments: --nope"),
        ("sglang", ["--model-path", "/m", "--tp", "many"], "refuses", "invalid int value: 'many'"),
        ("sglang", ["--model-path", "/m", "--policy", "x"], "refuses", "invalid choice: 'x'"),
        ("sglang", ["--tp", "2"], "refuses", "required: --model-path"),
        ("sglang", ["--config", "a.yaml"], "unknown", "a file of arguments"),
        ("sglang", ["--help"], "unknown", "SystemExit"),
        ("vllm", ["/m", "--max-num-seqs", "2"], "takes", ""),
        ("vllm", ["/m", "--max-num-seqs", "0"], "refuses", "max_num_seqs is at least 1"),
        ("vllm-older", ["/m", "--max-num-seqs", "x"], "refuses", "invalid int value: 'x'"),
        ("vllm-older", ["/m"], "takes", ""),
    ],
)
def test_what_a_parser_says(layout: str, words: list[str], status: str, says: str, tmp_path: Path) -> None:
    found = asked(tmp_path, layout, words)
    assert found[0] == status, found
    assert says in found[1]


def test_a_parser_that_is_not_to_be_had(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("import nosuchmodule_of_anybody")
    LAYOUTS["sglang-broken"] = {}
    found = asked(tmp_path, "sglang-broken", ["--tp", "2"])
    assert found[0] == "unknown"
    assert "nosuchmodule_of_anybody" in found[1]

"""An engine of three files, for tests of one way to write Python each."""

from __future__ import annotations

from pathlib import Path

ARGUMENTS = """
import argparse
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    decode_gap: int = 40
    fast: bool = False

    def __post_init__(self):
        pass

    def check_server_args(self):
        pass

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", type=str, required=True)
        parser.add_argument("--decode-gap", type=int, default=ServerArgs.decode_gap)
        parser.add_argument("--fast", action="store_true")

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace):
        attrs = [attr.name for attr in dataclasses.fields(cls)]
        return cls(**{attr: getattr(args, attr) for attr in attrs})


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    raw_args = parser.parse_args(argv)
    return ServerArgs.from_cli_args(raw_args)
"""
LAUNCH = """
import sys
from sglang.srt.server_args import prepare_server_args
from sglang.srt.worker import main


def run_server(server_args):
    main(server_args)


if __name__ == "__main__":
    server_args = prepare_server_args(sys.argv[1:])
    run_server(server_args)
"""


def write(root: Path, **modules: str) -> None:
    """Put it below a folder.

    Its options are `--model-path`, `--decode-gap N` and `--fast`; it serves by `main` of the module `worker`.
    `modules` are further modules of `sglang.srt`; a name that ends in `__json` makes another kind of file.
    """
    srt = root / "sglang" / "srt"
    srt.mkdir(parents=True)
    for folder in (srt.parent, srt):
        (folder / "__init__.py").write_text("")
    (srt.parent / "launch_server.py").write_text(LAUNCH)
    (srt / "server_args.py").write_text(ARGUMENTS)
    for name, text in modules.items():
        stem, _, suffix = name.partition("__")
        (srt / f"{stem}.{suffix or 'py'}").write_text(text)

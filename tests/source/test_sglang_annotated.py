"""Options that are derived from annotated fields, in small trees; real releases are in test_goldens.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines import ENGINES
from assay.source import Declarations, Option
from assay.source.declaring.arguments import read
from assay.source.declaring.module import Modules

WriteTree = Callable[[dict[str, str]], Path]

LAUNCH = """
    import argparse
    from sglang.args import ServerArgs

    def prepare(argv):
        parser = argparse.ArgumentParser()
        ServerArgs.add_cli_args(parser)
        raw = parser.parse_args(argv)
        return ServerArgs.from_cli_args(raw)

    prepare([])
"""
ARGS = """
    import argparse
    import dataclasses
    import json
    from typing import List, Literal, Optional
    from sglang.arg_utils import A, Arg, add_cli_args_from_dataclass

    Mode = Literal["a", "b"]

    @dataclasses.dataclass
    class ServerArgs:
        model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
        tp_size: A[int, "Ranks."] = 1
        share: A[Optional[float], "Share."] = None
        mode: A[Optional[Mode], Arg(help="Mode.")] = None
        sizes: A[Optional[List[int]], "Sizes."] = None
        labels: A[Optional[List[str]], Arg(type_parser=json.loads)] = None
        quiet: A[bool, "Quiet."] = False
        fast: A[bool, Arg(action=argparse.BooleanOptionalAction)] = True
        gemm_runner: A[str, Arg(cli_name="--gemm", choices=["x", "y"])] = "x"
        either: A[int | str, "Either."] = 0
        hidden: A[bool, Arg(no_cli=True)] = False
        plain: int = 3

        @staticmethod
        def add_cli_args(parser):
            add_cli_args_from_dataclass(parser, ServerArgs)

        @classmethod
        def from_cli_args(cls, args):
            return cls()
"""
UTILS = """
    import dataclasses
    from typing import Annotated, Any, Optional, get_type_hints

    A = Annotated

    @dataclasses.dataclass(frozen=True)
    class Arg:
        help: str = ""
        choices: Optional[list] = None
        aliases: Optional[list] = None
        cli_name: Optional[str] = None
        type_parser: Any = None
        action: Any = None
        no_cli: bool = False

    def add_cli_args_from_dataclass(parser, cls):
        for name in get_type_hints(cls, include_extras=True):
            parser.add_argument(name)
"""


def read_tree(write_tree: WriteTree, **changed: str) -> Declarations:
    texts = {"launch_server": LAUNCH, "args": ARGS, "arg_utils": UTILS, **changed}
    return read(Modules(write_tree({f"sglang/{k}.py": v for k, v in texts.items()})), ENGINES["sglang"])


def option(declarations: Declarations, flag: str) -> Option:
    return next(each for each in declarations.options if flag in each.flags)


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--model", ("model_path", "store", "text", None, None, True)),
        ("--tp-size", ("tp_size", "store", "int", None, None, False)),
        ("--share", ("share", "store", "float", None, None, False)),
        ("--mode", ("mode", "store", "text", None, ["a", "b"], False)),
        ("--sizes", ("sizes", "store", "int", "+", None, False)),
        ("--labels", ("labels", "store", "json", None, None, False)),
        ("--quiet", ("quiet", "store_const", "text", 0, None, False)),
        ("--no-fast", ("fast", "boolean", "text", 0, None, False)),
        ("--gemm", ("gemm_runner", "store", "text", None, ["x", "y"], False)),
        ("--either", ("either", "store", "text", None, None, False)),
    ],
)
def test_an_option_follows_from_the_type(
    write_tree: WriteTree, flag: str, expected: tuple[object, ...]
) -> None:
    found = option(read_tree(write_tree), flag)
    choices = found.choices.value if found.choices else None
    seen = (found.field, found.action, found.converter, found.nargs, choices, found.required)
    assert seen == expected


def test_fields_without_an_option_stay_fields(write_tree: WriteTree) -> None:
    declarations = read_tree(write_tree)
    assert declarations.idiom == "sglang-annotated"
    assert [field.name for field in declarations.fields if not field.flags] == ["hidden", "plain"]
    types = {field.name: field.type for field in declarations.fields}
    assert (types["share"], types["plain"]) == ("Optional[float]", "int")


def test_each_flag_has_its_place(write_tree: WriteTree) -> None:
    found = option(read_tree(write_tree), "--model")
    assert found.flags == ("--model-path", "--model")
    assert found.declared_at.text.startswith("model_path: A[")
    assert found.site("--model").text == found.declared_at.text


def test_other_rules_are_read_by_the_nearest_and_said(write_tree: WriteTree) -> None:
    [gap] = read_tree(write_tree).gaps
    assert gap.site.file == "sglang/arg_utils.py"
    assert "not as in any release that assay knows: read as sglang-annotated" in gap.reason


def test_a_newer_release_than_any_is_said(write_tree: WriteTree) -> None:
    declarations = read_tree(write_tree, version='__version__ = "9.0.1"')
    assert [option.flags[0] for option in declarations.options][:2] == ["-h", "--model-path"]
    assert "9.0.1 is newer than 0.5.23" in declarations.gaps[0].reason


def test_a_class_collected_from_others(write_tree: WriteTree) -> None:
    declarations = read_tree(
        write_tree,
        spaces="""
            import msgspec
            from sglang.arg_utils import A, Arg

            class Parallel(msgspec.Struct):
                tp_size: A[int, "Ranks."] = 1

            class Model(msgspec.Struct):
                model_path: A[str, "Weights."]
                revision: A[str | None, "Revision."] = None
        """,
        collecting="""
            ORDER = (
                "model_path",
                "tp_size",
            )

            def collect(sources):
                return {name: 1 for name in ORDER}, {}, {}
        """,
        args="""
            import msgspec
            from sglang.arg_utils import add_cli_args_from_dataclass
            from sglang.collecting import collect
            from sglang.spaces import Model, Parallel

            class ServerArgs:
                @staticmethod
                def add_cli_args(parser):
                    add_cli_args_from_dataclass(parser, ServerArgs)
                    parser.add_argument("--more", default=_declared_default("tp_size"))

                @classmethod
                def from_cli_args(cls, args):
                    return cls()

            SPACES = [Parallel, Model]
            _annotations, _defaults, _names = collect(SPACES)
            ServerArgs.__annotations__ = {**_annotations}
            ServerArgs = msgspec.defstruct("ServerArgs", [], namespace={**vars(ServerArgs)})

            def _declared_default(name):
                return next(f.default for f in msgspec.structs.fields(ServerArgs) if f.name == name)
        """,
    )
    assert declarations.idiom == "sglang-namespaces"
    assert [field.name for field in declarations.fields] == ["model_path", "tp_size", "revision"]
    assert option(declarations, "--more").default.value == 1
    assert [site.line for site in declarations.listings] == [3, 4]


def test_a_choice_behind_an_environment_variable_is_taken_with_its_default(write_tree: WriteTree) -> None:
    declarations = read_tree(
        write_tree,
        env="""
            import os

            class EnvBool:
                def __init__(self, default):
                    self.default = default

                def get(self):
                    return os.getenv("X", self.default)

            class Envs:
                MORE = EnvBool(False)

            envs = Envs()
        """,
        launch_server=LAUNCH.replace(
            "ServerArgs.add_cli_args(parser)",
            """
        choices = ["a"]
        if envs.MORE.get():
            choices.append("b")
        parser.add_argument("--x", choices=choices)
        ServerArgs.add_cli_args(parser)
        """.strip(),
        ).replace("import argparse\n", "import argparse\n    from sglang.env import envs\n", 1),
    )
    found = option(declarations, "--x").choices
    assert found is not None
    assert found.value == ["a"]

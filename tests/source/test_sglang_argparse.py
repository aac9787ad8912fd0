"""The argparse idiom on small trees: forks of another layout, groups, loops, actions of the engine's own."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.engines import ENGINES
from assay.errors import EngineNotFound, UnknownIdiom
from assay.source import Declarations, Option
from assay.source.child.job import no_note
from assay.source.child.read_request import ReadRequest
from assay.source.declaring.reader import read_declarations, read_declarations_job

WriteTree = Callable[[dict[str, str]], Path]
SGLANG = ENGINES["sglang"]

LAUNCH = """
    import sys
    from sglang.noise import quiet
    from sglang.args import prepare_server_args
    quiet()
    def run_server(args): ...
    if __name__ == "__main__":
        run_server(prepare_server_args(sys.argv[1:]))
    """
ARGS_HEAD = """
import argparse, dataclasses, json
from typing import List, Optional
from sglang import actions
from sglang.actions import *
CHOICES = ["a", "b"]
@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--tensor-parallel-size", "--tp", type=int, default=ServerArgs.tp_size)
"""
ARGS_TAIL = """
    @classmethod
    def from_cli_args(cls, args):
        args.tp_size = args.tensor_parallel_size
        return cls(**{f.name: getattr(args, f.name) for f in dataclasses.fields(cls)})
def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="x")
    ServerArgs.add_cli_args(parser)
    return ServerArgs.from_cli_args(parser.parse_args(argv))
"""
ACTIONS = """
import argparse, json, logging, re
from decimal import Decimal
import orjson

def warn(message): ...

class Old(argparse.Action):
    def __init__(self, option_strings, dest, nargs=0, **kwargs):
        super(Old, self).__init__(option_strings, dest, nargs=nargs, **kwargs)
    def __call__(self, parser, namespace, values, option_string=None):
        warn(f"'{option_string}' is deprecated.")

class OldSwitch(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, nargs=0, const=True, default=False, **kwargs):
        self.new_flag = new_flag
        super().__init__(option_strings, dest, nargs=nargs, const=const, default=default, **kwargs)
    def __call__(self, parser, namespace, values, option_string=None):
        replacement = f" Use '{self.new_flag}' instead." if self.new_flag else ""
        warn(f"'{option_string}' is deprecated.{replacement}")
        setattr(namespace, self.dest, self.const)

class Child(OldSwitch):
    pass

class Gone(argparse.Action):
    def __init__(self, option_strings, dest, **kwargs):
        super().__init__(option_strings, dest, nargs=0, **kwargs)
    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(self.help)

class Perhaps(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        if values == "x":
            raise ValueError("x")

class Doubles(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values * 2)

class Changes(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        values = values.lower()
        setattr(namespace, self.dest, values)

class Elsewhere(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        helper(namespace, values)

def whatever(text):
    return text or None

def as_json(text):
    return json.loads(text)

def lenient(text):
    try:
        return orjson.loads(text)
    except ValueError:
        return None
"""


def tree_of(write_tree: WriteTree, body: str, **more: str) -> Path:
    """A tree whose `add_cli_args` ends in that body."""
    return write_tree(
        {
            "sglang/launch_server.py": LAUNCH,
            "sglang/noise.py": "def quiet(): ...\n",
            "sglang/actions.py": ACTIONS,
            "sglang/args.py": ARGS_HEAD + textwrap.indent(textwrap.dedent(body), " " * 8) + ARGS_TAIL,
            **{name.replace("__", "/") + ".py": text for name, text in more.items()},
        }
    )


def read(root: Path) -> Declarations:
    """The declarations of a tree."""
    return read_declarations(root, SGLANG, no_note)


def option_of(root: Path, flag: str) -> Option:
    """The option with that flag."""
    return next(option for option in read(root).options if flag in option.flags)


def test_a_plain_declaration(write_tree: WriteTree) -> None:
    declarations = read(tree_of(write_tree, "pass"))
    assert [option.flags for option in declarations.options] == [
        ("-h", "--help"),
        ("--model-path", "--model"),
        ("--tensor-parallel-size", "--tp"),
    ]
    option = declarations.options[2]
    assert (option.dest, option.field, option.default.value) == ("tensor_parallel_size", "tp_size", 1)
    assert option.default.text == "ServerArgs.tp_size"
    assert str(option.declared_at) == "sglang/args.py:14"
    assert [(f.name, f.required, f.flags) for f in declarations.fields] == [
        ("model_path", True, ("--model-path", "--model")),
        ("tp_size", False, ("--tensor-parallel-size", "--tp")),
    ]
    assert declarations.config_option is None
    assert declarations.environment == ()


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        ('group = parser.add_argument_group("g")\ngroup.add_argument("--x")', ["--x"]),
        ('for name in CHOICES:\n    parser.add_argument(f"--x-{name}", type=int)', ["--x-a", "--x-b"]),
        (
            'for flag, kind in [("--p", int), ("--q", str)]:\n    parser.add_argument(flag, type=kind)',
            ["--p", "--q"],
        ),
        ('def add(flag, **more):\n    parser.add_argument(flag, **more)\nadd("--x", type=int)', ["--x"]),
        ('flags = ["--x", "--y"]\nparser.add_argument(*flags)', ["--x"]),
        ('parser.add_argument("--x", **{"type": int, "default": 3})', ["--x"]),
        ('actions.add_more(parser, prefix="z")', ["--z"]),
        (
            'if len(CHOICES) == 2:\n    parser.add_argument("--x")\nelse:\n    parser.add_argument("--y")',
            ["--x"],
        ),
        ('with something():\n    parser.add_argument("--x")', ["--x"]),
        ('try:\n    parser.add_argument("--x")\nexcept ImportError:\n    pass', ["--x"]),
        ("ServerArgs.more(parser)", ["--m"]),
    ],
)
def test_ways_to_declare(write_tree: WriteTree, body: str, flags: list[str]) -> None:
    root = tree_of(write_tree, body + "\nreturn parser\n")
    actions = root / "sglang/actions.py"
    actions.write_text(ACTIONS + '\ndef add_more(parser, prefix):\n    parser.add_argument(f"--{prefix}")\n')
    args = root / "sglang/args.py"
    more = (
        '    @classmethod\n    def more(cls, parser):\n        parser.add_argument("--m")\n    @classmethod\n'
    )
    args.write_text(args.read_text().replace("    @classmethod\n", more, 1))
    declarations = read(root)
    assert [option.flags[0] for option in declarations.options[3:]] == flags
    assert declarations.gaps == ()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("action='store_true'", ("store_const", 0, True, False)),
        ("action='store_false'", ("store_const", 0, False, True)),
        ("action='store_const', const='x'", ("store_const", 0, "x", None)),
        ("action='append'", ("append", None, None, None)),
        ("action=argparse.BooleanOptionalAction", ("boolean", 0, None, None)),
        ("action=Old", ("ignored", 0, None, None)),
        ("action=Old, nargs='?'", ("ignored", "?", None, None)),
        ("action=OldSwitch", ("store_const", 0, True, False)),
        ("action=OldSwitch, const='y', default=None", ("store_const", 0, "y", None)),
        ("action=actions.Child", ("store_const", 0, True, False)),
        ("action=Gone", ("refused", 0, None, None)),
        ("nargs='?', const=0.5", ("store", "?", 0.5, None)),
        ("action='frobnicate'", ("opaque", None, None, None)),
        ("action=Perhaps", ("opaque", None, None, None)),
        ("action=Doubles", ("opaque", None, None, None)),
        ("action=Changes", ("opaque", None, None, None)),
        ("action=Elsewhere", ("opaque", None, None, None)),
        ("action=nowhere", ("opaque", None, None, None)),
    ],
)
def test_actions_are_understood_from_their_source(
    write_tree: WriteTree, call: str, expected: tuple[object, ...]
) -> None:
    root = tree_of(write_tree, f'parser.add_argument("--x", {call})')
    option = option_of(root, "--x")
    const = None if option.const is None else option.const.value
    assert (option.action, option.nargs, const, option.default.value) == expected
    assert bool(read(root).gaps) == (expected[0] == "opaque")


@pytest.mark.parametrize(
    ("converter", "expected"),
    [
        ("str", "text"),
        ("int", "int"),
        ("bool", "bool"),
        ("json.loads", "json"),
        ("as_json", "json"),
        ("None", "text"),
        ("lenient", "opaque"),
        ("whatever", "opaque"),
        ("lambda text: text", "opaque"),
        ("nowhere", "opaque"),
        ("CHOICES", "opaque"),
    ],
)
def test_converters_are_understood_from_their_source(
    write_tree: WriteTree, converter: str, expected: str
) -> None:
    option = option_of(tree_of(write_tree, f'parser.add_argument("--x", type={converter})'), "--x")
    assert (option.converter, option.type_text) == (expected, converter)


@pytest.mark.parametrize(
    ("call", "deprecated", "instead"),
    [
        ("help='Deprecated: use --tp.'", "Deprecated: use --tp.", "--tp"),
        (
            "help='[Deprecated] Please use `--model` instead'",
            "[Deprecated] Please use `--model` instead",
            "--model",
        ),
        ("help='Note: --x is deprecated now.'", "Note: --x is deprecated now.", ""),
        ("help='This replaces the deprecated variable X.'", "", ""),
        ("action=OldSwitch, new_flag='--tp'", "'--x' is deprecated. Use '--tp' instead.", "--tp"),
        ("action=Old", "'--x' is deprecated.", ""),
        ("help='Sets x.'", "", ""),
    ],
)
def test_deprecation(write_tree: WriteTree, call: str, deprecated: str, instead: str) -> None:
    option = option_of(tree_of(write_tree, f'parser.add_argument("--x", {call})'), "--x")
    assert (option.deprecated, option.replaced_by) == (deprecated, instead)


@pytest.mark.parametrize(
    "body",
    [
        "parser.add_argument(compute())",
        'if compute():\n    parser.add_argument("--x")',
        "parser.add_subparsers()",
        "parser.set_defaults(tp=2)",
        "compute(parser)",
        'parser.add_mutually_exclusive_group().add_argument("--x")',
        'parser.add_argument("--x", **compute())',
    ],
)
def test_what_is_not_followed_is_a_gap(write_tree: WriteTree, body: str) -> None:
    declarations = read(tree_of(write_tree, body))
    assert [gap.site.file for gap in declarations.gaps] == ["sglang/args.py"]
    assert len(declarations.options) >= 3


def test_choices_that_only_a_run_would_show(write_tree: WriteTree) -> None:
    option = option_of(tree_of(write_tree, 'parser.add_argument("--x", choices=compute())'), "--x")
    assert option.choices is not None
    assert (option.choices.known, option.choices.text) == (False, "compute()")


def test_the_class_is_found_by_imports_and_not_by_its_name(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "pass")
    other = root / "sglang/srt/server_args.py"
    other.parent.mkdir()
    other.write_text("class ServerArgs:\n    wrong: int = 1\n")
    assert read(root).declared_at.file == "sglang/args.py"


def test_a_second_parser_beside_the_one_that_parses(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "pass")
    args = root / "sglang/args.py"
    text = args.read_text()
    head = "def prepare_server_args(argv):\n"
    inner = "    if '--config' in argv:\n        parser = argparse.ArgumentParser()\n"
    inner += "        ServerArgs.add_cli_args(parser)\n        argv = merge(parser, argv)\n"
    args.write_text(text.replace(head, head + inner))
    declarations = read(root)
    assert len(declarations.options) == 3
    assert (declarations.config_option, declarations.config_rules) == (None, "opaque")


def test_inherited_fields_come_first(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "pass")
    args = root / "sglang/args.py"
    base = "@dataclasses.dataclass\nclass Base:\n    first: int = 0\n    tp_size: int = 8\n"
    text = args.read_text().replace("class ServerArgs:", "class ServerArgs(Base):")
    args.write_text(text.replace("CHOICES =", base + "CHOICES =", 1))
    assert [(f.name, f.default.value) for f in read(root).fields] == [
        ("first", 0),
        ("tp_size", 1),
        ("model_path", None),
    ]


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"other/x.py": ""}, EngineNotFound),
        ({"sglang/x.py": ""}, UnknownIdiom),
        ({"sglang/launch_server.py": "def f(:\n"}, UnknownIdiom),
        ({"sglang/launch_server.py": "print('nothing')\n"}, UnknownIdiom),
        (
            {"sglang/launch_server.py": "import argparse as a\ndef f():\n a.ArgumentParser()\nf()\n"},
            UnknownIdiom,
        ),
    ],
)
def test_sources_of_another_kind(
    write_tree: WriteTree, files: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        read(write_tree(files))


def test_generated_options_are_another_generation(write_tree: WriteTree) -> None:
    root = tree_of(
        write_tree,
        "generate(parser, ServerArgs)\n",
        sglang__version='__version__ = "0.5.14"\n',
    )
    args = root / "sglang/args.py"
    fields = "".join(f"    field_{n}: int = 0\n" for n in range(20))
    generate = "def generate(parser, cls):\n    for name in cls.__struct_fields__:\n"
    generate += "        parser.add_argument('--' + name)\n"
    text = args.read_text().replace("    tp_size: int = 1\n", "    tp_size: int = 1\n" + fields)
    args.write_text(text.replace("CHOICES =", generate + "CHOICES =", 1))
    with pytest.raises(UnknownIdiom, match=r"version 0\.5\.14 .* does not read yet") as caught:
        read(root)
    assert caught.value.details[0].startswith("sglang/args.py:8: ")
    assert "add-an-engine" in caught.value.hint


def test_the_job_gives_the_same_as_bytes(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "pass")
    noted: list[str] = []
    request = msgspec.msgpack.encode(ReadRequest(root=os.fsencode(root), engine=SGLANG))
    answer = read_declarations_job(request, lambda file, _total=None: noted.append(file))
    assert msgspec.msgpack.decode(answer, type=Declarations) == read(root)
    assert "sglang/args.py" in noted


def test_every_file_is_noted_before_it_is_read(write_tree: WriteTree) -> None:
    """Whatever ends the child then, the error names the file that it was at."""
    told: list[tuple[str, int | None]] = []
    root = tree_of(write_tree, "pass")
    read_declarations(root, SGLANG, lambda file, total=None: told.append((file, total)))
    files = [(file.relative_to(root).as_posix(), None) for file in root.rglob("*.py")]
    declaring = [each for each in told if each[1] is None]
    assert ("sglang/args.py", None) in declaring
    assert set(declaring) <= set(files)
    assert sorted(told[len(declaring) :]) == sorted((file, len(files)) for file, _ in files)


def test_mentions(write_tree: WriteTree) -> None:
    flags = ("--quiet-one", "--late", "--many")
    body = 'parser.add_argument("--my-flag", help="x")\nparser.add_argument("--other", help="--my-flag")\n'
    root = tree_of(
        write_tree,
        body + "".join(f'parser.add_argument("{flag}")\n' for flag in flags),
        sglang__use="args.my_flag\nargs.my_flag_too\nargs.tensor_parallel_size\n",
    )
    (root / "sglang/kernel.cu").write_bytes(
        b"\xff\x00--late=3\x00 many\nmany many\nmany\nmany\nmany\nmany SGLANG_X\n"
    )
    (root / "sglang/note.md").write_text(
        "not-quiet-one-here late_r\nSGL_OLD MYSGLANG_NO -DSGLANG_ x-SGLANG_Y\n"
    )
    declarations = read(root)
    mentions = {o.flags[0]: [str(site) for site in o.mentions] for o in declarations.options}
    assert mentions["--my-flag"] == ["sglang/args.py:16", "sglang/use.py:1"]
    assert mentions["--other"] == []
    assert mentions["--late"] == ["sglang/kernel.cu:1"]
    assert mentions["--many"] == [f"sglang/kernel.cu:{line}" for line in (1, 2, 3, 4, 5)]
    assert mentions["--quiet-one"] == ["sglang/note.md:1"]
    assert mentions["--tensor-parallel-size"] == ["sglang/use.py:3"]
    assert declarations.options[-1].mentions[0].text.endswith("many")
    assert declarations.environment_words == ("SGLANG_X", "SGLANG_Y", "SGL_OLD")


ENVIRON = """
    import os, warnings
    from enum import IntEnum
    class Level(IntEnum):
        OFF = 0
    class Field:
        def __init__(self, default): ...
        def get(self): return os.getenv(self.name)
    class EnvInt(Field): ...
    class Aliased(EnvInt):
        def __init__(self, default, deprecated_name): ...
    class Envs:
        SGLANG_A = EnvInt(4 * 1024)
        SGLANG_B = EnvInt(default=Level.OFF)
        SGLANG_C = EnvInt(os.cpu_count())
        SGLANG_D = Aliased(True, deprecated_name="SGLANG_OLD_D")
        not_one = dict()
    def moved(new, old):
        if old in os.environ:
            warnings.warn(f"{old} is now {new}")
            os.environ[new] = os.environ[old]
    def gone(name, hint):
        if name in os.environ:
            warnings.warn(f"{name} is deprecated. {hint}")
    def convert():
        moved("SGLANG_A", "SGLANG_OLD_A")
        table = {"SGLANG_X": "SGLANG_Y"}
        for old, new in table.items():
            if old in os.environ:
                os.environ[new] = str(1)
        for key, value in os.environ.items():
            if key.startswith("SGL_"):
                os.environ[key.replace("SGL_", "SGLANG_", 1)] = value
    convert()
    gone("SGLANG_E", "Please use '--tp=2' instead.")
    gone("SGLANG_F", "Bye.")
    """


def test_environment_table(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "pass", sglang__srt__environ=ENVIRON)
    declarations = read(root)
    assert [(v.name, v.type, v.default.known, v.default.value) for v in declarations.environment] == [
        ("SGLANG_A", "EnvInt", True, 4096),
        ("SGLANG_B", "EnvInt", True, 0),
        ("SGLANG_C", "EnvInt", False, None),
        ("SGLANG_D", "Aliased", True, True),
    ]
    assert [(old, new) for old, new, _ in declarations.deprecated_environment] == [
        ("SGLANG_OLD_D", "SGLANG_D"),
        ("SGLANG_OLD_A", "SGLANG_A"),
        ("SGLANG_X", "SGLANG_Y"),
        ("SGL_", "SGLANG_"),
        ("SGLANG_E", "--tp=2"),
        ("SGLANG_F", ""),
    ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('for i in range(9000):\n for j in range(9000): parser.add_argument("--x")', "5,000 options"),
        ("for i in range(9000):\n for j in range(9000):\n  pass", "100,000 statements"),
    ],
)
def test_setting_up_is_bounded(write_tree: WriteTree, body: str, said: str) -> None:
    with pytest.raises(UnknownIdiom, match=f"args.py:[0-9]+: more than {said}"):
        read(tree_of(write_tree, body))


def test_what_could_not_be_read_is_named(write_tree: WriteTree) -> None:
    root = tree_of(write_tree, "x = " + "[" * 1000 + "]" * 1000)
    with pytest.raises(UnknownIdiom) as caught:
        read(root)
    assert any("nested more than 200 deep" in line for line in caught.value.details)

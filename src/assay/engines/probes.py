"""The outermost things that an engine asks at its start, as data: what answers them, and what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay._value import Value

CALLED_FACTS: Mapping[str, str] = {
    "torch.cuda.is_available": "cuda.available",
    "torch.cuda.device_count": "accelerator.count",
    "torch.cuda.get_device_capability": "accelerator.capability",
    "torch.cuda.get_device_name": "accelerator.name",
    "pynvml.nvmlDeviceGetCudaComputeCapability": "accelerator.capability",
    "torch.backends.cudnn.version": "cudnn.version",
    "platform.machine": "host.machine",
    "platform.system": "host.system",
    "platform.python_version": "python.version",
}
"""Functions whose result is a fact, whatever they are called with."""

FACTS: Mapping[str, str] = {
    "torch.version.cuda": "cuda.version",
    "torch.version.hip": "hip.version",
    "torch.__version__": "torch.version",
    "transformers.__version__": "transformers.version",
    "sys.platform": "host.platform",
}
"""Attributes that are facts."""

CALLED_CONSTANTS: Mapping[str, Any] = {
    # Builds of torch for CUDA or ROCm hold none of these devices.
    "torch.backends.mps.is_available": False,
    "torch.mps.is_available": False,
    "torch.xpu.is_available": False,
    "torch.cpu.is_available": True,
    "torch.cuda.current_device": 0,
    "torch.cuda.is_initialized": False,
    "torch.cuda._get_nvml_device_index": 0,
    "pynvml.nvmlInit": None,
    "pynvml.nvmlShutdown": None,
    "pynvml.nvmlDeviceGetHandleByIndex": 0,
    "torch.distributed.is_available": True,
    "torch.distributed.is_initialized": False,
    "os.getpid": 4242,
    "os.cpu_count": 64,
    "tempfile.gettempdir": "/tmp",  # noqa: S108 (only ever the start of a name)
}
"""Functions with the same result wherever the engine serves on an accelerator of NVIDIA or AMD."""

ONLY_AT_START = frozenset(
    {
        "torch.distributed.is_initialized",
        "torch.cuda.is_initialized",
        "torch.cuda.current_device",
        "os.getpid",
    }
)
"""Those of them that answer otherwise in a worker that serves."""

ABSENT = frozenset(
    {"torch.npu", "torch.hpu", "torch.musa", "torch.version.musa", "torch.mlu", "torch.version.npu"}
)
"""Attributes that only plug-ins for other accelerators add to torch."""

OWN_OPERATORS = ("torch.ops.sglang.",)
"""Beginnings of names that engines add to torch themselves, each where it first asks whether it is there."""

PRESENT = frozenset(
    {"torch.cuda", "torch.xpu", "torch.cpu", "torch.version.hip", "torch.version.cuda", "torch.backends.mps"}
)
"""Attributes that torch has in every build."""

SYMBOLS = frozenset(
    f"torch.{name}"
    for name in [
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "half",
        "float",
        "double",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "long",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "complex64",
        "dtype",
        "device",
        "Tensor",
    ]
)
"""Opaque things that are equal only to themselves."""

SAME_SYMBOLS: Mapping[str, str] = {
    "torch.half": "torch.float16",
    "torch.float": "torch.float32",
    "torch.double": "torch.float64",
    "torch.long": "torch.int64",
}
"""Two names of one thing."""

MODULE_OF_DISTRIBUTION: Mapping[str, tuple[str, ...]] = {
    "sgl-kernel": ("sgl_kernel", "deep_gemm", "triton_kernels"),
    "sglang-kernel": ("sgl_kernel", "deep_gemm", "triton_kernels"),
    "sgl-deep-gemm": ("deep_gemm",),
    "flashinfer-python": ("flashinfer",),
    "flash-attn-4": ("flash_attn",),
    "nvidia-cutlass-dsl": ("cutlass",),
    "cuda-python": ("cuda",),
    "decord2": ("decord",),
    "grpcio": ("grpc",),
    "pillow": ("PIL",),
    "pyyaml": ("yaml",),
    "pyzmq": ("zmq",),
    "mooncake-transfer-engine": ("mooncake",),
    "deep-ep": ("deep_ep",),
    "nvidia-ml-py": ("pynvml",),
    "py-spy": (),
}
"""Names to import, of the distributions whose names differ from them."""

ALWAYS_INSTALLED = frozenset({"torch", "transformers", "triton", "numpy", "packaging", "huggingface_hub"})
"""What every engine imports before it looks at an option."""


class Start(Value):
    """How an engine turns its command line into its arguments."""

    module: str
    """Module that holds the function and the class."""
    function: str
    """Called with the list of words; gives the arguments."""
    record: str
    """Class of the arguments: its fields are the options."""
    check: str
    """Its method that the launcher calls once it has the arguments, or empty."""
    resolve: str = ""
    """Its method that carries out start-up code, in versions where making the record does not."""
    log: str = ""
    """Its attribute that lists what start-up code declares of options, `(who, {option: value})`: a later
    entry counts before an earlier one, and all of them before the record's own value."""
    raw: str = ""
    """Its attribute that keeps what was asked for, set when start-up code begins."""
    fallbacks: tuple[str, str] = ("", "")
    """Module and function that gives, for the class of the record, what options are in effect that nobody has
    asked for or declared: `{option: value}`."""
    through: tuple[str, ...] = ()
    """Functions that only hand on what their caller declares or sets."""
    world_size: tuple[str, ...] = ()
    """Options whose product is the number of ranks of torch.distributed."""
    separate: tuple[str, ...] = ()
    """Classes of which each object is told apart by the call that made it."""
    serve: tuple[tuple[str, str], ...] = ()
    """Modules and functions that start serving with the arguments; the first that is there counts."""


class Topology(Value):
    """A function of the engine that asks the machine what only a loop over devices would show."""

    module: str
    """Module that holds it."""
    function: str
    """Its name."""
    fact: str
    """The fact that decides between two results that its source leaves open."""


class Registry(Value):
    """A table of classes that the engine fills by importing every module of a package."""

    module: str
    """Module that holds the look-up."""
    function: str
    """The look-up: called with names, gives a class and its name."""
    package: str
    """Package whose modules it imports."""
    attribute: str
    """What each module calls its class, or list of classes; with `lists`, the attribute of a class that
    holds the names it is for."""
    names: str = ""
    """A function that gives all names that the table holds, or nothing."""
    lists: bool = False
    """True if classes say which names they are for, and the function makes an object of the one found."""


STARTS: Mapping[str, Start] = {
    "sglang": Start(
        module="sglang.srt.server_args",
        function="prepare_server_args",
        record="ServerArgs",
        check="check_server_args",
        resolve="resolve_once",
        log="_resolved_overrides",
        raw="_raw_input",
        fallbacks=("sglang.srt.arg_groups.arg_utils", "fallbacks_of"),
        through=(
            "__setattr__",
            "declare_resolution",
            "declare_late_resolution",
            "run_post_process_pass",
            "record_foreign_defaults",
            "_apply_fields",
            "materialize_declarations",
        ),
        world_size=("tp_size", "pp_size"),
        separate=(
            "sglang.srt.distributed.parallel_state.GroupCoordinator",
            "sglang.srt.model_executor.model_runner.ModelRunner",
            "sglang.srt.configs.load_config.LoadConfig",
        ),
        serve=(
            ("sglang.launch_server", "run_server"),
            ("sglang.srt.entrypoints.http_server", "launch_server"),
            ("sglang.srt.server", "launch_server"),
        ),
    ),
}
"""By engine."""

REGISTRIES: Mapping[str, tuple[Registry, ...]] = {
    "sglang": (
        Registry(
            module="sglang.srt.models.registry",
            function="resolve_model_cls",
            package="sglang.srt.models",
            attribute="EntryClass",
            names="get_supported_archs",
        ),
        Registry(
            module="sglang.srt.managers.multimodal_processor",
            function="get_mm_processor",
            package="sglang.srt.multimodal.processors",
            attribute="models",
            lists=True,
        ),
    ),
}
"""By engine."""

TOPOLOGIES: Mapping[str, tuple[Topology, ...]] = {
    "sglang": tuple(
        Topology(module=f"sglang.srt.{module}", function="is_full_nvlink", fact="accelerator.nvlink")
        for module in (
            "distributed.device_communicators.custom_all_reduce_utils",
            "distributed.device_communicators.custom_all_reduce",
        )
    ),
}
"""By engine."""

"""The outermost things that an engine asks at its start, as data: what answers them, and what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay._value import Value

CALLED_FACTS: Mapping[str, str] = {
    "torch.cuda.is_available": "cuda.available",
    "torch.cuda.device_count": "accelerator.count",
    "torch.cuda._device_count_nvml": "accelerator.count",
    "torch.cuda._is_compiled": "cuda.available",
    "torch.cuda.get_device_capability": "accelerator.capability",
    "torch.cuda.get_device_name": "accelerator.name",
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
    "torch.distributed.is_available": True,
    "torch.distributed.is_xccl_available": False,
    "ray.is_initialized": False,
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
"""What answers otherwise in a worker that serves, or is followed there in another way."""

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

OF_OTHER_ACCELERATORS = frozenset({"libtpu", "tpu_inference", "amdsmi", "habana_frameworks", "torch_npu"})
"""Libraries that are only installed on machines with accelerators that are not NVIDIA's."""

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

BYTES: Mapping[str, int] = {
    f"torch.{name}": size
    for size, names in {
        1: "int8 uint8 bool float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz",
        2: "float16 bfloat16 int16",
        4: "float32 int32",
        8: "float64 int64 complex64",
    }.items()
    for name in names.split()
}
"""Size of one number of a type."""

NO_DTYPES = frozenset({"torch.dtype", "torch.device", "torch.Tensor"})
"""Those of them that are no types of numbers."""

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


CLASSES: Mapping[str, frozenset[str]] = {
    "torch.nn.Module": frozenset(
        [
            "T_destination",
            "_apply",
            "_call_impl",
            "_compiled_call_impl",
            "_get_backward_hooks",
            "_get_backward_pre_hooks",
            "_get_name",
            "_load_from_state_dict",
            "_maybe_warn_non_full_backward_hook",
            "_named_members",
            "_register_load_state_dict_pre_hook",
            "_register_state_dict_hook",
            "_replicate_for_data_parallel",
            "_save_to_state_dict",
            "_slow_forward",
            "_version",
            "_wrapped_call_impl",
            "add_module",
            "apply",
            "bfloat16",
            "buffers",
            "call_super_init",
            "children",
            "compile",
            "cpu",
            "cuda",
            "double",
            "dump_patches",
            "eval",
            "extra_repr",
            "float",
            "forward",
            "get_buffer",
            "get_extra_state",
            "get_parameter",
            "get_submodule",
            "half",
            "ipu",
            "load_state_dict",
            "modules",
            "mtia",
            "named_buffers",
            "named_children",
            "named_modules",
            "named_parameters",
            "parameters",
            "register_backward_hook",
            "register_buffer",
            "register_forward_hook",
            "register_forward_pre_hook",
            "register_full_backward_hook",
            "register_full_backward_pre_hook",
            "register_load_state_dict_post_hook",
            "register_load_state_dict_pre_hook",
            "register_module",
            "register_parameter",
            "register_state_dict_post_hook",
            "register_state_dict_pre_hook",
            "requires_grad_",
            "set_extra_state",
            "set_submodule",
            "share_memory",
            "state_dict",
            "to",
            "to_empty",
            "train",
            "type",
            "xpu",
            "zero_grad",
        ]
    ),
}
"""Classes of libraries, with all attributes that the class itself has, apart from `__names__`."""


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
    from_namespace: bool = False
    """True if the function is called with what the parser gives, not with the words."""
    checks_before: tuple[tuple[str, str], ...] = ()
    """Modules and functions that are called with what the parser gives before that; those that are there."""
    check_arguments: tuple[tuple[str, str, str], ...] = ()
    """Keyword arguments of `check`: name, module, and dotted name of the value in it."""
    positional: tuple[str, str] = ("", "")
    """The option that a word without a flag is for, and the one that its value goes to."""
    outside: tuple[str, ...] = ()
    """Modules of the tree that are copies of libraries, which are modelled."""
    called_elsewhere: tuple[tuple[str, str], ...] = ()
    """Modules and functions that call their argument in another process and give what it gives."""
    caches: tuple[tuple[str, str], ...] = ()
    """Modules and functions that look into files for what was worked out before: they find nothing."""
    drawn: tuple[tuple[str, str], ...] = ()
    """Modules and functions whose result differs from start to start."""
    distribution: str = ""
    """Under what name the package asks for its own version, where that counts."""
    open_files: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For models whose names begin so, files that may lie there beside what the facts list."""
    makes_settings: bool = False
    """True if `check` makes the settings that the engine goes by: a tree of objects."""
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
    "vllm": Start(
        module="vllm.engine.arg_utils",
        function="AsyncEngineArgs.from_cli_args",
        record="AsyncEngineArgs",
        from_namespace=True,
        checks_before=(
            ("vllm.entrypoints.openai.cli_args", "validate_parsed_serve_args"),
            ("vllm.entrypoints.launchers.cli_args", "validate_parsed_serve_args"),
        ),
        check="create_engine_config",
        check_arguments=(("usage_context", "vllm.usage.usage_lib", "UsageContext.OPENAI_API_SERVER"),),
        positional=("model_tag", "model"),
        outside=("vllm.third_party.pynvml",),
        called_elsewhere=(("vllm.model_executor.models.registry", "_run_in_subprocess"),),
        caches=tuple(
            ("vllm.model_executor.models.registry", f"_LazyRegisteredModel.{name}")
            for name in ("_load_modelinfo_from_cache", "_save_modelinfo_to_cache")
        ),
        drawn=tuple(("vllm.utils.network_utils", name) for name in ("_get_open_port", "get_open_ports_list")),
        distribution="vllm",
        open_files=(("mistralai/", ("params.json", "consolidated.safetensors")),),
        makes_settings=True,
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

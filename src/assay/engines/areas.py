"""Groups of options by the words of their names, the most worth a trial first; names of what switches do."""

from __future__ import annotations

from collections.abc import Mapping

from assay._value import Value


class Area(Value):
    """A group of options."""

    name: str
    """Its title."""
    words: tuple[str, ...]
    """Beginnings of words in option names that put an option into it."""


AREAS: tuple[Area, ...] = (
    Area(name="speculative decoding", words=("speculative", "mtp", "eagle", "ngram")),
    Area(
        name="server, logging and tests",
        words=(
            *("host", "port", "log", "metrics", "trace", "otlp", "api_key", "ssl", "watchdog", "crash"),
            *("debug", "admin", "request_", "served_model", "chat_template", "tool_call", "reasoning_parser"),
            *("warmup", "weight_version", "health", "nvtx", "show_", "report", "uvicorn", "grpc", "fastapi"),
            *("completion_template", "hf_chat", "stream_output", "streaming_output", "storage_path", "dump"),
        ),
    ),
    Area(name="disaggregation", words=("disaggregation", "encoder_", "language_only", "pdlb", "mooncake")),
    Area(name="LoRA adapters", words=("lora",)),
    Area(name="images, audio, video", words=("mm_", "multimodal", "image", "video", "audio", "vit")),
    Area(name="hybrid and state-space models", words=("mamba", "linear_attn", "gdn", "hybrid", "swa")),
    Area(
        name="mixture of experts",
        words=("moe", "expert", "eplb", "deepep", "ep_size", "ep_", "two_batch", "single_batch", "elastic"),
    ),
    Area(
        name="attention",
        words=(
            "attention",
            "attn",
            "flashinfer_mla",
            "mla",
            "nsa",
            "dsa",
            "flash",
            "triton",
            "sampling_back",
        ),
    ),
    Area(
        name="KV cache and memory",
        words=(
            *("cache", "mem_", "memory", "radix", "kv_", "page_size", "offload", "evict", "total_tokens"),
            *("hicache", "hierarchical", "kvcache"),
        ),
    ),
    Area(
        name="CUDA graphs and compilation", words=("cuda_graph", "cudagraph", "compile", "graph", "autotune")
    ),
    Area(
        name="communication",
        words=("all_reduce", "allreduce", "nccl", "symm", "p2p", "quick_reduce", "mscclpp", "comm", "dist_"),
    ),
    Area(
        name="parallel layout",
        words=(
            "tp_size",
            "dp_size",
            "pp_size",
            "nnodes",
            "node_rank",
            "tensor_parallel",
            "gpu_id",
            "dp_",
            "pp_",
        ),
    ),
    Area(
        name="scheduling and batching",
        words=(
            *("schedule", "batch", "running", "prefill", "overlap", "queue", "priority", "max_", "decode"),
            *("chunk", "policy", "delay", "retract", "preempt", "mixed", "tokenizer_worker", "load_balance"),
        ),
    ),
    Area(
        name="precision and quantisation",
        words=("quant", "dtype", "fp8", "fp4", "gemm", "torchao", "modelopt"),
    ),
    Area(
        name="model and loading",
        words=("model", "load", "tokenizer", "weight", "revision", "context", "device", "download", "config"),
    ),
)
"""In the order in which names are looked at: what is more special comes first."""

RANKS: tuple[str, ...] = (
    "scheduling and batching",
    "KV cache and memory",
    "speculative decoding",
    "attention",
    "mixture of experts",
    "CUDA graphs and compilation",
    "communication",
    "precision and quantisation",
    "parallel layout",
    "hybrid and state-space models",
    "LoRA adapters",
    "images, audio, video",
    "disaggregation",
    "model and loading",
    "other",
    "server, logging and tests",
)
"""The same by how likely a trial of them changes throughput or latency: assay's own opinion."""

OTHER = "other"

FEATURES: Mapping[str, str] = {
    "radix_cache": "prefix caching",
    "overlap_schedule": "overlap scheduling",
    "cuda_graph": "CUDA graphs",
    "cuda_graph_padding": "padding to CUDA graphs",
    "piecewise_cuda_graph": "piecewise CUDA graphs",
    "custom_all_reduce": "custom all-reduce",
    "chunked_prefix_cache": "chunked prefix cache",
    "dp_attention": "data-parallel attention",
    "dp_lm_head": "data-parallel output layer",
    "mixed_chunk": "mixing prefill into decode batches",
    "hierarchical_cache": "hierarchical cache",
    "shared_experts_fusion": "fusion of shared experts",
    "hybrid_swa_memory": "memory for sliding windows",
}
"""What people call that which a switch turns on or off, by its name less `enable_` or `disable_`."""


def area_of(name: str) -> str:
    """The area of an option, by its field or destination.

    >>> area_of("speculative_num_steps"), area_of("max_running_requests"), area_of("x")
    ('speculative decoding', 'scheduling and batching', 'other')
    """
    return next((area.name for area in AREAS if any(f"_{word}" in f"_{name}" for word in area.words)), OTHER)


def feature(name: str) -> tuple[str, bool]:
    """What a switch is about, and whether it turns that off.

    >>> feature("disable_radix_cache"), feature("enable_eplb"), feature("trust_remote_code")
    (('prefix caching', True), ('eplb', False), ('trust remote code', False))
    """
    bare = name.removeprefix("disable_").removeprefix("enable_")
    return FEATURES.get(bare, bare.replace("_", " ")), name.startswith("disable_")

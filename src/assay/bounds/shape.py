"""What a model's config.json says of its weights and caches, counted in parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from assay._value import Value

Mixer = Literal["attention", "linear", "mamba", "none"]
"""What a layer mixes tokens with: attention over a KV cache, a gated delta rule, a state-space model."""


class UnknownShape(Exception):
    """config.json does not say what a bound needs; the text says which key."""


class Shape(Value):
    """A decoder's size; all counts are of parameters or elements of the whole model, not of one GPU."""

    hidden: int
    """Width of the residual stream."""
    layers: int
    """Layers."""
    all_reduces: int
    """Sums over tensor-parallel ranks in one pass: one behind each mixer and each feed-forward part."""
    mixers: int
    """Parameters of attention, DeltaNet and Mamba in all layers."""
    dense: int
    """Of dense feed-forward parts and shared experts, read for every token."""
    router: int
    """Of routers."""
    expert: int
    """Of one expert of one layer."""
    experts: int
    """Routed experts of one layer; 0 without."""
    top_k: int
    """Experts for each token."""
    moe_layers: int
    """Layers with routed experts."""
    head: int
    """Of the output head."""
    embedding: int
    """Of the input embedding where it is not the head's; looked up, never read whole."""
    kv: tuple[tuple[int, int], ...]
    """(elements a token, most tokens that are read or 0 for all) of each layer with a cache."""
    kv_heads: int
    """KV heads; more ranks than these hold copies. 1 for latent attention."""
    state: int
    """Elements of recurrent state of one sequence."""
    state_bytes: int
    """Bytes of one element of it."""
    draft: int
    """Parameters of one multi-token-prediction layer without its experts; 0 without such a layer."""
    draft_expert: int
    """Of one expert there; 0 where it is dense."""
    weight_bytes: float
    """Bytes of one weight, as stored, of mixers, dense parts and the draft."""
    expert_bytes: float
    """Bytes of one weight of a routed expert."""

    @property
    def total(self) -> int:
        """All parameters without the draft layer and norms."""
        experts = self.moe_layers * self.experts * self.expert
        return self.mixers + self.dense + self.router + experts + self.head + self.embedding

    @property
    def active(self) -> int:
        """Parameters that one token is multiplied with, the head's included."""
        return self.mixers + self.dense + self.router + self.moe_layers * self.top_k * self.expert + self.head


def shape(config: Mapping[str, Any]) -> Shape:
    """The size of the decoder that a config.json describes (that of `text_config` in a multimodal one).

    Raises:
        UnknownShape: a key is missing or not understood.
    """
    inner = config.get("text_config")
    c = _Config({**config, **inner} if isinstance(inner, Mapping) else config)
    for key in _NOT_UNDERSTOOD:
        if c.has(key):
            raise UnknownShape(f"config.json: {key}: attention of this kind is not modelled")
    hidden, layers = c.whole("hidden_size"), c.whole("num_hidden_layers")
    mixers = _mixers(c, layers)
    experts = c.whole("num_experts", "n_routed_experts", "num_local_experts", default=0)
    moe, ffn = _feed_forward(c, layers, experts)
    attention = _attention(c, hidden) if "attention" in mixers else 0
    weights = {"attention": attention, "linear": 0, "mamba": 0, "none": 0}
    if "linear" in mixers:
        weights["linear"] = _delta_net(c, hidden)
    if "mamba" in mixers:
        weights["mamba"] = _mamba(c, hidden)
    width = c.whole("moe_intermediate_size", "intermediate_size")
    gates = 2 if c.text("mlp_hidden_act", "hidden_act") == "relu2" else 3
    shared = gates * hidden * _shared_width(c, width) if experts else 0
    vocabulary = c.whole("vocab_size")
    tied = bool(c.get("tie_word_embeddings", default=False))
    stored, expert_stored = _stored_bytes(c)
    has_draft = c.whole("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_modules", default=0) > 0
    return Shape(
        hidden=hidden,
        layers=layers,
        all_reduces=sum(each != "none" for each in mixers) + moe + ffn,
        mixers=sum(weights[each] for each in mixers),
        dense=ffn * gates * hidden * _dense_width(c) + moe * (shared + (hidden if _gated_shared(c) else 0)),
        router=moe * hidden * experts,
        expert=gates * hidden * width if experts else 0,
        experts=experts,
        top_k=c.whole("num_experts_per_tok", "experts_per_token", default=0) if experts else 0,
        moe_layers=moe,
        head=vocabulary * hidden,
        embedding=0 if tied else vocabulary * hidden,
        kv=_kv(c, mixers),
        kv_heads=1 if c.has("kv_lora_rank") else c.whole("num_key_value_heads", "num_attention_heads"),
        state=_state(c, mixers),
        state_bytes=4 if c.text("mamba_ssm_dtype", "mamba_ssm_cache_dtype") in ("float32", "") else 2,
        draft=(2 * hidden * hidden + attention + shared) if has_draft else 0,
        draft_expert=gates * hidden * width if has_draft and experts else 0,
        weight_bytes=stored,
        expert_bytes=expert_stored,
    )


class _Config(NamedTuple):
    """Look-ups in a config.json under the names that different models use."""

    values: Mapping[str, Any]

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def get(self, *names: str, default: Any = None) -> Any:
        return next((self.values[name] for name in names if self.has(name)), default)

    def whole(self, *names: str, default: int | None = None) -> int:
        found = self.get(*names, default=default)
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 32:
            raise UnknownShape(f"config.json: no number at {' or '.join(names)}")
        return found

    def text(self, *names: str) -> str:
        found = self.get(*names, default="")
        return found if isinstance(found, str) else ""

    def items(self, *names: str) -> Sequence[Any]:
        found = self.get(*names, default=())
        return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


_NOT_UNDERSTOOD = ("compress_ratios",)

_PATTERN: Mapping[str, Mixer] = {"M": "mamba", "*": "attention", "E": "none", "-": "none"}
_LAYER_TYPES: Mapping[str, Mixer] = {"linear_attention": "linear", "mamba": "mamba"}


def _mixers(c: _Config, layers: int) -> list[Mixer]:
    if layers > 1024:
        raise UnknownShape(f"config.json: {layers} layers")
    pattern = c.text("hybrid_override_pattern")
    if pattern:
        return [_PATTERN.get(letter, "attention") for letter in pattern[:layers]]
    types = c.items("layer_types")
    if len(types) == layers:
        return [_LAYER_TYPES.get(str(each), "attention") for each in types]
    every = c.whole("full_attention_interval", default=1)
    if every > 1 and c.has("linear_num_value_heads"):
        return ["attention" if (at + 1) % every == 0 else "linear" for at in range(layers)]
    return ["attention"] * layers


def _feed_forward(c: _Config, layers: int, experts: int) -> tuple[int, int]:
    """How many layers have routed experts, and how many a dense feed-forward part."""
    pattern = c.text("hybrid_override_pattern")
    if pattern:
        return pattern.count("E"), pattern.count("-")
    if not experts:
        return 0, layers
    listed = c.items("moe_layer_freq")
    if listed:
        moe = sum(bool(each) for each in listed[:layers])
    else:
        step = max(1, c.whole("decoder_sparse_step", "interleave_moe_layer_step", default=1))
        first = c.whole("first_k_dense_replace", default=0)
        dense = {each for each in c.items("mlp_only_layers") if isinstance(each, int)}
        moe = sum((at + 1) % step == 0 and at >= first and at not in dense for at in range(layers))
    return moe, layers - moe


def _dense_width(c: _Config) -> int:
    return c.whole("intermediate_size_mlp", "intermediate_size", default=0)


def _shared_width(c: _Config, width: int) -> int:
    """Width of all shared experts of a layer together."""
    if c.has("shared_expert_intermediate_size"):
        return c.whole("shared_expert_intermediate_size")
    if c.has("moe_shared_expert_intermediate_size"):
        return c.whole("moe_shared_expert_intermediate_size")
    if c.has("shared_intermediate_size"):
        return c.whole("shared_intermediate_size")
    if c.has("interleave_moe_layer_step"):  # Llama 4 has one shared expert beside the routed ones
        return width
    return c.whole("n_shared_experts", default=0) * width


def _gated_shared(c: _Config) -> bool:
    return c.has("shared_expert_intermediate_size")


def _attention(c: _Config, hidden: int) -> int:
    heads = c.whole("num_attention_heads")
    if c.has("kv_lora_rank"):
        return _latent_attention(c, hidden, heads)
    size = c.whole("head_dim", default=hidden // max(1, heads))
    value = c.whole("v_head_dim", default=size)
    kv = c.whole("num_key_value_heads", default=heads)
    gate = 2 if c.get("attn_output_gate", default=False) else 1
    return hidden * heads * size * gate + hidden * kv * (size + value) + heads * value * hidden


def _latent_attention(c: _Config, hidden: int, heads: int) -> int:
    rank, rope = c.whole("kv_lora_rank"), c.whole("qk_rope_head_dim")
    nope, value = c.whole("qk_nope_head_dim"), c.whole("v_head_dim")
    q_rank = c.whole("q_lora_rank", default=0)
    query = hidden * q_rank + q_rank * heads * (nope + rope) if q_rank else hidden * heads * (nope + rope)
    index_heads, index = c.whole("index_n_heads", default=0), c.whole("index_head_dim", default=0)
    indexer = q_rank * index_heads * index + hidden * (index + index_heads)
    return query + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden + indexer


def _delta_net(c: _Config, hidden: int) -> int:
    """Projections of q, k, v and gate, of beta and decay, convolution, output (Yang et al. 2025)."""
    keys = c.whole("linear_num_key_heads") * c.whole("linear_key_head_dim")
    values = c.whole("linear_num_value_heads") * c.whole("linear_value_head_dim")
    kernel = c.whole("linear_conv_kernel_dim", default=4)
    small = hidden * 2 * c.whole("linear_num_value_heads") + kernel * (2 * keys + values)
    return hidden * (2 * keys + 2 * values) + small + values * hidden


def _mamba(c: _Config, hidden: int) -> int:
    """Mamba-2: input projection of x, z, B, C and dt, convolution, output (Dao and Gu 2024)."""
    heads = c.whole("mamba_num_heads")
    inner = heads * c.whole("mamba_head_dim")
    groups = c.whole("n_groups", "mamba_n_groups", default=1) * c.whole("ssm_state_size")
    kernel = c.whole("conv_kernel", "mamba_d_conv", default=4)
    return hidden * (2 * inner + 2 * groups + heads) + kernel * (inner + 2 * groups) + inner * hidden


def _kv(c: _Config, mixers: Sequence[Mixer]) -> tuple[tuple[int, int], ...]:
    """Elements a token and the window of each layer with a cache."""
    count = sum(each == "attention" for each in mixers)
    if c.has("kv_lora_rank"):
        kept = c.whole("index_topk", default=0)  # sparse attention reads so many tokens at the most
        return ((c.whole("kv_lora_rank") + c.whole("qk_rope_head_dim"), kept),) * count
    heads = c.whole("num_attention_heads") if count else 1
    size = c.whole("head_dim", default=c.whole("hidden_size") // max(1, heads))
    elements = c.whole("num_key_value_heads", default=heads) * (size + c.whole("v_head_dim", default=size))
    window = c.whole("sliding_window", "attention_chunk_size", default=0)
    sliding = _sliding(c, len(mixers)) if window else [False] * len(mixers)
    return tuple(
        (elements, window if slides else 0)
        for mixer, slides in zip(mixers, sliding, strict=False)
        if mixer == "attention"
    )


def _sliding(c: _Config, layers: int) -> list[bool]:
    """Which layers keep only a window; where config.json does not say, all: a floor must not be too high."""
    types = c.items("layer_types")
    if len(types) == layers:
        return ["sliding" in str(each) for each in types]
    if c.get("use_sliding_window", default=True) is False:
        return [False] * layers
    return [True] * layers


def _state(c: _Config, mixers: Sequence[Mixer]) -> int:
    total = 0
    if "linear" in mixers:
        one = c.whole("linear_num_value_heads") * c.whole("linear_value_head_dim")
        total += mixers.count("linear") * one * c.whole("linear_key_head_dim")
    if "mamba" in mixers:
        one = c.whole("mamba_num_heads") * c.whole("mamba_head_dim") * c.whole("ssm_state_size")
        total += mixers.count("mamba") * one
    return total


_BY_METHOD: Mapping[str, tuple[float, float]] = {
    "": (2.0, 2.0),
    "fp8": (1.0, 1.0),
    "fbgemm_fp8": (1.0, 1.0),
    "mxfp4": (2.0, 17 / 32),  # 4 bits, and 8 of scale for 32 weights; experts only
}
"""Bytes of a weight of mixers and dense parts, and of an expert's, by quantisation method."""


def _stored_bytes(c: _Config) -> tuple[float, float]:
    """Bytes a weight. What stays in 16 bits is taken for quantised, too: a floor must not be too high."""
    found = c.get("quantization_config", "compression_config", default={})
    method = found.get("quant_method", "") if isinstance(found, Mapping) else ""
    if method in _BY_METHOD:
        return _BY_METHOD[method]
    bits = _bits(found) if isinstance(found, Mapping) else None
    if bits is None:
        raise UnknownShape(f"config.json: quantisation {method!r} is not known")
    return bits / 8, bits / 8


def _bits(found: Mapping[str, Any]) -> int | None:
    """Bits of a weight, where the quantisation says so."""
    direct = found.get("bits")
    if isinstance(direct, int) and 1 <= direct <= 16:
        return direct
    groups = found.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        bits = weights.get("num_bits") if isinstance(weights, Mapping) else None
        if isinstance(bits, int) and 1 <= bits <= 16:
            return bits
    return None

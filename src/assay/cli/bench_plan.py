"""From the options of `assay bench` to the values that the room takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from assay.bench import (
    Endpoint,
    Json,
    Level,
    OwnPrompts,
    RandomPrompts,
    Secret,
    Sending,
    Target,
    Workload,
    slos,
    target,
)
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.cli.bench_options import BenchOptions

_LADDER = "1,4,16"
_FEWEST, _A_STREAM, _SECONDS = 64, 8, 30


def where(options: BenchOptions) -> Target:
    """The server."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return target(options.base_url or f"http://{host}:{options.port}", verify=not options.insecure)


def api_key(options: BenchOptions, environment: Mapping[str, str]) -> Secret | None:
    """The key, from the environment."""
    value = environment.get(options.api_key_env, "").strip()
    return Secret(value) if value else None


def workload(options: BenchOptions, model: str) -> Workload:
    """What is sent."""
    prompts = _prompts(options)
    random = isinstance(prompts, RandomPrompts)
    sending = Sending(
        endpoint=options.endpoint or _endpoint(options.backend),
        model=model,
        ignore_eos=random if options.ignore_eos is None else options.ignore_eos,
        temperature=options.temperature,
        extra_body=_extra_body(options.extra_body),
        headers=tuple(_header(each) for each in options.header),
    )
    return Workload(sending=sending, prompts=prompts, seed=options.seed)


def _endpoint(backend: str) -> Endpoint:
    """The route that vLLM and SGLang mean by that name."""
    if backend in ("sglang", "sglang-native"):
        return "/generate"
    return "/v1/chat/completions" if backend.endswith("-chat") else "/v1/completions"


def levels(options: BenchOptions) -> list[Level]:
    """The rungs, in the order given."""
    rates: list[float | None] = [None]
    if options.request_rate is not None:
        rates = [None if math.isinf(rate) else rate for rate in _rates(options.request_rate)]
    chosen = options.max_concurrency
    if chosen is None and None in rates:
        chosen = _LADDER
    caps: list[int | None] = [None] if chosen is None else [*_whole("--max-concurrency", chosen)]
    promised = slos(options.goodput)
    return [
        Level(
            requests=_requests(options, rate, cap),
            concurrency=cap,
            rate_per_s=rate,
            burstiness=options.burstiness,
            warmups=max(0, options.num_warmups),
            slos=promised,
        ).checked()
        for rate in rates
        for cap in caps
    ]


def _requests(options: BenchOptions, rate: float | None, cap: int | None) -> int:
    if options.num_prompts is not None:
        return options.num_prompts
    return max(_FEWEST, _A_STREAM * (cap or 0) if rate is None else math.ceil(_SECONDS * rate))


def _prompts(options: BenchOptions) -> RandomPrompts | OwnPrompts:
    own = options.dataset_path is not None
    name = options.dataset_name or ("custom" if own else "random")
    if name == "custom":
        if options.dataset_path is None:
            raise InputError("--dataset-name custom needs --dataset-path FILE")
        return OwnPrompts(path=str(options.dataset_path), output_tokens=options.custom_output_len)
    return RandomPrompts(
        input_tokens=options.random_input_len,
        output_tokens=options.random_output_len,
        spread=options.random_range_ratio,
    )


def _whole(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text}: whole numbers with commas between were expected") from None


def _rates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--request-rate {text}: numbers with commas between were expected") from None


def _extra_body(text: str | None) -> dict[str, Json]:
    if text is None:
        return {}
    try:
        read: dict[str, Json] = msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"--extra-body is no JSON object: {error}") from None
    return read


def _header(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name.strip():
        raise InputError("--header: KEY=VALUE was expected")
    return name.strip(), value.strip()

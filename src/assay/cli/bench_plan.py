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
    Prompts,
    RandomPrompts,
    Secret,
    Sending,
    SharedPrefixPrompts,
    ShareGptPrompts,
    Target,
    TracePrompts,
    Workload,
    slos,
    target,
    trace_length,
)
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.cli.bench_options import BenchOptions, LoadOptions

_LADDER = "1,4,16"
_MOST_PROCESSES = 64
_FEWEST, _A_STREAM, _SECONDS = 64, 8, 30


def where(options: BenchOptions) -> Target:
    """The server."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    found = target(options.base_url or f"http://{host}:{options.port}", verify=not options.insecure)
    return msgspec.structs.replace(found, proxy=proxy(options))


def proxy(options: BenchOptions) -> Target | None:
    """The proxy that is asked for; the environment's is not, since measurements should not go through one."""
    if options.proxy is None:
        return None
    found = target(options.proxy, option="--proxy")
    if found.scheme != "http" or found.prefix:
        raise InputError(f"--proxy {options.proxy}: expected http://HOST:PORT")
    return found


def is_here(server: Target) -> bool:
    """Whether the server's address is of this machine, as far as it can be seen."""
    return server.host in ("localhost", "127.0.0.1", "::1")


def metrics(options: LoadOptions, server: Target) -> Target | None:
    """Where the server's metrics are."""
    if options.metrics_url is None:
        return msgspec.structs.replace(server, prefix=f"{server.prefix}/metrics")
    if options.metrics_url == "none":
        return None
    return target(options.metrics_url, verify=not options.insecure, option="--metrics-url")


def api_key(options: LoadOptions, environment: Mapping[str, str]) -> Secret | None:
    """The key, from the environment."""
    value = environment.get(options.api_key_env, "").strip()
    return Secret(value) if value else None


def workload(options: LoadOptions, model: str) -> Workload:
    """What is sent."""
    if not 0 <= options.temperature < math.inf:
        raise InputError(f"--temperature {options.temperature:g}: 0 or more was expected")
    prompts = _prompts(options)
    made = not isinstance(prompts, OwnPrompts)  # lengths are part of what was asked
    sending = Sending(
        endpoint=options.endpoint or _endpoint(options.backend),
        model=_utf8("--model", model),
        ignore_eos=made if options.ignore_eos is None else options.ignore_eos,
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


def processes(options: LoadOptions) -> int | None:
    """How many processes drive the load; `None`: as it turns out."""
    asked = options.client_processes
    if asked is not None and not 1 <= asked <= _MOST_PROCESSES:
        raise InputError(f"--client-processes {asked}: 1 to {_MOST_PROCESSES} was expected")
    return asked


def levels(options: LoadOptions) -> list[Level]:
    """The rungs, in the order given."""
    return [level.checked() for level in _levels(options)]


def _levels(options: LoadOptions) -> list[Level]:
    prompts = _prompts(options)
    if isinstance(prompts, TracePrompts):
        return [_trace(options, prompts)]
    if options.ramp_up_strategy is not None:
        return [_ramp(options)]
    if options.ramp_up_start_rps is not None or options.ramp_up_end_rps is not None:
        raise InputError("--ramp-up-start-rps and --ramp-up-end-rps need --ramp-up-strategy")
    rates: list[float | None] = [None]
    if options.request_rate is not None:
        rates = [None if math.isinf(rate) else rate for rate in _rates(options.request_rate)]
    chosen = options.max_concurrency
    if chosen is None and None in rates:
        chosen = _LADDER
    caps: list[int | None] = [None] if chosen is None else [*_whole("--max-concurrency", chosen)]
    return [_level(options, rate, cap) for rate in rates for cap in caps]


def _level(options: LoadOptions, rate: float | None, cap: int | None) -> Level:
    return Level(
        requests=_requests(options, rate, cap),
        concurrency=cap,
        rate_per_s=rate,
        burstiness=options.burstiness,
        warmups=max(0, options.num_warmups),
        slos=slos(options.goodput),
    )


def _ramp(options: LoadOptions) -> Level:
    """One open rung whose rate grows."""
    start, end = options.ramp_up_start_rps, options.ramp_up_end_rps
    if start is None or end is None or options.request_rate is not None:
        raise InputError(
            "--ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps, and no --request-rate"
        )
    level = _level(options, start, _cap(options))
    mean = (start + end) / 2
    requests = _requests(options, mean, None)
    return msgspec.structs.replace(
        level, arrivals=options.ramp_up_strategy, ramp_to_per_s=end, requests=requests
    )


def _trace(options: LoadOptions, prompts: TracePrompts) -> Level:
    """One open rung with the times of the trace."""
    if options.request_rate is not None or options.ramp_up_strategy is not None:
        raise InputError(
            "a trace has times of its own: no --request-rate", hint="--trace-slowdown stretches them"
        )
    level = _level(options, None, _cap(options))
    return msgspec.structs.replace(
        level, arrivals="trace", requests=options.num_prompts or trace_length(prompts)
    )


def _cap(options: LoadOptions) -> int | None:
    caps = _whole("--max-concurrency", options.max_concurrency) if options.max_concurrency else [None]
    if len(caps) > 1:
        raise InputError(f"--max-concurrency {options.max_concurrency}: one limit was expected here")
    return caps[0]


def _requests(options: LoadOptions, rate: float | None, cap: int | None) -> int:
    if options.num_prompts is not None:
        return options.num_prompts
    if rate is None:
        return max(_FEWEST, _A_STREAM * (cap or 0))
    if not 0 < rate < math.inf:
        return 1  # the level will be refused
    return max(_FEWEST, math.ceil(_SECONDS * rate))


def _prompts(options: LoadOptions) -> Prompts:
    name = options.dataset_name or ("random" if options.dataset_path is None else "custom")
    if name in ("generated-shared-prefix", "prefix_repetition"):
        return SharedPrefixPrompts(
            groups=options.gsp_num_groups,
            prefix_tokens=options.gsp_system_prompt_len,
            question_tokens=options.gsp_question_len,
            output_tokens=options.gsp_output_len,
            spread=options.random_range_ratio,
        )
    if name == "random":
        return RandomPrompts(
            input_tokens=options.random_input_len,
            output_tokens=options.random_output_len,
            spread=options.random_range_ratio,
            shape=options.random_distribution,
            prefix_tokens=options.random_prefix_len,
            turns=options.num_turns,
        )
    if options.dataset_path is None:
        raise InputError(f"--dataset-name {name} needs --dataset-path FILE")
    path = _utf8("--dataset-path", str(options.dataset_path))
    if name == "sharegpt":
        length = options.sharegpt_output_len
        return ShareGptPrompts(path=path, output_tokens=length, turns=options.num_turns)
    if name == "custom":
        return OwnPrompts(path=path, output_tokens=options.custom_output_len)
    return TracePrompts(path=path, slowdown=options.trace_slowdown)


def _utf8(option: str, text: str) -> str:
    """A text that a result file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{option} {text}: UTF-8 was expected") from None
    return text


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

"""The options of `assay bench`: each is stated once, and its help with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Dataset = Literal[
    "random", "generated-shared-prefix", "prefix_repetition", "custom", "sharegpt", "trace", "mooncake"
]
Switch = Annotated[bool, Parameter(negative=(), show_default=False)]
Several = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What a server is asked, named as vLLM's and SGLang's own tools name it.

    Parameters
    ----------
    backend
        The route by the name that vLLM and SGLang give it; --endpoint goes before it.
    endpoint
        The route. Default: /v1/completions.
    dataset_name
        What to ask: random words; groups of prompts that begin alike; the lines of --dataset-path (custom),
        its ShareGPT conversations, or its trace (also called mooncake) at the trace's own times.
    dataset_path
        A JSONL file: {"prompt": "..."} or {"messages": [...]}, with "output_tokens" where they differ;
        of a trace {"timestamp": MS, "input_length": N, "output_length": N}.
    num_prompts
        Timed requests of each rung. Default: 8 for each stream, 30 s at the rate, at least 64; a whole trace.
    random_input_len
        Tokens of a random prompt, verified by the server's count.
    random_output_len
        Tokens of the answer to a random prompt.
    random_range_ratio
        Random lengths are drawn from so much, as a share, around these.
    random_distribution
        How: evenly, or with that standard deviation; exponential has its own.
    random_prefix_len
        Tokens more in front of every random prompt, the same for all of a rung.
    num_turns
        Questions of a conversation, each sent when the one before was answered; random and sharegpt, chat
        route, closed loop.
    custom_output_len
        Tokens of an answer to own prompts, where a line does not say.
    sharegpt_output_len
        Tokens of an answer. Default: a quarter of the characters of the answer in the file.
    gsp_num_groups
        Groups of prompts that begin alike.
    gsp_system_prompt_len
        Tokens of a common beginning.
    gsp_question_len
        Tokens that follow it.
    gsp_output_len
        Tokens of the answer.
    trace_slowdown
        Times of a trace are stretched by so much.
    max_concurrency
        Requests in flight: a closed loop without --request-rate, a limit with it. 1,4,16 measures at each.
    request_rate
        Requests a second, sent whether or not earlier ones were answered; 1,2,4 measures at each.
    ramp_up_strategy
        A rate that grows from request to request, in place of --request-rate.
    ramp_up_start_rps
        Requests a second at its start.
    ramp_up_end_rps
        Requests a second at its end.
    burstiness
        Shape of the gaps under --request-rate: 1 is Poisson, below 1 burstier, inf constant.
    goodput
        Latencies in ms that a good request keeps: --goodput ttft:500 tpot:50 e2el:3000.
    num_warmups
        Requests before the clock of each rung starts.
    seed
        The same seed gives the same prompts, order and send times.
    ignore_eos
        Ask for exactly the output length, which vLLM and SGLang can. Default: but for own prompts.
    temperature
        Sampling temperature of the requests.
    extra_body
        A JSON object whose members are added to each request.
    header
        A header KEY=VALUE for each request; may be repeated.
    api_key_env
        Environment variable that has the API key.
    insecure
        Do not check the server's certificate.
    metrics_url
        The server's metrics, asked beside the load. Default: /metrics of the server; none asks for none.
    flush_cache
        Empty the server's prefix cache before each rung, and stop if it does not.
    stall_timeout
        Stop when nothing has come for so many seconds, with requests in flight.
    client_processes
        So many processes share the load. Default: one, and again by more where it proved too slow.
    """

    backend: Literal[
        "openai",
        "openai-chat",
        "vllm",
        "vllm-chat",
        "sglang",
        "sglang-native",
        "sglang-oai",
        "sglang-oai-chat",
    ] = "openai"
    endpoint: Literal["/v1/completions", "/v1/chat/completions", "/generate"] | None = None
    dataset_name: Dataset | None = None
    dataset_path: Path | None = None
    num_prompts: int | None = None
    random_input_len: int = 1024
    random_output_len: int = 128
    random_range_ratio: float = 0.0
    random_distribution: Literal["uniform", "normal", "lognormal", "exponential"] = "uniform"
    random_prefix_len: int = 0
    num_turns: Annotated[int, Parameter(name=("--num-turns", "--gsp-num-turns"))] = 1
    custom_output_len: int | None = None
    sharegpt_output_len: int | None = None
    gsp_num_groups: Annotated[
        int, Parameter(name=("--gsp-num-groups", "--prefix-repetition-num-prefixes"))
    ] = 64
    gsp_system_prompt_len: Annotated[
        int, Parameter(name=("--gsp-system-prompt-len", "--prefix-repetition-prefix-len"))
    ] = 2048
    gsp_question_len: Annotated[
        int, Parameter(name=("--gsp-question-len", "--prefix-repetition-suffix-len"))
    ] = 128
    gsp_output_len: Annotated[int, Parameter(name=("--gsp-output-len", "--prefix-repetition-output-len"))] = (
        256
    )
    trace_slowdown: Annotated[float, Parameter(name=("--trace-slowdown", "--mooncake-slowdown-factor"))] = 1.0
    max_concurrency: str | None = None
    request_rate: str | None = None
    ramp_up_strategy: Literal["linear", "exponential"] | None = None
    ramp_up_start_rps: float | None = None
    ramp_up_end_rps: float | None = None
    burstiness: float = 1.0
    goodput: Annotated[
        tuple[str, ...], Parameter(negative=(), show_default=False, consume_multiple=True)
    ] = ()
    num_warmups: Annotated[int, Parameter(name=("--num-warmups", "--warmup-requests"))] = 1
    seed: int = 0
    ignore_eos: Annotated[bool | None, Parameter(negative="--disable-ignore-eos", show_default=False)] = None
    temperature: float = 0.0
    extra_body: Annotated[str | None, Parameter(name=("--extra-body", "--extra-request-body"))] = None
    header: Several = ()
    api_key_env: str = "OPENAI_API_KEY"
    insecure: Switch = False
    metrics_url: str | None = None
    flush_cache: Switch = False
    stall_timeout: float = 60.0
    client_processes: int | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchOptions(LoadOptions):
    """Options of `assay bench`, named as vLLM's and SGLang's own tools name them.

    Parameters
    ----------
    base_url
        The server. Default: what --host and --port say.
    host
        The server's host, where --base-url does not say.
    port
        The server's port.
    model
        The model's name. Default: the first that the server's /v1/models names.
    proxy
        An HTTP proxy, http://HOST:PORT, that all requests go through. Those of the environment are not used.
    deployment
        The deployment file of this server: another engine or model, or drafts accepted by dice, is a doubt.
    baseline
        Earlier results of this server: a rung that differs from them beyond their noise is a doubt.
    gpu_telemetry
        Ask this machine's GPUs for power, clocks and throttling meanwhile (needs `assay[gpu]`). Default: if
        the server's address is of this machine.
    result_dir
        Folder of the results.
    result_filename
        File of the summary in it. Default: bench-DATE-TIME.json.
    save_detailed
        Put the arrays of each request into the summary too; the compact file always has them.
    html
        Write a page of the run beside the summary: doubts, ladder, distributions, timelines.
    json
        Print the summary as JSON.
    """

    base_url: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    model: str | None = None
    proxy: str | None = None
    deployment: Annotated[Path | None, Parameter(name=("--deployment", "-d"))] = None
    baseline: str | None = None
    gpu_telemetry: Annotated[bool | None, Parameter(show_default=False)] = None
    result_dir: Path = Path()
    result_filename: Annotated[str | None, Parameter(name=("--result-filename", "--output-file"))] = None
    save_detailed: Annotated[
        bool, Parameter(name=("--save-detailed", "--output-details"), negative=(), show_default=False)
    ] = False
    html: Switch = False
    json: Switch = False

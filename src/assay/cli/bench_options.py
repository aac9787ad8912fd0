"""The options of `assay bench`: each is stated once, and its help with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]
Several = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of `assay bench`, named as vLLM's and SGLang's own tools name them.

    Parameters
    ----------
    base_url
        The server. Default: what --host and --port say.
    host
        The server's host, where --base-url does not say.
    port
        The server's port.
    backend
        The route by the name that vLLM and SGLang give it; --endpoint goes before it.
    endpoint
        The route. Default: /v1/completions.
    model
        The model's name. Default: the first that the server's /v1/models names.
    dataset_name
        What to ask: random words, or the lines of --dataset-path (custom).
    dataset_path
        A JSONL file: {"prompt": "..."} or {"messages": [...]}, with "output_tokens" where they differ.
    num_prompts
        Timed requests of each rung. Default: 8 for each stream, 30 s at the rate; at least 64.
    random_input_len
        Tokens of a random prompt, verified by the server's count.
    random_output_len
        Tokens of the answer to a random prompt.
    random_range_ratio
        Random lengths are drawn evenly from so much, as a share, around these.
    custom_output_len
        Tokens of an answer to own prompts, where a line does not say.
    max_concurrency
        Requests in flight: a closed loop without --request-rate, a limit with it. 1,4,16 measures at each.
    request_rate
        Requests a second, sent whether or not earlier ones were answered; 1,2,4 measures at each.
    burstiness
        Shape of the gaps under --request-rate: 1 is Poisson, below 1 burstier, inf constant.
    goodput
        Latencies in ms that a good request keeps: --goodput ttft:500 tpot:50 e2el:3000.
    num_warmups
        Requests before the clock of each rung starts.
    seed
        The same seed gives the same prompts, order and send times.
    ignore_eos
        Ask for exactly the output length, which vLLM and SGLang can. Default: with random prompts only.
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
    result_dir
        Folder of the results.
    result_filename
        File of the summary in it. Default: bench-DATE-TIME.json.
    save_detailed
        Put the arrays of each request into the summary too; the compact file always has them.
    stall_timeout
        Stop when nothing has come for so many seconds, with requests in flight.
    json
        Print the summary as JSON.
    """

    base_url: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
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
    model: str | None = None
    dataset_name: Literal["random", "custom"] | None = None
    dataset_path: Path | None = None
    num_prompts: int | None = None
    random_input_len: int = 1024
    random_output_len: int = 128
    random_range_ratio: float = 0.0
    custom_output_len: int | None = None
    max_concurrency: str | None = None
    request_rate: str | None = None
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
    result_dir: Path = Path()
    result_filename: Annotated[str | None, Parameter(name=("--result-filename", "--output-file"))] = None
    save_detailed: Annotated[
        bool, Parameter(name=("--save-detailed", "--output-details"), negative=(), show_default=False)
    ] = False
    stall_timeout: float = 60.0
    json: Switch = False

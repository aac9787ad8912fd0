"""What is true of model, accelerators, software and running server: facts, each with where it comes from."""

from assay.facts.container import CONTAINER_RUNTIMES, ContainerState, read_container
from assay.facts.describe import deployment_text, engine_of
from assay.facts.differences import Difference, differences, resolved_otherwise, same_command
from assay.facts.facts import Fact, Facts
from assay.facts.given import facts_of, hardware_facts, library_fact, model_fact
from assay.facts.gpus import Gpu, GpuState, GpuUser, read_gpu_users, read_gpus
from assay.facts.installed import Distribution, read_installed
from assay.facts.live import LiveDeployment, read_live, read_live_container, read_live_url
from assay.facts.process import RunningProcess, read_process
from assay.facts.served import Served, ServedModel, Settings, read_served

__all__ = [
    "CONTAINER_RUNTIMES",
    "ContainerState",
    "Difference",
    "Distribution",
    "Fact",
    "Facts",
    "Gpu",
    "GpuState",
    "GpuUser",
    "LiveDeployment",
    "RunningProcess",
    "Served",
    "ServedModel",
    "Settings",
    "deployment_text",
    "differences",
    "engine_of",
    "facts_of",
    "hardware_facts",
    "library_fact",
    "model_fact",
    "read_container",
    "read_gpu_users",
    "read_gpus",
    "read_installed",
    "read_live",
    "read_live_container",
    "read_live_url",
    "read_process",
    "read_served",
    "resolved_otherwise",
    "same_command",
]

"""Facts that a deployment states: accelerators of the table, config.json, environment, libraries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assay.facts.facts import Fact, Facts

if TYPE_CHECKING:
    from assay.deployment import Accelerator, Deployment, Hardware


_OPEN_FILES = ("generation_config.json",)
"""A deployment file says nothing of them, and most models have them."""


def facts_of(deployment: Deployment, *, environment: Mapping[str, str] | None = None) -> Facts:
    """The facts that a deployment file states.

    `environment` is what the server's own command sets beside the deployment's environment.
    """
    model, where = deployment.model, deployment.file.path
    facts = [
        *hardware_facts(deployment.hardware, str(where)),
        model_fact(model.name, model.config_text, model.where),
    ]
    facts += [
        library_fact(each.name, each.version, str(where), present=each.present)
        for each in deployment.libraries
    ]
    facts += [_variable(each.name, each.value, str(where)) for each in deployment.environment if each.known]
    facts += [_variable(name, text, "the server's command") for name, text in (environment or {}).items()]
    return Facts(facts=tuple(facts), open_files=_OPEN_FILES)


def _variable(name: str, text: str, source: str) -> Fact:
    return Fact(name=f"environment:{name}", value=text, source=source)


def library_fact(name: str, version: str | None, where: str, *, present: bool = True) -> Fact:
    """The fact that a distribution is installed, in that version, or that it is not."""
    value = {"present": present, "version": version if present else None}
    return Fact(name=f"library:{name}", value=value, source=where)


def model_fact(name: str, config_text: str, where: str) -> Fact:
    """The fact that a model's folder or name has this config.json."""
    return Fact(name=f"model:{name}", value=json.loads(config_text), source=where)


def hardware_facts(hardware: Hardware, where: str) -> Iterable[Fact]:
    """The facts of a machine's accelerators."""
    accelerator = hardware.accelerator
    source = accelerator.source or where
    yield Fact(name="accelerator.count", value=hardware.count, source=where)
    yield Fact(
        name="cuda.available",
        value=True,
        source=f"{accelerator.name} is an accelerator that torch.cuda serves",
    )
    yield from _known(accelerator, source)
    if accelerator.vendor == "nvidia":
        yield Fact(name="hip.version", value=None, source="an NVIDIA accelerator")
        if hardware.cuda:
            yield Fact(name="cuda.version", value=hardware.cuda, source=where)
    if hardware.nvlink is not None:
        yield Fact(name="accelerator.nvlink", value=hardware.nvlink and hardware.count > 1, source=where)
    if hardware.driver:
        yield Fact(name="driver.version", value=hardware.driver, source=where)
    yield Fact(name="host.platform", value="linux", source="engines serve on Linux")
    yield Fact(name="host.system", value="Linux", source="engines serve on Linux")


def _known(accelerator: Accelerator, source: str) -> Iterable[Fact]:
    values: dict[str, Any] = {
        "accelerator.vendor": accelerator.vendor,
        "accelerator.name": accelerator.device_name,
        "accelerator.capability": list(accelerator.capability) if accelerator.capability else None,
        "accelerator.memory_mib": accelerator.memory_mib,
    }
    for name, value in values.items():
        if value is not None:
            yield Fact(name=name, value=value, source=source)

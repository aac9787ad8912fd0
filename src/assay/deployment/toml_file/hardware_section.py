"""The `[hardware]` table of a deployment file: a name of the shipped table, and facts in its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from assay.deployment.hardware import Accelerator, Hardware, default_nvlink, parse_hardware
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.deployment.toml_file.section import Section

_VERSION = re.compile(r"\d+(?:\.\d+){0,3}")


def read_hardware(top: Section) -> Hardware | None:
    """The hardware that a deployment file states."""
    if not top.has("hardware"):
        top.fault("hardware", 'expected a table, [hardware], such as gpus = "8x H100"; it is missing')
    section = top.table("hardware")
    if section is None:
        return None
    section.refuse_unknown()
    base = _named(section)
    stated = _stated_accelerator(section)
    count = section.whole("count", least=1, most=1024)
    nvlink = section.flag("nvlink")
    cuda, driver = _version(section, "cuda"), _version(section, "driver")
    memory = section.positive("host_memory_gib")
    if base is None and section.has("gpus"):
        return None
    if base is None and not {"name", "capability"} <= section.data.keys():
        section.fault(
            "gpus", 'expected accelerators such as "8x H100" (or `name` and `capability`); it is missing'
        )
        return None
    known = base.accelerator if base else Accelerator(name="", source="stated by the user")
    accelerator = msgspec.structs.replace(known, **stated)
    count = count or (base.count if base else 1)
    return Hardware(
        accelerator=accelerator,
        count=count,
        nvlink=nvlink if nvlink is not None else default_nvlink(accelerator, count) if base else None,
        cuda=cuda,
        driver=driver,
        host_memory_gib=memory,
        stated=tuple(sorted(key for key in section.data if key != "gpus")),
    )


def _named(section: Section) -> Hardware | None:
    text = section.text("gpus")
    if text is None:
        return None
    try:
        return parse_hardware(text)
    except InputError as error:
        section.fault("gpus", f"{error.message}; {error.hint}" if error.hint else error.message)
        return None


def _stated_accelerator(section: Section) -> dict[str, object]:
    """The fields of the accelerator that the file states itself."""
    stated: dict[str, object] = {}
    if name := section.text("name"):
        stated["device_name"] = name
        if not section.has("gpus"):
            stated["name"] = name
    if memory := section.whole("memory_mib", least=1, most=1 << 24):
        stated["memory_mib"] = memory
    if capability := section.text("capability"):
        stated.update(_capability(section, capability))
    return stated


def _capability(section: Section, text: str) -> dict[str, object]:
    if match := re.fullmatch(r"(\d{1,2})\.(\d)", text):
        return {"capability": (int(match[1]), int(match[2])), "vendor": "nvidia", "gfx": None}
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", text):
        return {"capability": None, "vendor": "amd", "gfx": text}
    section.fault("capability", f'expected a compute capability such as "9.0" or "gfx942", got "{text[:60]}"')
    return {}


def _version(section: Section, key: str) -> str | None:
    text = section.text(key)
    if text is None or _VERSION.fullmatch(text):
        return text
    section.fault(key, f'expected a version such as "12.8", got "{text[:60]}"')
    return None

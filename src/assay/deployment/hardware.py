"""Accelerators: the shipped table, and what people write for "four of these"."""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from importlib import resources
from typing import Literal

import msgspec

from assay._value import Value
from assay.errors import InputError


class Accelerator(Value):
    """One kind of accelerator, as one device of it shows itself to the engine. A figure not known is None."""

    name: str
    """As people write it: `H100 SXM`."""
    aliases: tuple[str, ...] = ()
    """Other ways to write it."""
    device_name: str | None = None
    """As `nvidia-smi` and `torch.cuda.get_device_name` give it."""
    vendor: Literal["nvidia", "amd"] = "nvidia"
    """Who makes it."""
    capability: tuple[int, int] | None = None
    """CUDA compute capability, such as (9, 0); None for AMD."""
    gfx: str | None = None
    """The LLVM target of an AMD accelerator, such as `gfx942`."""
    memory_mib: int | None = None
    """Total memory in MiB as `nvidia-smi` or `amd-smi` shows it."""
    memory_bytes_per_s: float | None = None
    """Peak memory bandwidth."""
    fp16_flop_per_s: float | None = None
    """Peak of dense FP16 matrix multiplication; only for devices without BF16."""
    bf16_flop_per_s: float | None = None
    """Peak of dense BF16 matrix multiplication."""
    fp8_flop_per_s: float | None = None
    """Peak of dense FP8 matrix multiplication; None also where the device has none."""
    fp4_flop_per_s: float | None = None
    """Peak of dense FP4 matrix multiplication; None also where the device has none."""
    link: Literal["nvlink", "infinity-fabric"] | None = None
    """The direct link between accelerators that it can have; None: only PCIe."""
    link_generation: int | None = None
    """Generation of that link."""
    link_bytes_per_s: float | None = None
    """Bandwidth of all links of one device, in one direction."""
    link_all_pairs: bool = False
    """True if the usual machine joins every pair of its accelerators by it; False: bridges, or unknown."""
    pcie_generation: int | None = None
    """Generation of its PCIe connection."""
    pcie_lanes: int | None = None
    """Lanes of its PCIe connection."""
    form_factor: str | None = None
    """`SXM5`, `PCIe`, `OAM`, `superchip`."""
    l2_bytes: int | None = None
    """Size of the L2 cache."""
    max_power_w: int | None = None
    """The highest power limit of the usual product."""
    source: str = ""
    """Where these figures come from."""


class Hardware(Value):
    """The accelerators of one machine, and what else of it decides an engine's branches."""

    accelerator: Accelerator
    """What each device is, with the facts that the user stated in place of the table's."""
    count: int = 1
    """Number of devices."""
    nvlink: bool | None = None
    """True if NVLink joins every pair of devices; None if not known."""
    cuda: str | None = None
    """Version of CUDA, such as `12.8`."""
    driver: str | None = None
    """Version of the driver."""
    host_memory_gib: float | None = None
    """Main memory of the machine."""
    stated: tuple[str, ...] = ()
    """Names of the facts that the user stated beside the accelerator's name, sorted."""

    @property
    def capability(self) -> tuple[int, int] | None:
        """The compute capability of each device."""
        return self.accelerator.capability


def default_nvlink(accelerator: Accelerator, count: int) -> bool | None:
    """Whether NVLink joins every pair of `count` devices in the usual machine; None if that differs."""
    if accelerator.link != "nvlink":
        return False
    return True if accelerator.link_all_pairs and count > 1 else None


class _Table(Value):
    accelerator: tuple[Accelerator, ...]


@functools.cache
def accelerators() -> tuple[Accelerator, ...]:
    """The shipped table, in its own order."""
    text = resources.files("assay.deployment").joinpath("accelerators.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Table).accelerator


_COUNT_FIRST = re.compile(r"(?P<count>\d{1,6})(?:\s*[x×*]\s*|\s+(?=[A-Za-z]))(?P<name>\S.*)", re.DOTALL)
_COUNT_LAST = re.compile(r"(?P<name>.*\S)\s*(?:\s[x×*]\s*|[×*]\s*)(?P<count>\d{1,6})", re.DOTALL)


def parse_hardware(text: str) -> Hardware:
    """Read `4x RTX PRO 6000 Blackwell`, `8xH100`, `2 x L40S`, `H200` or `4x NVIDIA H100 80GB HBM3`.

    Case, punctuation, the vendor's name and the order of words do not matter. Where a name has variants, the
    plain name means the one that most servers have: `H100`, `H200`, `A100` are the SXM modules (A100 with
    80 GB), `V100` the SXM2 with 32 GB, `GH200` the one with 96 GB, `RTX PRO 6000` the Workstation Edition.

    Raises:
        InputError: no such accelerator, several that it could be, or a count of zero.

    >>> found = parse_hardware("8xh100")
    >>> found.count, found.accelerator.name, found.capability, found.nvlink
    (8, 'H100 SXM', (9, 0), True)
    """
    name, count = text.strip(), 1
    if match := _COUNT_FIRST.fullmatch(name) or _COUNT_LAST.fullmatch(name):
        name, count = match["name"], int(match["count"])
    if not 1 <= count <= 1024:
        raise InputError(f"{count} accelerators in {text!r}", hint="give a number from 1 to 1024")
    accelerator = find_accelerator(name)
    return Hardware(accelerator=accelerator, count=count, nvlink=default_nvlink(accelerator, count))


def find_accelerator(name: str) -> Accelerator:
    """The accelerator of that name in the shipped table.

    Raises:
        InputError: there is none, or several; the hint names the nearest.

    >>> find_accelerator("nvidia a100-sxm4-80gb").name
    'A100 SXM 80GB'
    """
    if len(name) > 200:
        raise InputError(f"not the name of an accelerator: a text of {len(name):,} characters")
    words = _words(name)
    exact = _names().get("".join(words)) or _names().get("".join(sorted(words)))
    if exact is not None:
        return exact
    found = [each for each in accelerators() if _says_model(words) and set(words) <= _all_words(each)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{name!r} can be several accelerators", hint=f"write one of: {_listed(found)}")
    close = difflib.get_close_matches("".join(words), _names(), n=8, cutoff=0.6)
    nearest = list(dict.fromkeys(_names()[key].name for key in close))[:4]
    hint = f"did you mean {' or '.join(nearest)}? " if nearest else ""
    raise InputError(
        f"no accelerator called {name!r} is known",
        hint=f"{hint}State its facts otherwise: name, capability, memory_mib, count",
    )


def _listed(found: list[Accelerator]) -> str:
    return ", ".join(each.name for each in found)


_NOISE = re.compile(r"nvidia|amd|geforce|instinct|tesla|gpus?|edition|generation|hbm[23]e?")
_WORD = re.compile(r"\d+\s*gi?b?(?![a-z0-9])|[a-z0-9]+")


def _words(name: str) -> list[str]:
    """The words that tell accelerators apart, in one spelling: `80 GiB` is `80gb`, `SXM5` is `sxm`."""
    plain = re.sub(r"max[\s-]?q", "maxq", name.lower()).replace("pci-e", "pcie").replace("(tm)", "")
    words = []
    for word in _WORD.findall(plain):
        if memory := re.fullmatch(r"(\d+)\s*gi?b?", word):
            words.append(f"{memory[1]}gb")
        elif re.fullmatch(r"sxm\d", word):
            words.append("sxm")
        elif not _NOISE.fullmatch(word):
            words.append(word)
    return words


def _says_model(words: list[str]) -> bool:
    """Whether some word is a model's number, not only a memory size or a product line."""
    return any(re.search(r"\d", word) and not word.endswith("gb") for word in words)


def _spellings(accelerator: Accelerator) -> list[str]:
    return [accelerator.name, *accelerator.aliases, accelerator.device_name or accelerator.name]


@functools.cache
def _names() -> dict[str, Accelerator]:
    """Every spelling, with its words joined as written and joined in order of the alphabet."""
    names: dict[str, Accelerator] = {}
    for accelerator in accelerators():
        for spelling in _spellings(accelerator):
            words = _words(spelling)
            names.setdefault("".join(words), accelerator)
            names.setdefault("".join(sorted(words)), accelerator)
    return names


@functools.cache
def _all_words(accelerator: Accelerator) -> frozenset[str]:
    spellings = [*_spellings(accelerator), accelerator.form_factor or ""]
    return frozenset(word for spelling in spellings for word in _words(spelling))

"""Accelerators: the table holds sane figures, and people's spellings find the right one."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import Accelerator, accelerators, find_accelerator, parse_hardware
from assay.errors import AssayError, InputError


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("4x RTX PRO 6000 Blackwell", 4, "RTX PRO 6000 Blackwell Workstation"),
        ("8xH100", 8, "H100 SXM"),
        ("8 × h100-sxm5-80gb", 8, "H100 SXM"),
        ("H100 x 8", 8, "H100 SXM"),
        ("2 x L40S", 2, "L40S"),
        ("8 B200", 8, "B200"),
        ("H200", 1, "H200 SXM"),
        ("4x NVIDIA H100 80GB HBM3", 4, "H100 SXM"),
        ("nvidia h100 pcie", 1, "H100 PCIe"),
        ("H100 94GB", 1, "H100 NVL"),
        ("A100", 1, "A100 SXM 80GB"),
        ("A100 40 GB", 1, "A100 SXM 40GB"),
        ("PCIe A100 40GB", 1, "A100 PCIe 40GB"),
        ("NVIDIA A100 80GB PCIe", 1, "A100 PCIe 80GB"),
        ("V100", 1, "V100 SXM2 32GB"),
        ("GeForce RTX 4090", 1, "RTX 4090"),
        ("4090", 1, "RTX 4090"),
        ("RTX6000Ada", 1, "RTX 6000 Ada"),
        ("RTX PRO 6000 Max-Q", 1, "RTX PRO 6000 Blackwell Max-Q"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 1, "RTX PRO 6000 Blackwell Server"),
        ("NVIDIA GH200 480GB", 1, "GH200 96GB"),
        ("DGX Spark", 1, "GB10"),
        ("8x AMD Instinct MI300X OAM", 8, "MI300X"),
    ],
)
def test_people_write_names_in_many_ways(text: str, count: int, name: str) -> None:
    found = parse_hardware(text)
    assert (found.count, found.accelerator.name) == (count, name)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("6000", "several accelerators", "RTX 6000 Ada"),
        ("4x RTX PRO 6000 Blackwel", "no accelerator", "RTX PRO 6000 Blackwell Workstation"),
        ("H10O", "no accelerator", "H100 SXM"),
        ("80GB", "no accelerator", ""),
        ("", "no accelerator", "capability"),
        ("0x H100", "0 accelerators", "1 to 1024"),
        ("99999x H100", "99999 accelerators", "1 to 1024"),
        ("x" * 1000, "1,000 characters", ""),
    ],
)
def test_a_name_that_fits_none_or_several_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_hardware(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("accelerator", accelerators(), ids=lambda each: each.name)
def test_every_accelerator_has_sane_figures(accelerator: Accelerator) -> None:
    assert accelerator.source
    if accelerator.vendor == "nvidia":
        assert accelerator.capability is not None
        assert (7, 0) <= accelerator.capability <= (12, 1)
        assert accelerator.gfx is None
    else:
        assert accelerator.capability is None
        assert accelerator.gfx in ("gfx90a", "gfx942", "gfx950")
    assert accelerator.memory_bytes_per_s is not None
    assert 2e11 < accelerator.memory_bytes_per_s <= 8e12
    if accelerator.name != "GB10":  # its memory is shared with the CPU
        assert accelerator.memory_mib is not None
        assert 15000 < accelerator.memory_mib < 300000
    _check_peaks(accelerator)
    _check_links(accelerator)


def _check_peaks(accelerator: Accelerator) -> None:
    peaks = (accelerator.bf16_flop_per_s, accelerator.fp8_flop_per_s, accelerator.fp4_flop_per_s)
    known = [peak for peak in peaks if peak is not None]
    assert known == sorted(known)
    assert all(5e13 < peak < 2e16 for peak in known)
    if accelerator.capability is not None and accelerator.capability < (8, 0):
        assert peaks == (None, None, None)
        assert accelerator.fp16_flop_per_s
    elif accelerator.capability is not None and accelerator.capability < (8, 9):
        assert accelerator.fp8_flop_per_s is None
    assert accelerator.max_power_w is None or 50 < accelerator.max_power_w <= 1400


def _check_links(accelerator: Accelerator) -> None:
    if accelerator.link is None:
        assert accelerator.link_generation is None
        assert accelerator.link_bytes_per_s is None
        assert not accelerator.link_all_pairs
    if accelerator.link_bytes_per_s is not None:
        assert 5e10 < accelerator.link_bytes_per_s <= 9e11
    assert accelerator.pcie_generation in (None, 3, 4, 5, 6)
    assert (accelerator.pcie_generation is None) == (accelerator.pcie_lanes is None)


def test_every_spelling_of_the_table_finds_its_own_entry() -> None:
    for accelerator in accelerators():
        for spelling in (accelerator.name, *accelerator.aliases, accelerator.device_name or ""):
            if spelling:
                assert find_accelerator(spelling) is accelerator


@pytest.mark.parametrize(
    ("text", "nvlink"),
    [("8x H100", True), ("H100", None), ("4x L40S", False), ("2x A100 PCIe", None), ("8x V100", None)],
)
def test_nvlink_is_only_claimed_where_every_machine_has_it(text: str, *, nvlink: bool | None) -> None:
    assert parse_hardware(text).nvlink is nvlink


@given(st.text())
def test_any_text_gives_hardware_or_an_error_of_ours(text: str) -> None:
    with contextlib.suppress(AssayError):
        assert parse_hardware(text).count >= 1

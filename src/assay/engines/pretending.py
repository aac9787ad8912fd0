"""A server in a mode for developers that accepts drafted tokens by dice: its speed means nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.engines.words import value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VARIABLES = ("SGLANG_SIMULATE_ACC_LEN", "SIMULATE_ACC_LEN")
"""SGLang's, and its name before 0.5.4: a number above 0 is the acceptance length that is pretended."""
_VLLM = re.compile(r"""["']?rejection_sample_method["']?\s*[:=]\s*["']?synthetic\b""")
"""vLLM's, in `--speculative-config` and in what `/server_info` shows of it."""


def pretends(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """What of a command or its variables makes the server pretend that drafts are accepted; else nothing.

    >>> pretends([], {"SGLANG_SIMULATE_ACC_LEN": "3.6"}), pretends([], {"SGLANG_SIMULATE_ACC_LEN": "-1"})
    ('SGLANG_SIMULATE_ACC_LEN=3.6', '')
    >>> config = '{"rejection_sample_method": "synthetic"}'
    >>> pretends(["vllm", "serve", "m", "--speculative-config", config], {})
    'rejection_sample_method synthetic, in --speculative-config'
    """
    for name in _VARIABLES:
        value = environment.get(name, "")
        try:
            if float(value) > 0:
                return f"{name}={float(value):g}"
        except ValueError:
            continue
    config = value_of(words, "--speculative-config", "--speculative_config", "-sc") or ""
    dotted = value_of(words, "--speculative-config.rejection_sample_method")
    if dotted == "synthetic" or _VLLM.search(config):
        return "rejection_sample_method synthetic, in --speculative-config"
    return ""


def says_that_it_pretends(server_info: str) -> str:
    """The same of what a server shows of its settings at `/server_info`.

    >>> says_that_it_pretends('{"speculative_config": {"rejection_sample_method": "synthetic"}}')
    'rejection_sample_method synthetic'
    """
    return "rejection_sample_method synthetic" if _VLLM.search(server_info) else ""

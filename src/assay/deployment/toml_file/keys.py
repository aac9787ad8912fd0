"""Every key that a deployment file may have: what the loader accepts, and what the reference page says."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One key of one table."""

    table: str
    """The table that it stands in; empty for the top of the file."""
    name: str
    """Its name; `*` for tables whose keys the user chooses."""
    type: str
    """What its value is, in words for people."""
    default: str
    """What holds without it; `required` if it cannot be left out."""
    meaning: str
    """One sentence."""
    example: str
    """A line of TOML."""

    @property
    def path(self) -> str:
        """As error messages name it."""
        return f"{self.table}.{self.name}" if self.table else self.name


_PATH = "path"
_ONE = "one of `command`, `unit`, `script`, `compose`, `manifest` is required"

KEYS: tuple[Key, ...] = (
    Key("", "name", "text", "the file's name without its ending", "Name of the deployment.", 'name = "chat"'),
    Key(
        "",
        "engine",
        "text",
        "required",
        "Where the engine's source is: `ENGINE==VERSION`, a folder (begins with `./`, `/` or `~`), "
        "`installed:PATH` of a Python environment, or `image:REFERENCE`.",
        'engine = "sglang==0.5.10"',
    ),
    Key(
        "",
        "command",
        "text, or list of texts",
        _ONE,
        "The command line itself: a string is split as a shell would, a list is taken word for word.",
        'command = "python -m sglang.launch_server --model-path /models/x --tp 4"',
    ),
    Key("", "unit", _PATH, _ONE, "A systemd unit that holds the command line.", 'unit = "llm.service"'),
    Key("", "script", _PATH, _ONE, "A shell script that holds the command line.", 'script = "serve.sh"'),
    Key(
        "", "compose", _PATH, _ONE, "A compose file that holds the command line.", 'compose = "compose.yaml"'
    ),
    Key("", "service", "text", "the only one", "With `compose`: which service.", 'service = "llm"'),
    Key("", "manifest", _PATH, _ONE, "A Kubernetes manifest that holds it.", 'manifest = "deploy.yaml"'),
    Key("", "container", "text", "the only one", "With `manifest`: which container.", 'container = "server"'),
    Key(
        "model",
        "path",
        _PATH,
        "one of `path`, `name`, `preset` is required",
        "A model folder with a config.json, or that file itself.",
        'path = "/models/Qwen3-32B-FP8"',
    ),
    Key(
        "model",
        "name",
        "text",
        "one of `path`, `name`, `preset` is required",
        "A model of the Hugging Face hub: taken from the local cache, else from the preset of that name. "
        "Nothing is downloaded. Together with `path`: only a name.",
        'name = "Qwen/Qwen3-32B-FP8"',
    ),
    Key(
        "model", "revision", "text", "main", "With `name`: which revision in the cache.", 'revision = "main"'
    ),
    Key(
        "model",
        "preset",
        "text",
        "one of `path`, `name`, `preset` is required",
        "A config.json that ships with assay (see model-presets.md).",
        'preset = "Qwen3-32B-FP8"',
    ),
    Key(
        "hardware",
        "gpus",
        "text",
        "required, unless `name` and `capability` are given",
        "Number and kind of the accelerators of one machine (see accelerators.md).",
        'gpus = "4x RTX PRO 6000 Blackwell"',
    ),
    Key(
        "hardware",
        "name",
        "text",
        "from the table",
        "Name of the device as torch gives it.",
        'name = "NVIDIA H200"',
    ),
    Key("hardware", "count", "whole number", "from `gpus`, else 1", "Number of accelerators.", "count = 8"),
    Key(
        "hardware",
        "capability",
        "text",
        "from the table",
        "CUDA compute capability, or the gfx target of an AMD accelerator.",
        'capability = "12.0"',
    ),
    Key(
        "hardware",
        "memory_mib",
        "whole number",
        "from the table",
        "Memory of one accelerator in MiB, as `nvidia-smi` shows it.",
        "memory_mib = 97887",
    ),
    Key(
        "hardware",
        "nvlink",
        "true or false",
        "from the table; unknown where machines differ",
        "Whether NVLink joins every pair of accelerators.",
        "nvlink = false",
    ),
    Key("hardware", "cuda", "text", "unknown", "Version of CUDA.", 'cuda = "12.8"'),
    Key("hardware", "driver", "text", "unknown", "Version of the driver.", 'driver = "580.95.05"'),
    Key("hardware", "host_memory_gib", "number", "unknown", "Main memory in GiB.", "host_memory_gib = 1024"),
    Key(
        "environment",
        "*",
        "text or number",
        "none",
        "An environment variable of the server, beside those that its command sets.",
        'SGLANG_ENABLE_SPEC_V2 = "1"',
    ),
    Key(
        "libraries",
        "*",
        "text, or true or false",
        "unknown",
        'Version of a Python distribution; `true`, `"installed"`, `false`, `"absent"` if only that is known.',
        'flashinfer-python = "0.6.7"',
    ),
    Key(
        "live",
        "unit",
        "text",
        "required",
        "The systemd service that serves, or `compose:PROJECT/SERVICE` of docker compose.",
        'unit = "llm.service"',
    ),
    Key(
        "live",
        "user",
        "true or false",
        "`false`",
        "Whether it is a unit of the user who logs in there: `systemctl --user`.",
        "user = true",
    ),
    Key(
        "live",
        "unit_file",
        "text",
        "a drop-in is kept",
        "Your own copy of the unit's file, which `assay promote` edits, and copies over that one.",
        'unit_file = "llm.service"',
    ),
    Key("live", "host", "text", "this machine", "The machine, as `ssh` names it.", 'host = "gpu1"'),
    Key(
        "live",
        "url",
        "text",
        "as its command says",
        "Where the server answers, as seen from its own machine.",
        'url = "http://127.0.0.1:30000"',
    ),
    Key(
        "live",
        "model",
        "text",
        "the first that the server lists",
        "The model's name for requests.",
        'model = "qwen"',
    ),
    Key(
        "trials",
        "where",
        '`"nowhere"`, `"spare"`, `"drained"` or `"in_place"`',
        '`"nowhere"`',
        "Where assay may start servers for measurements: nowhere, on spare hosts, on a drained replica, "
        "or on the serving hosts themselves.",
        'where = "spare"',
    ),
    Key(
        "trials",
        "hosts",
        "list of texts",
        "none; required for `spare`",
        "The hosts where, as `ssh` names them.",
        'hosts = ["gpu-spare-1"]',
    ),
    Key(
        "hooks",
        "drain",
        "list of texts",
        "nothing is run",
        "The words of a command that takes the server out of its balancer before a restart and returns when "
        "its last requests have ended. It runs where assay does, with `ASSAY_UNIT`, `ASSAY_HOST` and "
        "`ASSAY_ROLLOUT` set.",
        'drain = ["/usr/local/bin/balancer", "drain", "gpu1"]',
    ),
    Key(
        "hooks",
        "undrain",
        "list of texts",
        "required beside `drain`",
        "The words of the one that puts it back; it may be run more than once.",
        'undrain = ["/usr/local/bin/balancer", "undrain", "gpu1"]',
    ),
    Key("hooks", "timeout_s", "number", "300", "How many seconds each may take.", "timeout_s = 600"),
    Key(
        "candidates",
        "set",
        "list of texts",
        "none",
        "Options to set, as `assay apply` takes them; several are changed together.",
        'set = ["max-num-batched-tokens=8192", "enable-chunked-prefill"]',
    ),
    Key(
        "candidates",
        "without",
        "list of texts",
        "none",
        "Options to take away.",
        'without = ["enforce-eager"]',
    ),
    Key("candidates", "why", "text", "none", "For what reason, in your words.", 'why = "long prompts"'),
)

NOT_YET: tuple[str, ...] = ("replicas", "roles", "workload", "objective")
"""Keys and tables of later versions: refused with that reason."""


def names_of(table: str) -> tuple[str, ...]:
    """The names that a table may have, tables of the top included; `*` if the user chooses."""
    names = [key.name for key in KEYS if key.table == table]
    if not table:
        names += dict.fromkeys(key.table for key in KEYS if key.table)
    return tuple(names)

"""Write the reference pages that are derived from the code: one function for each page.

python scripts/make_reference.py            write docs/reference/*.md
python scripts/make_reference.py --check    say which of them are out of date, exit 1 if any
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from assay.deployment import KEYS, Accelerator, Preset, accelerators, presets
from assay.diagnostics import RULES
from assay.errors import (
    ApplyFailed,
    AssayError,
    CommandFailed,
    DeploymentError,
    EngineNotFound,
    HostError,
    InputError,
    JournalError,
    MeasurementError,
    NotReady,
    OutcomeUnknown,
    Refused,
    RestoreFailed,
    SourceError,
    TooManyFailures,
    UnknownIdiom,
    Unreachable,
    WorkloadError,
)
from assay.findings import SUBKINDS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/make_reference.py: change the source named below, then run `make docs`. -->\n\n"


def deployment_file() -> str:
    """The keys of a deployment file, from `deployment/keys.py`."""
    return "".join((MADE, _DEPLOYMENT_HEAD, *(_key_table(*each) for each in _TABLES), _DEPLOYMENT_FOOT))


_DEPLOYMENT_HEAD = """# The deployment file

Source: `src/assay/deployment/toml_file/keys.py`. A deployment file is TOML and says what is served, by which
engine, on which machine and started how. `assay lint FILE.toml` reads it. `examples/deployments/` has
complete ones.

```toml
engine = "sglang==0.5.10"
command = "python -m sglang.launch_server --model-path /models/Qwen3-32B-FP8 --tp 2"

[model]
preset = "Qwen/Qwen3-32B-FP8"

[hardware]
gpus = "2x L40S"
```

Relative paths are relative to the folder of the file; `~` is your home. Every fault of a file is told
at once, each with its line. A file may have 1 MiB and 32 levels. Values of `command` and
`[environment]` never appear in messages.
"""

_TABLES = (
    (
        "",
        "Keys at the top stand before the first `[table]`. Exactly one of `command`, `unit`, `script`, "
        "`compose` and `manifest` says how the server is started. "
        'In a `"""` string, end each line but the last with `\\`.',
    ),
    (
        "model",
        "The model's own facts are those of its config.json. Nothing is downloaded and no code of the model "
        "is run. The cache is looked for where `HF_HUB_CACHE`, `HF_HOME` or `XDG_CACHE_HOME` say, else in "
        "`~/.cache/huggingface/hub`.",
    ),
    (
        "hardware",
        "`gpus` names an accelerator of the shipped table; the other keys replace its facts, or describe one "
        "that is not in it.",
    ),
    ("environment", "Names of variables, with their values."),
    ("libraries", "Names of Python distributions; case, `-`, `_` and `.` do not tell names apart."),
    (
        "live",
        "Where the deployment runs now. `assay describe` writes it; `apply`, `status`, `promote` and "
        "`rollback` go by it.",
    ),
    ("trials", "assay starts servers only where this says."),
    ("hooks", "Commands of your own around a restart, run where assay runs."),
    (
        "candidates",
        "Changes that `assay tune` shall try beside those of the engine's own table. Each stands under "
        "`[[candidates]]`, in double brackets.",
    ),
)

_DEPLOYMENT_FOOT = """
## Not yet

`replicas`, `[roles]`, `[workload]` and `[objective]` are refused: later versions will take them.
"""


def _key_table(table: str, text: str) -> str:
    brackets = f"[[{table}]]" if table == "candidates" else f"[{table}]"
    title = f"## `{brackets}`" if table else "## The top of the file"
    rows = [
        (f"`{key.path}`", key.type, key.default, key.meaning, f"`{key.example}`")
        for key in KEYS
        if key.table == table
    ]
    return f"\n{title}\n\n{text}\n\n{_table(('key', 'type', 'default', 'meaning', 'example'), rows)}"


def accelerators_page() -> str:
    """The accelerators that assay knows, from `deployment/accelerators.toml`."""
    sources = "".join(f"- **{each.name}**: {each.source}.\n" for each in accelerators())
    tables = f"{_ACCELERATORS_HEAD}{_names_table()}{_ACCELERATORS_FIGURES}{_figures_table()}"
    return f"{MADE}{tables}\n## Sources\n\n{sources}"


_ACCELERATORS_HEAD = """# Accelerators

Source: `src/assay/deployment/accelerators.toml`. What `gpus = "4x …"` may name, and the figures that
then hold. Case, punctuation, the vendor's name and the order of words do not matter. Where a name has
variants, the plain name means the one that most servers have: it is an alias below (`H100` is the SXM
module, `A100` the SXM module with 80 GB, `RTX PRO 6000` the Workstation Edition). A name that could be
several is refused.

`NVLink` says whether the usual machine joins every pair of its accelerators by it; where machines
differ (bridges, or the cube mesh of V100) it is unknown until the file says so.

"""

_ACCELERATORS_FIGURES = """
## Figures

Peaks are dense (without sparsity) and for one device as the engine sees it. Memory is what `nvidia-smi`
or `amd-smi` shows. The link's bandwidth is of all links of one device in one direction. A dash is a
figure that the device does not have, or that we are not sure of.

Memory as shown by the tools was compared with public logs for most of the list; peaks and bandwidths
are from the vendors' papers as cited, entered from memory and compared with public tables where there
were any (`ai-dynamo/aiconfigurator` for A100, A30, L4, L40S, H100, H200, B200, B300, GB200, GB300).
Memory of MI325X is by the rule that holds for its siblings (16 MiB less than its size).

"""


def _names_table() -> str:
    rows = [
        (each.name, ", ".join(each.aliases), f"`{each.device_name}`", _capability(each), _nvlink(each))
        for each in accelerators()
    ]
    return _table(("name", "also", "device name", "capability", "NVLink"), rows)


def _figures_table() -> str:
    rows = [
        (
            each.name,
            _figure(each.memory_mib, 1),
            _figure(each.memory_bytes_per_s, 1e9),
            _figure(each.bf16_flop_per_s or each.fp16_flop_per_s, 1e12),
            _figure(each.fp8_flop_per_s, 1e12),
            _figure(each.fp4_flop_per_s, 1e12),
            _figure(each.link_bytes_per_s, 1e9),
            f"{each.pcie_generation} x{each.pcie_lanes}" if each.pcie_generation else "–",
            each.form_factor or "–",
            _figure(each.l2_bytes, 1 << 20),
            _figure(each.max_power_w, 1),
        )
        for each in accelerators()
    ]
    titles = ("name", "memory MiB", "memory GB/s", "BF16 (Volta, Turing: FP16) TFLOP/s", "FP8", "FP4")
    return _table((*titles, "link GB/s", "PCIe", "form", "L2 MiB", "W"), rows)


def _capability(each: Accelerator) -> str:
    return f"{each.capability[0]}.{each.capability[1]}" if each.capability else each.gfx or "–"


def _nvlink(each: Accelerator) -> str:
    if each.link != "nvlink":
        return "no"
    return "every pair" if each.link_all_pairs else "depends"


def _figure(value: float | None, unit: float) -> str:
    return "–" if value is None else f"{value / unit:g}" if value / unit < 1e6 else f"{value / unit:.0f}"


def model_presets() -> str:
    """The models that ship with assay, from `deployment/models/presets.toml`."""
    rows = [
        (f"`{each.name}`", ", ".join(each.aliases), "yes" if each.checked else "no") for each in presets()
    ]
    unsure = "".join(
        f"- **{each.name}**: {_unsure(each)}.\n" for each in presets() if each.unverified or not each.checked
    )
    sources = "".join(f"- **{each.name}**: {each.source}.\n" for each in presets())
    table = _table(("preset", "also for", "checked"), rows)
    return f"{MADE}{_PRESETS_HEAD}{table}{_PRESETS_UNSURE}{unsure}\n## Sources\n\n{sources}"


_PRESETS_HEAD = """# Model presets

Source: `src/assay/deployment/models/presets.toml`. The config.json facts of models that people serve,
so that `assay lint` can answer without the model at hand: `preset = "NAME"`, with or without the
organisation. A config.json of your own is always better: `path = "/models/…"`, or `name = "…"`, which
looks in the Hugging Face cache first.

`checked`: compared with a public copy of this very model's config.json, but for what is named below.
Revisions of a model may differ.

"""

_PRESETS_UNSURE = """
## Not verified

"""


def _unsure(preset: Preset) -> str:
    return preset.unverified or "all of it is from memory"


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = tuple(titles)
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def lint_rules() -> str:
    """Every rule of lint, from `diagnostics/rules.py`."""
    parts = [MADE, _RULES_HEAD]
    rows = ([f"[{rule.code}](#{rule.code.lower()}-{rule.name})", rule.name, rule.severity] for rule in RULES)
    parts.append(_table(("code", "name", "severity"), rows))
    for rule in RULES:
        parts.append(f"\n## {rule.code} {rule.name}\n\nSeverity: {rule.severity}. {rule.finds}\n\n")
        parts.append(f"- **Why it matters**: {rule.matters}\n- **Evidence**: {rule.evidence}\n")
        parts.append(f"- **Not seen**: {rule.limits}\n")
        if rule.fixes:
            parts.append(f"- **`--fix`**: {rule.fixes}\n")
    return "".join(parts)


_RULES_HEAD = """# The rules of `assay lint`

Source: `src/assay/diagnostics/rules.py`. `assay lint --rule CODE` shows one of them. An `error` means that
the server does not start or gets something else than was written; a `warning`, that something does nothing
or will stop working; a `note` is worth knowing and nothing to act on. Errors and warnings make the exit
code 1.

`--ignore CODE` leaves a rule out for one run; a comment line `# assay: ignore=ASY110,ASY111` in a file does
so for that file.

"""


def subkinds() -> str:
    """Every sub-kind of a verdict, from `findings/subkinds.py`."""
    rows = ([f"[{each.name}](#{each.name})", each.verdict, each.title] for each in SUBKINDS)
    parts = [MADE, _SUBKINDS_HEAD, _table(("sub-kind", "verdict", "in short"), rows)]
    for each in SUBKINDS:
        parts.append(f"\n## {each.name}\n\nVerdict: `{each.verdict}`, {each.title}. {each.meaning}\n\n")
        parts.append(f"- **What to do**: {each.to_do}\n")
    return "".join(parts)


_SUBKINDS_HEAD = """# The sub-kinds of verdicts

Source: `src/assay/findings/subkinds.py`. Every finding of `assay triage` and `assay explain` has one of these
beside its [verdict](../explanation/verdicts.md): the reason, from a closed list.

"""


def errors() -> str:
    """The errors and exit codes, from `errors.py`."""
    kinds = (
        *(AssayError, InputError, DeploymentError, WorkloadError, Refused),
        *(HostError, Unreachable, CommandFailed, OutcomeUnknown),
        *(SourceError, EngineNotFound, UnknownIdiom),
        *(MeasurementError, NotReady, TooManyFailures),
        *(ApplyFailed, RestoreFailed, JournalError),
    )
    rows = [
        [f"`{each.__name__}`", (each.__doc__ or "").splitlines()[0], str(each.exit_code)] for each in kinds
    ]
    return f"{MADE}{_ERRORS_HEAD}{_table(('error', 'meaning', 'exit code'), rows)}"


_ERRORS_HEAD = """# Errors and exit codes

Source: `src/assay/errors.py`. A message on stderr says what went wrong, where and with which value; the
lines below it are details, the last one what to do next. Exit code 0: done, nothing to act on. 1: something
was found to act on: by `lint` (an error or a warning), `drift`, `describe`, `doctor`, `explain --verify`.
4, too: the output cannot be written. 130: interrupted. `assay compare` has codes of its own for 1, 2 and 3
([compare](../how-to/compare.md)).

"""


def command_line() -> str:
    """What `--help` prints, for the program and each verb."""
    parts = [MADE, "# The command line\n\nSource: `src/assay/cli`. This is what `--help` prints.\n"]
    verbs = ("describe", "lint", "triage", "explain", "bench", "compare")
    for verb in ((), *((each,) for each in verbs), *_ROLLOUT):
        command = [sys.executable, "-m", "assay", *verb, "--help"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, env=_PLAIN).stdout
        lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
        parts.append(f"\n## {' '.join(('assay', *verb))}\n\n```text\n{lines}\n```\n")
    return "".join(parts)


_ROLLOUT = (("apply",), ("status",), ("promote",), ("rollback",))
_PLAIN = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


PAGES: dict[str, Callable[[], str]] = {
    "accelerators.md": accelerators_page,
    "deployment-file.md": deployment_file,
    "model-presets.md": model_presets,
    "lint-rules.md": lint_rules,
    "subkinds.md": subkinds,
    "errors.md": errors,
    "command-line.md": command_line,
}


def main(arguments: list[str]) -> int:
    """Write or check every page."""
    stale = [
        name
        for name, page in PAGES.items()
        if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text(encoding="utf-8") != page()
    ]
    if arguments == ["--check"]:
        for name in stale:
            print(f"docs/reference/{name} is out of date: run make docs")
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A first deployment file from what runs: text in TOML, with a remark where something is not known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assay._masking import MASK, mask, mask_words, secrets_in_words
from assay.deployment import find_accelerator
from assay.engines import model_of, server_of, value_of
from assay.errors import InputError
from assay.facts.installed import LIBRARIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.facts.installed import Distribution
    from assay.facts.live import LiveDeployment


def deployment_text(
    live: LiveDeployment,
    *,
    name: str,
    config_file: str | None,
    engine: str | None = None,
    where: str = "nowhere",
) -> str:
    """The text of a deployment file; what could not be read stands in it as a remark to fill in.

    Values of secret options are written as `***`. `config_file` is where the model's config.json was put,
    `engine` where the engine's source is, if somebody says so, and `where` says where trials may run.
    """
    engines = _engine(live) if engine is None else [f"engine = {_text(engine)}"]
    parts = (
        [f"name = {_text(name)}", *engines, *_command(live)],
        ["[model]", *_model(live, config_file)],
        ["[hardware]", *_hardware(live)],
        ["[environment]", *_environment(live)],
        ["[libraries]", *_libraries(live)],
        ["[live]", *_live(live)],
        ["[trials]", "# assay changes nothing until this says where it may", f"where = {_text(where)}"],
    )
    return "\n\n".join("\n".join(part) for part in parts if len(part) > 1) + "\n"


def engine_of(live: LiveDeployment) -> str | None:
    """The release that serves, `sglang==0.5.10`: as installed, else as the server says; None if neither."""
    found = _engine_distribution(live)
    if found:
        return f"{found.name}=={found.version}"
    version = live.served.settings.get("version") if live.served else None
    return f"sglang=={version}" if isinstance(version, str) else None


def _engine(live: LiveDeployment) -> Iterator[str]:
    found, release = _engine_distribution(live), engine_of(live)
    if live.container:
        image = _remark(live.container.image)
        yield f'# it runs in image {image}: engine = "image:{image}" asks that one, where docker has it here'
    if found:
        where = "that image" if live.container else _remark(live.host)
        yield f"# its source is in {_remark(found.folder)} on {where}"
    if release:
        yield f"engine = {_text(release)}"
    else:
        yield '# engine = "sglang==VERSION"  # not known: nothing that is installed or answers says it'


def _engine_distribution(live: LiveDeployment) -> Distribution | None:
    server = server_of(live.words)
    names = server.engine.distributions if server else ()
    return next((each for each in live.installed if each.name in names), None)


def _command(live: LiveDeployment) -> Iterator[str]:
    words = live.words
    if not words:
        yield "# command = [...]  # not known: only the machine that serves has it"
        return
    server = server_of(words)
    if server is None:
        yield "# no server that assay knows: a shell or another program is around it"
    yield "command = ["
    secrets = secrets_in_words(words)
    shown = [mask(word, secrets) for word in mask_words(words)]
    yield from (f"  {_text(word)}," for word in shown)
    yield "]"
    if MASK in " ".join(shown):
        yield f"# {MASK} stands where a secret is"


def _model(live: LiveDeployment, config_file: str | None) -> Iterator[str]:
    named = model_of(live.words) or _served_model(live)
    if config_file:
        yield f"path = {_text(config_file)}"
    elif named and not named.startswith(("/", ".", "~")):
        yield f"name = {_text(named)}"
    else:
        folder = _remark(named or "the model")
        yield f"# path = the folder of {folder}, or its config.json  # not readable from here"


def _served_model(live: LiveDeployment) -> str | None:
    settings = live.served.settings if live.served else {}
    path = settings.get("model_path")
    if isinstance(path, str):
        return path
    return live.served.models[0].root if live.served and live.served.models else None


def _hardware(live: LiveDeployment) -> Iterator[str]:
    gpus = live.gpus.gpus
    if not gpus:
        yield '# gpus = "4x H100"  # not known: no nvidia-smi was asked'
        return
    first = gpus[0]
    if len({gpu.name for gpu in gpus}) > 1:
        yield "# several kinds are in this machine; the first one is written"
    try:
        find_accelerator(first.name)
        yield f"gpus = {_text(f'{len(gpus)}x {first.name}')}"
    except InputError:
        yield f"name = {_text(first.name)}"
        yield f"count = {len(gpus)}"
    if first.capability:
        yield f"capability = {_text(first.capability)}"
    if first.memory_mib:
        yield f"memory_mib = {first.memory_mib}"
    if live.gpus.nvlink is not None:
        yield f"nvlink = {str(live.gpus.nvlink).lower()}"
    if live.gpus.cuda:
        yield f"cuda = {_text(live.gpus.cuda)}  # the newest that the driver serves"
    if first.driver:
        yield f"driver = {_text(first.driver)}"
    if first.mig == "on":
        yield "# MIG is on: an engine sees an instance, not this device"


def _environment(live: LiveDeployment) -> Iterator[str]:
    secrets = secrets_in_words(live.words)
    for name, value in live.process.environment if live.process else ():
        yield f"{name} = {_text(mask(value, secrets))}"


def _libraries(live: LiveDeployment) -> Iterator[str]:
    server = server_of(live.words)
    engine = server.engine.name if server else None
    versions = {each.name: each.version for each in live.installed}
    for name in LIBRARIES:
        if name in versions and name != engine:
            yield f"{name} = {_text(versions[name])}"


def _live(live: LiveDeployment) -> Iterator[str]:
    if live.container and not live.container.compose:
        name = _remark(live.container.name)
        yield f"# container {name}: name the unit that runs it, if assay shall change it"
        return
    if live.container:
        yield f"unit = {_text('compose:' + live.container.compose)}"
        if live.host != "this machine":
            yield f"host = {_text(live.host)}"
    if live.unit:
        yield f"unit = {_text(live.unit.unit)}"
        if live.user:
            yield "user = true"
        if live.host != "this machine":
            yield f"host = {_text(live.host)}"
    if live.served:
        yield f"url = {_text(live.served.url)}"
    served = value_of(live.words, "--served-model-name")
    if served is None and live.served and live.served.models:
        served = live.served.models[0].name
    if served:
        yield f"model = {_text(served)}"


def _text(text: str) -> str:
    """A basic string of TOML; bytes that are no text become `?`."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _remark(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)

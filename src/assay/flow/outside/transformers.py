"""The model's config as transformers' config classes give it, from config.json and a table of their defaults.

What a class adds to a config.json stands in `engines/transformers_configs.json.gz`, written by asking
the classes of three releases. An attribute that neither config.json nor the table has does not exist: the
classes keep what they are given and add only what the table lists. Of a class that the table does not hold,
every attribute that config.json lacks is unknown. Values that a class works out from others (`derived` in the
table, such as `layer_types`) are unknown too, apart from dtype and RoPE, which are carried out here.
"""

from __future__ import annotations

import functools
import gzip
import json
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from packaging.version import InvalidVersion, Version

from assay.flow import attributes, classes, operations
from assay.flow.interpreter import Interpreter
from assay.flow.outside import files
from assay.flow.values import (
    MISSING,
    Choice,
    Class,
    Instance,
    Library,
    Native,
    Open,
    Origin,
    Unknown,
    VDict,
    Wrapped,
    adopt_all,
)

_TEXT_DTYPES = frozenset({"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"})
_ALIASES = {"torch_dtype": "dtype"}
_PARTS = frozenset({"text_config", "vision_config", "audio_config"})
_NEVER = object()


@functools.cache
def _table() -> dict[str, Any]:
    data = resources.files("assay.engines").joinpath("transformers_configs.json.gz").read_bytes()
    table: dict[str, Any] = json.loads(gzip.decompress(data))
    return table


def _release(i: Interpreter) -> tuple[int | None, int]:
    """Which column of the table counts, None if the release is not known; and the major version."""
    fact = i.outside.facts.find("transformers.version") or i.outside.facts.find("library:transformers")
    text = (
        fact.value.get("version")
        if fact is not None and isinstance(fact.value, dict)
        else fact and fact.value
    )
    try:
        version = Version(str(text))
    except InvalidVersion:
        return _at_least(i), 5
    columns = [at for at, known in enumerate(_table()["versions"]) if Version(known) <= version]
    same_major = [at for at in columns if Version(_table()["versions"][at]).major == version.major]
    return (same_major[-1] if same_major else None), version.major


def _at_least(i: Interpreter) -> int | None:
    """The one column that releases from a lowest one on have, if there is one; later ones have the last."""
    lowest = i.outside.facts.find("at_least:transformers")
    if lowest is None:
        return None
    known = [Version(each) for each in _table()["versions"]]
    columns = [at for at, each in enumerate(known) if each >= Version(lowest.value)] or [len(known) - 1]
    return columns[0] if len(columns) == 1 else None


def _pick(column: int | None, row: list[Any]) -> Any:
    """The entry of a release; `_NEVER` if it has none, an `Unknown` if the release counts but is unknown."""
    if column is None:
        if any(each != row[0] for each in row):
            return Unknown("a default that differs between releases of transformers")
        column = 0
    value = row[column]
    if value == {}:
        return _NEVER
    if isinstance(value, dict) and "$" in value:
        return Unknown("a value that transformers works out")
    return value


# ---------------------------------------------------------------- making a config


def _init(i: Interpreter, made: Instance, **given: Any) -> None:
    """`__init__` of transformers' own classes: keeps what it is given."""
    base = _base(made.cls)
    if base is not None and base is not CONFIG:
        filled = _library_config(i, base.dotted.removeprefix("transformers."), VDict(given))
        for name, value in filled.attributes.items():
            i.machine.put(made.attributes, name, value)
        return
    for name, value in given.items():
        attributes.put(i, made, name, _converted(i, name, value), set())


def _converted(i: Interpreter, name: str, value: Any) -> Any:
    if name in ("dtype", "torch_dtype") and isinstance(value, str) and value in _TEXT_DTYPES:
        return i.outside.known(i, f"torch.{value}")
    return value


def _loaded(i: Interpreter, path: Any) -> Any:
    """The config.json of a model, or an `Unknown`."""
    path = i.force(path)
    if isinstance(path, Choice | Unknown):
        return Unknown("the config.json of a model that is not known")
    path = str(path).removesuffix("/")
    config = i.outside.model(path)
    if config is None:
        config = i.force(i.outside.files.get(path))
    if not isinstance(config, VDict):
        return Unknown(f"config.json of {path}", ("model", path))
    i.machine.reads.add(f"config.json of {path}")
    return config


def _from_pretrained(i: Interpreter, cls: Any, path: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    """`ConfigClass.from_pretrained(path)`."""
    config = _loaded(i, path)
    if isinstance(config, Unknown):
        i.outside.may_fail(i, config)
        return config
    return _of_class(i, cls, config, str(i.force(path)))


def _of_class(i: Interpreter, cls: Any, config: VDict, path: str) -> Any:
    made = i.call(cls, [], {**config})
    if isinstance(made, Instance):
        made.attributes["_name_or_path"] = path
        _note_origins(made, path)
    return made


def _note_origins(made: Instance, path: str) -> None:
    for name, value in made.attributes.items():
        made.origins[name] = Origin({f"config.json {name}"})
        if isinstance(value, Instance):
            _note_origins(value, path)


def _from_dict(i: Interpreter, cls: Any, config: Any, **_keywords: Any) -> Any:
    mapping = operations.mapping(i, config)
    return (
        i.machine.unknown("from_dict of something unknown") if mapping is None else i.call(cls, [], mapping)
    )


def _auto(i: Interpreter, path: Any = None, *_rest: Any, **keywords: Any) -> Any:
    """`AutoConfig.from_pretrained(path)`."""
    config = _loaded(i, path)
    if isinstance(config, Unknown):
        i.outside.may_fail(i, config)
        return config
    return _auto_config(i, config, str(i.force(path)), i.force(keywords.get("trust_remote_code", False)))


def _auto_config(i: Interpreter, config: VDict, path: str, trusts: Any) -> Any:
    kind = config.get("model_type")
    known = _knows(i, kind)
    if known is None and kind in i.outside.models:
        return _of_class(i, i.outside.models[kind], config, path)
    if known is None:
        known = _own_class(i, config, path, trusts)
    if known is None:
        raise i.error(
            ValueError,
            f"The checkpoint you are trying to load has model type `{kind}` but Transformers does not"
            " recognize this architecture.",
        )
    if isinstance(known, Unknown):
        return Unknown(f"whether transformers knows the model type {kind}", ("knows", kind))
    made = _library_config(i, known, config)
    made.attributes["_name_or_path"] = path
    _note_origins(made, path)
    return made


def _own_class(i: Interpreter, config: VDict, path: str, trusts: Any) -> str | Unknown | None:
    """The class that comes with a model, of which only config.json is known; None if it has none.

    transformers' `resolve_trust_remote_code` raises where such code is not to be trusted.
    """
    own = config.get("auto_map")
    name = own.get("AutoConfig") if isinstance(own, VDict) else None
    if not isinstance(name, str):
        return None
    if isinstance(trusts, Open):
        return Unknown(f"whether the code of {path} is trusted", ("trusts", path))
    if not trusts:
        raise i.error(ValueError, f"{path} has code of its own, which needs trust_remote_code=True")
    return f"{name} (the model's own code)"


def _knows(i: Interpreter, kind: Any) -> str | Unknown | None:
    """The name of transformers' own class for a model type; None if it has none."""
    row = _table()["known"].get(kind)
    if row is None:
        return None
    column, _ = _release(i)
    if column is None:
        return row[0] if len(set(row)) == 1 else Unknown(f"whether transformers knows {kind}")
    name: str | None = row[column]
    return name


@functools.cache
def _library_class(name: str) -> Library:
    return Library(f"transformers.{name}", CONFIG.attributes)


def _library_config(i: Interpreter, name_of_class: str, config: VDict) -> Instance:
    """An instance of one of transformers' own classes."""
    column, major = _release(i)
    entry = _table()["types"].get(name_of_class)
    made = Instance(_library_class(name_of_class))
    names = _map(entry, column)
    for name, value in config.items():
        made.attributes[names.get(name, _ALIASES.get(name, name))] = _converted(i, name, value)
    subs = _auto_subs(i, config) | entry["sub"][column or 0] if entry else {}
    for name, sub in subs.items():
        inner = config.get(name)
        if isinstance(inner, VDict):
            made.attributes[name] = _library_config(i, sub, inner)
    flat = entry["flat"][column or 0] if entry else None
    if flat and config.get(flat["into"]) is None:
        _split(i, made, flat, entry["sub"][column or 0].get(flat["into"], ""), config)
    _carry_out(made, entry, config, major)
    return made


def _auto_subs(i: Interpreter, config: VDict) -> dict[str, str]:
    """Parts of a config that name their own model type: such a class declares them as `AutoConfig`."""
    found = {}
    for name, inner in config.items():
        kind = inner.get("model_type") if name in _PARTS and isinstance(inner, VDict) else None
        known = _knows(i, kind) if isinstance(kind, str) else None
        if isinstance(known, str):
            found[name] = known
    return found


def _split(i: Interpreter, made: Instance, flat: Any, kind: str, config: VDict) -> None:
    """A flat config.json, of which the class hands the language model's part to a sub-config."""
    inner = VDict(
        {name: value for name, value in config.items() if name not in ("model_type", "vision_config")}
    )
    made.attributes[flat["into"]] = _library_config(i, kind, inner)
    for name in flat["moved"]:
        made.attributes.pop(name, None)


def _map(entry: Any, column: int | None) -> dict[str, str]:
    found: dict[str, str] = entry["map"][column or 0] if entry else {}
    return found


def _carry_out(made: Instance, entry: Any, config: VDict, major: int) -> None:
    """What the classes work out and can be told."""
    if entry and "use_sliding_window" in entry["attributes"] and not config.get("use_sliding_window"):
        made.attributes["sliding_window"] = None
    scaling = config.get("rope_scaling")
    if major < 5:
        if isinstance(scaling, VDict) and "type" in scaling and "rope_type" not in scaling:
            kind = "default" if scaling["type"] == "mrope" else scaling["type"]
            made.attributes["rope_scaling"] = VDict({**scaling, "rope_type": kind, "type": kind})
        return
    if entry and "rope_parameters" in entry["attributes"]:
        made.attributes.pop("rope_scaling", None)
        given = config.get("rope_parameters") or scaling or {}
        rope = VDict(given if isinstance(given, dict) else {})
        rope.setdefault("rope_theta", config.get("rope_theta", Unknown("rope_theta", kind="float")))
        rope.setdefault("rope_type", rope.get("type", "default"))
        made.attributes["rope_parameters"] = rope


# ---------------------------------------------------------------- reading a config


def _is_config(owner: Instance) -> bool:
    return _base(owner.cls) is not None


def _is_library(cls: Any) -> bool:
    return isinstance(cls, Library) and cls.attributes is CONFIG.attributes


def _base(cls: Any) -> Library | None:
    """The class of transformers that a class is or comes from."""
    line = cls.line if isinstance(cls, Class) else [cls]
    return next((each for each in line if _is_library(each)), None)


def _entry(owner: Instance) -> Any:
    """The row of the table for a config."""
    base = _base(owner.cls)
    return _table()["types"].get(base.dotted.removeprefix("transformers.")) if base is not None else None


def named_class(dotted: str) -> Library | None:
    """The model of a config class of transformers, by its dotted name."""
    name = dotted.rpartition(".")[2]
    is_known = dotted.startswith("transformers.") and (
        name in _table()["types"] or any(name in row for row in _table()["known"].values())
    )
    return _library_class(name) if is_known else None


def attribute(i: Interpreter, owner: Instance, name: str) -> Any:
    """An attribute that config.json does not give, of an object that has no such attribute yet."""
    if owner.cls is GENERATION:
        return Unknown(f"{name} of generation_config.json")
    if not _is_config(owner):
        return MISSING
    if name in _ALIASES:
        return attributes.find(i, owner, _ALIASES[name])
    renamed_to = renamed(owner, name)
    if renamed_to != name:
        return attributes.find(i, owner, renamed_to)
    i.machine.reads.add(f"config.json {name}")
    column, major = _release(i)
    if name == "rope_scaling" and major >= 5 and "rope_parameters" in owner.attributes:
        return owner.attributes["rope_parameters"]
    found = _default(owner, name, column)
    if name == "dtype" and major >= 5 and isinstance(found, Unknown) and _entry(owner) is not None:
        found = None  # these classes keep the type that they are given, and know none by themselves
    value = found if found is not _NEVER else MISSING
    if value is MISSING or isinstance(value, Unknown):
        return value
    made = adopt_all(value)
    i.machine.put(owner.attributes, name, made)
    return made


def _default(owner: Instance, name: str, column: int | None) -> Any:
    table = _table()
    rows = table["base"]
    base = _base(owner.cls)
    if base is not None and base is not CONFIG:
        entry = _entry(owner)
        if entry is None:
            kind = base.dotted
            shown = kind.removeprefix("transformers.")
            return Unknown(f"default of {name} in {shown}", ("default", kind, name))
        rows = entry["attributes"]
    if name not in rows:
        return _NEVER
    return _pick(column, rows[name])


def renamed(owner: Instance, name: str) -> str:
    """The name that a config keeps an attribute under."""
    if name in _ALIASES and _is_config(owner):
        return _ALIASES[name]
    if isinstance(owner.cls, Class) and _is_config(owner):
        names = classes.class_attribute(owner.cls, "attribute_map")
        if isinstance(names, dict) and isinstance(names.get(name), str):
            return str(names[name])
    if _is_config(owner):
        entry = _entry(owner)
        if entry is not None:
            return _map(entry, next((at for at, there in enumerate(entry["in"]) if there), 0)).get(name, name)
    return name


def _to_dict(_i: Interpreter, owner: Instance) -> Any:
    return VDict(owner.attributes)


def _update(i: Interpreter, owner: Instance, changes: Any) -> None:
    for name, value in (operations.mapping(i, changes) or {}).items():
        attributes.put(i, owner, name, value, set())


def _get_config_dict(i: Interpreter, path: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    config = _loaded(i, path)
    return config if isinstance(config, Unknown) else (config, VDict())


def _text_config(i: Interpreter, owner: Instance, *_rest: Any, **_keywords: Any) -> Any:
    inner = attributes.find(i, owner, "text_config")
    return owner if inner is MISSING else inner


def _register(i: Interpreter, name: Any, cls: Any, **_keywords: Any) -> None:
    """`AutoConfig.register(model_type, class)`."""
    name = i.force(name)
    if not isinstance(name, str):
        return
    if isinstance(_knows(i, name), str) and not _keywords.get("exist_ok"):
        raise i.error(ValueError, f"'{name}' is already used by a Transformers config, pick another name.")
    i.outside.models[name] = cls


def _generation(i: Interpreter, path: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    """`GenerationConfig.from_pretrained(path)`."""
    name = "generation_config.json"
    facts = i.outside.facts

    def missing() -> Any:
        raise i.error(OSError, f"{i.force(path)} does not appear to have a file named {name}")

    if name in facts.model_files:
        return Instance(GENERATION)
    if facts.files_are_complete and name not in facts.open_files:
        return missing()
    there = Unknown(f"whether {name} is there", ("file", name), "bool")
    return i.machine.fork(there, lambda: Instance(GENERATION), missing)


def opened(i: Interpreter, path: Any, mode: Any = "r") -> Any:
    """`open(path, mode)`: only a model's config.json and what the program wrote have known contents."""
    text = str(path) if isinstance(path, str | PurePosixPath) else "a path that is not known"
    if isinstance(mode, str) and mode.startswith("w"):
        written = Instance(_FILE)
        written.attributes |= {"path": text, "text": ""}
        return written
    folder, _, name = text.rpartition("/")
    config = i.outside.model(folder) if name == "config.json" else None
    made = Instance(_FILE)
    made.attributes["path"] = text
    if config is None:
        if not files.is_of_the_tree(i, text):
            i.outside.may_fail(i, Unknown(f"whether {text} can be opened", ("open", text)))
        made.attributes["text"] = Unknown(f"contents of {text}", ("contents", text))
    else:
        made.attributes["text"] = json.dumps(i.outside.facts.find(f"model:{folder}").value)
    return made


_FILE = Library(
    "io.File",
    {
        "read": Native("read", lambda _i, made, *_a: made.attributes["text"]),
        "close": Native("close", lambda _i, _made: None),
        "write": Native("write", lambda i, _made, _text: i.machine.acting("write")),
        "flush": Native("flush", lambda _i, _made: None),
    },
)


def dumped(i: Interpreter, value: Any, file: Any, **_keywords: Any) -> None:
    """`json.dump(value, file)`: what was written can be read again."""
    i.machine.acting("json.dump")
    file = i.force(file)
    if isinstance(file, Instance) and "path" in file.attributes:
        i.machine.put(i.outside.files, file.attributes["path"], i.force(value))


GENERATION = Library("transformers.GenerationConfig", {})
GENERATION.attributes["from_pretrained"] = Wrapped("static", Native("from_pretrained", _generation))
CONFIG = Library("transformers.PretrainedConfig", {})
CONFIG.attributes |= {
    "__init__": Native("PretrainedConfig.__init__", lambda i, made, *_a, **k: _init(i, made, **k)),
    "from_pretrained": Wrapped("class", Native("from_pretrained", _from_pretrained)),
    "from_dict": Wrapped("class", Native("from_dict", _from_dict)),
    "get_config_dict": Wrapped("static", Native("get_config_dict", _get_config_dict)),
    "to_dict": Native("to_dict", _to_dict),
    "update": Native("update", _update),
    "get_text_config": Native("get_text_config", _text_config),
    "standardize_rope_params": Native("standardize_rope_params", lambda _i, _made, *_a, **_k: None),
    "validate_rope": Native("validate_rope", lambda _i, _made, *_a, **_k: None),
    "model_type": "",
    "attribute_map": VDict(),
    "sub_configs": VDict(),
}
AUTO = Library("transformers.AutoConfig", {})
AUTO.attributes |= {
    "from_pretrained": Wrapped("static", Native("AutoConfig.from_pretrained", _auto)),
    "register": Wrapped("static", Native("AutoConfig.register", _register)),
}
_CONFIG_NAMES = (
    "PretrainedConfig",
    "PreTrainedConfig",
    "configuration_utils.PretrainedConfig",
    "configuration_utils.PreTrainedConfig",
)
_LAYER_TYPES = (  # of 5.19: names of no other kind of thing
    "full_attention sliding_attention chunked_attention window_attention indexed_attention "
    "compressed_sparse_attention heavily_compressed_attention minimax_m3_sparse conv moe hybrid "
    "hybrid_sliding linear_attention sparse dense"
)
NAMES: dict[str, Any] = {f"transformers.{name}": CONFIG for name in _CONFIG_NAMES} | {
    "transformers.configuration_utils.ALLOWED_LAYER_TYPES": tuple(_LAYER_TYPES.split()),
    "transformers.AutoConfig": AUTO,
    "transformers.GenerationConfig": GENERATION,
    "json.dump": Native("json.dump", dumped),
}

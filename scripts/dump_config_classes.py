#!/usr/bin/env python3
"""Write down what transformers' config classes add to a config.json: their defaults, aliases and sub-configs.

    ENGINE_PYTHON scripts/dump_config_classes.py MODELS.json OUT.json     (once per release of transformers)
    python3 scripts/dump_config_classes.py --join OUT.json IN.json...      (all releases into one table)

An IN may be such a table, to which the others are added; the shipped one is it, compressed by gzip.
ENGINE_PYTHON is an environment with that release; MODELS.json is {name: config.json}. A default that an
instance made from a model's config.json does not keep is marked as derived, since assay cannot tell it.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

DERIVED = {"$": "derived"}
PERTURBED = ("hidden", "num", "intermediate", "max", "vocab", "n")
NEVER_TOLD = (
    "dtype",
    "torch_dtype",
    "id2label",
    "label2id",
    "_name_or_path",
    "transformers_version",
    "name_or_path",
)


def main() -> None:
    if sys.argv[1] == "--join":
        tables = [json.loads(Path(name).read_text()) for name in sys.argv[3:]]
        return join(Path(sys.argv[2]), [column for table in tables for column in columns(table)])
    import transformers
    from transformers import PretrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types: dict[str, Any] = {}
    for config in json.loads(Path(sys.argv[1]).read_text()).values():
        if config.get("model_type") in CONFIG_MAPPING:
            look(CONFIG_MAPPING[config["model_type"]], config, types, PretrainedConfig)
    for kind in sorted(CONFIG_MAPPING):
        look_at_defaults(CONFIG_MAPPING[kind], types, PretrainedConfig)
    out = {
        "version": transformers.__version__,
        "known": {kind: CONFIG_MAPPING[kind].__name__ for kind in sorted(CONFIG_MAPPING)},
        "base": attributes(PretrainedConfig()),
        "types": types,
    }
    Path(sys.argv[2]).write_text(json.dumps(out))
    return None


def look(cls: Any, given: dict[str, Any], types: dict[str, Any], base: Any) -> None:
    try:
        made, plain = cls(**copy.deepcopy(given)), cls()
    except Exception as error:  # noqa: BLE001 (classes raise all kinds of errors)
        print(cls.model_type, repr(error)[:200])
        return
    entry = types.setdefault(
        cls.__name__, {"attributes": attributes(plain), "map": dict(cls.attribute_map or {}), "sub": {}}
    )
    entry["sub"] |= {
        name: sub.__name__ for name, sub in sub_configs(cls).items() if hasattr(sub, "model_type")
    }
    got = attributes(made)
    for name, value in got.items():
        default = entry["attributes"].get(name, DERIVED)
        if name in given:
            if vars(made)[name] != given[name] and name not in entry["sub"] and name not in NEVER_TOLD:
                entry["attributes"][name] = {"$": "changed"}
        elif value != default:
            entry["attributes"][name] = DERIVED
    for name in entry["sub"]:
        inner, sub = given.get(name), getattr(made, name, None)
        if inner is None and getattr(sub, "hidden_size", None) == given.get("hidden_size", DERIVED):
            entry["flat"] = {
                "into": name,
                "moved": sorted(n for n in given if n not in vars(made) and n in vars(sub)),
            }
            look(type(sub), {n: given[n] for n in given if n in vars(sub) and n != "model_type"}, types, base)
        if isinstance(sub, base):
            entry["sub"][name] = type(sub).__name__
        if isinstance(inner, dict) and isinstance(sub, base):
            look(type(sub), inner, types, base)


def look_at_defaults(cls: Any, types: dict[str, Any], base: Any) -> None:
    """A class of which no config.json is at hand: what changes when the sizes change is derived."""
    try:
        plain = cls()
    except Exception as error:  # noqa: BLE001
        print(cls.model_type, repr(error)[:200])
        return
    sizes = {
        n: v for n, v in vars(plain).items() if type(v) is int and v > 1 and n.split("_")[0] in PERTURBED
    }
    if not {"vocab_size", "text_config"} & set(vars(plain)):
        return  # no language model
    look(cls, {name: 2 * value for name, value in sizes.items()}, types, base)
    for name, sub in sub_configs(cls).items():
        if hasattr(sub, "model_type") and sub is not cls and "text" in name:
            look_at_defaults(sub, types, base)


def sub_configs(cls: Any) -> dict[str, Any]:
    return cls.sub_configs if isinstance(getattr(cls, "sub_configs", None), dict) else {}


def attributes(config: Any) -> dict[str, Any]:
    return {
        name: plain(name, value) for name, value in sorted(vars(config).items()) if not name.startswith("__")
    }


def plain(name: str, value: Any) -> Any:
    if name in NEVER_TOLD:
        return DERIVED
    text = json.dumps(value, default=lambda _: None) if not hasattr(value, "model_type") else "x" * 999
    return (
        value
        if len(text) < 60 and (value is None or isinstance(value, bool | int | float | str | list | dict))
        else DERIVED
    )


def join(out: Path, tables: list[dict[str, Any]]) -> None:
    known = sorted({name for table in tables for name in table["known"]})
    types = sorted({name for table in tables for name in table["types"]})
    joined = {
        "versions": [table["version"] for table in tables],
        "known": {name: [table["known"].get(name) for table in tables] for name in known},
        "base": spread([table["base"] for table in tables]),
        "types": {name: one_type([table["types"].get(name) for table in tables]) for name in types},
    }
    out.write_text(json.dumps(joined, separators=(",", ":"), sort_keys=True) + "\n")
    print(out, out.stat().st_size)


def columns(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The releases that a file holds: one, or all of a joined table."""
    if "versions" not in table:
        return [table]
    found = []
    for at, version in enumerate(table["versions"]):
        types = {name: one_column(entry, at) for name, entry in table["types"].items() if entry["in"][at]}
        found.append(
            {
                "version": version,
                "known": {name: row[at] for name, row in table["known"].items() if row[at] is not None},
                "base": one_row(table["base"], at),
                "types": types,
            }
        )
    return found


def one_column(entry: dict[str, Any], at: int) -> dict[str, Any]:
    """A class as one release has it."""
    own = one_row(entry["attributes"], at)
    flat = {"flat": entry["flat"][at]} if entry["flat"][at] is not None else {}
    return {"attributes": own, "map": entry["map"][at], "sub": entry["sub"][at], **flat}


def one_row(rows: dict[str, list[Any]], at: int) -> dict[str, Any]:
    """The attributes that one release has. An empty default looks like none: kept if all are."""
    return {name: row[at] for name, row in rows.items() if row[at] != {} or not any(row)}


def one_type(entries: list[Any]) -> dict[str, Any]:
    there = [entry or {"attributes": {}, "map": {}, "sub": {}} for entry in entries]
    return {
        "in": [entry is not None for entry in entries],
        "attributes": spread([entry["attributes"] for entry in there]),
        "map": [entry["map"] for entry in there],
        "sub": [entry["sub"] for entry in there],
        "flat": [entry.get("flat") for entry in there],
    }


def spread(tables: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """For each name, its default in each release; `{}` where it has no such attribute."""
    names = sorted({name for table in tables for name in table})
    return {name: [table.get(name, {}) for table in tables] for name in names}


if __name__ == "__main__":
    main()

"""What an engine declares: options, fields and environment variables, each with file and line."""

from __future__ import annotations

from typing import Any, Literal

from assay._value import Value


class Site(Value):
    """A line of the engine's source."""

    file: str
    """Path from the folder that holds the package: `sglang/srt/server_args.py`."""
    line: int
    """Line, from 1."""
    text: str = ""
    """That line, without surrounding blanks, at most 200 characters."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Constant(Value):
    """What an expression of the engine's source stands for, as far as can be told without running it."""

    known: bool
    """False if it depends on something that only a run would show."""
    value: Any = None
    """None, bool, int, float, str, or a list or dict of these; None where not known."""
    text: str = ""
    """The expression as written."""


Action = Literal["store", "store_const", "boolean", "append", "ignored", "refused", "help", "opaque"]
"""What giving an option does to its destination.

`store` one value or a list, by `nargs`; `store_const` the constant (`store_true` and its kin); `boolean`
`--x` and `--no-x`; `append` to a list; `ignored` nothing at all (a deprecated option that is only accepted);
`refused` stops the engine with an error (a removed option that explains itself);
`help` prints and exits; `opaque` something of the engine's own that was not understood.
"""

Converter = Literal[
    "text",
    "int",
    "float",
    "bool",
    "json",
    "json-list",
    "json-object",
    "json-config",
    "json-or-text",
    "folded-text",
    "unit-int",
    "unit-int-or-auto",
    "nullable-text",
    "si-int",
    "lora-paths",
    "lora-modules",
    "opaque",
]
"""How the text of a value becomes a value.

`bool` is Python's own: true for every text but the empty one; `json` as `json.loads` reads it, `json-list`
as `orjson.loads` does (any JSON value, without `NaN`); `json-object` a JSON object with `Option.keys` alone;
`json-config` one of which only the outer keys are checked against these; `json-or-text` JSON where the text
is in braces; `folded-text` in small letters, `-` as `_`; `unit-int` knows `k` (1,000), `K` (1,024) and so on,
`unit-int-or-auto` also `auto` for -1; `nullable-text` makes None of `""` and `"None"`; `si-int` knows `k`,
`Mi` and so on; `lora-modules` makes a dict of `name=path` or of a JSON object with these keys; `lora-paths`
makes a dict of a value in braces; `opaque` is a function of the engine's own that was not understood.
"""

ConfigRules = Literal["none", "plain", "typed", "typed-json", "any-flag", "flexible", "opaque"]
"""How a file of arguments is merged into the command line.

`none` there is no such file; `plain` a true value gives a bare flag, a false one nothing; `typed` that only
for `store_true` options, other booleans become a value, and options that do neither `store` nor `store_true`
are refused; `typed-json` likewise, and a mapping becomes JSON text; `any-flag` likewise, keys may be any long
flag of an option, and every option that takes one value is allowed; `flexible` as vLLM does: booleans by
`--x` and `--no-x`, mappings as JSON; `opaque` in a way of the engine's own that was not understood.
"""


Spelling = Literal["plain", "flexible"]
"""What becomes of words before they are parsed.

`plain` nothing; `flexible` as in vLLM's `FlexibleArgumentParser`: `_` counts as `-` in names, `--x.a.b v`
sets a key in the JSON of `--x`, `-O3` is `--optimization-level 3`.
"""


class Option(Value):
    """One option of the engine's command line."""

    flags: tuple[str, ...]
    """Its option strings in the order of declaration; the first is its usual name."""
    dest: str
    """Name in the parser's namespace."""
    field: str | None
    """Field of the engine's arguments class that the value ends in; None if it ends in none."""
    action: Action
    """What giving it does."""
    action_text: str = ""
    """The action as written, such as `store_true` or `DeprecatedAction`; empty where none is given."""
    converter: Converter = "text"
    """How its value is read."""
    type_text: str = ""
    """The converter as written in the source, such as `json_list_type`; empty where none is given."""
    keys: Constant | None = None
    """Of a JSON object, the allowed keys, each with those allowed in its own object, or None for any."""
    nullable: bool = False
    """Whether the texts `""` and `"None"` become None, whatever the converter."""
    opposites: tuple[str, ...] = ()
    """Of `boolean`, the flags that say no besides those that begin with `--no-`."""
    config_field: str = ""
    """The field of a config class that it is made of, such as `CacheConfig.cache_dtype`; empty if of none."""
    nargs: int | str | None = None
    """As in argparse: None for exactly one value, 0 for none, a number, `?`, `*` or `+`."""
    const: Constant | None = None
    """What `store_const`, or `nargs="?"` without a value, stores."""
    default: Constant
    """The parser's default."""
    choices: Constant | None = None
    """A list of the allowed values, or None if any value is allowed."""
    required: bool = False
    """True if the parser refuses a command line without it."""
    help: str = ""
    """Its help text as far as it is constant."""
    deprecated: str = ""
    """Why the source calls it deprecated (its message or help text), else empty."""
    replaced_by: str = ""
    """The flag that the source names instead, else empty."""
    declared_at: Site
    """Its flag in the call that declares it."""
    sites: tuple[tuple[str, Site], ...] = ()
    """Other lines of that call: of its further flags, and of its arguments `type`, `choices`, `help`, …"""
    first_line: int
    """First line of that call."""
    last_line: int
    """Last line of that call."""
    mentions: tuple[Site, ...] = ()
    """Up to five lines anywhere in the tree, outside its own declarations, that hold its field, destination
    or flag as a word, in code or in text. Empty means that nothing can read it by name."""

    def site(self, part: str) -> Site:
        """Where a flag or an argument of the call stands, else where the option is declared."""
        return dict(self.sites).get(part, self.declared_at)


class Field(Value):
    """One field of the engine's arguments class."""

    name: str
    """Its name."""
    type: str
    """Its annotation as written."""
    default: Constant
    """Its declared default; not known where it has none."""
    required: bool
    """True if it has no default."""
    flags: tuple[str, ...] = ()
    """The flags that set it."""
    declared_at: Site
    """Its line."""


class EnvironmentVariable(Value):
    """One environment variable that the engine declares in its own table."""

    name: str
    """Its name."""
    type: str
    """The declaring class as written, such as `EnvBool`."""
    default: Constant
    """Its declared default."""
    declared_at: Site
    """Its line."""


class Gap(Value):
    """Something in the source that could not be read, and so limits what may be said."""

    site: Site
    """Where."""
    reason: str
    """Why, in one sentence."""


class Declarations(Value):
    """All that an engine's source declares to its users."""

    idiom: str
    """The idiom module that read it, such as `sglang-argparse`."""
    arguments_class: str
    """Name of the class that the command line ends in, such as `ServerArgs`."""
    declared_at: Site
    """Where that class is."""
    options: tuple[Option, ...]
    """The command line's options, in order of declaration, `--help` included."""
    fields: tuple[Field, ...]
    """The fields of that class, in order."""
    environment: tuple[EnvironmentVariable, ...]
    """The declared environment variables, in order; empty if the version has no table."""
    environment_words: tuple[str, ...]
    """Every word anywhere in the tree that begins with a prefix of the engine's environment variables,
    sorted; one that ends in `_` is a prefix from which names are built."""
    deprecated_environment: tuple[tuple[str, str, Site], ...] = ()
    """(old name, what to use instead, where the source says so)."""
    positional: Option | None = None
    """The option that a word without a flag is for, such as vLLM's `model_tag`; `flags` holds its name."""
    spelling: Spelling = "plain"
    """What becomes of the words before they are parsed."""
    renamings: tuple[Site, ...] = ()
    """Lines that only hand a destination's value to a field of another name: `args.tp_size = …`."""
    listings: tuple[Site, ...] = ()
    """Lines that only put the fields' names in order: they read none of them."""
    config_option: str | None = None
    """The option that names a YAML file of arguments (`--config`), if the version has it."""
    config_rules: ConfigRules = "none"
    """How that file is merged."""
    abbreviations: bool = True
    """Whether the parser takes a unique prefix of a long flag for the flag."""
    version: str = ""
    """The engine's version as its source states it, or empty."""
    gaps: tuple[Gap, ...] = ()
    """What could not be read."""
    unsearched: tuple[str, ...] = ()
    """Files too large to be searched for words: while there are any, no word is known to be nowhere."""

"""Turns one `add_argument` call of an engine's source into an option."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.source.declarations import Constant, Option, Site
from assay.source.declaring.converter_shapes import Conversion, conversion_of, refused_texts
from assay.source.declaring.custom_actions import ActionShape, read_action
from assay.source.declaring.fold import SUPPRESS, Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope, plain
from assay.source.declaring.vllm_config import CONFIG_FIELD

_NONE = Constant(known=True)
_BUILT_IN: Mapping[str, ActionShape] = {
    "store": ActionShape("store"),
    "store_const": ActionShape("store_const", forced={"nargs": 0}),
    "store_true": ActionShape("store_const", defaults={"default": False}, forced={"nargs": 0, "const": True}),
    "store_false": ActionShape(
        "store_const", defaults={"default": True}, forced={"nargs": 0, "const": False}
    ),
    "append": ActionShape("append"),
    "help": ActionShape("help", defaults={"default": SUPPRESS}, forced={"nargs": 0}),
}
_BOOLEAN = ActionShape("boolean", forced={"nargs": 0})
_DEPRECATED = re.compile(r"\W*(note:\s*)?(--[\w-]+ is )?deprecated\b|.*--[\w-]+ is deprecated\b", re.I)
_USE_INSTEAD = re.compile(r"\b(?:use|set|prefer|with|by)\s+(?:the\s+)?[`'\"]?(--[A-Za-z][\w-]*)", re.I)


@dataclass(frozen=True)
class Call:
    """An `add_argument` call and where it stands."""

    node: ast.Call
    scope: Scope
    keywords: Mapping[str, ast.expr]
    """Its keyword arguments."""


def keywords_of(folder: Folder, node: ast.Call, scope: Scope) -> dict[str, ast.expr]:
    """The keyword arguments of a call, `**{…}` of constants included.

    Raises:
        NotKnown: a `**` argument cannot be told without running it.
    """
    keywords: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        if keyword.arg is not None:
            keywords[keyword.arg] = keyword.value
            continue
        spread = folder.value(keyword.value, scope)
        if not isinstance(spread, dict):
            raise NotKnown("**")
        for key, value in spread.items():
            name = f"**{key}"  # no name of the source's own
            scope.names[name] = value
            keywords[str(key)] = ast.copy_location(ast.Name(name, ast.Load()), keyword.value)
    return keywords


def read_option(folder: Folder, call: Call) -> Option:
    """The option that a call declares.

    Raises:
        NotKnown: its flags cannot be told without running it.
    """
    flags = _flags(folder, call)
    written = _text(folder, call, "help")
    shape, action_text = _shape(folder, call)
    if shape.refuses_with:
        shape = replace(shape, action="refused" if shape.refuses_with in call.keywords else "ignored")
    conversion = _converter(folder, call, shape)
    nargs = _slot(folder, call, shape, "nargs")
    if not nargs.known or not isinstance(nargs.value, int | str | None):
        shape, nargs = ActionShape("opaque"), _NONE
    help_text = "" if written == SUPPRESS else written
    deprecated = _deprecation(folder, call, shape, help_text, flags[0])
    return Option(
        flags=_both(flags) if shape.action == "boolean" else flags,
        dest=_text(folder, call, "dest") or _dest(flags),
        field=None,
        action=shape.action,
        action_text=action_text,
        converter=conversion.converter,
        type_text=conversion.text,
        keys=None if conversion.keys is None else Constant(known=True, value=dict(conversion.keys)),
        nullable=conversion.nullable,
        config_field=_text(folder, call, CONFIG_FIELD),
        nargs=nargs.value,
        const=_const(folder, call, shape),
        default=_slot(folder, call, shape, "default"),
        choices=_choices(folder, call),
        required=_slot(folder, call, shape, "required").value is True,
        help=help_text,
        deprecated=deprecated,
        replaced_by=_replacement(folder, call, help_text or deprecated) if deprecated else "",
        declared_at=call.scope.module.site(call.node.args[0] if call.node.args else call.node),
        sites=_sites(call, flags),
        first_line=call.node.lineno,
        last_line=call.node.end_lineno or call.node.lineno,
    )


def help_option(site: Site) -> Option:
    """The option that argparse adds by itself."""
    return Option(
        flags=("-h", "--help"),
        dest="help",
        field=None,
        action="help",
        action_text="help",
        nargs=0,
        default=Constant(known=True, value=SUPPRESS),
        help="show this help message and exit",
        declared_at=site,
        first_line=site.line,
        last_line=site.line,
    )


def _flags(folder: Folder, call: Call) -> tuple[str, ...]:
    flags: list[str] = []
    for node in call.node.args:
        inner = node.value if isinstance(node, ast.Starred) else node
        value = plain(folder.value(inner, call.scope))
        flags.extend(value if isinstance(node, ast.Starred) else [value])
    is_positional = len(flags) == 1 and isinstance(flags[0], str) and bool(flags[0])
    if not is_positional and (
        not flags or not all(isinstance(flag, str) and flag.startswith("-") for flag in flags)
    ):
        raise NotKnown("flags")
    return tuple(flags)


_CITED = ("type", "choices", "default", "help", "action")


def _sites(call: Call, flags: tuple[str, ...]) -> tuple[tuple[str, Site], ...]:
    """Where the flags after the first, and what else is worth citing, stand."""
    site = call.scope.module.site
    sites = {name: site(call.keywords[name]) for name in _CITED if name in call.keywords}
    if len(call.node.args) == len(flags):
        sites |= {flag: site(node) for flag, node in zip(flags, call.node.args, strict=True)}
    return tuple(sites.items())


def _dest(flags: tuple[str, ...]) -> str:
    long = [flag for flag in flags if flag.startswith("--")]
    return (long or list(flags))[0].lstrip("-").replace("-", "_")


def _both(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a `BooleanOptionalAction`."""
    pairs = [(flag, f"--no-{flag[2:]}") if flag.startswith("--") else (flag,) for flag in flags]
    return tuple(flag for pair in pairs for flag in pair)


def _shape(folder: Folder, call: Call) -> tuple[ActionShape, str]:
    """What the call's action does, and how it is written."""
    expr = call.keywords.get("action")
    if expr is None:
        return _BUILT_IN["store"], ""
    try:
        found = folder.value(expr, call.scope)
    except NotKnown:
        return ActionShape("opaque"), call.scope.module.text(expr)
    if found is None or isinstance(found, str):
        return _BUILT_IN.get(found or "store", ActionShape("opaque")), found or ""
    text = call.scope.module.text(expr)
    if isinstance(found, External) and found.dotted == "argparse.BooleanOptionalAction":
        return _BOOLEAN, text
    if isinstance(found, Defined | External):
        return read_action(folder, found), text
    return ActionShape("opaque"), text


def _converter(folder: Folder, call: Call, shape: ActionShape) -> Conversion:
    """How its values are read."""
    expr = call.keywords.get("type")
    if expr is None:
        return Conversion(shape.converter or "text", "")
    text = call.scope.module.text(expr)
    try:
        value = folder.value(expr, call.scope)
        found = conversion_of(folder, value)
    except NotKnown:
        return Conversion("opaque", text)
    converter = found.converter
    if converter == "opaque":
        choices = _choices(folder, call)
        if choices is not None and choices.known and (refused := refused_texts(value)):
            converter = "opaque" if refused & {str(each) for each in choices.value} else "text"
    if shape.converter and converter == "text":
        converter = shape.converter
    return replace(found, converter=converter, text=found.text if isinstance(value, Conversion) else text)


def _slot(folder: Folder, call: Call, shape: ActionShape, name: str) -> Constant:
    """What the action is given for one of argparse's settings."""
    if name in shape.forced:
        return Constant(known=True, value=plain(shape.forced[name]))
    if name in call.keywords:
        return folder.constant(call.keywords[name], call.scope)
    return Constant(known=True, value=plain(shape.defaults.get(name)))


def _const(folder: Folder, call: Call, shape: ActionShape) -> Constant | None:
    if shape.const_argument:
        given = call.keywords.get(shape.const_argument)
        return _NONE if given is None else folder.constant(given, call.scope)
    if shape.const is not None:
        value = shape.const.value if isinstance(shape.const, ast.Constant) else None
        return Constant(known=True, value=plain(value))
    const = _slot(folder, call, shape, "const")
    return None if const == _NONE and shape.action != "store_const" else const


def _choices(folder: Folder, call: Call) -> Constant | None:
    expr = call.keywords.get("choices")
    if expr is None:
        return None
    choices = folder.constant(expr, call.scope)
    if choices.known and choices.value is None:
        return None
    if isinstance(choices.value, dict):
        return Constant(known=True, value=list(choices.value), text=choices.text)
    return choices if isinstance(choices.value, list) else Constant(known=False, text=choices.text)


def _text(folder: Folder, call: Call, name: str) -> str:
    """A keyword argument that is a string, or empty; of a help text the parts that are constant."""
    expr = call.keywords.get(name)
    if expr is None:
        return ""
    constant = folder.constant(expr, call.scope)
    if constant.known:
        return constant.value if isinstance(constant.value, str) else ""
    parts = [n.value for n in ast.walk(expr) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "".join(parts) if name == "help" else ""


def _deprecation(folder: Folder, call: Call, shape: ActionShape, help_text: str, flag: str) -> str:
    """Why the option is called deprecated: by its help text, or by its action's own message."""
    if shape.refuses_with in call.keywords:
        return _text(folder, call, shape.refuses_with)
    if _DEPRECATED.match(help_text):
        return help_text
    if isinstance(shape.message, ast.JoinedStr):
        parts = [_message_part(folder, call, part, flag) for part in shape.message.values]
        return "".join(parts)
    return str(shape.message.value) if isinstance(shape.message, ast.Constant) else ""


def _message_part(folder: Folder, call: Call, part: ast.expr, flag: str) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        if part.value.id == "option_string":
            return flag
        flag_instead = _new_flag(folder, call)
        return f" Use '{flag_instead}' instead." if flag_instead else ""
    return ""


def _new_flag(folder: Folder, call: Call) -> str:
    """The flag that an argument of the engine's own action names."""
    for name in call.keywords:
        if name not in ("help", "dest", "default", "const", "choices", "metavar"):
            text = _text(folder, call, name)
            if text.startswith("--"):
                return text
    return ""


def _replacement(folder: Folder, call: Call, text: str) -> str:
    named = _new_flag(folder, call)
    if named:
        return named
    match = _USE_INSTEAD.search(text)
    return match.group(1) if match else ""

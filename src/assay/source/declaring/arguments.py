"""Reads the class of arguments and the options of the parser that an engine's entry module leads to.

How options are declared differs by generation, each an idiom: `sglang-argparse` adds each by hand (up to
0.5.13), `sglang-annotated` derives them from a dataclass's annotations (from 0.5.14), `sglang-namespaces`
collects that class from others (from 0.5.20), `vllm-config` takes the arguments from fields of config classes
(vLLM). The set-up code is followed, so a source may mix them.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

import msgspec
from packaging.version import InvalidVersion, Version

from assay.engines import Engine, option_history
from assay.errors import UnknownIdiom
from assay.source.declarations import Constant, Declarations, Field, Gap, Option, Site
from assay.source.declaring.classes import FieldOf
from assay.source.declaring.config_shape import config_of
from assay.source.declaring.environment import read_environment
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, Module, Modules
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.parser_setup import Setup
from assay.source.declaring.parsers import Parser, makes_parser
from assay.source.declaring.sglang_annotated import has_known_rules, plain_type
from assay.source.declaring.values import Scope

_MAX_FUNCTIONS = 400
_SHOWN_GAPS = 5


def read(tree: Modules, engine: Engine) -> Declarations:
    """All that the source declares; mentions and environment words are left empty.

    Raises:
        UnknownIdiom: the options are declared in another way.
    """
    folder = Folder(tree)
    entry = tree.module(engine.entry_module)
    if entry is None:
        raise UnknownIdiom(
            f"{engine.name}: the source has no module {engine.entry_module} that can be read",
            hint="give the folder that holds the package, or a release",
        )
    function = _main_block(folder, entry) or _maker(folder, entry)
    if function is None:
        raise UnknownIdiom(
            f"{engine.name}: {entry.file} leads to no function that makes an argparse parser",
            details=tuple(f"{gap.site}: {gap.reason}" for gap in tree.gaps[:_SHOWN_GAPS]),
        )
    setup = Setup(folder)
    setup.run(function, {})
    version = _version(folder, engine.package)
    owners, parser = _result(setup, function, version)
    owner, options = owners[0], parser.options
    fields = [field for each in owners for field in _fields(folder, each)]
    _check_generation(setup, owner, fields, options, version)
    idiom = _idiom(setup, folder, owner)
    renamings = [renaming for _, method in setup.built for renaming in _renamed(method)]
    options = _with_fields(renamings, fields, options)
    environment = read_environment(folder, engine.environment_module)
    config, rules = config_of(folder, function)
    if parser.spelling == "flexible":
        config, rules = "--config", "flexible"
    return Declarations(
        idiom=idiom,
        arguments_class=owner.node.name,
        declared_at=owner.module.site(owner.node),
        options=tuple(options),
        fields=tuple(_with_flags(fields, options)),
        environment=environment.variables,
        environment_words=(),
        deprecated_environment=environment.deprecated,
        positional=parser.positional,
        spelling=parser.spelling,
        listings=folder.classes.collected(owner).listed_at,
        renamings=tuple(site for _, _, site in renamings),
        config_option=config if any(config in option.flags for option in options) else None,
        config_rules=rules if config else "none",
        abbreviations=parser.abbreviations,
        version=version,
        gaps=(
            *_newer_than_known(engine, version, idiom, owner),
            *_other_rules(setup, idiom),
            *setup.gaps,
            *_option_gaps(options),
            *tree.gaps,
        ),
    )


def _main_block(folder: Folder, entry: Module) -> Defined | None:
    """What stands under `if __name__ == "__main__"`, as a function, if the parser is made there."""
    for node in entry.tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            main = ast.FunctionDef(name="__main__", args=empty, body=node.body, decorator_list=[])
            found = Defined(entry, ast.copy_location(main, node))
            return found if makes_parser(folder, found) else None
    return None


def _maker(folder: Folder, entry: Module) -> Defined | None:
    """The function that makes the parser: breadth first over the calls that the entry module leads to."""
    level = list(_callees(folder, entry, entry.tree))
    seen: set[tuple[str, str]] = set()
    while level and len(seen) < _MAX_FUNCTIONS:
        following: list[Defined] = []
        for found in level:
            key = (found.module.name, found.node.name)
            if key in seen:
                continue
            seen.add(key)
            if makes_parser(folder, found):
                return found
            following.append(found)
        level = [callee for found in following for callee in _callees(folder, found.module, found.node)]
    return None


def _callees(folder: Folder, module: Module, node: ast.AST) -> Iterator[Defined]:
    """Functions of the tree that the code of a module or function calls."""
    scope = Scope(module)
    nodes = list(_code(node))
    imports = {
        alias.asname or alias.name: (statement, alias)
        for statement in nodes
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    }
    for call in nodes:
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name) and call.func.id in imports:
            scope.names[call.func.id] = folder.tree.follow(module, *imports[call.func.id])
        try:
            found = folder.value(call.func, scope)
        except NotKnown:
            continue
        if isinstance(found, Defined) and isinstance(found.node, ast.FunctionDef):
            yield found


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a module or function, without the insides of further functions and classes."""
    following = deque(ast.iter_child_nodes(node))
    while following:
        child = following.popleft()
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            following.extend(ast.iter_child_nodes(child))


def _result(setup: Setup, function: Defined, version: str) -> tuple[list[Defined], Parser]:
    """The classes of arguments, the largest first, and the parser that parses the command line."""
    owners = list(dict.fromkeys([owner for owner, _ in setup.built] + setup.filled_by))
    if not owners:
        site = function.module.site(function.node)
        raise _later(version, f"{site}: {function.node.name} hands its parser to no class of arguments")
    parser = setup.parsed[-1].parser if setup.parsed else setup.parsers[-1]
    classes = setup.folder.classes
    own = [
        owner
        for owner in owners
        if not any(owner in classes.line(other) for other in owners if other is not owner)
    ]
    return sorted(own, key=lambda owner: -len(classes.fields(owner))), parser


def _fields(folder: Folder, owner: Defined) -> list[Field]:
    """The fields of the class, those of its bases first."""
    return [_field(folder, field) for field in folder.classes.fields(owner)]


def _field(folder: Folder, found: FieldOf) -> Field:
    node, default = found.node, Constant(known=False)
    if node.value is not None:
        default = folder.field_default(found.owner, node.value)
    return Field(
        name=found.name,
        type=plain_type(folder, found),
        default=default,
        required=not folder.classes.has_default(found.owner, node.value),
        declared_at=found.owner.module.site(node),
    )


def _idiom(setup: Setup, folder: Folder, owner: Defined) -> str:
    if not setup.derived_by:
        configs = any(option.config_field for parser in setup.parsers for option in parser.options)
        return "vllm-config" if configs else "sglang-argparse"
    return "sglang-namespaces" if folder.classes.collected(owner).classes else "sglang-annotated"


def _newer_than_known(engine: Engine, version: str, idiom: str, owner: Defined) -> Iterator[Gap]:
    """That a release is newer than any that these rules were compared with."""
    newest = option_history(engine).releases[-1]
    try:
        is_newer = Version(Version(version).public) > Version(newest)
    except InvalidVersion:
        return
    if is_newer:
        reason = f"{version} is newer than {newest}, the newest that assay knows: read as {idiom}"
        yield Gap(site=owner.module.site(owner.node), reason=reason)


def _other_rules(setup: Setup, idiom: str) -> Iterator[Gap]:
    """That a release derives options by code that is none of those known: it is read by the nearest rules."""
    for function in setup.derived_by:
        if not has_known_rules(function):
            reason = f"{function.node.name} is not as in any release that assay knows: read as {idiom}"
            yield Gap(site=function.module.site(function.node), reason=reason)


def _check_generation(
    setup: Setup, owner: Defined, fields: list[Field], options: list[Option], version: str
) -> None:
    """Refuse a source whose options mostly come from somewhere that was not followed."""
    if len(options) * 2 >= len(fields):
        return
    site = next((gap.site for gap in setup.gaps), owner.module.site(owner.node))
    raise _later(
        version,
        f"{site}: {owner.node.name} has {len(fields)} fields, and {len(options)} options were found for them",
    )


def _later(version: str, seen: str) -> UnknownIdiom:
    """The error for a generation that declares its options in another way."""
    named = f"version {version} of the engine" if version else "this version of the engine"
    return UnknownIdiom(
        f"{named} declares its options in a way that assay does not read yet",
        hint="docs/how-to/add-an-engine.md says which versions can be read, and how to add one",
        details=(seen,),
    )


def _with_fields(
    renamings: list[tuple[str, str, Site]], fields: list[Field], options: list[Option]
) -> list[Option]:
    """The options, each with the field that its value ends in."""
    names = {field.name for field in fields}
    renamed = {dest: name for name, dest, _ in renamings if name in names}
    return [
        msgspec.structs.replace(
            option, field=renamed.get(option.dest, option.dest if option.dest in names else None)
        )
        for option in options
    ]


def _renamed(function: Defined) -> Iterator[tuple[str, str, Site]]:
    """Field, destination and line of each `args.field = args.dest`."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            target, value = node.targets[0], node.value
            if isinstance(value, ast.Attribute) and ast.unparse(target.value) == ast.unparse(value.value):
                yield target.attr, value.attr, function.module.site(node)


def _with_flags(fields: list[Field], options: list[Option]) -> Iterator[Field]:
    for field in fields:
        flags = [flag for option in options if option.field == field.name for flag in option.flags]
        yield msgspec.structs.replace(field, flags=tuple(flags))


def _option_gaps(options: list[Option]) -> Iterator[Gap]:
    for option in options:
        if option.action == "opaque":
            yield Gap(site=option.declared_at, reason=f"the action {option.action_text} was not understood")
        if option.converter == "opaque":
            yield Gap(site=option.declared_at, reason=f"the converter {option.type_text} was not understood")


def _version(folder: Folder, package: str) -> str:
    """The version that the package states, if it can be read."""
    for name in (f"{package}._version", f"{package}.version"):
        module = folder.tree.module(name)
        for variable in ("__version__", "version"):
            if module is not None and variable in module.bindings:
                try:
                    value = folder.resolve(folder.tree.lookup(module, variable))
                except NotKnown:
                    continue
                if isinstance(value, str):
                    return value
    return ""

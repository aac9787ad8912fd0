"""Follows the code that sets up an argparse parser, statement by statement, and collects what it declares."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from types import UnionType

import msgspec

from assay.errors import UnknownIdiom
from assay.source.declarations import Gap, Option, Site
from assay.source.declaring.add_argument import Call, help_option, keywords_of, read_option
from assay.source.declaring.classes import Unclear
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.parameters import defaults_of, parameters_of
from assay.source.declaring.parsers import Parsed, Parser, makes_parser, pairs_switches, rewrites_words
from assay.source.declaring.sglang_annotated import derived_calls, is_derivation
from assay.source.declaring.statements import execute
from assay.source.declaring.values import Scope, bind

MAX_CALLS_DEEP = 12
MAX_STATEMENTS = 100_000
MAX_NAMED = 60
MAX_OPTIONS = 5_000
"""Ten times what the largest engine has."""
_NOT_KNOWN = Unclear()
_HARMLESS = frozenset({"parse_args", "parse_known_args", "print_help", "format_help", "format_usage"})
_PARSER_SETTINGS = frozenset({"prog", "usage", "description", "epilog", "formatter_class", "add_help"})


class Setup:
    """One run over the function that makes the parser."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._depth = 0
        self._left = MAX_STATEMENTS
        self._nested: set[Defined] = set()
        self.gaps: list[Gap] = []
        self.parsers: list[Parser] = []
        self.parsed: list[Parsed] = []
        self.filled_by: list[Defined] = []
        """Classes that a parser was handed to."""
        self.derived_by: list[Defined] = []
        """Functions that add options for the annotated fields of a class."""
        self.built: list[tuple[Defined, Defined]] = []
        """Class and method that the parsed arguments were handed to."""

    def run(self, function: Defined, arguments: Mapping[str, object], owner: Defined | None = None) -> object:
        """Follow a function with these arguments; what it returns, or `Unclear`."""
        if self._depth >= MAX_CALLS_DEEP or not isinstance(function.node, ast.FunctionDef):
            return _NOT_KNOWN
        self._depth += 1
        names: dict[str, object] = {p.arg: _NOT_KNOWN for p in parameters_of(function.node)}
        for parameter, default in defaults_of(function.node):
            names[parameter] = self._folded(default, Scope(function.module))
        names |= arguments
        for base in self.folder.classes.line(owner) if owner is not None else ():
            if isinstance(base, Defined) and function.node in base.node.body:
                names["__class__"] = base
        returned = self._block(function.node.body, Scope(function.module, names))
        self._depth -= 1
        return _NOT_KNOWN if returned is None else returned[0]

    def _block(self, statements: Sequence[ast.stmt], scope: Scope) -> tuple[object] | None:
        """Follow statements in order; what they return, if it is certain that they do."""
        for statement in statements:
            self._left -= 1
            if self._left < 0:
                site = scope.module.site(statement)
                raise UnknownIdiom(
                    f"{site}: more than {MAX_STATEMENTS:,} statements set up the parser of the engine"
                )
            returned = self._statement(statement, scope)
            if returned is not None:
                return returned
        return None

    def _statement(self, statement: ast.stmt, scope: Scope) -> tuple[object] | None:
        if isinstance(statement, ast.Return):
            return (None if statement.value is None else self._evaluated(statement.value, scope),)
        if isinstance(statement, ast.If):
            return self._if(statement, scope)
        if isinstance(statement, ast.For):
            return self._for(statement, scope)
        if isinstance(statement, ast.With | ast.Try):
            return self._block(statement.body, scope)
        if isinstance(statement, ast.Expr):
            if isinstance(statement.value, ast.Call):
                self._called(statement.value, scope)
                with contextlib.suppress(NotKnown):
                    execute(self.folder, statement, scope)  # X.append(…) and the like
        elif isinstance(statement, ast.FunctionDef):
            nested = Defined(scope.module, statement)
            self._nested.add(nested)
            scope.names[statement.name] = nested
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self._import(statement, scope)
        else:
            self._assign(statement, scope)
        return None

    def _if(self, statement: ast.If, scope: Scope) -> tuple[object] | None:
        try:
            decided = self.folder.truth(statement.test, scope)
        except NotKnown:
            before = {parser: len(parser.options) for parser in self.parsers}
            for branch in (statement.body, statement.orelse):
                self._block(branch, scope)
            if any(len(parser.options) > count for parser, count in before.items()):
                self._gap(statement, scope, "options are declared only under a condition")
            return None
        return self._block(statement.body if decided else statement.orelse, scope)

    def _for(self, statement: ast.For, scope: Scope) -> tuple[object] | None:
        try:
            items = self.folder.classes.iterated(self.folder.value(statement.iter, scope))
        except NotKnown:
            items = [_NOT_KNOWN]
        for item in items:
            try:
                bind(statement.target, item, scope)
            except NotKnown:
                _forget(statement.target, scope)
            returned = self._block(statement.body, scope)
            if returned is not None:
                return returned
        return None

    def _import(self, statement: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            scope.names[bound] = self.folder.imported(scope.module, statement, alias)

    def _assign(self, statement: ast.stmt, scope: Scope) -> None:
        value = getattr(statement, "value", None)
        into_names = not any(isinstance(t, ast.Subscript) for t in getattr(statement, "targets", []))
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Call) and into_names:
            made = self._called(value, scope)
            for target in statement.targets:
                try:
                    bind(target, made, scope)
                except NotKnown:
                    _forget(target, scope)
            return
        try:
            execute(self.folder, statement, scope)
        except NotKnown:
            for target in getattr(statement, "targets", [getattr(statement, "target", None)]):
                _forget(target, scope)

    def _evaluated(self, expr: ast.expr, scope: Scope) -> object:
        return self._called(expr, scope) if isinstance(expr, ast.Call) else self._folded(expr, scope)

    def _folded(self, expr: ast.expr, scope: Scope) -> object:
        try:
            return self.folder.value(expr, scope)
        except NotKnown:
            return _NOT_KNOWN

    def _called(self, node: ast.Call, scope: Scope) -> object:
        """Follow a call as far as it has to do with a parser; what it returns."""
        node = self._with_named_arguments(node, scope)
        if isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "super()":
                return self._on_next_class(node, scope)
            owner = self._evaluated(node.func.value, scope)
            if isinstance(owner, Parser):
                return self._on_parser(owner, node, scope)
            if isinstance(owner, Defined) and isinstance(owner.node, ast.ClassDef):
                return self._on_class(owner, node, scope)
        function = self._folded(node.func, scope)
        if isinstance(node.func, ast.Name) and node.func.id in scope.names:
            local = self._local(function, node, scope)
            if local is not None:
                return local[0]
        if isinstance(function, External) and function.dotted == "argparse.ArgumentParser":
            return self._new_parser(node, scope)
        if isinstance(function, Defined) and isinstance(function.node, ast.ClassDef):
            return self._constructed(function, node, scope)
        return self._function(function, node, scope)

    def _function(self, function: object, node: ast.Call, scope: Scope) -> object:
        """Follow a function that has to do with a parser."""
        concerns = self._concerns(node, scope)
        if isinstance(function, Defined) and is_derivation(function):
            return self._derive(function, node, scope)
        is_plain = isinstance(function, Defined) and isinstance(function.node, ast.FunctionDef)
        if isinstance(function, Defined) and is_plain and (concerns or makes_parser(self.folder, function)):
            return self.run(function, self._arguments(function, node, scope))
        if self._concerns(node, scope, Parser):
            self._gap(node, scope, f"the parser is handed to {_shortened(node.func)}, which was not followed")
        return self._folded(node, scope)

    def _derive(self, function: Defined, node: ast.Call, scope: Scope) -> object:
        """A call that adds an option for each annotated field of a class."""
        given = self._arguments(function, node, scope)
        parser = next((value for value in given.values() if isinstance(value, Parser)), None)
        owner = next((value for value in given.values() if isinstance(value, Defined)), None)
        if parser is None or owner is None:
            self._gap(node, scope, "options are derived from the annotations of a class that was not found")
            return _NOT_KNOWN
        self.filled_by.append(owner)
        self.derived_by.append(function)
        for call in derived_calls(self.folder, owner):
            self._read(parser, call)
        return _NOT_KNOWN

    def _local(self, function: object, node: ast.Call, scope: Scope) -> tuple[object] | None:
        """Follow a function of the function that is followed; it sees the outer names."""
        if not isinstance(function, Defined) or function not in self._nested:
            return None
        return (self.run(function, scope.names | self._arguments(function, node, scope)),)

    def _with_named_arguments(self, node: ast.Call, scope: Scope) -> ast.Call:
        """The call, with a name in place of each argument that is a call that gives a parser."""
        arguments: list[ast.expr] = []
        for argument in node.args:
            made = self._called(argument, scope) if isinstance(argument, ast.Call) else None
            if isinstance(made, Parser | Parsed):
                name = f"**{len(arguments)}"  # no name of the source's own
                scope.names[name] = made
                arguments.append(ast.copy_location(ast.Name(name, ast.Load()), argument))
            else:
                arguments.append(argument)
        if arguments == node.args:
            return node
        return ast.copy_location(ast.Call(node.func, arguments, node.keywords), node)

    def _constructed(self, function: Defined, node: ast.Call, scope: Scope) -> object:
        parents = self.folder.classes.line(function)
        if any(isinstance(base, External) and base.dotted == "argparse.ArgumentParser" for base in parents):
            parser = self._new_parser(node, scope)
            if rewrites_words(function):
                parser.spelling = "flexible"
                parser.inverses = pairs_switches(function)
            else:
                self._gap(node, scope, "the parser is of a class of the engine's own")
            return parser
        return _NOT_KNOWN

    def _new_parser(self, node: ast.Call, scope: Scope) -> Parser:
        parser = Parser()
        self.parsers.append(parser)
        settings = {keyword.arg: self._folded(keyword.value, scope) for keyword in node.keywords}
        parser.abbreviations = settings.pop("allow_abbrev", True) is not False
        if settings.get("add_help", True) is not False:
            parser.options.append(help_option(scope.module.site(node)))
        for name in settings:
            if name not in _PARSER_SETTINGS:
                self._gap(node, scope, f"the parser's setting {name} is not followed")
        return parser

    def _on_parser(self, parser: Parser, node: ast.Call, scope: Scope) -> object:
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        if name == "add_argument":
            self._declare(parser, node, scope)
            if len(parser.options) > MAX_OPTIONS:
                raise UnknownIdiom(f"{scope.module.site(node)}: more than {MAX_OPTIONS:,} options")
        elif name == "add_argument_group":
            return parser
        elif name == "add_mutually_exclusive_group":
            self._gap(node, scope, "that these options exclude each other is not followed")
            return parser
        elif name in ("parse_args", "parse_known_args"):
            self.parsed.append(Parsed(parser))
            return self.parsed[-1]
        elif name not in _HARMLESS:
            self._gap(node, scope, f"the parser's method {name} is not followed")
        return _NOT_KNOWN

    def _declare(self, parser: Parser, node: ast.Call, scope: Scope) -> None:
        try:
            keywords = keywords_of(self.folder, node, scope)
        except NotKnown:
            self._gap(node, scope, "an option whose arguments only a run would show")
            return
        self._read(parser, Call(node, scope, keywords))

    def _read(self, parser: Parser, call: Call) -> None:
        try:
            option = read_option(self.folder, call)
        except NotKnown:
            self._gap(call.node, call.scope, "an option whose flags only a run would show")
            return
        if option.flags[0].startswith("-"):
            parser.options.append(_paired(option) if parser.inverses else option)
        elif option.nargs == "?" and parser.positional is None:
            parser.positional = option
        else:
            self._gap(call.node, call.scope, "words without a flag are not followed")

    def _on_class(self, owner: Defined, node: ast.Call, scope: Scope) -> object:
        """`Class.method(parser)` and `Class.method(arguments)`."""
        function = self._folded(node.func, scope)
        if not isinstance(function, Defined):
            return self._folded(node, scope)
        if not self._concerns(node, scope):
            # a method that may change arguments of options in place
            if any(isinstance(self._folded(argument, scope), dict) for argument in node.args):
                return self.run(function, self._arguments(function, node, scope, owner), owner)
            return self._folded(node, scope)
        given = [self._folded(argument, scope) for argument in node.args]
        if any(isinstance(value, Parsed) for value in given):
            self.built.append((owner, function))
            return _NOT_KNOWN
        self.filled_by.append(owner)
        return self.run(function, self._arguments(function, node, scope, owner), owner)

    def _on_next_class(self, node: ast.Call, scope: Scope) -> object:
        """`super().method(…)` in a method of a class that is followed."""
        assert isinstance(node.func, ast.Attribute)
        owner, here = scope.names.get("cls"), scope.names.get("__class__")
        if not isinstance(owner, Defined) or not isinstance(here, Defined):
            return _NOT_KNOWN
        line = self.folder.classes.line(owner)
        for base in line[line.index(here) + 1 :] if here in line else ():
            found = _method_of(base, node.func.attr)
            if found is not None:
                return self.run(found, self._arguments(found, node, scope, owner), owner)
        return _NOT_KNOWN

    def _concerns(self, node: ast.Call, scope: Scope, kinds: type | UnionType = Parser | Parsed) -> bool:
        """Whether a parser, or what it parsed, is among the arguments."""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        names = [scope.names.get(argument.id) for argument in given if isinstance(argument, ast.Name)]
        return any(isinstance(value, kinds) for value in names)

    def _arguments(
        self, function: Defined, node: ast.Call, scope: Scope, owner: Defined | None = None
    ) -> dict[str, object]:
        assert isinstance(function.node, ast.FunctionDef)
        parameters = [parameter.arg for parameter in parameters_of(function.node)]
        decorators = [ast.unparse(decorator) for decorator in function.node.decorator_list]
        values: dict[str, object] = {}
        if owner is not None and "classmethod" in decorators:
            values[parameters.pop(0)] = owner
        for parameter, argument in zip(parameters, node.args, strict=False):
            values[parameter] = self._folded(argument, scope)
        named = {k.arg: self._folded(k.value, scope) for k in node.keywords if k.arg is not None}
        if function.node.args.kwarg is not None:
            values[function.node.args.kwarg.arg] = {k: v for k, v in named.items() if k not in parameters}
        return values | named

    def _gap(self, node: ast.AST, scope: Scope, reason: str) -> None:
        site: Site = scope.module.site(node)
        if all(gap.site != site or gap.reason != reason for gap in self.gaps):
            self.gaps.append(Gap(site=site, reason=reason))


def _method_of(owner: Defined | External, name: str) -> Defined | None:
    if isinstance(owner, External):
        return None
    for node in owner.node.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return Defined(owner.module, node)
    return None


def _forget(target: object, scope: Scope) -> None:
    """A name that was assigned something that is not known is no longer known."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = _NOT_KNOWN
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            _forget(part, scope)


def _paired(option: Option) -> Option:
    """A switch with its opposite by the other of `--enable-` and `--disable-`."""
    pairs = (("--enable-", "--disable-"), ("--disable-", "--enable-"))
    opposites = tuple(
        inverse + flag.removeprefix(prefix)
        for flag in option.flags
        for prefix, inverse in pairs
        if option.action == "boolean" and flag.startswith(prefix)
    )
    return msgspec.structs.replace(option, flags=(*option.flags, *opposites), opposites=opposites)


def _shortened(expr: ast.expr) -> str:
    text = ast.unparse(expr)
    return text if len(text) <= MAX_NAMED else "something"

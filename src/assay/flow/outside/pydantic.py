"""What pydantic's dataclasses do beside Python's own: validators, types of fields, constraints."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from assay.flow import calls, classes, operations
from assay.flow.interpreter import Interpreter
from assay.flow.outside.conforming import FAILS, Annotated, conform
from assay.flow.values import (
    MISSING,
    Bound,
    Class,
    Function,
    Instance,
    Native,
    Raised,
    Symbol,
    Unknown,
    VDict,
    Wrapped,
)


class ValidationError(ValueError):
    """`pydantic.ValidationError`."""


class FieldInfo(classes.FieldSpec):
    """`pydantic.Field(…)`."""

    __slots__ = ("limits",)

    def __init__(self, default: Any, factory: Any, *, init: bool, limits: dict[str, Any]) -> None:
        super().__init__(default, factory, init=init)
        self.limits = limits


_LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, limit: bool(value > limit),
    "ge": lambda value, limit: bool(value >= limit),
    "lt": lambda value, limit: bool(value < limit),
    "le": lambda value, limit: bool(value <= limit),
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
    "multiple_of": lambda value, limit: value % limit == 0,
}
_VALIDATES = "\0validates"
"""Attribute of a class: what pydantic knows of it."""


class _Validator:
    """A method under `@field_validator` or `@model_validator`."""

    __slots__ = ("function", "mode", "names")

    def __init__(self, names: tuple[str, ...], mode: str, function: Any) -> None:
        self.names, self.mode, self.function = names, mode, function


class _Known:
    """What pydantic knows of a class."""

    __slots__ = ("fields", "validators")

    def __init__(self, fields: dict[str, Annotated], validators: list[_Validator]) -> None:
        self.fields, self.validators = fields, validators


def _field(
    i: Interpreter,
    default: Any = MISSING,
    *,
    default_factory: Any = MISSING,
    init: Any = True,
    **keywords: Any,
) -> Any:
    limits = {name: i.force(value) for name, value in keywords.items() if name in _LIMITS}
    if default is ... or isinstance(default, Symbol):
        default = MISSING
    return FieldInfo(default, default_factory, init=i.force(init) is not False, limits=limits)


def _field_validator(i: Interpreter, *names: Any, mode: Any = "after", **_keywords: Any) -> Any:
    return _marks(tuple(str(i.force(name)) for name in names), str(i.force(mode)))


def _model_validator(i: Interpreter, *, mode: Any = "after", **_keywords: Any) -> Any:
    return _marks((), str(i.force(mode)))


def _marks(names: tuple[str, ...], mode: str) -> Native:
    def mark(_i: Interpreter, function: Any) -> Any:
        inner = function.function if isinstance(function, Wrapped) else function
        is_method = not names and mode == "after" and not isinstance(function, Wrapped)
        marked = Wrapped("method" if is_method else "class", inner)
        marked.note = _Validator(names, mode, inner)
        return marked

    return Native("validator", mark)


def _dataclass(i: Interpreter, cls: Any = None, **_keywords: Any) -> Any:
    if cls is None:
        return Native("dataclass(…)", _dataclass)
    if not isinstance(cls, Class):
        return cls
    made = classes.make_dataclass(i, cls)
    fields: dict[str, Annotated] = {}
    validators: dict[str, _Validator] = {}
    for base in reversed(made.line):
        if isinstance(base, Class):
            fields.update(_written_types(i, base))
            for name, value in base.attributes.items():
                if isinstance(value, Wrapped) and isinstance(value.note, _Validator):
                    validators[name] = value.note
    made.attributes[_VALIDATES] = _Known(fields, list(validators.values()))
    made.attributes["__init__"] = Native("__init__", _init)
    return made


def _written_types(i: Interpreter, cls: Class) -> Iterator[tuple[str, Annotated]]:
    """The fields that a class itself declares, with their types as written."""
    definition = classes.definition(i, cls)
    for statement in definition.body if definition is not None else ():
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, Annotated(statement.annotation, cls.module.frame)


# ------------------------------------------------------------ making an object


def _init(i: Interpreter, made: Instance, *arguments: Any, **keywords: Any) -> None:
    cls = made.cls
    known = _known(cls)
    assert known is not None
    order = [name for name, _ in [*cls.fields, *cls.init_only]]
    given = dict(zip(order, arguments, strict=False)) | keywords
    given = _before(i, cls, known, given)
    handed = []
    for name, default in cls.fields:
        i.machine.put(made.attributes, name, _value(i, cls, known, name, default, given))
    for name, default in cls.init_only:
        handed.append(_value(i, cls, known, name, default, given))
    if given:
        _refuse(i, cls, next(iter(given)), "Unexpected keyword argument")
    after = classes.class_attribute(cls, "__post_init__")
    if after is not MISSING:
        _validating(lambda: i.call(after, [made, *handed], {}))
    check_again(i, made)


def _known(cls: Any) -> _Known | None:
    found = classes.class_attribute(cls, _VALIDATES)
    return found if isinstance(found, _Known) else None


def is_validated(cls: Any) -> bool:
    """Whether a class is a dataclass of pydantic."""
    return isinstance(cls, Class) and _known(cls) is not None


def check_again(i: Interpreter, made: Instance) -> None:
    """The checks of a whole object: carried out when it is made, and whenever it becomes another's field."""
    known = _known(made.cls)
    for each in known.validators if known is not None else ():
        if not each.names and each.mode == "after":
            _validating(lambda f=each.function: i.call(f, [made], {}))  # type: ignore[misc]


def _before(i: Interpreter, cls: Class, known: _Known, given: dict[str, Any]) -> dict[str, Any]:
    for each in known.validators:
        if not each.names and each.mode != "after":
            if each.mode != "before":
                i.machine.gap(f"a validator of mode {each.mode}")
                continue
            found = _validating(
                lambda f=each.function, g=given: i.call(f, [cls, VDict(g)], {}),  # type: ignore[misc]
            )
            mapping = operations.mapping(i, found)
            if mapping is None:
                i.machine.gap(f"what a validator makes of the arguments of {cls.name}")
            else:
                given = mapping
    return given


def _value(i: Interpreter, cls: Class, known: _Known, name: str, default: Any, given: dict[str, Any]) -> Any:
    spec = default if isinstance(default, classes.FieldSpec) else None
    takes = spec is None or spec.init
    if name in given and takes:
        return _validated(i, cls, known, name, spec, given.pop(name))
    if spec is not None:
        if spec.factory is not MISSING:
            return i.call(spec.factory, [], {})
        default = spec.default
    if default is MISSING:
        if not takes:
            return MISSING
        _refuse(i, cls, name, "Field required")
    return default


def _validated(i: Interpreter, cls: Class, known: _Known, name: str, spec: Any, value: Any) -> Any:
    """What pydantic makes of an argument."""

    def core(each: Any) -> Any:
        found = conform(i, known.fields[name], each, _made) if name in known.fields else each
        if found is FAILS:
            _refuse(i, cls, name, "Input is not of the field's type")
        _check_limits(i, cls, name, spec, found)
        return found

    run: Callable[[Any], Any] = core
    for each in known.validators:
        if name in each.names or "*" in each.names:
            run = _under(i, cls, each, run)
    return run(value)


def _under(
    i: Interpreter, cls: Class, validator: _Validator, inner: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    function = Bound(validator.function, cls)
    more = [Unknown("what pydantic tells a validator")] if _wants_more(validator) else []

    def run(value: Any) -> Any:
        if validator.mode == "before":
            return inner(_validating(lambda: i.call(function, [value, *more], {})))
        if validator.mode == "wrap":
            handler = Native("handler", lambda _i, each: inner(each))
            return _validating(lambda: i.call(function, [value, handler, *more], {}))
        if validator.mode == "plain":
            return _validating(lambda: i.call(function, [value, *more], {}))
        checked = inner(value)
        return _validating(lambda: i.call(function, [checked, *more], {}))

    return run


def _wants_more(validator: _Validator) -> bool:
    function = validator.function
    usual = 3 if validator.mode == "wrap" else 2
    return isinstance(function, Function) and len(function.node.args.args) > usual


def _check_limits(i: Interpreter, cls: Class, name: str, spec: Any, value: Any) -> None:
    value = i.force(value)
    if value is None:
        return
    for limit, against in spec.limits.items() if isinstance(spec, FieldInfo) else ():
        holds = i.lift(_LIMITS[limit], value, against, label=limit)
        why = f"Input should be {limit} {against}"
        i.branch(holds, lambda: None, lambda said=why: _refuse(i, cls, name, said))  # type: ignore[misc]


def _refuse(i: Interpreter, cls: Class, name: str, why: str) -> Any:
    raise i.error(ValidationError, f"1 validation error for {cls.name}: {name}: {why}")


def _validating(run: Callable[[], Any]) -> Any:
    """What validators and `__post_init__` raise as ValueError or AssertionError becomes pydantic's error."""
    try:
        return run()
    except Raised as raised:
        error = raised.error
        line = error.cls.line if isinstance(error.cls, Class) else [error.cls]
        if any(isinstance(base, type) and issubclass(base, ValueError | AssertionError) for base in line):
            made = Instance(ValidationError)
            made.attributes["args"] = error.attributes.get("args", ())
            raised.error = made
        raise


def _made(i: Interpreter, cls: Class, value: dict[str, Any]) -> Any:
    return calls.call(i, cls, [], value)


def _config_dict(_i: Interpreter, **keywords: Any) -> VDict:
    return VDict(keywords)


NAMES: dict[str, Any] = {
    "pydantic.dataclasses.dataclass": Native("dataclass", _dataclass),
    "pydantic.Field": Native("Field", _field),
    "pydantic.fields.Field": Native("Field", _field),
    "pydantic.fields.FieldInfo": FieldInfo,
    "pydantic.field_validator": Native("field_validator", _field_validator),
    "pydantic.model_validator": Native("model_validator", _model_validator),
    "pydantic.ConfigDict": Native("ConfigDict", _config_dict),
    "pydantic.ValidationError": ValidationError,
    "pydantic_core.ValidationError": ValidationError,
}

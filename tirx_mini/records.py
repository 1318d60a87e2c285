"""Dataclasses whose methods are compiled at their first call.

`dataclass` is that of the standard library, and its `fields`, `replace` and `is_dataclass` know these classes. The
standard one compiles up to six methods of every class when it is imported: for the classes of this package that was a
third of the time of an import. Here `__init__`, `__eq__` and `__hash__` replace themselves at their first call. With
``slots=True``, `__init__` of a frozen class stores through the slots, which takes half the time.

`replace` is that of the standard library without its checks. `InitVar`, `order` and `unsafe_hash` are not supported.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass", "replace"]

_FIELDS = "__dataclass_fields__"
_T = TypeVar("_T")


class _Made:
    """The default value shown in signatures for a field with a default factory."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


class _Signature:
    """The signature of a class for `inspect.signature` and editors."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __get__(self, obj: object, owner: type) -> inspect.Signature:
        if obj is not None or owner.__init__ is not self.cls.__init__:
            raise AttributeError("__signature__")
        found = inspect.signature(_init(self.cls))
        return found.replace(parameters=list(found.parameters.values())[1:])


def _dataclass(
    cls: type | None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
) -> object:
    """Return a dataclass, as `dataclasses.dataclass` does."""

    def decorate(cls: type) -> type:
        own = _own_fields(cls, kw_only)
        known = {name: each for base in cls.__mro__[-1:0:-1] for name, each in getattr(base, _FIELDS, {}).items()}
        if slots:
            cls = _with_slots(cls, [name for name in own if name not in known])
        setattr(cls, _FIELDS, known | own)
        params = copy(_PARAMS)
        params.init, params.repr, params.eq, params.frozen = init, repr, eq, frozen
        cls.__dataclass_params__ = params
        _add_methods(cls, init, repr, eq, frozen)
        abc.update_abstractmethods(cls)
        return cls

    return decorate if cls is None else decorate(cls)


class _Parameters(dict[type, tuple[str, ...]]):
    """The fields that `__init__` of each class takes."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        self[cls] = tuple(each.name for each in fields(cls) if each.init)
        return self[cls]


_PARAMETERS = _Parameters()


def _replace(obj: _T, /, **changes: object) -> _T:
    """Return a copy of an object with other values of some fields."""
    cls = type(obj)
    for name in _PARAMETERS[cls]:
        if name not in changes:
            changes[name] = getattr(obj, name)
    return cls(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    dataclass, replace = _dataclass, _replace


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Example:
    """A standard dataclass, whose private marks of a dataclass the classes made here have too."""

    field: int


_MARK = getattr(fields(_Example)[0], "_field_type")  # noqa: B009
_PARAMS = getattr(_Example, "__dataclass_params__")  # noqa: B009


def _own_fields(cls: type, kw_only: bool) -> dict[str, Field[Any]]:
    """Return the fields that `cls` itself declares, and leave their plain defaults in the class."""
    own: dict[str, Field[Any]] = {}
    for name, annotation in inspect.get_annotations(cls).items():
        if "ClassVar" in (annotation if isinstance(annotation, str) else str(annotation)):
            continue
        given = cls.__dict__.get(name, MISSING)
        each = given if isinstance(given, Field) else dataclasses.field(default=given)
        if isinstance(each.default, (list, dict, set)):
            raise ValueError(f"mutable default {type(each.default)} for field {name}: use default_factory")
        each.name, each.type = name, annotation
        setattr(each, "_field_type", _MARK)  # noqa: B010
        if each.kw_only is MISSING:
            each.kw_only = kw_only
        if isinstance(given, Field) and each.default is MISSING:
            delattr(cls, name)
        elif isinstance(given, Field):
            setattr(cls, name, each.default)
        own[name] = each
    return own


def _with_slots(cls: type, names: list[str]) -> type:
    """Return the class with slots for the fields `names`; its methods must not call ``super()`` without arguments."""
    body = {k: v for k, v in cls.__dict__.items() if k not in (*names, "__dict__", "__weakref__")}
    made = type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": tuple(names)})
    made.__qualname__ = cls.__qualname__
    if "__getstate__" not in body:
        made.__getstate__, made.__setstate__ = _state, _set_state
    return made


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _add_methods(cls: type, init: bool, repr: bool, eq: bool, frozen: bool) -> None:
    """Add the methods that the class does not define itself."""
    own = cls.__dict__
    hashed = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    every = fields(cls)
    methods: dict[str,
    object] = {"__match_args__": tuple(each.name for each in every if each.init and not each.kw_only)}
    if init:
        methods |= {"__init__": _later(cls, "__init__", _init), "__signature__": _Signature(cls)}
    if repr:
        methods["__repr__"] = _shown([each.name for each in every if each.repr])
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    if eq:
        methods["__eq__"] = _later(cls, "__eq__", _eq)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    if eq and not hashed:
        cls.__hash__ = _later(cls, "__hash__", _hash) if frozen else None  # pyright: ignore[reportAttributeAccessIssue]


def _later(cls: type, name: str, compiled: Callable[[type], Any]) -> object:
    """Return a method that replaces itself by the compiled one, and calls it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> object:
        made = compiled(cls)
        setattr(cls, name, made)
        return made(self, *args, **kwargs)

    method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _compiled(cls: type, name: str, parameters: Iterable[str], body: Iterable[str], names: dict[str, Any]) -> Any:
    """Compile a method of `cls`. names: the values of the global names of its text."""
    exec("\n    ".join([f"def {name}({', '.join(parameters)}):", *body]), names)
    method = names.pop(name)
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _init(cls: Any) -> Any:
    """Return `__init__` of a class."""
    every = fields(cls)
    names: dict[str, Any] = {"_MADE": _MADE, "_set": object.__setattr__}
    body: list[str] = []
    parameters: dict[bool, list[str]] = {False: [], True: []}  # by whether it is given by name alone
    for each in every:
        name, factory = each.name, each.default_factory is not MISSING
        # `dict` instead of `dict[K, V]`, whose call takes five times as long
        names[f"_default_{name}"] = (
            getattr(each.default_factory, "__origin__", each.default_factory) if factory else each.default
        )
        given = f"_default_{name}() if {name} is _MADE else {name}" if factory else name
        if each.init:
            default = "" if not factory and each.default is MISSING else "=_MADE" if factory else f"=_default_{name}"
            parameters[bool(each.kw_only)].append(name + default)
        elif factory:
            given = f"_default_{name}()"
        elif each.default is not MISSING and isinstance(getattr(cls, name, None), MemberDescriptorType):
            given = f"_default_{name}"
        else:
            continue
        body.append(_stored(cls, name, given, names))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    named = ["*", *parameters[True]] if parameters[True] else []
    method = _compiled(cls, "__init__", ["self", *parameters[False], *named], body or ["pass"], names)
    method.__annotations__ = {**{each.name: each.type for each in every if each.init}, "return": None}
    return method


def _stored(cls: Any, name: str, value: str, names: dict[str, Any]) -> str:
    """Return the statement that stores a field."""
    if not cls.__dataclass_params__.frozen:
        return f"self.{name} = {value}"
    slot = getattr(cls, name, None)
    if isinstance(slot, MemberDescriptorType):
        names[f"_set_{name}"] = slot.__set__
        return f"_set_{name}(self, {value})"
    return f"_set(self, {name!r}, {value})"


def _values(cls: Any, owner: str, chosen: Callable[[Field[Any]], bool | None]) -> str:
    """Return the text of a tuple of fields."""
    return f"({''.join(f'{owner}.{each.name}, ' for each in fields(cls) if chosen(each))})"


def _eq(cls: type) -> object:
    same = [f"{_values(cls, owner, lambda each: each.compare)}" for owner in ("self", "other")]
    body = [f"return {' == '.join(same)} if other.__class__ is self.__class__ else NotImplemented"]
    return _compiled(cls, "__eq__", ["self", "other"], body, {})


def _hash(cls: type) -> object:
    counted = _values(cls, "self", lambda each: each.compare if each.hash is None else each.hash)
    return _compiled(cls, "__hash__", ["self"], [f"return hash({counted})"], {})


def _shown(names: list[str]) -> object:
    @recursive_repr()
    def __repr__(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refuse_assignment(self: object, name: str, value: object) -> None:
    if _FIELDS in type(self).__dict__ or name in getattr(self, _FIELDS):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: object, name: str) -> None:
    if _FIELDS in type(self).__dict__ or name in getattr(self, _FIELDS):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)

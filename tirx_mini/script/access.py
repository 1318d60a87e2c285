"""Evaluation of names, attributes and elements.

`Reader` is what all evaluators of a function body begin with: the source, the kernel under construction, the names.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, ClassVar

from tirx_mini.ir import Buffer, Const, DataType, Expr, Region, Span, Str, TirxError
from tirx_mini.records import dataclass, replace

from .builder import Builder, in_dialect_of_tvm, stamp
from .diagnostics import UnknownName, did_you_mean, placed
from .environment import Bound, Env
from .handles import Flat, Let, load
from .misuse import foreign, not_indexed, unfound
from .placement import check_view
from .source import FunctionSource
from .syntax import Handlers, describe, short
from .views import pool_of

_NAMING = (
    ast.Call, ast.Subscript, ast.IfExp, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Tuple, ast.GeneratorExp,
)  # fmt: skip
"""Syntax whose value may create buffers, which are named after the variable it is assigned to."""


def is_runtime(value: object) -> bool:
    """Return whether a value is known only at run time."""
    return isinstance(value, Expr)


def is_number(value: object) -> bool:
    """Return whether a value is a single number known only at run time."""
    return isinstance(value, Expr) and not isinstance(value, (Region, Str))


def is_value(value: object) -> bool:
    """Return whether a value is a single number of the kernel, rather than a tile, string or Python object."""
    if isinstance(value, Expr):
        return not isinstance(value, (Region, Str))
    return isinstance(value, (bool, int, float, Let))


@dataclass
class Reader:
    """Evaluates the names, attributes and elements in a function body's expressions.

    inlined_at: the call that expands this body, or None for the kernel itself.
    """

    handlers: ClassVar[Handlers]
    source: FunctionSource
    builder: Builder
    env: Env
    inlined_at: Span | None = None
    _spans: dict[Any, Span] = field(default_factory=dict, init=False, repr=False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.handlers = Handlers(cls)

    def span(self, node: object) -> Span:
        span = self._spans.get(node)
        if span is None:
            span = self._spans[node] = self.source.span(node, self.inlined_at)
        return span

    def error(self, node: object, message: str, hint: str | None = None) -> TirxError:
        return TirxError(message, self.span(node), hint)

    def eval(self, node: ast.expr, names: Sequence[str] = ()) -> Any:
        """Evaluate an expression.

        names: the variables that it is assigned to, which name the objects that a call creates.
        """
        handler = self.handlers[type(node)]
        if handler is None:
            hint = "compute it outside the kernel, or write it with the statements of the language"
            raise self.error(node, f"{describe(node)} is not supported in a kernel", hint)
        value = handler(self, node, names) if names and isinstance(node, _NAMING) else handler(self, node)
        if isinstance(value, Expr) and value.span is None:
            stamp(value, self.span(node))
        return value

    def guarded(self, node: Any, function: Callable[..., object], *args: object) -> Any:
        """Call ``function(*args)``, converting an exception to an error at `node`."""
        try:
            return function(*args)
        except TirxError as error:
            raise placed(error, self.span(node)) from None
        except RecursionError:
            raise self.endless(node) from None
        except Exception as error:
            raise foreign(error, self.span(node), written=short(node)) from None

    def endless(self, node: object) -> TirxError:
        """Return the error page for infinite recursion, or for an expression that is too deep."""
        return self.error(
            node,
            "this nests too deeply to be read: functions call each other without end, or an expression has hundreds "
            "of operators",
            "end the recursion on a Python value, and divide a long expression into several statements",
        )

    # -- names and places ---------------------------------------------------------------------------------------

    def value_of(self, stored: object) -> Any:
        """Return the value of a name or attribute when read; mutable scalars are loaded."""
        if isinstance(stored, Bound):
            return stored.expr
        if isinstance(stored, Buffer) and stored.scalar:
            return load(stored, (Const(DataType("int32"), 0),))
        return stored

    def visit_Name(self, node: ast.Name) -> Any:
        try:
            return self.value_of(self.env.lookup(node.id))
        except TirxError as error:
            raise error.at(self.span(node)) from None

    def attribute(self, node: ast.Attribute) -> Any:
        """Return the object that an attribute holds, without loading a scalar."""
        owner = self.eval(node.value)
        if isinstance(owner, Buffer) and node.attr == "flat":
            return Flat(owner)
        if isinstance(owner, Buffer) and node.attr == "elem_offset" and owner.scope == "shared" and in_dialect_of_tvm():
            return pool_of(owner)[1]
        try:
            return getattr(owner, node.attr)
        except AttributeError as error:
            raise self._no_attribute(node, owner, error) from None
        except TirxError as error:
            raise error.at(self.span(node)) from None

    def _no_attribute(self, node: ast.Attribute, owner: object, error: AttributeError) -> TirxError:
        if isinstance(error, TirxError) and not isinstance(error, UnknownName):
            return error.at(self.span(node))  # another language says what to use instead
        shown = short(node.value)
        hint = did_you_mean(node.attr, dir(owner)) or _members(owner, shown)
        if isinstance(owner, Region) and hasattr(Buffer, node.attr):
            hint = f"`{shown}` is a slice; use `{owner.buffer.name}.{node.attr}`"
        if isinstance(error, UnknownName):
            hint = error.diagnostic.hint
            if error.kind != "unknown-name":  # it says why the language does not have the name
                return TirxError(error.diagnostic.message, self.span(node), hint, kind=error.kind)
            hint = hint or _members(owner, shown)
        return TirxError(f"`{shown}` has no attribute `{node.attr}`", self.span(node), hint, kind="unknown-name")

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self.value_of(self.attribute(node))

    def visit_Subscript(self, node: ast.Subscript, names: Sequence[str] = ()) -> Any:
        owner = self.eval(node.value)
        key = self.eval(node.slice)
        value = self.item(node, owner, key)
        if isinstance(value, Buffer):  # a part of a buffer, as buf.sub[stage, :]
            self.builder.suggest_names(names)
            value = self.declared(self.span(node), value)
            self.builder.suggest_names(())
        return value

    def declared(self, span: Span, buffer: Buffer) -> Buffer:
        """Return a buffer returned by a call, declaring it if it is a view."""
        if self.builder.is_declared(buffer):
            return buffer
        try:
            check_view(buffer)
        except TirxError as error:
            raise error.at(span) from None
        return self.builder.declare_view(buffer)

    def item(self, node: ast.Subscript, owner: object, key: object) -> Any:
        """Evaluate ``owner[key]``."""
        if isinstance(owner, Expr) and not isinstance(owner, Region):
            shown = short(node.value)
            raise self.error(
                node, f"`{shown}` is a single value and cannot be indexed", f"write `{shown}` without the brackets"
            )
        if isinstance(owner, (list, tuple, str, range, bytes)) and is_runtime(key):
            raise self.error(
                node,
                f"`{short(node.value)}` is a Python {type(owner).__name__}, "
                "which cannot be indexed by a value that is only known at run time",
                "use an array of the kernel, Tx.alloc_local((n,), dtype), or choose with Tx.if_then_else",
            )
        kinds = isinstance(owner, type) and hasattr(owner, "__class_getitem__")  # list[int]
        if not any("__getitem__" in vars(kind) for kind in inspect.getmro(type(owner))) and not kinds:
            raise not_indexed(owner, short(node.value), self.span(node))
        try:
            value = _element(owner, key)
        except TirxError as error:
            part = _part_about(error.about, node.slice, key)
            if error.diagnostic.hint is None:
                hint = "write an element, as in A[i, j], or a tile, as in A[i : i + 64, :]"
                error.diagnostic = replace(error.diagnostic, hint=hint)
            raise placed(error, self.span(part or node)) from None
        except Exception as error:
            page = unfound(owner, key, error, short(node.value), self.span(node))
            raise page or foreign(error, self.span(node), written=short(node)) from None
        if isinstance(value, Region):
            stamp(value, self.span(node))
            self._check_extents(node, value)
        return value

    def _check_extents(self, node: ast.Subscript, region: Region) -> None:
        """Check that the extents of a tile are constants; the error names the variable that is not."""
        for axis, part in enumerate(region.ranges):
            if isinstance(part.extent, Const) or self.builder.is_symbolic(part.extent):
                continue
            keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            place = keys[axis] if axis < len(keys) else node
            bad = next((n for n in ast.walk(place) if isinstance(n, ast.Name) and self._is_inner_constant(n.id)), None)
            if bad is not None:
                bound = self.env.lookup(bad.id)
                raise TirxError(
                    f"`{bad.id}` is assigned inside the kernel, so it is a run-time value "
                    f"and the extent of this slice of {region.buffer.name} is not a constant",
                    self.span(place),
                    f"define `{bad.id} = {bound.literal}` outside the kernel, next to its other constants, "
                    f"or write `{bad.id} = Tx.meta_var({bound.literal})`",
                    ((f"`{bad.id}` is assigned here", bound.span),),
                    kind="not-constant",
                )
            names = dict.fromkeys(n.id for n in ast.walk(place) if isinstance(n, ast.Name) and self._is_bound(n.id))
            fix = f", or bind {' and '.join(f'`{n}`' for n in names)} with `= Tx.meta_var(…)`" if names else ""
            raise TirxError(
                f"the extent of this slice of {region.buffer.name}, {part.extent!r}, is not a constant",
                self.span(place),
                f"write start : start + TILE, where TILE is a constant defined outside the kernel{fix}",
                kind="not-constant",
            )

    def _is_inner_constant(self, name: str) -> bool:
        return self._is_bound(name) and getattr(self.env.lookup(name), "literal", None) is not None

    def _is_bound(self, name: str) -> bool:
        """Return whether `name` was bound to a run-time value by `=`."""
        found = self.env.find(name) or self.env.find_captured(name)
        value = None if found is None else found[1]
        if isinstance(value, Buffer):
            return value in self.builder.first_values
        return isinstance(value, Bound) and value.how == "value"

    def visit_Slice(self, node: ast.Slice) -> slice:
        lower, upper, step = (None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step))
        return slice(lower, upper, step)


def _element(owner: Any, key: Any) -> Any:
    return owner[key]


def _part_about(value: object, node: ast.expr, key: Any) -> ast.expr | None:
    """Return the syntax of the index with this value among the indices of a subscript."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    values = key if isinstance(node, ast.Tuple) else [key]
    found = [part for part, one in zip(nodes, values, strict=False) if one is value and value is not None]
    return found[0] if len(found) == 1 else None


def _members(owner: object, shown: str) -> str:
    """Return the hint for an unknown attribute that resembles none of the known ones."""
    known = [name for name in dir(owner) if not name.startswith("_")]
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"its attributes are {', '.join(known[:12])}{more}" if known else f"`{shown}` has no attributes"

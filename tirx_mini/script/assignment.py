"""Assignment semantics, as in TVMScript.

A name that is assigned an IR value, or a plain number, more than once is a mutable scalar of its first value's type:
each ``x = expr`` stores to it. ``x: Tx.int32`` declares one with its type. A name that is assigned once is bound to its
value, which needs no storage. Any other assignment, including `Tx.meta_var`, is Python's: it names an object.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    Call,
    Const,
    Expr,
    Region,
    Span,
    TirxError,
    Var,
    as_expr,
    const,
    int_value,
    scalar,
    walk,
)  # fmt: skip
from tirx_mini.wording import described

from .access import is_runtime, is_value
from .builder import stamp
from .displays import DisplayEvaluator
from .environment import MISSING, Bound, Gone
from .handles import ArrayType, DType, Flat, Let, data_type, let, meta_var
from .misuse import not_assigned
from .once import check_kept
from .reassigned import Again, is_alias
from .syntax import is_starred, reads, short
from .vectors import stored
from .views import is_vector, vector_of


class Assigner(DisplayEvaluator):
    """An evaluator that also handles assignments."""

    def assign(self, target: ast.expr, value_node: ast.expr) -> None:
        """Execute ``target = value``."""
        if isinstance(target, (ast.Tuple, ast.List)):
            self._assign_tuple(target, value_node)
        else:
            value = self.eval(value_node, _names(target))
            self.store(target, value, meta=self._is_meta(value_node), source=value_node)

    def _assign_tuple(self, target: ast.Tuple | ast.List, value_node: ast.expr) -> None:
        """Assign to several targets, computing all values before the first store."""
        if isinstance(value_node, (ast.Tuple, ast.List)) and not is_starred(value_node) and not is_starred(target):
            if len(value_node.elts) != len(target.elts):
                raise self._count(target, value_node, len(value_node.elts))
            nodes: Sequence[ast.expr] = value_node.elts
            values = [self.eval(node, _names(part)) for part, node in zip(target.elts, nodes, strict=True)]
            metas = [self._is_meta(node) for node in nodes]
        else:
            names = [name for part in target.elts for name in _names(part)]
            value = self.eval(value_node, names)
            if is_runtime(value):
                raise self._count(target, value_node, 1)
            values = self.iterate(value_node, value)
            metas = [self._is_meta(value_node)] * len(values)
            nodes = [value_node] * len(values)
        self.unpack(target, values, metas, nodes)

    def unpack(
        self, target: ast.Tuple | ast.List, values: list[Any], metas: list[bool], nodes: Sequence[ast.expr]
    ) -> None:
        """Assign `values` to the parts of `target`; a starred part takes the remaining values."""
        star = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
        if star is not None and len(values) >= len(target.elts) - 1:
            taken = len(values) - len(target.elts) + 1
            values = [*values[:star], values[star : star + taken], *values[star + taken :]]
            metas = [*metas[:star], True, *metas[star + taken :]]
            nodes = [*nodes[:star], target.elts[star], *nodes[star + taken :]]
        if len(values) != len(target.elts):
            raise self._count(target, nodes[0] if nodes else target, len(values))
        stores = [self._stores(part) for part in target.elts]
        if sum(stores) and len(values) > 1:
            values = [self._snapshot(value) for value in values]
        for part, value, meta, node in zip(target.elts, values, metas, nodes, strict=True):
            self.store(part.value if isinstance(part, ast.Starred) else part, value, meta=meta, source=node)

    def _count(self, target: ast.Tuple | ast.List, value_node: ast.expr, given: int) -> TirxError:
        return self.error(
            target,
            f"expected {len(target.elts)} values to assign, found {given} in `{short(value_node)}`",
            "give as many names as there are values",
        )

    def _stores(self, target: ast.expr) -> bool:
        """Return whether an assignment to `target` writes to storage of the kernel."""
        if isinstance(target, ast.Name):
            return self._scalar(target.id) is not None
        return isinstance(target, (ast.Subscript, ast.Attribute))

    def _snapshot(self, value: Any) -> Any:
        """Return the current value, binding loads to a variable, since later stores may overwrite them."""
        if is_runtime(value) and any(isinstance(part, BufferLoad) for part in walk(value)):
            return self.builder.bind("previous", value)
        return value

    def _is_meta(self, node: ast.expr) -> bool:
        """Return whether the value of `node` is written as ``Tx.meta_var(…)``."""
        if isinstance(node, ast.IfExp):
            return self._is_meta(node.body) and self._is_meta(node.orelse)
        return isinstance(node, ast.Call) and is_alias(node) and self.eval(node.func) is meta_var

    # -- one target ---------------------------------------------------------------------------------------------

    def store(self, target: ast.expr, value: object, *, meta: bool = False, source: ast.expr | None = None) -> None:
        """Assign an evaluated value to one target."""
        if isinstance(target, ast.Name):
            self._store_name(target, value, meta, source)
        elif isinstance(target, ast.Subscript):
            self.store_item(target, self._container(target.value), self.eval(target.slice), value)
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self.iterate(source or target, value)
            self.unpack(target, values, [meta] * len(values), [source or target] * len(values))
        else:
            raise self.error(target, f"cannot assign to `{short(target)}`", "assign to a name or an element")

    def _scalar(self, name: str) -> Buffer | None:
        """Return the scalar to which an assignment to `name` stores, in this function or an enclosing one.

        That is a mutable scalar, or, as in TVM, a buffer of one element.
        """
        _, known = self.env.find(name) or self.env.find_captured(name) or (None, None)
        one = isinstance(known, Buffer) and known.ndim == 1 and int_value(known.size) == 1 and known.scope != "tmem"
        return known if one else None

    def _store_name(self, target: ast.Name, value: object, meta: bool, source: ast.expr | None) -> None:
        name, span = target.id, self.span(target)
        declared = self._scalar(name)
        if declared is not None and not meta and self._is_stored(name, value):
            self.emit_store(target, declared, (const(0),), value)
            return
        known = self._known(name)
        self._check_rebinding(target, value, known, meta, source)
        kept = _holds_number(known) or (self.builder.keeps_numbers and self.env.assignments.again(target) is None)
        if meta or not is_value(value) or (not is_runtime(value) and kept):
            self.set_name(name, value.value if isinstance(value, Let) and meta else value)
        elif isinstance(value, Let):
            self.set_name(name, Bound(self.builder.bind(name, value.value), span, "let"))
        elif self._is_variable(target, value, source):
            variable = self.builder.alloc(scalar(name, as_expr(value).dtype, span))
            self.builder.first_values[variable] = span
            self.set_name(name, variable)
            self.emit_store(target, variable, (const(0),), value)
        else:
            expr = self._named_value(name, value)
            self.set_name(name, Bound(expr, span, literal=_literal(value), source=source))

    def _is_stored(self, name: str, value: object) -> bool:
        """Return whether an assignment to the mutable scalar `name` stores `value`, rather than naming an object.

        An inline function may give an object of its own the name of a scalar outside it.
        """
        known = self._known(name)
        replaced = isinstance(value, Buffer) and value.scalar
        return is_value(value) or (not replaced and isinstance(known, Buffer) and known.scalar)

    def _is_variable(self, target: ast.Name, value: object, source: ast.expr | None) -> bool:
        """Return whether the name first assigned by `target` is assigned again, and its value can be stored.

        An inline function that assigns to the name of an id (``tid = Tx.thread_id([128])``) has a variable of its own,
        as in TVM.
        """
        again = self.env.assignments.again(target)
        expr = as_expr(value)
        if again is None or not _is_storable(expr):
            return False
        return again is Again.HERE or not isinstance(expr, Var) or isinstance(source, ast.Name)

    def _known(self, name: str) -> Any:
        env = self.env.function
        found = self.env.find_captured(name) if name in env.nonlocals else self.env.find(name)
        return found[1] if found else MISSING

    def set_name(self, name: str, value: object) -> None:
        """Bind `name` to `value` in this block, or in the enclosing function if `name` is nonlocal."""
        if name in self.env.function.nonlocals:
            found = self.env.find_captured(name)
            if found is not None:
                found[0].names[name] = value
                return
        self.env.names[name] = value

    def _named_value(self, name: str, value: object) -> Expr:
        """Return the IR value for `name`: a new variable, except for a bare variable or address."""
        expr = as_expr(value)
        if isinstance(expr, Var) or self.builder.is_symbolic(expr):
            return expr
        if isinstance(expr, AddressOf) and not any(isinstance(part, (BufferLoad, Call)) for part in walk(expr)):
            return expr
        return self.builder.bind(name, expr)

    def _check_rebinding(self, target: ast.Name, value: Any, known: Any, meta: bool, source: ast.expr | None) -> None:
        name, span = target.id, self.span(target)
        if known is MISSING:
            captured = self.env.find_captured(name)
            if not captured or not isinstance(captured[1], Bound) or source is None or not reads(source, name):
                return
            if captured[1].how != "value":
                raise _rebinding(name, captured[1], span)
        elif isinstance(known, Bound) and is_value(value) and not meta:
            found = self.env.find(name)
            if known.how != "value" or found is None or found[0] is not self.env:
                raise _rebinding(name, known, span)

    # -- elements and attributes --------------------------------------------------------------------------------

    def _container(self, node: ast.expr) -> Any:
        return self.attribute(node) if isinstance(node, ast.Attribute) else self.eval(node)

    def store_item(self, target: ast.Subscript, owner: object, key: object, value: object) -> None:
        """Execute ``owner[key] = value``."""
        if isinstance(owner, Flat):
            self.emit_store(target, owner.buffer, (as_expr(key),), value)
            return
        if not isinstance(owner, Buffer):
            if isinstance(owner, Expr):
                raise self.error(
                    target,
                    f"cannot assign to an element of `{short(target.value)}`, which is a single value",
                    "assign to an element of the buffer itself, as in A[i, j] = value",
                )
            check_kept(self.builder, owner, partial(ast.unparse, target), self.span(target))
            if not hasattr(type(owner), "__setitem__"):
                raise not_assigned(owner, short(target.value), self.span(target))
            self.guarded(target, operator.setitem, owner, key, value)
            return
        place = self.guarded(target, owner.__getitem__, key)
        if isinstance(place, Region) and is_vector(value) and owner.scope != "tmem":
            place = vector_of(place)
            value = vector_of(value) if isinstance(value, Region) else value
        if isinstance(place, Region):
            raise self.error(
                target,
                f"cannot assign to a slice of {owner.name} with `=`: a slice is a tile",
                f"use Tx.copy({ast.unparse(target)}, …), Tx.cast or Tx.fill, or assign to a single element",
            )
        if owner.scope == "tmem":
            raise self.error(
                target,
                f"cannot assign to an element of {owner.name}, which is in tensor memory",
                "write it with Tx.gemm_async, and read it with Tx.copy in a warpgroup scope",
            )
        self.emit_store(target, owner, place.indices, value)

    def emit_store(self, target: ast.expr, buffer: Buffer, indices: tuple[Expr, ...], value: object) -> None:
        if not is_value(value) or isinstance(value, Let):
            raise self.error(
                target,
                f"cannot store {described(value)} in `{short(target)}`, whose dtype is {buffer.dtype}",
                "store a number, or an element such as A[i, j]; tiles are copied with Tx.copy",
            )
        self._check_whole(target, buffer, value)
        self._check_range(target, buffer, value)
        expr = as_expr(value, buffer.dtype if not is_runtime(value) and not isinstance(value, bool) else None)
        self.builder.emit(stored(buffer, indices, expr))

    def _check_whole(self, target: ast.expr, buffer: Buffer, value: object) -> None:
        """Reject a fractional value for an integer variable, which C would truncate silently."""
        if not buffer.dtype.is_integer:
            return
        if isinstance(value, Expr) and value.dtype.is_float:
            given, shown = f"the value is {value.dtype}", "…"
        elif isinstance(value, float) and not value.is_integer():
            given, shown = f"{value} is a float", str(value)
        else:
            return
        first = self.builder.first_values.get(buffer)
        raise TirxError(
            f"`{ast.unparse(target)}` is {buffer.dtype}, but {given}: its fraction would be lost",
            self.span(target),
            f"to drop the fraction, write `Tx.{buffer.dtype}({shown})` or divide with //; to keep it, "
            + ("use a float32" if first is None else f"write the first value as a float, `{buffer.name} = 0.0`"),
            () if first is None else ((f"`{buffer.name}` takes its type from its first value, here", first),),
        )

    def _check_range(self, target: ast.expr, buffer: Buffer, value: object) -> None:
        """Reject an integer that exceeds the range of its variable."""
        bits = buffer.dtype.bits
        if not buffer.dtype.is_integer or not isinstance(value, int) or -(1 << bits - 1) <= value < 1 << bits:
            return
        raise self.error(
            target,
            f"`{ast.unparse(target)}` is {buffer.dtype}, and {value} does not fit in it",
            f"declare the variable with a wider type, as in `{buffer.name}: Tx.int64 = …`",
        )

    def _store_attribute(self, target: ast.Attribute, value: object) -> None:
        owner = self.eval(target.value)
        old = _attribute(owner, target.attr)
        if isinstance(old, Buffer) and old.scalar and is_value(value):
            self.emit_store(target, old, (const(0),), value)
            return
        fixed = isinstance(owner, (Expr, Buffer, ModuleType, type))
        if fixed or type(owner).__module__.startswith("tirx_mini.script."):
            raise self._fixed_attribute(target, owner)
        check_kept(self.builder, owner, partial(ast.unparse, target), self.span(target))
        try:
            setattr(owner, target.attr, value)
        except TirxError as error:
            raise error.at(self.span(target)) from None
        except Exception:
            raise self._fixed_attribute(target, owner) from None

    def _fixed_attribute(self, target: ast.Attribute, owner: object) -> TirxError:
        message = f"cannot assign to an attribute of `{short(target.value)}`, which is {described(owner)}"
        return self.error(target, message, "assign to a name of the kernel instead")

    # -- declarations and augmented assignment ------------------------------------------------------------------

    def declare(self, node: ast.AnnAssign) -> None:
        """Execute ``x: Tx.int32`` or ``x: Tx.int32 = value``."""
        if isinstance(node.annotation, ast.Constant) and isinstance(node.annotation.value, str):
            kind: Any = DType(self.guarded(node.annotation, data_type, node.annotation.value))
        else:
            kind = self.eval(node.annotation)
        if isinstance(kind, ArrayType) and isinstance(node.target, ast.Name) and node.value is None:
            made = Buffer(node.target.id, kind.shape, kind.dtype, "local", span=self.span(node))
            self.env.names[node.target.id] = self.builder.alloc(made)
            return
        if not isinstance(kind, DType) or not isinstance(node.target, ast.Name):
            if kind is let and node.value is not None:
                value = as_expr(self.eval(node.value, _names(node.target)))
                named = isinstance(value, AddressOf) or value.dtype == "tensormap"  # a name, and no variable
                self.store(node.target, value if named else Let(value), source=node.value)
                return
            shown = ast.unparse(node.annotation)
            raise self.error(
                node.annotation,
                f"`{shown}` is not a dtype of the language",
                f"declare a variable as `{ast.unparse(node.target)}: Tx.int32`",
            )
        if kind.dtype.is_handle or kind.dtype == "tensormap":
            message = f"a variable holds a number, and `{short(node.annotation)}` is no type of a number"
            raise self.error(node.annotation, message, "name a pointer with `=`, as in `p = buf.ptr_to([0])`")
        value = None if node.value is None else self.eval(node.value)
        variable = self.builder.alloc(scalar(node.target.id, kind.dtype, self.span(node)))
        self.env.names[node.target.id] = variable
        if value is not None:
            self.emit_store(node.target, variable, (const(0),), value)

    def augment(self, node: ast.AugAssign) -> None:
        """Execute ``target op= value``, evaluating the parts of the target once."""
        target = node.target
        if isinstance(target, ast.Subscript):
            owner, key = self._container(target.value), self.eval(target.slice)
            old = self.item(target, owner, key)
            self.store_item(target, owner, key, self._combined(node, old))
            return
        if isinstance(target, ast.Attribute):
            self._store_attribute(target, self._combined(node, self.eval(target)))
            return
        assert isinstance(target, ast.Name)
        known = self._known(target.id)
        if known is MISSING and self._scalar(target.id) is None and self.env.find_captured(target.id):
            captured = self.env.find_captured(target.id)
            if captured and not isinstance(captured[1], (Bound, Gone)):
                raise self.error(
                    target,
                    f"`{target.id}` belongs to the enclosing function",
                    f"write `nonlocal {target.id}` first, or declare `{target.id}: Tx.int32 = …` there",
                )
        value = self._combined(node, self.eval(target))
        self.store(target, value, source=target)

    def _combined(self, node: ast.AugAssign, old: object) -> Any:
        value = self.binary(node, node.op, old, self.eval(node.value))
        if isinstance(value, Expr) and value.span is None:
            stamp(value, self.span(node))
        return value


def _attribute(owner: object, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except TirxError:
        return None


def _rebinding(name: str, known: Bound, span: Span) -> TirxError:
    """Return the error for an assignment to an immutable name."""
    note = ((f"`{name}` is {'first assigned' if known.how in ('value', 'let') else 'declared'} here", known.span),)
    if known.how == "loop variable":
        return TirxError(f"cannot assign to the loop variable `{name}`", span, "use another name", note)
    if known.how == "kernel parameter":
        hint = f"copy it to a variable, as in `now: Tx.{known.expr.dtype} = {name}`, and change that"
        return TirxError(f"`{name}` is a parameter of the kernel, which keeps its value", span, hint, note)
    if known.how == "parameter":
        return TirxError(
            f"`{name}` is a parameter: assigning to it would not change the caller's variable",
            span,
            f"remove `{name}` from the parameters to assign to the kernel's variable, or use another name",
            note,
        )
    if known.how == "let":
        message = f"`{name}` is bound by Tx.let, so it cannot be assigned again"
        hint = f"remove the Tx.let: a name that is assigned again is a variable, `{name}: Tx.{known.expr.dtype}`"
    else:
        message = f"`{name}` holds a {_shape(known.expr)}, which a loop or branch of the kernel cannot replace"
        hint = "keep an index in a variable, and select with it at each use, as in `bar.ptr_to([index])`"
    return TirxError(message, span, hint, note, kind="assigned-twice")


def _is_storable(expr: Expr) -> bool:
    """Return whether a scalar variable can hold the value: a number or bool, but no pointer or vector."""
    return not expr.dtype.is_handle and expr.dtype.lanes == 1


def _shape(expr: Expr) -> str:
    return "pointer" if expr.dtype.is_handle else f"value of dtype {expr.dtype}"


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Attribute):
        return [target.attr]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _names(part)]
    return []


def _literal(value: object) -> Any:
    if isinstance(value, Const):
        return value.value
    return None if is_runtime(value) else value


def _holds_number(known: object) -> bool:
    """Return whether a name is bound to a Python number (an inline function's parameter or a `Tx.meta_var`)."""
    return isinstance(known, (bool, int, float))

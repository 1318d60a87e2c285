"""Values that exist only while a kernel is read: scopes, loops, hints, types of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tirx_mini.ir import (
    HANDLE,
    SCOPE_KINDS,
    UNIT_NUMBERS,
    UNROLLED,
    AddressOf,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Hint,
    If,
    Scope,
    Stmt,
    TirxError,
    Var,
    as_bool,
    as_expr,
    binary,
    cast,
)  # fmt: skip

from .diagnostics import did_you_mean


@dataclass(frozen=True)
class OpenScope:
    """``Tx.thread(parent="warp")[cond]``: what a ``with`` statement of a kernel opens.

    filter: the condition of those that execute it. around: the kind of the scope that it opens in, where that is known.
    """

    kind: str
    parent: str | None = None
    filter: Expr | None = None
    around: str | None = None

    def __getitem__(self, condition: Any) -> OpenScope:
        """Only where `condition` holds, or only the units that a number or a slice of numbers selects."""
        if isinstance(condition, slice) or (isinstance(condition, int) and not isinstance(condition, bool)):
            condition = self._numbered(condition)
        added = as_bool(condition)
        return replace(self, filter=added if self.filter is None else binary("and", self.filter, added))

    def _numbered(self, units: slice | int) -> Expr:
        """Whether the executing unit's number, within `parent` or else the scope around it, is one of `units`."""
        parent = self.parent or self.around or "cta"
        if self.parent is None and (self.kind, parent) not in UNIT_NUMBERS:
            parent = "cta"
        numbers = UNIT_NUMBERS.get((self.kind, parent))
        if numbers is None:
            raise TirxError(
                f"{self.kind} scopes within a {parent} are selected by a condition, not by index",
                hint=f"write Tx.{self.kind}()[condition]",
            )
        first, last = (units, units + 1) if isinstance(units, int) else (units.start or 0, units.stop)
        if not isinstance(first, int) or not isinstance(last, int) or not 0 <= first < last or _stepped(units):
            raise TirxError(
                "units are selected by an index, or by a slice first : last, that is known at compile time",
                hint=f"write Tx.{self.kind}()[0:1], or a condition such as Tx.{self.kind}()[{self.kind}_id < n]",
            )
        number = numbers()
        if last == first + 1:
            return binary("==", number, first)
        below = binary("<", number, last)
        return below if first == 0 else binary("and", binary("<=", first, number), below)

    def wrap(self, body: Stmt) -> Stmt:
        return Scope(self.kind, body, self.parent, self.filter)

    def __enter__(self) -> NoReturn:
        raise TirxError(
            f"`with Tx.{self.kind}()` can only be used inside a kernel",
            hint="move it into a function decorated with @Tx.prim_func",
        )

    def __exit__(self, *exc: object) -> None:
        return None


def _stepped(units: slice | int) -> bool:
    return isinstance(units, slice) and units.step not in (None, 1)


@dataclass(frozen=True)
class ScopeKind:
    """``Tx.cta``: calling it opens a scope; its attributes are tile primitives executed by that scope.

    around: gives the kind of the scope in which the kernel is being read.
    """

    kind: str
    primitives: Callable[[str, str], Any]
    around: Callable[[], str | None]

    def __call__(self, parent: str | None = None) -> OpenScope:
        if parent is not None and parent not in SCOPE_KINDS:
            raise TirxError(
                f"`{parent}` is not an execution scope",
                hint=did_you_mean(parent, SCOPE_KINDS) or f"the scopes are {', '.join(SCOPE_KINDS)}",
            )
        return OpenScope(self.kind, parent, around=self.around())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.primitives(name, self.kind)


@dataclass(frozen=True)
class OpenRole:
    """A ``with`` statement that only those threads execute for which `condition` holds; `opening` emits its start."""

    condition: Expr
    opening: Callable[[], None] | None = None

    def wrap(self, body: Stmt) -> Stmt:
        return If(self.condition, body)

    def __enter__(self) -> NoReturn:
        raise TirxError(
            "a role can only be used inside a kernel", hint="move it into a function decorated with @Tx.prim_func"
        )

    def __exit__(self, *exc: object) -> None:
        return None


@dataclass(frozen=True)
class OpenHint:
    """``Tx.hint("…")``: as a statement it stands alone, in a ``with`` it covers the block."""

    message: str
    attrs: tuple[tuple[str, Any], ...] = ()

    def wrap(self, body: Stmt | None) -> Stmt:
        return Hint(self.message, self.attrs, body)

    def __enter__(self) -> NoReturn:
        raise TirxError(
            "`with Tx.hint(…)` can only be used inside a kernel",
            hint="move it into a function decorated with @Tx.prim_func",
        )

    def __exit__(self, *exc: object) -> None:
        return None


@dataclass(frozen=True)
class Loop:
    """What a ``for`` statement of a kernel runs over: one or more nested ranges."""

    ranges: tuple[tuple[Expr, Expr, int], ...]
    kind: str
    parallel: bool = False

    def __iter__(self) -> Iterator[Any]:
        raise TirxError("a loop of the kernel can only be used in a `for` statement inside a kernel")


def loop(kind: str, bounds: tuple[Any, ...], parallel: bool = False) -> Loop:
    """``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``."""
    if not 1 <= len(bounds) <= 3:
        raise TirxError(
            f"a loop expects one to three bounds, found {len(bounds)}", hint="write range(stop) or range(start, stop)"
        )
    step = bounds[2] if len(bounds) == 3 else 1
    if not isinstance(step, int) or step <= 0:
        raise TirxError(
            "the step of a loop must be a positive Python integer",
            hint="count up, and compute the index from the counter",
        )
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    ends = [as_expr(end) for end in (start, stop)]
    for end in ends:
        if not end.dtype.is_integer:
            raise TirxError(f"the bounds of a loop must be integers, but {end!r} is {end.dtype}")
    if ends[0].dtype != ends[1].dtype:
        wide = max(ends, key=lambda end: (end.dtype.bits, end.dtype.code)).dtype
        ends = [cast(wide, end) for end in ends]
    if kind == UNROLLED and not all(hasattr(end, "value") for end in ends):
        raise TirxError(
            "the number of iterations of an unrolled loop must be known at compile time",
            hint="use Tx.serial, or a constant defined outside the kernel",
        )
    return Loop(((ends[0], ends[1], step),), kind, parallel)


@dataclass(frozen=True)
class DType:
    """``Tx.int32``: annotates a mutable variable, types a parameter, and converts a value when called."""

    dtype: DataType

    def __call__(self, value: Any = 0) -> Expr:
        if isinstance(value, str):
            value = float(value)
        return cast(self.dtype, value)

    def __str__(self) -> str:
        return str(self.dtype)

    def __repr__(self) -> str:
        return f"Tx.{self.dtype}"


@dataclass(frozen=True)
class BufferType:
    """``Tx.Buffer((M, K), "float16")``: the type of a kernel's argument in global memory."""

    shape: tuple[int, ...]
    dtype: DataType
    options: tuple[tuple[str, Any], ...] = ()

    def buffer(self, name: str) -> Buffer:
        return Buffer(name, self.shape, self.dtype, **dict(self.options))


@dataclass(frozen=True)
class Let:
    """A value that is bound to a new variable where plain assignment would only name it."""

    value: Expr


def meta_var(value: Any) -> Any:
    """``x = Tx.meta_var(expr)``: `x` is another way to write `expr`; nothing is computed or stored."""
    return value


class LetMaker:
    """``x: Tx.let = expr``, ``x: Tx.let[Tx.int32] = expr`` or ``x = Tx.let(expr)``: bind `x` to a value."""

    def __call__(self, value: Any) -> Let:
        return Let(as_expr(value))

    def __getitem__(self, dtype: Any) -> LetMaker:
        return self


let = LetMaker()


@dataclass(frozen=True)
class Flat:
    """``buf.flat``: a buffer addressed by one offset in elements, as lowered code does."""

    buffer: Buffer

    def __getitem__(self, index: Any) -> Expr:
        return load(self.buffer, (as_expr(index),))

    def ptr_to(self, indices: Any) -> Expr:
        index = indices[0] if isinstance(indices, (list, tuple)) else indices
        return AddressOf(HANDLE, self.buffer, (as_expr(index),))


def load(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The element at `indices`; a vector of them where the last index is a ramp."""
    lanes = getattr(indices[-1], "lanes", 1) if indices else 1
    return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, indices)


def data_type(dtype: Any) -> DataType:
    """A dtype given by name, as ``Tx.float16``, or as NumPy's or PyTorch's. Raises `TirxError` for what is none."""
    try:
        return DataType(dtype)
    except ValueError as error:
        raise TirxError(str(error)) from None


def shape_of(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of Python integers. Raises `TirxError` naming the extent that is not one."""
    dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for extent in dims:
        if isinstance(extent, Expr):
            name = f"`{extent.name}`" if isinstance(extent, Var) else repr(extent)
            raise TirxError(
                f"the shape of {what} must be known at compile time, but {name} is a run-time value",
                hint=f"define {name} outside the kernel, or as Tx.meta_var(…)",
            )
        if not isinstance(extent, int) or extent < 1:
            raise TirxError(f"an extent of {what} must be a positive integer, not {extent!r}")
    return dims

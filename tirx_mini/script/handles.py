"""Parse-time values: scopes, loops, hints and parameter types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

from tirx_mini.ir import (
    HANDLE,
    SCOPE_KINDS,
    UNIT_NUMBERS,
    UNROLLED,
    VECTORIZED,
    AddressOf,
    Buffer,
    BufferLoad,
    Const,
    DataType,
    Expr,
    Hint,
    If,
    Scope,
    Stmt,
    TirxError,
    Var,
    as_condition,
    as_expr,
    as_index,
    binary,
    cast,
    int_value,
    trips,
)  # fmt: skip
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .builder import place, resolved, symbol
from .diagnostics import did_you_mean

_T = TypeVar("_T")


@dataclass(frozen=True)
class OpenScope:
    """An execution scope for a ``with`` statement: ``Tx.thread(parent="warp")[cond]``.

    filter: the condition under which a unit executes the scope.
    around: the kind of the enclosing scope, if known.
    """

    kind: str
    parent: str | None = None
    filter: Expr | None = None
    around: str | None = None
    __iter__: ClassVar[None] = None

    def __getitem__(self, condition: object) -> OpenScope:
        """Restrict the scope to the units that satisfy `condition` or that an index or slice selects."""
        if isinstance(condition, slice) or (isinstance(condition, int) and not isinstance(condition, bool)):
            condition = self._numbered(condition)
        added = as_condition(condition)
        return replace(self, filter=added if self.filter is None else binary("and", self.filter, added))

    def _numbered(self, units: slice | int) -> Expr:
        """Return the condition that the unit's index within `parent` or the enclosing scope is in `units`."""
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


@described.register(OpenScope)
def _(scope: OpenScope) -> str:
    return f"the scope Tx.{scope.kind}()"


def _stepped(units: slice | int) -> bool:
    return isinstance(units, slice) and units.step not in (None, 1)


@dataclass(frozen=True)
class ScopeKind:
    """A scope constructor such as ``Tx.cta``, whose attributes are the tile primitives executed by the scope.

    around: returns the kind of the innermost open scope.
    """

    kind: str
    primitives: Callable[[str, str], Any]
    around: Callable[[], str | None]

    def __call__(self, parent: str | None = None) -> OpenScope:
        if parent is not None and (not isinstance(parent, str) or parent not in SCOPE_KINDS):
            near = did_you_mean(parent, SCOPE_KINDS) if isinstance(parent, str) else None
            message = f"{described(parent)} is not an execution scope"
            raise TirxError(message, place(), near or f"the scopes are {', '.join(SCOPE_KINDS)}", about=parent)
        return OpenScope(self.kind, parent, around=self.around())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.primitives(name, self.kind)


@described.register(ScopeKind)
def _(scope: ScopeKind) -> str:
    return f"the scope Tx.{scope.kind}"


@dataclass(frozen=True)
class OpenRole:
    """A ``with`` block executed by the threads that satisfy `condition`; `opening` emits its first part."""

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
    """A hint ``Tx.hint("…")``, used as a statement or around a ``with`` block."""

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
    """The iterable of a kernel's ``for`` statement: one or more nested ranges.

    around: the hint that wraps the loops, or None.
    targets: the values of the names of the statement, from the variables of the ranges, and the condition under which
        the body is executed; None where the names are the variables.
    names: how many names `targets` gives values to.
    """

    ranges: tuple[tuple[Expr, Expr, int], ...]
    kind: str
    parallel: bool = False
    unroll: bool | None = None
    thread: str = ""
    around: OpenHint | None = None
    targets: Callable[..., tuple[Sequence[Expr], Expr | None]] | None = None
    names: int | None = None

    @property
    def copies(self) -> int:
        """The number of copies of its body into which the loop is expanded."""
        if self.kind not in (UNROLLED, VECTORIZED):
            return 1
        known = ((int_value(start), int_value(stop), step) for start, stop, step in self.ranges)
        return math.prod(trips(start or 0, stop or 0, step) for start, stop, step in known)

    def __iter__(self) -> Iterator[Any]:
        raise TirxError(
            "a loop of the kernel can only be used in a `for` statement inside a kernel",
            hint="write `for i in range(n):`, or a tuple for a loop that is unrolled at compile time",
        )


def loop(kind: str, bounds: tuple[object, ...], parallel: bool = False) -> Loop:
    """Return a loop over ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``."""
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
            hint = "convert it with Tx.int32(…), or use the extent of a buffer"
            raise TirxError(f"the bounds of a loop must be integers, but {described(end)} is {end.dtype}", hint=hint)
    if ends[0].dtype != ends[1].dtype:
        wide = max(ends, key=lambda end: (end.dtype.bits, end.dtype.code)).dtype
        ends = [cast(wide, end) for end in ends]
    if kind in (UNROLLED, VECTORIZED):
        ends = [resolved(end) for end in ends]
    if kind in (UNROLLED, VECTORIZED) and not all(hasattr(end, "value") for end in ends):
        word = "an unrolled" if kind == UNROLLED else "a vectorized"
        raise TirxError(
            f"the number of iterations of {word} loop must be known at compile time",
            hint="use Tx.serial, or a constant defined outside the kernel",
        )
    return Loop(((ends[0], ends[1], step),), kind, parallel)


@dataclass(frozen=True)
class DType:
    """The type of a mutable variable or parameter, such as ``Tx.int32``; calling it converts a value.

    Without one, ``n = Tx.int32()`` is a symbolic extent for the shapes of arguments.
    """

    dtype: DataType

    def __call__(self, value: object = None, storage_scope: str = "global") -> Any:
        if value is None:
            if self.dtype.is_integer and not self.dtype.is_bool:
                return symbol(self.dtype)
            value = 0
        if self.dtype.is_handle and isinstance(value, (int, str)) and not (isinstance(value, int) and value):
            if value == "tensormap":
                return DType(DataType("tensormap"))
            return self  # T.handle("float32", "shared"): the type of a pointer
        if isinstance(value, str):
            value = float(value)
        return cast(self.dtype, value)

    __iter__: ClassVar[None] = None

    def __getitem__(self, shape: int | tuple[int, ...]) -> ArrayType:
        """Return the type of a per-thread array: ``x: T.float32[4]``."""
        return ArrayType(self.dtype, shape_of(shape, "an array"))

    def __str__(self) -> str:
        return str(self.dtype)

    def __repr__(self) -> str:
        return f"Tx.{self.dtype}"


@described.register(DType)
def _(kind: DType) -> str:
    return f"the dtype {kind}"


@dataclass(frozen=True)
class ArrayType:
    """The type of an array in each thread's registers: ``T.float32[4]``."""

    dtype: DataType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class BufferType:
    """The type of a kernel argument in global memory: ``Tx.Buffer((M, K), "float16")``."""

    shape: tuple[int, ...]
    dtype: DataType
    options: tuple[tuple[str, Any], ...] = ()

    def buffer(self, name: str) -> Buffer:
        """Return an argument of this type."""
        if not isinstance(name, str):
            raise TirxError(f"a name must be a string, not {described(name)}", about=name)
        return Buffer(name, self.shape, self.dtype, **dict(self.options))


@dataclass(frozen=True)
class Untyped:
    """A kernel parameter whose type is declared in the body: ``A: T.Tensor((M, K), "float16")``."""


@dataclass(frozen=True)
class ConstexprMarker:
    """The annotation of a `jit` kernel's compile-time parameter: ``N: T.constexpr`` or ``N: T.constexpr[int]``."""

    __iter__: ClassVar[None] = None

    def __getitem__(self, kind: object) -> ConstexprMarker:
        return self

    def __repr__(self) -> str:
        return "T.constexpr"


@dataclass(frozen=True)
class OptionalType:
    """The annotation of a parameter that may be omitted: ``T.Optional(T.handle)``."""

    annotation: Any


@dataclass(frozen=True)
class Let:
    """A value to be bound to a new variable, where a plain assignment might only create an alias."""

    value: Expr


def hint(message: str, attrs: Mapping[str, object] | None = None, **more: object) -> OpenHint:
    """Add a message for readers and tools, as a statement or around a block, without effect."""
    return OpenHint(message, tuple({**(attrs or {}), **more}.items()))


def meta_class(cls: type[_T]) -> type[_T]:
    """Return `cls` unchanged, since objects of any class are compile-time values."""
    return cls


def meta_var(value: _T) -> _T:
    """Return an alias of an expression, without computing or storing it: ``x = Tx.meta_var(expr)``."""
    return value


class LetMaker:
    """The binding forms ``x: Tx.let = expr``, ``x: Tx.let[Tx.int32] = expr`` and ``x = Tx.let(expr)``."""

    def __call__(self, value: object) -> Any:
        return Let(as_expr(value))

    __iter__: ClassVar[None] = None

    def __getitem__(self, dtype: object) -> LetMaker:
        return self


let = LetMaker()


@described.register(LetMaker)
def _(maker: LetMaker) -> str:
    return "Tx.let"


def bind(value: object, dtype: object = None) -> Any:
    """Bind a value to a variable, as `let` does: ``x = T.bind(expr)``."""
    return Let(as_expr(value))


def Ptr(dtype: object, storage_scope: str = "global") -> DType:
    """Return the type of a pointer: ``p: T.let[T.Ptr("float32", "shared")] = buf.data``."""
    return DType(HANDLE)


@dataclass(frozen=True)
class Flat:
    """A buffer addressed by a single element offset, as in lowered code: ``buf.flat``."""

    buffer: Buffer
    __iter__: ClassVar[None] = None

    def __getitem__(self, index: object) -> Expr:
        return load(self.buffer, (as_index(index),))

    def ptr_to(self, indices: object) -> Expr:
        index = indices[0] if isinstance(indices, (list, tuple)) else indices
        return AddressOf(HANDLE, self.buffer, (as_index(index),))


def load(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """Return the element at `indices`, or a vector of elements if the last index is a ramp."""
    lanes = getattr(indices[-1], "lanes", 1) if indices else 1
    return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, indices)


def data_type(dtype: object) -> DataType:
    """Return a dtype given by name, as ``Tx.float16``, or as a NumPy or PyTorch dtype. Raises `TirxError` otherwise."""
    try:
        return DataType(dtype)
    except ValueError as error:
        message, _, hint = str(error).partition("; ")
        if not isinstance(dtype, str):
            message = f"{described(dtype)} is not a dtype"
        raise TirxError(message, hint=hint, about=dtype) from None


def shape_of(shape: object, what: str, symbolic: bool = False) -> tuple[int, ...]:
    """Return a shape as a tuple of Python integers. Raises `TirxError`, naming an invalid extent.

    symbolic: whether an extent may be a value of the kernel, or the name of one.
    """
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    known = zip(given, map(resolved, given), strict=True)
    dims: tuple[Any, ...] = tuple(value.value if isinstance(value, Const) else extent for extent, value in known)
    for extent in dims:
        if symbolic and (isinstance(extent, str) or (isinstance(extent, Expr) and extent.dtype.is_integer)):
            continue
        if isinstance(extent, Expr):
            name = f"`{extent.name}`" if isinstance(extent, Var) else repr(extent)
            raise TirxError(
                f"the shape of {what} must be known at compile time, but {name} is a run-time value",
                hint=f"define {name} outside the kernel, or as Tx.meta_var(…); only arguments have symbolic extents",
            )
        if not isinstance(extent, int) or extent < 1:
            message = f"an extent of {what} must be a positive integer, not {described(extent)}"
            raise TirxError(message, hint="give numbers that are known at compile time, as in (128, 64)", about=extent)
    return dims

"""Buffers: named, shaped, typed storage in one of the GPU's memories; and the expressions that name one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from tirx_mini.narrowing import is_slice, is_tuple
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .arith import difference
from .dtype import HANDLE, UINT32, DataType
from .expr import Const, Element, Expr, ExprLike, Ramp, as_expr, cast, const, int_value
from .span import Span, TirxError

SCOPES = ("global", "shared", "local", "tmem")


VIEWS: dict[str, Callable[[Buffer], Any]] = {}
"""More attributes of buffers, which need layouts or the kernel under construction; `script` adds them."""


def lanes_of(value: Expr) -> int:
    """Return the number of lanes of a vector, or of elements that an index denotes; a `Ramp` has its element's type."""
    return value.lanes if isinstance(value, Ramp) else value.dtype.lanes


def as_index(value: object) -> Expr:
    """Convert `value` to an element index, an integer. Raises `TirxError` for anything else."""
    expr = as_expr(value)
    if expr.is_tile or not (expr.dtype.is_integer or expr.dtype.is_bool):
        message = f"an index must be an integer, but {described(expr)} is {'a tile' if expr.is_tile else expr.dtype}"
        raise TirxError(message, expr.span, "convert it with Tx.int32(…)", about=value)
    return expr


@dataclass(frozen=True, eq=False, repr=False)
class Buffer:
    """Storage for `shape` elements of `dtype` in the memory `scope`.

    scope: "global" (a kernel argument), "shared" (one copy per CTA), "local" (registers, one copy per thread) or
        "tmem" (tensor memory, one copy per CTA).
    shape: the extents. Those of an argument may be symbolic, values that `specialised` replaces before lowering.
    layout: a `tirx_mini.layout` layout of the same shape, or None for row-major.
    source: the buffer that this one is a view of, or None. Shared buffers of a pool are views of the pool.
    byte_offset: where a view starts in its source, in bytes.
    allocated_addr: for tensor memory, the address that `tcgen05.alloc` wrote.
    align: the required alignment, in bytes; 0 for the default of the dtype and layout.
    scalar: whether this is a mutable variable (``phase: Tx.int32``): a local or shared buffer of shape (1,).
    elem_offset: for a view, how far after `byte_offset` it starts, in its elements; None for 0. Accesses compute it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DataType
    scope: str = "global"
    layout: Any = None
    source: Buffer | None = None
    byte_offset: int = 0
    allocated_addr: Expr | None = None
    align: int = 0
    scalar: bool = False
    elem_offset: Expr | None = None
    span: Span | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"{self.name}: {self.scope} {self.dtype}{list(self.shape)}"

    if TYPE_CHECKING:  # the attributes of VIEWS

        @property
        def sub(self) -> Any: ...
        def local(self, *shape: int, layout: object = None) -> Buffer: ...
        def permute(self, *dims: int) -> Buffer: ...
        def rearrange(self, pattern: str, /, **sizes: int) -> Buffer: ...
        def chunk(self, spec: Sequence[int | None]) -> Any: ...
        def tile(self, *specs: object) -> Any: ...
        def vload(self, begin: object, dtype: object = None, predicate: object = None) -> Expr: ...
        def vstore(self, begin: object, value: object, predicate: object = None) -> None: ...
        def access_ptr(
            self,
            access_mask: object,
            ptr_type: object = ...,
            content_lanes: int = 1,
            offset: object = 0,
            extent: object = None,
        ) -> Expr: ...
        def elem_offset_of(self, indices: object, inner: bool = True) -> Expr: ...
        def byte_offset_of(self, indices: object, inner: bool = True) -> Expr: ...
        def offset_of(self, indices: object) -> list[Expr]: ...
        def is_scalar(self, alloc_or_decl: bool = True) -> bool: ...

    else:

        def __getattr__(self, name: str) -> Any:
            made = VIEWS.get(name)
            if made is None:
                raise AttributeError(f"a buffer has no attribute {name!r}")
            return made(self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *VIEWS})

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes, without padding."""
        return self.size * self.dtype.bits // 8

    @property
    def root(self) -> Buffer:
        """The buffer at the end of the chain of views."""
        buffer = self
        while buffer.source is not None:
            buffer = buffer.source
        return buffer

    def __getitem__(self, key: object) -> Expr:
        """Load an element, ``buf[i, j]``, or form a `Region` for slices or fewer indices than dimensions."""
        keys = key if is_tuple(key) else (key,)
        rest = next((i for i, k in enumerate(keys) if k is ...), None)
        if rest is not None:  # `...` stands for all dimensions that are not indexed
            keys = keys[:rest] + (slice(None),) * (self.ndim - len(keys) + 1) + keys[rest + 1 :]
        if len(keys) > self.ndim:
            count = f"{self.ndim} {'index' if self.ndim == 1 else 'indices'}"
            message = f"expected at most {count} for {self.name} {self._dims()}, found {len(keys)}"
            raise TirxError(message, hint=f"write {self.name}[{', '.join('ijklmn'[: self.ndim])}]")
        if len(keys) == self.ndim and not any(isinstance(k, slice) for k in keys):
            indices = tuple(as_index(k) for k in keys)
            lanes = lanes_of(indices[-1]) if indices else 1
            return BufferLoad(self.dtype.with_lanes(lanes), self, indices)
        keys = keys + (slice(None),) * (self.ndim - len(keys))
        ranges = tuple(self._range(axis, k) for axis, k in enumerate(keys))
        return Region(self.dtype, self, ranges)

    __iter__: ClassVar[None] = None
    """Python would ask `__getitem__` for elements without end."""

    if TYPE_CHECKING:  # in kernels, which the front end reads and Python does not execute

        def __setitem__(self, key: object, value: ExprLike) -> None:
            """Store an element: ``buf[i, j] = value``."""

        @property
        def flat(self) -> Any:
            """The buffer, addressed by a single offset in elements, as in lowered code."""

    def _range(self, axis: int, key: object) -> Range:
        if not is_slice(key):
            return Range(as_index(key), const(1))
        if key.step not in (None, 1):
            raise TirxError(f"this slice of {self.name} has step {key.step}; tiles are dense, so the step must be 1")
        start = as_index(0 if key.start is None else key.start)
        stop = as_index(self.shape[axis] if key.stop is None else key.stop)
        extent = difference(stop, start)
        known = int_value(extent)
        if known is not None and known <= 0:
            raise TirxError(
                f"dimension {axis} of {self.name} is sliced to {known} elements",
                hint="write a slice start:stop with stop > start",
            )
        first, last, end = int_value(start), int_value(stop), int_value(self.shape[axis])
        if (first is not None and first < 0) or (last is not None and end is not None and last > end):
            raise TirxError(
                f"the slice {start!r}:{stop!r} is out of bounds for dimension {axis} of {self.name}, "
                f"whose extent is {self.shape[axis]}"
            )
        return Range(start, extent)

    def _dims(self) -> str:
        return "(" + ", ".join(map(str, self.shape)) + ")"

    def region(self) -> Region:
        """Return the whole buffer as an operand of tile primitives."""
        return Region(self.dtype, self, tuple(Range(const(0), as_expr(extent)) for extent in self.shape))

    def ptr_to(self, indices: ExprLike | Sequence[ExprLike]) -> Expr:
        """Return a pointer to the element at `indices`."""
        keys = tuple(indices) if isinstance(indices, (list, tuple)) else (indices,)
        if len(keys) != self.ndim:
            count = f"{self.ndim} {'index' if self.ndim == 1 else 'indices'}"
            message = f"ptr_to expects {count} for {self.name} {self._dims()}, found {len(keys)}"
            raise TirxError(message, hint=f"write {self.name}.ptr_to([{', '.join('ijklmn'[: self.ndim])}])")
        return AddressOf(HANDLE, self, tuple(as_index(k) for k in keys))

    @property
    def data(self) -> Expr:
        """A pointer to the first element."""
        return AddressOf(HANDLE, self, tuple(const(0) for _ in self.shape))

    def view(self, *shape: int | str | Sequence[int], layout: object = None, dtype: str | None = None) -> Buffer:
        """Return a view with another shape, layout or dtype: ``view(128, 64, …)`` or ``view((128, 64), …)``.

        One extent may be -1: as many elements as are left. Without a layout, the elements stay where they are:
        ``view(32, 16)`` of a swizzled tile is swizzled. ``view("uint32")`` is the same bytes as another dtype, along
        the last dimension. A view of registers whose layout has a thread axis such as `tid_in_wg` is a tile of the
        whole warpgroup; each thread holds a part of it.
        """
        if len(shape) == 1 and isinstance(shape[0], str):
            return self._retyped(DataType(shape[0]), layout)
        dims: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        extents = self._inferred(tuple(int(e) for e in dims)) or self.shape
        kind = DataType(dtype) if dtype else self.dtype
        given: Any = layout
        if given is None and self.layout is not None and kind == self.dtype:
            given = self.layout.reshape(extents)
        if given is not None and given.shape != extents:
            with suppress(ValueError):  # what does not fit is an error where the view is declared
                given = given.reshape(extents)
        return self._as(extents, kind, given)

    def _as(self, shape: tuple[int, ...], dtype: DataType, layout: object) -> Buffer:
        name = f"{self.name}_view"
        return Buffer(name, shape, dtype, self.scope, layout, self, allocated_addr=self.allocated_addr)

    def _inferred(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        """Return the extents with -1 replaced by the inferred extent."""
        if extents.count(-1) != 1:
            return extents
        known = -math.prod(extents)
        if known <= 0 or self.size % known:
            raise TirxError(
                f"a view of {self.name} with the extents {extents}: its {self.size} elements are no multiple of {known}"
            )
        return tuple(self.size // known if extent == -1 else extent for extent in extents)

    def _retyped(self, dtype: DataType, layout: object) -> Buffer:
        """Return a view of the same bytes as another dtype."""
        *outer, last = self.shape
        if last * self.dtype.bits % dtype.bits:
            raise TirxError(
                f"the last dimension of {self.name} has {last} elements of {self.dtype}, which are not whole elements "
                f"of {dtype}"
            )
        if layout is None and self.layout is not None:
            wider, narrower = dtype.bits // self.dtype.bits, self.dtype.bits // dtype.bits
            layout = self.layout.pack(wider) if wider else self.layout.unpack(narrower)
        return self._as((*outer, last * self.dtype.bits // dtype.bits), dtype, layout)


@described.register(Buffer)
def _(buffer: Buffer) -> str:
    return f"the buffer {buffer.name}"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class BufferLoad(Element):
    """The load of a buffer element."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class AddressOf(Element):
    """A pointer to a buffer element; its dtype is `handle`."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Address(Expr):
    """A pointer with the byte address `value`, computed as in PTX.

    buffers: those into which it may point; None where it may point anywhere. Its dtype is `handle`.
    """

    value: Expr
    buffers: tuple[Buffer, ...] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Range:
    """A range of `extent` elements starting at `start`."""

    start: Expr
    extent: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Region(Expr):
    """A box within a buffer, as an operand of a tile primitive. Its dtype is that of one element."""

    is_tile: ClassVar[bool] = True
    buffer: Buffer
    ranges: tuple[Range, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the box. Raises `TirxError` if one is not known at compile time."""
        out: list[int] = []
        for r in self.ranges:
            if not isinstance(r.extent, Const):
                raise TirxError(
                    f"the extent of this slice of {self.buffer.name}, {r.extent!r}, is not known at compile time",
                    self.span,
                    "slice with constants defined outside the kernel, as in buf[i * TILE : (i + 1) * TILE]",
                )
            out.append(int(r.extent.value))
        return tuple(out)


def scalar(name: str, dtype: str, span: Span | None = None) -> Buffer:
    """Return a mutable scalar variable."""
    return Buffer(name, (1,), DataType(dtype), "local", scalar=True, span=span)


def shared_address(pointer: Expr) -> Expr:
    """Return the 32-bit shared-memory address of a pointer (PTX: cvta.to.shared)."""
    return cast(UINT32, pointer)

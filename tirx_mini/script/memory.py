"""Storage of kernels: functions of the `Tx` namespace that allocate and declare buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import (
    TIR,
    AddressOf,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Region,
    TirxError,
    Var,
    as_expr,
    const,
    int_value,
    scalar,
)  # fmt: skip
from tirx_mini.layout import (
    Layout,
    tcgen05_ld_layout,
)  # fmt: skip
from tirx_mini.records import replace
from tirx_mini.wording import described

from .builder import current, in_dialect_of_tvm
from .handles import BufferType, data_type, shape_of
from .placement import fitted, placed
from .source import caller_span
from .views import moved, pointed, pool_of

if TYPE_CHECKING:
    from .annotations import DTypeLike, Shape


def buffer_type(
    shape: Shape,
    dtype: DTypeLike = "float32",
    *,
    scope: str = "global",
    layout: Layout | None = None,
    align: int = 0,
) -> BufferType:
    """Return the type of a global-memory argument, row-major by default: ``A: Tx.Buffer((M, K), "float16")``."""
    try:
        dims, kind = shape_of(shape, "a buffer", symbolic=True), data_type(dtype)
        if all(isinstance(extent, int) for extent in dims):
            layout = fitted("a buffer", dims, layout)
        elif layout is not None:
            raise TirxError(
                "an argument with symbolic extents is row-major",
                hint="leave out strides= and layout=, or give the extents as numbers",
            )
    except TirxError as error:
        raise error.at(caller_span()) from None  # Python evaluates annotations before the kernel is read
    return BufferType(dims, kind, (("scope", scope), ("layout", layout), ("align", align)))


def match_buffer(
    pointer: object,
    shape: Shape,
    dtype: DTypeLike = "float32",
    data: object = None,
    strides: Sequence[int] | None = None,
    elem_offset: object = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    *,
    layout: Layout | str | None = None,
) -> Buffer:
    """Return the buffer to which a pointer argument points: ``A = T.match_buffer(A_ptr, (256,), "float32")``.

    strides: distances between neighbours in elements, instead of a layout.
    scope: "global".
    data, elem_offset, offset_factor: accepted for compatibility with TVM, where they describe the caller's tensor.
    """
    builder = current("T.match_buffer")
    position = next((i for i, p in enumerate(builder.params) if p is pointer), None)
    if position is None:
        raise TirxError("T.match_buffer expects a T.handle parameter of the kernel that is not matched to a buffer yet")
    if scope != "global" or int_value(elem_offset) not in (None, 0):
        raise TirxError(
            f'an argument of a kernel is in "global" memory and begins at its pointer, not in "{scope}" memory'
            if scope != "global"
            else "an argument of a kernel begins at its pointer, so elem_offset must be 0",
            hint="pass the part of the tensor, or slice the buffer in the kernel",
        )
    place = layout if isinstance(layout, Layout) else None
    if strides and builder.spelling == TIR and any(int_value(stride) is None for stride in strides):
        builder.forget_symbols(strides)  # of an instruction, to which `tensorize` gives regions of any strides
        strides = None
    if strides or isinstance(layout, str):
        shape = shape_of(shape, "a buffer")  # strides are not symbolic
        place = placed(layout, shape, strides)
    kind = buffer_type(shape, dtype, layout=place, align=max(align, 0))
    options = dict(kind.options)
    buffer = Buffer(
        builder.take_name("buf"), kind.shape, kind.dtype, "global", options["layout"], align=options["align"],
        span=builder.span,
    )  # fmt: skip
    builder.params[position] = buffer
    return buffer


_SCOPES = {"shared.dyn": "shared", "": "local"}
"""Other names of the scopes in which buffers are allocated."""


def alloc_buffer(
    shape: Shape,
    dtype: DTypeLike = "float32",
    scope: str | None = None,
    *,
    layout: Layout | str | None = None,
    align: int = 0,
    name: str | None = None,
    data: object = None,
    strides: Sequence[int] | None = None,
    elem_offset: object = None,
    byte_offset: int | None = None,
    offset_factor: int = 0,
    allocated_addr: Any = None,
    annotations: Mapping[str, object] | None = None,
) -> Buffer:
    """Allocate storage in `scope`: "local" (per-thread registers, the default), "shared" (per CTA), or "global", where
    it is a workspace that all CTAs of a launch share.

    A workspace keeps its contents from launch to launch, and begins as zeros. Two launches of the kernel must not run
    at the same time.

    strides: distances between neighbours in elements, instead of a layout.
    data, elem_offset, byte_offset, allocated_addr: of existing storage, as for `decl_buffer`.
    offset_factor, annotations: accepted for compatibility with TVM.
    """
    builder = current("Tx.alloc_buffer")
    known = _SCOPES.get(scope, scope) if scope is not None else "global" if in_dialect_of_tvm() else "local"
    if data is not None or (known == "tmem" and allocated_addr is not None):
        return decl_buffer(shape, dtype, data, strides, elem_offset, byte_offset, known, align, layout=layout,
                           allocated_addr=allocated_addr, name=name)  # fmt: skip
    if known not in ("local", "shared") and scope != "global":
        hint = 'declare it with Tx.decl_buffer(…, scope="tmem", allocated_addr=…)' if known == "tmem" else None
        raise TirxError(f'buffers are allocated in "local" or "shared" memory, not in "{known}"', hint=hint)
    if any(value is not None for value in (elem_offset, byte_offset, allocated_addr)):
        raise TirxError(
            f"the compiler places buffers in {known} memory, so they have no address of their own",
            hint="to place buffers at chosen offsets, allocate them from a pool, with `pool.move_base_to(offset)`",
        )
    label = builder.label(name, {"local": "buf", "shared": "smem_buf"}.get(known, "workspace"))
    dims = shape_of(shape, label)
    place = fitted(label, dims, placed(layout, dims, strides))
    return builder.alloc(Buffer(label, dims, data_type(dtype), known, place, align=max(align, 0), span=builder.span))


def alloc_local(
    shape: Shape, dtype: DTypeLike = "float32", *, layout: Layout | None = None, name: str | None = None
) -> Buffer:
    """Allocate registers: `shape` elements per thread."""
    return alloc_buffer(shape, dtype, "local", layout=layout, name=name)


def wg_reg_tile(elem_per_thread: int, dtype: DTypeLike = "float32") -> Buffer:
    """Allocate a warpgroup's register tile of 128 rows: thread t holds the `elem_per_thread` elements of row t."""
    registers = alloc_local((elem_per_thread,), dtype)
    return registers.view(128, elem_per_thread, layout=tcgen05_ld_layout(elem_per_thread))


def alloc_shared(
    shape: Shape,
    dtype: DTypeLike = "float32",
    *,
    layout: Layout | None = None,
    align: int = 0,
    name: str | None = None,
) -> Buffer:
    """Allocate shared memory: `shape` elements per CTA, placed by the compiler."""
    return alloc_buffer(shape, dtype, "shared", layout=layout, align=align, name=name)


def alloc_scalar(dtype: DTypeLike = "float32", name: str | None = None, *, scope: str = "local") -> Any:
    """Allocate a mutable variable, like ``x: Tx.int32``: reading the name loads it, assigning stores to it.

    scope: "local" (each thread has its own) or "shared" (the CTA has one). As in TVM, it may be the second argument.
    """
    builder = current("Tx.alloc_scalar")
    if name in ("local", "shared", "shared.dyn", "global"):
        name, scope = None, name
    known = _SCOPES.get(scope, scope)
    if known not in ("local", "shared"):
        raise TirxError(
            f'a variable is in "local" or "shared" memory, not in "{scope}"',
            hint='write scope="local" or scope="shared"',
        )
    variable = scalar(builder.label(name, "x"), data_type(dtype), builder.span)
    return builder.alloc(replace(variable, scope=known))


def shared_scalar(dtype: DTypeLike = "float32") -> Any:
    """Allocate a mutable variable in shared memory, one per CTA."""
    return alloc_scalar(dtype, scope="shared")


def variable_name(default: str, given: bool = False) -> str:
    """Return the name of the variable to which the object under construction is assigned.

    given: whether the user chose `default`, which is then the name of a part of an object of the user's own class.
    """
    builder = current("this object")
    return default if given and builder.of_user_class else builder.take_name(default)


def decl_buffer(
    shape: Shape,
    dtype: DTypeLike = "float32",
    data: object = None,
    strides: Sequence[int] | None = None,
    elem_offset: object = None,
    byte_offset: int | None = None,
    scope: str | None = None,
    align: int = 0,
    offset_factor: int = 0,
    layout: Layout | str | None = None,
    allocated_addr: Expr | Buffer | int | None = None,
    *,
    source: Buffer | None = None,
    name: str | None = None,
) -> Buffer:
    """Declare existing storage: tensor memory at `allocated_addr`, or a view of another buffer.

    data: a pointer to the first element, as `buf.data` or `buf.ptr_to([i, j])`.
    source: the buffer itself, instead of a pointer.
    strides: distances between neighbours in elements, instead of a layout.
    elem_offset: where the view begins after `data`, in elements of `dtype`; it may be known only at run time.
    byte_offset: the same in bytes, known at compile time.
    scope: that of the storage, if it is given. Without storage, "local" or "shared" memory is allocated.
    allocated_addr: the address that tcgen05.alloc wrote (``tmem_addr[0]`` or the buffer itself), or a number.
    align: the required alignment, in bytes.
    """
    builder = current("Tx.decl_buffer")
    known = None if scope is None else _SCOPES.get(scope, scope)
    if data is None and source is None and allocated_addr is None and known in ("local", "shared"):
        return alloc_buffer(shape, dtype, known, layout=layout, strides=strides, align=align, name=name)
    label = builder.label(name, "buf")
    dims, kind = shape_of(shape, label), data_type(dtype)
    place = fitted(label, dims, placed(layout, dims, strides))
    if data is not None:
        source, first = pointed(data, kind)
        moves = elem_offset is not None or byte_offset is not None
        if moves and int_value(first) == 0 and in_dialect_of_tvm():
            source = pool_of(source)[0]
        elem_offset = first if elem_offset is None else first + elem_offset
    if source is None and (known or "tmem") != "tmem":
        raise TirxError(
            "Tx.decl_buffer declares existing storage: tensor memory, or a view of another buffer (data= or source=)",
            hint="use Tx.alloc_local for registers and Tx.PoolAllocator for shared memory",
        )
    if source is None and allocated_addr is None:
        raise TirxError(f"{label} needs the address of its tensor memory", hint="write allocated_addr=tmem_addr[0]")
    if source is not None and known not in (None, "global", "tmem" if allocated_addr is not None else source.scope):
        raise TirxError(f"{label} is declared in {known} memory, but {source.name} is in {source.scope} memory")
    where = "tmem" if source is None else source.scope
    address = None if allocated_addr is None else _address(allocated_addr)
    start, align = byte_offset or 0, max(align, 0)
    view = Buffer(label, dims, kind, where, place, source, start, address, align, span=builder.span)
    return builder.declare(view if elem_offset is None else moved(view, elem_offset))


def _address(value: object) -> Expr:
    if isinstance(value, Buffer):
        return value[(0,) * value.ndim]
    if isinstance(value, Region):
        raise TirxError("allocated_addr must be a single value, not a slice", hint=f"write {value.buffer.name}[0]")
    return const(value, "uint32") if isinstance(value, int) else as_expr(value)


def address_of(place: Buffer | Expr) -> Expr:
    """Return a pointer to a buffer's first element, or to the element ``buf[i]``."""
    if isinstance(place, Buffer):
        return place.data
    if isinstance(place, Var) and place.dtype == "tensormap":
        return place  # instructions take the address of a tensor map
    if isinstance(place, BufferLoad):
        return AddressOf(DataType("handle"), place.buffer, place.indices)
    if isinstance(place, Region):
        return AddressOf(DataType("handle"), place.buffer, tuple(part.start for part in place.ranges))
    raise TirxError(f"Tx.address_of expects a buffer or an element of one, not {described(place)}")

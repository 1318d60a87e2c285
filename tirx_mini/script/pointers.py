"""Pointers, and TVM's alternative names of storage declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    DataType,
    Expr,
    ExprLike,
    Region,
    Str,
    TirxError,
    as_expr,
    const,
    simplify,
)  # fmt: skip
from tirx_mini.layout import tcgen05_atom_layout
from tirx_mini.wording import described

from .builder import current
from .handles import ArrayType, DType, data_type, let, shape_of
from .memory import alloc_buffer, alloc_local, alloc_shared, buffer_type, decl_buffer
from .views import flat_place, moved, pointed

if TYPE_CHECKING:
    from .annotations import DTypeLike, Shape


def isnullptr(x: object) -> Expr:
    """Return False for any pointer, since kernel pointers refer to buffers."""
    if not isinstance(x, (Buffer, AddressOf)) and not (isinstance(x, Expr) and x.dtype.is_handle):
        raise TirxError(f"T.isnullptr expects a pointer, such as buf.data, not {described(x)}")
    return const(False)


def ptr(dtype: DTypeLike, storage_scope: str = "global") -> DType:
    """Return the type of a pointer, as ``T.handle(dtype, storage_scope)``."""
    data_type(dtype)
    return DType(HANDLE)


def Var(name: str | None = None, dtype: DTypeLike = "int32") -> Any:
    """Declare a named symbolic extent, as ``name = T.int32()``."""
    if name is not None and not isinstance(name, str):
        raise TirxError(f"the name of T.Var must be a string, not {described(name)}", hint='write T.Var("n", "int32")')
    return current("T.Var").symbol(name or "v", data_type(dtype))


def var(dtype: DTypeLike, name: str = "") -> Any:
    """Declare a named symbolic extent, with the type first."""
    return Var(name, dtype)


def type_annotation(dtype: DTypeLike) -> DataType:
    """Return a dtype where TVM passes one as an argument."""
    return data_type(dtype)


def tvm_access_ptr(ptype: object, data: object, offset: ExprLike, extent: ExprLike, rw_mask: int) -> Expr:
    """Return the pointer `offset` elements of `ptype` after `data`. extent, rw_mask: the size and kind of the access.
    """
    pointer, kind = data.data if isinstance(data, Buffer) else data, data_type(ptype)
    if not isinstance(pointer, AddressOf):
        raise TirxError(f"T.tvm_access_ptr expects the pointer of a buffer, such as buf.data, not {described(data)}")
    if kind != pointer.buffer.dtype:
        raise TirxError(
            f"T.tvm_access_ptr counts {kind}, but {pointer.buffer.name} has elements of {pointer.buffer.dtype}",
            hint="declare a view of that dtype: T.decl_buffer((…,), dtype, data=buf.data)",
        )
    return AddressOf(HANDLE, pointer.buffer, (simplify(as_expr(flat_place(pointer)) + as_expr(offset)),))


def decl_scalar(
    dtype: DTypeLike, data: object, scope: str, elem_offset: object = None, byte_offset: int | None = None
) -> Buffer:
    """Declare a mutable variable in existing storage, `elem_offset` elements after `data`."""
    builder, kind = current("T.decl_scalar"), data_type(dtype)
    source, first = pointed(data, kind)
    if scope not in (source.scope, "shared.dyn"):
        raise TirxError(f"the variable is declared in {scope} memory, but {source.name} is in {source.scope} memory")
    place = first if elem_offset is None else first + elem_offset
    view = Buffer(builder.take_name("x"), (1,), kind, source.scope, None, source, byte_offset or 0, scalar=True,
                  span=builder.span)  # fmt: skip
    return builder.declare(moved(view, place))


def buffer(shape: Shape, dtype: DTypeLike = "float32", data: object = None, strides: Any = None,
           elem_offset: object = None,
           byte_offset: int | None = None, scope: str = "global", align: int = 0, offset_factor: int = 0,
           layout: Any = None, allocated_addr: Any = None, buffer_name: str = "") -> Any:  # fmt: skip
    """Return a view of the storage at `data`, or without it an argument type, as ``T.Buffer(shape, dtype)``."""
    if data is None and allocated_addr is None:
        return buffer_type(shape, dtype, scope=scope, align=max(align, 0))
    return decl_buffer(shape, dtype, data, strides, elem_offset, byte_offset, None, align, layout=layout,
                       allocated_addr=allocated_addr, name=buffer_name or None)  # fmt: skip


def tmem(
    shape: Shape, dtype: DTypeLike = "float32", *args: object, allocated_addr: object = None, **options: Any
) -> Buffer:
    """Declare tensor memory at the address that tcgen05.alloc wrote, as `decl_buffer`."""
    return alloc_buffer(shape, dtype, "tmem", allocated_addr=allocated_addr, **options)


def alloc_tcgen05_ldst_frag(instr_shape: str, tensor_shape: Sequence[int], dtype: DTypeLike) -> Buffer:
    """Allocate a warpgroup's registers for a tile that one tcgen05.ld or st moves.

    instr_shape: "32x32b" for 128 rows (or 64 in tensor memory's layout B), or "16x64b", "16x128b", "16x256b" for 64.
    tensor_shape: the rows and the columns of the tile.
    """
    rows, columns = shape_of(tuple(tensor_shape), "T.alloc_tcgen05_ldst_frag")
    if rows * columns % 128:
        raise TirxError(f"a tile of {rows} × {columns} elements is not shared evenly by the 128 threads of a warpgroup")
    layout = tcgen05_atom_layout(instr_shape, (rows, columns), data_type(dtype))
    return alloc_local((rows * columns // 128,), dtype).view(rows, columns, layout=layout)


def alloc_cast_frag(src: Buffer, dtype: DTypeLike) -> Buffer:
    """Allocate registers for a register tile's elements in another dtype, with the same distribution."""
    if not isinstance(src, Buffer) or src.scope != "local" or src.ndim != 2:
        raise TirxError("T.alloc_cast_frag expects a register tile of two dimensions")
    rows, columns = src.shape
    return alloc_local((rows * columns // 128,), dtype).view(rows, columns, layout=src.layout)


def LocalVectorAnnotation(dtype: DTypeLike, shape: object) -> ArrayType:
    """Return the array type ``T.float32[4]``: ``x: T.LocalVectorAnnotation("float32", 4)``."""
    return ArrayType(data_type(dtype), shape_of(shape, "an array"))


def LetAnnotation(type_spec: object = None) -> Any:
    """Return the annotation ``x: T.let``: ``x: T.LetAnnotation()``."""
    return let if type_spec is None else let[type_spec]


def scalar_wrapper(scalar: object) -> Any:
    """Return a scalar variable unchanged."""
    return scalar


def is_buffer_var(value: object) -> bool:
    """Return whether `x` is a buffer: ``T.tile.is_buffer_var(x)``."""
    return isinstance(value, Buffer)


class Range:
    """A range of `extent` numbers from `min` on: ``T.Range(end)``, ``T.Range(begin, end)``."""

    def __init__(self, begin: object, end: object = None, span: object = None) -> None:
        self.min = as_expr(0 if end is None else begin)
        self.extent = as_expr(begin) if end is None else simplify(as_expr(end) - self.min)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: object = None) -> Range:
        """Return the range with a first number and a count."""
        return Range(min_value, as_expr(min_value) + extent)


def StringImm(value: str, span: object = None) -> Str:
    """Return a string as a value of the kernel."""
    if not isinstance(value, str):
        raise TirxError(f"T.StringImm expects a string, not {described(value)}", hint='write T.StringImm("text")')
    return Str(HANDLE, str(value))


def BufferRegion(buffer: Buffer, region: Sequence[object]) -> Region:
    """Return a region of a buffer, by a slice or `Range` per dimension: ``T.tile.BufferRegion(buf, ranges)``."""
    parts = tuple(slice(p.min, simplify(p.min + p.extent)) if isinstance(p, Range) else p for p in region)
    found = buffer[parts]
    if not isinstance(found, Region):
        raise TirxError("T.tile.BufferRegion expects a range for each dimension")
    return found


smem = alloc_shared
buffer_var = ptr

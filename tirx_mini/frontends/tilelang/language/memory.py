"""Kernel arguments, buffers in each memory, and views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import (
    UINT64,
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    Range,
    Region,
    TileCall,
    TirxError,
    Var,
    as_expr,
    cast,
    const,
    int_value,
    scalar,
)  # fmt: skip
from tirx_mini.records import dataclass
from tirx_mini.script import BufferType, caller_span, current

from ..strided import Strides
from .dtypes import dtype_of

__all__ = [
    "FragmentBuffer", "LocalBuffer", "SharedBuffer", "StridedTensor", "Tensor", "alloc_barrier",
    "alloc_cluster_barrier", "alloc_descriptor", "alloc_fragment", "alloc_local", "alloc_shared",
    "alloc_tcgen05_instr_desc", "alloc_tcgen05_instruction_desc", "alloc_tcgen05_smem_desc", "alloc_tmem",
    "alloc_var", "alloc_wgmma_desc", "dynamic", "reshape", "symbolic", "view",
]  # fmt: skip

FRAGMENT = "fragment"
"""The scope of a buffer that the registers of all threads hold together. Layout inference decides which thread holds
which element."""


def _shape(shape: object) -> tuple[Any, ...]:
    listed = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    return tuple(extent if (known := int_value(as_expr(extent))) is None else known for extent in listed)


@dataclass(frozen=True)
class TensorType:
    """The type of a global-memory argument, row-major by default: ``T.Tensor((M, K), "float16")``."""

    strided: bool = False

    def __call__(
        self,
        shape: object,
        *rest: object,
        dtype: object = None,
        strides: object = None,
        data: object = None,
        scope: object = None,
    ) -> Any:
        """Return the type of an argument, or with `data` (a buffer's pointer) a view of that buffer."""
        given = list(rest)
        if self.strided:
            strides = given.pop(0) if given else strides
        kind = given.pop(0) if given else "float32" if dtype is None else dtype
        extents = _shape(shape)
        data = given.pop(0) if given else data
        if isinstance(data, AddressOf):
            name = current("T.Tensor").take_name(f"{data.buffer.name}_view")
            return Buffer(name, extents, dtype_of(kind), data.buffer.scope, None, data.buffer)
        options = ()
        if strides is not None and self.strided:
            options = (("layout", _strides(extents, _shape(strides))),)
        return BufferType(extents, dtype_of(kind), options)

    def __getitem__(self, keys: Any) -> BufferType:
        whole = not isinstance(keys, tuple) or not any(isinstance(key, (tuple, list, str)) for key in keys)
        return self(keys) if whole and not _ends_with_dtype(keys) else self(*keys)


def _ends_with_dtype(keys: object) -> bool:
    return isinstance(keys, tuple) and len(keys) == 2 and not isinstance(keys[1], (int, Expr))


def _strides(extents: tuple[object, ...], strides: tuple[object, ...]) -> Strides:
    if len(strides) != len(extents):
        count = f"{len(extents)} extent{'s' * (len(extents) > 1)}"
        raise TirxError(f"T.StridedTensor has {count}, but {len(strides)} strides", caller_span())
    steps: list[int | Var] = []
    for stride in strides:
        if not isinstance(stride, (int, Var)):
            raise TirxError(
                f"a stride of T.StridedTensor is a number or a variable of T.dynamic, not {stride!r}", caller_span()
            )
        steps.append(stride)
    return Strides(tuple(steps))


Tensor, StridedTensor = TensorType(), TensorType(strided=True)
SharedBuffer = LocalBuffer = FragmentBuffer = Tensor
"""Annotations of the parameters of macros, which take any buffer."""


def dynamic(name: str, dtype: object = "int32") -> Any:
    """Declare a symbolic extent, or several separated by commas. The kernel is compiled for each size."""
    names = [part.strip() for part in name.replace(",", " ").split()]
    made = tuple(Var(dtype_of(dtype), part) for part in names)
    return made[0] if len(made) == 1 else made


symbolic = dynamic


def _alloc(shape: object, dtype: object, scope: str, default: str) -> Buffer:
    builder = current(f"T.{default}")
    extents = _shape(shape)
    for extent in extents:
        if not isinstance(extent, int) and not (isinstance(extent, Expr) and builder.is_symbolic(extent)):
            raise TirxError(
                f"the shape of T.{default} must be known when the kernel is compiled, but has the extent {extent!r}"
            )
    name = builder.take_name(default.removeprefix("alloc_"))
    return builder.alloc(Buffer(name, extents, dtype_of(dtype), scope, span=builder.span))


def alloc_shared(shape: object, dtype: object, scope: str = "shared.dyn") -> Buffer:
    """Allocate shared memory of the CTA."""
    return _alloc(shape, dtype, "shared", "alloc_shared")


def alloc_fragment(shape: object, dtype: object, scope: str = "local.fragment") -> Buffer:
    """Allocate a tile distributed over the registers of the CTA's threads."""
    return _alloc(shape, dtype, "local" if scope == "local" else FRAGMENT, "alloc_fragment")


def alloc_local(shape: object, dtype: object, scope: str = "local") -> Buffer:
    """Allocate a thread-local array."""
    return _alloc(shape, dtype, "local", "alloc_local")


def alloc_var(dtype: object, *args: object, scope: str = "local.var", init: object = None) -> Buffer:
    """Allocate a thread-local variable; assigning to its name stores to it."""
    builder = current("T.alloc_var")
    first = init if init is not None else next((arg for arg in args if not isinstance(arg, str)), None)
    variable = builder.alloc(scalar(builder.take_name("var"), dtype_of(dtype), builder.span))
    if first is not None:
        value = cast(variable.dtype, as_expr(first, None if isinstance(first, Expr) else variable.dtype))
        builder.emit(BufferStore(variable, (const(0),), value))
    return variable


def alloc_barrier(arrive_count: int | Sequence[int]) -> Buffer:
    """Allocate mbarriers in shared memory with `arrive_count` arrivals per phase; a list allocates one per entry."""
    counts = tuple(arrive_count) if isinstance(arrive_count, (list, tuple)) else (arrive_count,)
    builder = current("T.alloc_barrier")
    name = builder.take_name("barrier")
    barriers = builder.alloc(Buffer(name, (len(counts),), UINT64, "shared", span=builder.span))
    builder.emit(TileCall("tl.init_barriers", (barriers.region(),), (("counts", counts), ("cluster", False))))
    return barriers


def alloc_cluster_barrier(arrive_count: int | Sequence[int]) -> Buffer:
    """Allocate mbarriers at which CTAs of a cluster arrive."""
    counts = tuple(arrive_count) if isinstance(arrive_count, (list, tuple)) else (arrive_count,)
    builder = current("T.alloc_cluster_barrier")
    name = builder.take_name("cluster_barrier")
    barriers = builder.alloc(Buffer(name, (len(counts),), UINT64, "shared", span=builder.span))
    builder.emit(TileCall("tl.init_barriers", (barriers.region(),), (("counts", counts), ("cluster", True))))
    return barriers


def alloc_tmem(shape: object, dtype: object) -> Buffer:
    """Allocate tensor memory of the CTA (PTX ISA, "Tensor Memory"): 128 lanes of 32-bit columns."""
    return _alloc(shape, dtype, "tmem", "alloc_tmem")


def alloc_descriptor(kind: str = "wgmma", dtype: object = "uint64") -> Buffer:
    """Allocate a variable for a wgmma or tcgen05 descriptor."""
    builder = current("T.alloc_descriptor")
    return builder.alloc(scalar(builder.take_name("desc"), dtype_of(dtype), builder.span))


def alloc_wgmma_desc(dtype: object = "uint64") -> Buffer:
    """Allocate a variable for a wgmma matrix descriptor."""
    return alloc_descriptor("wgmma", dtype)


def alloc_tcgen05_smem_desc(dtype: object = "uint64") -> Buffer:
    """Allocate a variable for a tcgen05 shared-memory descriptor."""
    return alloc_descriptor("tcgen05_smem", dtype)


def alloc_tcgen05_instruction_desc(dtype: object = "uint32") -> Buffer:
    """Allocate a variable for a tcgen05 instruction descriptor."""
    return alloc_descriptor("tcgen05_instr", dtype)


alloc_tcgen05_instr_desc = alloc_tcgen05_instruction_desc


def view(src: Buffer, shape: object = None, dtype: object = None, strides: object = None) -> Buffer:
    """Return a view of the same storage with another shape or dtype."""
    kind: DataType = src.dtype if dtype is None else dtype_of(dtype)
    if strides is not None:
        raise TirxError("T.view(strides=…) is not provided", hint="view it with a shape, and index it")
    if shape is None:
        *outer, last = src.shape
        shape = (*outer, last * src.dtype.bits // kind.bits)
    extents = _shape(shape)
    if math.prod(extents) * kind.bits != src.size * src.dtype.bits:
        raise TirxError(f"a view of {src.name} {list(src.shape)} {src.dtype} cannot be {list(extents)} {kind}")
    return Buffer(f"{src.name}_view", extents, kind, src.scope, None, src)


def reshape(src: Buffer, shape: object) -> Buffer:
    """Return a view of the same elements with another shape."""
    return view(src, shape)


def region_of(operand: object, extents: Sequence[object] | None = None) -> Region:
    """Return an operand of a tile operation as a region.

    extents: those of the other operand, for a single element ``A[i, j]``, which names the first element of the region.
    """
    if isinstance(operand, Buffer):
        return operand.region()
    if isinstance(operand, Region):
        return operand
    if isinstance(operand, BufferLoad) and extents is not None:
        ndim = operand.buffer.ndim
        sizes = [extent for extent in extents if int_value(as_expr(extent)) != 1] if len(extents) > ndim else extents
        full = (*(1 for _ in range(ndim - len(sizes))), *sizes)
        ranges = tuple(Range(start, as_expr(size)) for start, size in zip(operand.indices, full, strict=True))
        return Region(operand.buffer.dtype, operand.buffer, ranges, span=operand.span)
    raise TirxError(f"{operand!r} is no tile: a buffer, a slice of one, or the element where a tile begins is expected")

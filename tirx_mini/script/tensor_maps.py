"""TVM's TMA interface: host-encoded tensor maps, and instructions that use them.

A_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
T.call_packed("runtime.cuTensorMapEncodeTiled", A_map, "float16", 2, A.data, 64, 128, 128, 64, 64, 1, 1, 0, 3, 2, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.ir import AddressOf, DataType, Expr, TirxError, Var, as_expr, int_value
from tirx_mini.ir import TensorMap as Encoded
from tirx_mini.wording import described

from .builder import current, place
from .handles import DType, data_type
from .instructions import raw_call
from .refused import refusal

ENCODE = "runtime.cuTensorMapEncodeTiled"
TENSOR_MAP = DataType("tensormap")
_SWIZZLES = {0: 0, 1: 32, 2: 64, 3: 128}
"""The width of a swizzle in bytes by its number in CUDA's driver (CUtensorMapSwizzle)."""
_PROMOTIONS = {0: 0, 1: 64, 2: 128, 3: 256}
"""The granularity of fetches into the L2 in bytes, by CUtensorMapL2promotion."""


def TensorMap() -> DType:
    """Return the type of a tensor map: ``A_map: T.let[T.TensorMap()] = …``."""
    return DType(TENSOR_MAP)


def tvm_stack_alloca(dtype_str: str, num: int) -> Var:
    """Declare a tensor map, to be encoded by `call_packed`: ``T.tvm_stack_alloca("tensormap", 1)``."""
    if dtype_str != "tensormap" or int_value(num) != 1:
        raise TirxError(
            f'the host part of a kernel here has tensor maps only, not {num} "{dtype_str}"',
            hint='write T.tvm_stack_alloca("tensormap", 1)',
        )
    builder = current("T.tvm_stack_alloca")
    return Var(TENSOR_MAP, builder.take_name("tensor_map"), span=builder.span)


def call_packed(name: str, *args: object) -> None:
    """Encode a tensor map: ``T.call_packed("runtime.cuTensorMapEncodeTiled", map, dtype, rank, pointer, …)``.

    After the pointer come `rank` extents, rank - 1 strides in bytes, `rank` extents of the box, `rank` strides of
    elements, and the numbers of interleave, swizzle, L2 promotion and fill (CUDA: cuTensorMapEncodeTiled).
    """
    if name != ENCODE:
        row = refusal("call_cpacked")
        assert row is not None
        raise TirxError(f"T.call_packed({described(name)}, …): {row.why}", place(), row.instead)
    if len(args) < 4:
        raise TirxError(f'T.call_packed("{ENCODE}", …) is called with {len(args)} arguments')
    var, dtype, rank, pointer, *rest = args
    count = int_value(rank) or 0
    numbers = [int_value(as_expr(part)) for part in rest]
    if not isinstance(var, Var) or var.dtype != TENSOR_MAP or not isinstance(pointer, AddressOf):
        raise TirxError(
            f"{ENCODE} expects a tensor map and the pointer of an argument",
            hint='write A_map = T.tvm_stack_alloca("tensormap", 1), and A.data',
        )
    if not 1 <= count <= 5 or len(numbers) != 4 * count + 3 or None in numbers:
        raise TirxError(f"{ENCODE} of rank {described(rank)} takes {4 * count + 3} constant numbers after the pointer")
    _encode(var, dtype, pointer, count, [number or 0 for number in numbers])


def _encode(var: Var, dtype: object, pointer: AddressOf, rank: int, numbers: Sequence[int]) -> None:
    builder, buffer = current("T.call_packed"), pointer.buffer
    if data_type(dtype) != buffer.dtype or buffer.scope != "global" or any(int_value(i) != 0 for i in pointer.indices):
        raise TirxError(
            f"a tensor map of {dtype} cannot begin at {described(pointer)}, a {buffer.scope} {buffer.dtype}"
        )
    dims, strides = numbers[:rank], numbers[rank : 2 * rank - 1]
    box, steps = numbers[2 * rank - 1 : 3 * rank - 1], numbers[3 * rank - 1 : 4 * rank - 1]
    interleave, swizzle, promotion, fill = numbers[4 * rank - 1 :]
    if any(step != 1 for step in steps) or interleave or fill not in (0, 1) or swizzle not in _SWIZZLES:
        raise TirxError(
            "tensor maps here have element strides of 1, no interleave, swizzles 0 to 3, and fill with zeros or NaN",
            hint="pass 1 for each element stride, 0 for interleave, and 0 or 1 for fill",
        )
    if fill and not buffer.dtype.is_float:
        raise TirxError(f"a tensor map of {buffer.dtype} cannot fill with NaN", hint="pass 0 for fill")
    builder.tensor_maps.append(
        Encoded(
            var, buffer, tuple(dims), tuple(strides), tuple(box), _SWIZZLES[swizzle], _PROMOTIONS.get(promotion, 128),
            builder.span, bool(fill),
        )
    )  # fmt: skip


def _policy(name: str, cache_policy: object) -> int:
    """Return a compile-time cache policy as created by `createpolicy`, or 0 for none."""
    if cache_policy is None:
        return 0
    value = int_value(as_expr(cache_policy))
    if value is None:
        raise TirxError(
            f"the cache_policy of {name} must be known at compile time, but it is {described(cache_policy)}", place(),
            'use cache_hint, "evict_first", "evict_normal" or "evict_last"',
        )  # fmt: skip
    return value


def g2s_cluster(
    dim: int,
    dst_ptr: object,
    mbar: object,
    tensormap_addr: object,
    cta_mask: object,
    cta_group: int,
    cache_hint: str,
    *coords: object,
    cache_policy: object = None,
    load_mode: str = "tile",
    mbar_is_shared_addr: bool = False,
    multicast: bool | None = None,
) -> None:
    """Load by TMA into this CTA, or with `cta_mask` into several of the cluster (PTX ISA: cp.async.bulk.tensor).

    load_mode: "tile", or "tile_gather4" for coordinates that are a column and four rows.
    """
    group = cta_group if cta_group in (1, 2) else 1
    options = {"cache_hint": cache_hint, "load_mode": load_mode, "cache_policy": _policy("g2s_cluster", cache_policy)}
    operands, options = (dst_ptr, tensormap_addr, mbar), {"dim": int(dim), "cta_group": group, **options}
    if multicast is False or not isinstance(cta_mask, Expr) or int_value(cta_mask) is not None:
        mask = 0 if multicast is False else cta_mask
        raw_call("cp.async.bulk.tensor.load", *operands, *coords, cta_mask=mask, **options)
    else:
        raw_call("cp.async.bulk.tensor.load.multicast", *operands, cta_mask, *coords, **options)


def g2s_cta(
    dim: int,
    dst_ptr: object,
    mbar: object,
    tensormap_addr: object,
    cta_group: int,
    cache_hint: str,
    *coords: object,
    cache_policy: object = None,
    load_mode: str = "tile",
    mbar_is_shared_addr: bool = False,
) -> None:
    """Load by TMA into this CTA."""
    g2s_cluster(dim, dst_ptr, mbar, tensormap_addr, 0, cta_group, cache_hint, *coords, cache_policy=cache_policy,
                load_mode=load_mode)  # fmt: skip


def s2g(
    dim: int, src_ptr: object, tensormap_addr: object, cache_hint: str, *coords: object, cache_policy: object = None
) -> None:
    """Store by TMA."""
    raw_call(
        "cp.async.bulk.tensor.store", tensormap_addr, src_ptr, *coords, dim=int(dim), cache_hint=cache_hint,
        cache_policy=_policy("s2g", cache_policy),
    )  # fmt: skip


def s2g_reduce(
    dim: int,
    src_ptr: object,
    tensormap_addr: object,
    cache_hint: str,
    red_op: str,
    *coords: object,
    cache_policy: object = None,
) -> None:
    """Reduce into global memory by TMA (PTX ISA: cp.reduce.async.bulk.tensor)."""
    raw_call(
        "cp.reduce.async.bulk.tensor", tensormap_addr, src_ptr, *coords, dim=int(dim), op=red_op,
        cache_hint=cache_hint, cache_policy=_policy("s2g_reduce", cache_policy),
    )  # fmt: skip


def prefetch(dim: int, tensormap_addr: object, cache_hint: str, *coords: object, cache_policy: object = None) -> None:
    """Prefetch a box into the L2 cache (PTX ISA: cp.async.bulk.prefetch.tensor)."""
    raw_call(
        "cp.async.bulk.prefetch.tensor", tensormap_addr, *coords, dim=int(dim), cache_hint=cache_hint,
        cache_policy=_policy("prefetch", cache_policy),
    )  # fmt: skip


def prefetch_tensormap(tensormap_addr: object, space: str = "") -> None:
    """Prefetch a tensor map (PTX ISA: prefetch.tensormap)."""
    raw_call("prefetch.tensormap", tensormap_addr)


TMA: Mapping[str, Callable[..., Any]] = {
    "ptx.cp_async.bulk.tensor.g2s_cluster": g2s_cluster,
    "ptx.cp_async.bulk.tensor.g2s_cta": g2s_cta,
    "ptx.cp_async.bulk.tensor.s2g": s2g,
    "ptx.cp_async.bulk.tensor.s2g_reduce": s2g_reduce,
    "ptx.cp_async.bulk.tensor.prefetch": prefetch,
    "ptx.prefetch_tensormap": prefetch_tensormap,
}
"""The functions, by their names below ``T``."""

"""Tensor maps in memory, which a kernel changes field by field (PTX ISA: "tensormap.replace").

The 128 bytes of a tensor map are opaque in PTX. The simulator has an order of its own for their fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from tirx_mini.ir import Expr
from tirx_mini.records import dataclass

from .core import instruction
from .facts import Memory, Scope
from .machine import Machine, Thread
from .memory import access
from .operands import GlobalAddress, MemoryAddress, SharedAddress, u32, u64

TENSOR_MAP_BYTES = 128
_RANKS = 5
_WIDE = ("global_address", "global_stride")
_PLACES: Mapping[str, int] = MappingProxyType({
    "global_address": 0, "global_stride": 8, "global_dim": 40, "box_dim": 60, "element_stride": 80, "rank": 100,
    "elemtype": 104, "interleave_layout": 108, "swizzle_mode": 112, "fill_mode": 116, "swizzle_atomicity": 120,
})  # fmt: skip
"""The first byte of each field."""
ELEMENT_TYPES = (
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float32", "float64", "bfloat16",
    "float32", "float32",
)  # fmt: skip
"""The types of the values of `elemtype`, as far as the simulator has them; ``.tf32`` has the bits of a float32."""
_SWIZZLES = (0, 32, 64, 128)

Space = Literal["global", "shared::cta"]


@dataclass(frozen=True)
class MapFields:
    """The fields of a tensor map in memory, innermost dimension first. address: of the first element."""

    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    dtype: str
    swizzle: int
    interleave: int
    nan_fill: bool


def decode_tensor_map(words: np.ndarray) -> MapFields | None:
    """Return the fields of a tensor map, or None if they are invalid. words: its bytes."""

    def numbers(field: str, count: int) -> tuple[int, ...]:
        dtype = np.dtype("<u8" if field in _WIDE else "<u4")
        first = _PLACES[field]
        return tuple(map(int, words[first : first + count * dtype.itemsize].view(dtype)))

    rank, elemtype = numbers("rank", 1)[0] + 1, numbers("elemtype", 1)[0]
    swizzle = numbers("swizzle_mode", 1)[0]
    if rank > _RANKS or elemtype >= len(ELEMENT_TYPES) or swizzle >= len(_SWIZZLES):
        return None
    return MapFields(
        numbers("global_address", 1)[0], numbers("global_dim", rank), numbers("global_stride", rank - 1),
        numbers("box_dim", rank), numbers("element_stride", rank), ELEMENT_TYPES[elemtype], _SWIZZLES[swizzle],
        numbers("interleave_layout", 1)[0], bool(numbers("fill_mode", 1)[0]),
    )  # fmt: skip


_REPLACE: Mapping[str, Any] = MappingProxyType({
    "issued_by": Scope.THREAD, "min_sm": 90, "isa": "tensormap.replace", "cost": "alu", "only_in_ptx": True,
    "writes": Memory.GLOBAL | Memory.SHARED, "lanewise": True,
})  # fmt: skip


def _width(operands: Sequence[Expr], field: str, type: str, **_: object) -> str | None:
    right = "b64" if field in _WIDE else "b32"
    return None if type == right else f"of {field} has .{right}, not .{type}"


@instruction(
    "tensormap.replace.tile.{field}.{space}.b1024.{type} [{address}], {value};",
    name="tensormap.replace",
    check=_width,
    **_REPLACE,
)
def tensormap_replace(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    value: u64,
    *,
    field: Literal[
        "global_address", "rank", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode"
    ],
    space: Space = "global",
    type: Literal["b32", "b64"] = "b32",
) -> None:
    """Replace a field of the tensor map at `address`; `rank` is the number of dimensions minus 1.

    It is a weak write of the generic proxy. A copy that uses the map needs `fence.proxy.tensormap` before it.
    """
    gpu.store_memory(thread, access("weak", "", space, type), address + _PLACES[field], (value,))


@instruction(
    "tensormap.replace.tile.{field}.{space}.b1024.{type} [{address}], {ordinal}, {value};",
    name="tensormap.replace.dimension",
    check=_width,
    **_REPLACE,
)
def tensormap_replace_dimension(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    ordinal: u32,
    value: u64,
    *,
    field: Literal["box_dim", "global_dim", "global_stride", "element_stride"],
    space: Space = "global",
    type: Literal["b32", "b64"] = "b32",
) -> None:
    """Replace a field of one dimension of the tensor map at `address`; dimension 0 is the innermost one.

    `global_stride` 0 is the distance between neighbours in dimension 1, in bytes.
    """
    place = _PLACES[field] + ordinal * (8 if field in _WIDE else 4)
    gpu.store_memory(thread, access("weak", "", space, type), address + place, (value,))


@instruction(
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{scope}.sync.aligned [{dst}], [{src}], 128;",
    name="tensormap.cp_fenceproxy",
    issued_by=Scope.WARP,
    min_sm=90,
    isa="tensormap.cp_fenceproxy",
    cost="sync",
    reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED,
)
def tensormap_cp_fenceproxy(
    gpu: Machine, thread: Thread, dst: GlobalAddress, src: SharedAddress, *,
    scope: Literal["cta", "cluster", "gpu", "sys"] = "gpu",
) -> None:  # fmt: skip
    """Copy a tensor map from shared to global memory, and release it, for an acquire of the tensormap proxy.

    The copy reads what all lanes of the warp have written before.
    """
    gpu.warp_sync(thread)
    for place in range(0, TENSOR_MAP_BYTES, 8):
        word = gpu.load_memory(thread, access("weak", "", "shared::cta", "b64"), src + place)
        gpu.store_memory(thread, access("weak", "", "global", "b64"), dst + place, (word,))
    gpu.fence_tensormap(thread, "release", scope, None)

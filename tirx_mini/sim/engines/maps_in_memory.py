"""Tensor maps that a kernel keeps in global memory, as tensormap.replace changes them."""

from __future__ import annotations

from tirx_mini.ir import Buffer, DataType, TensorMap, Var
from tirx_mini.isa import MapFields, MemoryAccess, decode_tensor_map

from ..machine import GlobalBuffer, Warp
from ..ordering import Unequal

_HALF = MemoryAccess("uint64", "weak", "sys", "global", 8)
_HALF_BYTES = 64
_RULE = "PTX ISA: tensormap.replace"


def map_in_memory(w: Warp, address: int) -> TensorMap:
    """Return the tensor map at an address, which is read as by a weak load of the warp.

    Raises a fault if its fields are invalid.
    """
    if w.cta.cluster.width:
        raise Unequal
    gpu, time, loaded = w.gpu, w.time, w.loaded
    for half in (0, 1):
        gpu.scoped.load(w, _HALF, address + half * _HALF_BYTES)
    w.time, w.loaded = time, loaded  # the TMA unit reads it, and caches it
    found = gpu.memory.locate(address)
    assert found is not None
    home, first = found
    fields = decode_tensor_map(gpu.memory.view(home.slot, 1)[first : first + 2 * _HALF_BYTES])
    name = f"{home.name} at byte {first}"
    if fields is None:
        raise w.fault("illegal-instruction", f"there is no tensor map in {name}", rule=_RULE)
    if fields.interleave or any(stride != 1 for stride in fields.element_strides):
        w.not_modelled(f"the tensor map in {name}", "its interleaved layout or its element strides are ignored")
    return _encoded(w, fields, name)


def _encoded(w: Warp, fields: MapFields, name: str) -> TensorMap:
    memory = w.gpu.memory
    located = memory.locate(fields.address)
    if located is None:
        message = f"the tensor map in {name} describes no argument: its address is {fields.address:#x}"
        raise w.fault("illegal-instruction", message, rule=_RULE)
    buffer, offset = located
    dtype = DataType(fields.dtype)
    return TensorMap(
        Var(DataType("tensormap"), f"{buffer.name} {offset} {fields}"), _as(buffer, dtype), fields.dims, fields.strides,
        fields.box, fields.swizzle, nan_fill=fields.nan_fill, offset=offset,
    )  # fmt: skip


def _as(buffer: GlobalBuffer, dtype: DataType) -> Buffer:
    return Buffer(buffer.name, (max(1, buffer.nbytes // dtype.itemsize),), dtype)

"""Tensor maps that a kernel keeps in global memory, as tensormap.replace changes them.

A copy reads its map through the tensormap proxy. Changes of other threads or of its own reach this proxy by a release
behind them and an acquire that names the map, each by a fence (PTX ISA: "membar/fence", .proxy.tensormap).
"""

from __future__ import annotations

from tirx_mini.ir import Buffer, DataType, TensorMap, Var
from tirx_mini.isa import MapFields, MemoryAccess, decode_tensor_map
from tirx_mini.records import dataclass

from ..facts import Fact
from ..machine import GlobalBuffer, Gpu, RunningWarp, Warp
from ..ordering import Access, Epochs, Unequal

_HALF = MemoryAccess("uint64", "weak", "sys", "global", 8)
_HALF_BYTES = 64
_RULE = "PTX ISA: tensormap.replace"


@dataclass(frozen=True)
class UnfencedMap(Fact):
    """A copy whose tensor map was changed without the fences of its proxy. written: the change.

    released: whether the change is released, so that only the acquire is missing.
    """

    buffer: str
    written: Access
    released: bool


@dataclass(frozen=True)
class _Fence:
    """A fence of the tensormap proxy: when an agent executed it. known: what happened before it, by agent."""

    agent: int
    epoch: int
    known: Epochs

    def follows(self, agent: int, epoch: int) -> bool:
        """Return whether an event happens before the fence."""
        if agent == self.agent:
            return self.epoch >= epoch
        return agent < len(self.known) and self.known.item(agent) >= epoch


class TensormapProxy:
    """The fences of the tensormap proxy. acquired: by the address of their map."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._released: list[_Fence] = []
        self._acquired: dict[int, list[_Fence]] = {}

    def fence(self, w: RunningWarp, address: int | None) -> None:
        """Record a fence: an acquire of the map at an address, or a release for None."""
        fences = self._released if address is None else self._acquired.setdefault(address, [])
        fences.append(_Fence(w.agent.index, w.agent.epoch, w.agent.known))
        w.agent.advance()

    def check(self, w: Warp, address: int, home: GlobalBuffer, first: int) -> None:
        """Record a finding about a copy whose map changed before it, without both fences."""
        segment = self._gpu.memory.segments.get(home.slot)
        if segment is None:
            return
        start, granule = first - segment.start, segment.granule
        written = segment.last_write(slice(start // granule, -(-(start + 2 * _HALF_BYTES) // granule)))
        if written is None or not w.agent.happens_after(written.agent, written.epoch):
            return
        released = [each for each in self._released if each.follows(written.agent, written.epoch)]
        acquired = [
            each for each in self._acquired.get(address, ())
            if each.follows(written.agent, written.epoch) and w.agent.happens_after(each.agent, each.epoch)
        ]  # fmt: skip
        if not any(after.follows(each.agent, each.epoch) for after in acquired for each in released):
            self._gpu.facts.record(UnfencedMap(w.origin, f"{home.name} at byte {first}", written, bool(released)))


def map_in_memory(w: Warp, address: int, proxy: TensormapProxy) -> TensorMap:
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
    w.cta.cluster.order.record(proxy.check, w, address, home, first)
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

"""A warp: the `thread` that instruction semantics receive, and `w` in generated code.

The interface of generated code (everything else is internal to the simulator):

    w.thread_idx      int32[32], threadIdx.x of each lane            w.warp_id          int, threadIdx.x >> 5
    w.block_idx       (x, y, z) of the CTA in the grid               w.grid_dim         (x, y, z)
    w.cluster_ctaid   (x, y, z) of the CTA in its cluster            w.cluster_ctarank  int
    w.mask            active lanes, a `Mask`             w.select(mask)    continue with `mask`
    w.elected(cond)   the mask of the lane that elect.sync chose
    w.span            the current location; set before any operation that can fault, race or block
    w.time            cycles; generated code adds the issue cost of the instructions it executes
    w.window          cluster_ctarank << 24: the shared::cluster address of the CTA's byte 0
    w.load, w.store, w.copy, w.put, w.move                           plain accesses to shared and global memory
    w.passes, w.passes_at                                            plain accesses in a run without data
    w.shared_address, w.global_address, w.tensor_map                 values of AddressOf and tensor maps
    w.registers                                                      a local buffer of all lanes
    w.fault                                                          the exception for invalid operands
    w.presume                                                        a buffer passed to unmodelled code

Uniform values are Python ints, floats and bools; varying values are arrays whose last axis is the 32 lanes. A
compiler-made parallel loop of n iterations runs at once on arrays of shape (n, 32).
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tirx_mini.ir import DataType, Span, TensorMap
from tirx_mini.isa import Addresses, FaultKind, QuadProduct, WarpProduct, WgmmaVerbs

from ..facts import Fact, Fault, NotModelled, OperandRule, Origin
from ..ordering import PROXIES, PROXY, PROXY_GLOBAL, Actor, Agent, Lanes, Operation, Proxy, SyncClock
from . import access, block_moves, matrix, timed_access, warp_mma
from .addresses import window
from .dtypes import Index, Number, numpy_dtype
from .image import GlobalBuffer, SharedBuffer
from .interfaces import Cta, Gpu, Wait
from .masks import FULL, LANES, Mask
from .meetings import WHOLE_WARP, Meeting
from .registers import RegisterArray, Registers
from .warp_facts import LanesDiffer, PartialWarp, WarpApart, warp_name
from .warp_mma import Fragment

Buffer = SharedBuffer | GlobalBuffer

_FENCED: Mapping[str, Sequence[int]] = {
    "": PROXIES, "shared::cta": (PROXY,), "shared::cluster": (PROXY,), "global": (PROXY_GLOBAL,),
}  # fmt: skip
"""The clock rows of fence.proxy.async for each state space. Threads write only the shared memory of their own CTA."""


Value = TypeVar("Value")


class RunningWarp:
    """Warp `warp_id` of a CTA, while the CTA is resident.

    agent: of the active lanes. lanes: the agents of all sets of its lanes.
    role: "warp 3 of warpgroup 1". place: the role with the CTA, if the grid has several.
    waiting: its wait, None while it runs. divergent: the nesting depth of `Divergence`s.
    loaded: the end of the last overlapping load; -1 outside a group of overlapping loads. stored_at: the last store's.
    meetings: the meetings at which some of its lanes wait for others.
    woken: whether it is about to run. behind: a warp that runs directly after it, once. decisions: of branches on
        blockIdx.
    """

    __slots__ = (
        "_wgmma", "agent", "all_lanes", "behind", "block_idx", "cluster_ctaid", "cluster_ctarank", "cta", "decisions",
        "dependence", "divergent", "done", "gpu", "grid_dim", "lanes", "loaded", "loads", "mask", "meetings",
        "place", "program", "register_fences", "role", "span", "stored_at", "stores", "thread_idx", "threads", "time",
        "values", "waiting", "warp_id", "window", "woken",
    )  # fmt: skip

    def __init__(self, cta: Cta, warp_id: int, agent: Agent, time: float) -> None:
        launch = cta.gpu.image.launch
        self.gpu: Gpu = cta.gpu
        self.cta, self.values = cta, cta.cluster.values
        self.warp_id = warp_id
        self.role = warp_name(warp_id, launch.warps)
        self.place = f"{self.role} of {cta.name}" if launch.num_ctas > 1 else self.role
        self.block_idx = cta.block_idx
        self.grid_dim = launch.grid
        self.cluster_ctaid = cta.cluster_ctaid
        self.cluster_ctarank = cta.rank
        self.window = window(cta.rank)
        self.threads = launch.threads
        self.thread_idx = np.arange(warp_id * LANES, warp_id * LANES + LANES, dtype=np.int32)
        lanes = min(LANES, launch.threads - warp_id * LANES)
        self.all_lanes: Mask = FULL if lanes == LANES else Mask.of((1 << lanes) - 1)
        self.mask = self.all_lanes
        self.span: Span | None = None
        self.time = time
        self.loaded = self.stored_at = -1.0
        self.agent = agent
        agent.warp = agent.index
        self.lanes = Lanes(cta.cluster.causality, agent, self.all_lanes.word)
        self.loads = Actor(agent, cta.cluster.domain, Proxy.GENERIC, Operation.LOAD, self.place)
        self.stores = Actor(agent, cta.cluster.domain, Proxy.GENERIC, Operation.STORE, self.place)
        self.loads.word = self.stores.word = self.all_lanes.word
        self.register_fences = 0
        self.dependence = cta.dependence
        self.waiting: Wait | None = None
        self.divergent = 0
        self.meetings: dict[Hashable, Meeting] = {}
        self.behind: tuple[RunningWarp, ...] = ()
        self.woken = False
        self.done = False
        self.decisions: list[Any] = []
        self._wgmma: WgmmaVerbs[Registers] | None = None
        self.program: Generator[Wait, None, None] = cta.cluster.image.warp(self)

    @property
    def origin(self) -> Origin:
        """The origin of a fact: this warp at its current location."""
        return Origin(self.role, self.place, self.cta.name, self.span)

    def close(self) -> None:
        """Release the references to the warp and to the object of its wait."""
        self.program.close()
        if self.waiting is not None:
            vars(self.waiting).clear()
        self.waiting = self._wgmma = None

    @property
    def wgmma(self) -> WgmmaVerbs[Registers]:
        """The warp's interface to the tensor core of its warpgroup."""
        if self._wgmma is None:
            self._wgmma = self.gpu.wgmma_of(self)
        return self._wgmma

    # -- lanes ---------------------------------------------------------------------------------------------------

    def select(self, mask: Mask) -> None:
        """Continue with the lanes of `mask`: the arm of a branch, or the point of reconvergence."""
        if mask is self.mask:
            return
        self.mask = mask
        if not mask or self.lanes.together:
            return
        loads, stores = self.loads, self.stores
        self.agent = loads.agent = stores.agent = self.lanes.of(mask.word)
        loads.word = stores.word = mask.word
        loads.parted = stores.parted = loads.parted + 1

    def elected(self, cond: object) -> Mask:
        """Return the active lanes where `cond` holds, of which elect.sync chose one."""
        mask = self.mask.where(cond)
        return mask if mask is self.mask or mask.count != 1 else Mask.chosen(mask.word)

    def overlap(self, begin: bool) -> None:
        """Begin or end a group of overlapping loads; its end waits for all of them."""
        if begin:
            self.loaded = self.time
            return
        self.time, self.loaded = max(self.time, self.loaded), -1.0

    def release(self, released: SyncClock) -> None:
        """Release the accesses and acquired clocks of each active lane."""
        self.lanes.release(released, self.mask.word, self.agent)

    def meet(self) -> None:
        """Synchronise all lanes, and order their accesses."""
        self.lanes.meet()

    @property
    def lane(self) -> int:
        """The first active lane: the thread that executes a one-thread instruction."""
        return self.mask.first

    def agreeing(self, operands: Sequence[object]) -> Iterator[tuple[Mask, tuple[object, ...]]]:
        """Yield groups of active lanes with equal operands, and the operands as scalars."""
        left = self.mask
        while left:
            first = left.first
            values = tuple(o[first].item() if isinstance(o, np.ndarray) else o for o in operands)
            same = left
            for operand, value in zip(operands, values, strict=True):
                if isinstance(operand, np.ndarray):
                    same = same.where(operand == value)
            yield same, values
            left = left.minus(same)

    def uniform(self, value: Value, what: str) -> Value:
        """Return the value common to all active lanes; if they differ, record it and return the first lane's value.

        Hardware takes such an operand from a uniform register, which one lane fills (R2UR), and does not trap either.
        """
        values: Any = value
        if not isinstance(value, np.ndarray):
            return values
        active = values[self.mask.lanes]
        if (active != active[0]).any():
            self.gpu.facts.record(LanesDiffer(self.origin, what))
        return active[0].item()

    def converged(self, what: str) -> bool:
        """Return whether the whole warp executes an instruction; record a fact otherwise."""
        if self.mask is self.all_lanes:
            if self.meetings:
                self._complete_meetings(what)
            if self.dependence is not None:
                self.lanes.come_together()
                self.dependence.converged()
            return True
        self.gpu.facts.record(self._partial(what))
        return False

    def _complete_meetings(self, what: str) -> None:
        """Record lanes that executed a whole-warp instruction on their own while the others did not."""
        meeting = self.meetings.pop(WHOLE_WARP, None)
        if meeting is not None:
            origin, instruction = meeting.result
            lanes = Mask.of(meeting.word).count
            self.gpu.facts.record(WarpApart(origin, instruction, lanes, self.all_lanes.count, what, self.span))

    def executes_in_part(self, instruction: str) -> None:
        """Note that only the active lanes execute a whole-warp instruction; the others must follow before all lanes
        meet."""
        meeting = self.meetings.setdefault(WHOLE_WARP, Meeting())
        meeting.word |= self.mask.word
        meeting.result = self.origin, instruction
        if meeting.word == self.all_lanes.word:
            del self.meetings[WHOLE_WARP]

    def named_lanes(self, mask: object, what: str) -> None:
        """Record a finding if the active lanes differ from the lanes of `mask` in the warp."""
        given: Any = mask
        word = int(self.uniform(given, f"the mask of {what}"))
        if word & self.all_lanes.word != self.mask.word:
            self.gpu.facts.record(self._partial(what))

    def require_converged(self, what: str) -> None:
        """Raise a fault unless the warp is converged."""
        if self.mask is not self.all_lanes:
            raise Fault(self._partial(what))

    def _partial(self, what: str) -> Fact:
        return PartialWarp(self.origin, what, self.mask.count, self.all_lanes.count)

    def fault(self, kind: FaultKind, message: str, *, rule: str, hint: str | None = None) -> Fault:
        """Return the exception for an instruction that rejects its operands: ``raise thread.fault(…)``."""
        return Fault(OperandRule(self.origin, kind, message, rule, hint))

    def registers(self, name: str, size: int, dtype: npt.DTypeLike, span: Span | None) -> RegisterArray:
        """Return a new local buffer of the kernel, declared at `span`: `size` elements of a NumPy type."""
        return RegisterArray(name, size, dtype, span)

    # -- what is not modelled ------------------------------------------------------------------------------------

    def not_modelled(self, what: str, effect: str) -> None:
        """Record that the simulator does not model `what`."""
        self.gpu.facts.record(NotModelled(self.origin, what, effect))

    def computed(self, function: str, values: tuple[object, ...], dtype: str) -> np.ndarray | None:
        """Return the results of a CUDA C++ function for 32 lanes, as `dtype`; None without a definition."""
        meaning = self.gpu.functions.get(function)
        if meaning is None:
            return None
        result = np.asarray(meaning(*(np.broadcast_to(np.asarray(value), (LANES,)) for value in values)))
        return np.broadcast_to(result, (LANES,)).astype(self.unknown(dtype).dtype)

    def unknown(self, dtype: str) -> np.ndarray:
        """Return NaN in 32 lanes, or 0 for a dtype without NaN."""
        kind = DataType(dtype)
        if kind.is_float:
            return np.full(LANES, np.nan, numpy_dtype(kind))
        return np.zeros(LANES, bool if kind.is_bool else np.uint64 if kind == "uint64" else np.int64)

    def presume(self, buffer: SharedBuffer | RegisterArray) -> None:
        """Presume that an unmodelled instruction wrote a buffer, so that reads of it are no findings."""
        if isinstance(buffer, RegisterArray):
            buffer.define(0, len(buffer.data))
        else:
            self.cta.smem.shadow.presume(buffer.byte_offset, buffer.end)

    # -- fences --------------------------------------------------------------------------------------------------

    def fence_proxy_async(self, space: str = "") -> None:
        """Execute fence.proxy.async for the active lanes: it covers their writes in `space`, and what happens
        before."""
        for agent in self.lanes.within(self.mask.word, self.agent):
            agent.fence_proxy(_FENCED[space])

    def fence_mbarrier_init(self) -> None:
        """Execute fence.mbarrier_init: a later release carries this warp's mbarrier initialisations to the cluster."""
        for barrier in self.cta.initialised:
            barrier.fence_init(self)

    def fence_tcgen05_before(self) -> None:
        """Execute tcgen05.fence::before_thread_sync."""
        for agent in self.lanes.within(self.mask.word, self.agent):
            agent.fence_tcgen05_before()
        self.gpu.fence_tensor_core(self)

    def fence_tcgen05_after(self) -> None:
        """Execute tcgen05.fence::after_thread_sync."""
        for agent in self.lanes.within(self.mask.word, self.agent):
            agent.fence_tcgen05()

    def wait_for_grids(self) -> None:
        """Execute griddepcontrol.wait. The simulator runs one grid, so this only orders later operations."""
        if self.dependence is not None:
            self.dependence.wait(self)

    # -- memory --------------------------------------------------------------------------------------------------

    def load(self, buffer: Buffer, index: Index, lanes: int = 1) -> Number:
        """Return the elements of `buffer` at `index`, of its dtype.

        index: flat element offsets; an int (uniform), or integers of shape (32,) or (n, 32).
        lanes: elements per thread from there on (a `Ramp`); the offset is a multiple of it.
        Returns a scalar for a uniform index with lanes = 1, else an array of the index's shape, with a last axis of
        `lanes` if lanes > 1. Elements of inactive lanes are unspecified.
        Faults: misaligned-access; out-of-bounds, except within the CTA's shared memory. Records races and reads of
            uninitialised memory.
        """
        return access.load(self, buffer, index, lanes)

    def peek(self, buffer: SharedBuffer, index: int) -> int | float:
        """Return an element of shared memory that all lanes read, in a run without data, without advancing time."""
        return access.peek(self, buffer, index)

    def spend_read(self, nbytes: int) -> int:
        """Advance the time by a read of one element of shared memory, and return 0 in place of the element."""
        access.spend_read(self, nbytes)
        return 0

    def store(self, buffer: Buffer, index: Index, value: Number, lanes: int = 1, in_cta: bool | None = None) -> None:
        """Write `value` (a scalar, or an array as `load` returns) to the elements of `buffer` at `index`.

        in_cta: for a value that is equal in all threads: True if only within this CTA, False if in the launch; None for
        any other value.
        """
        access.store(self, buffer, index, value, lanes, in_cta)

    def copy(self, dst: Buffer, dst_index: Index, src: Buffer, src_index: Index, lanes: int = 1) -> None:
        """Execute ``dst[dst_index] = src[src_index]`` without interpreting the values; both dtypes have the same
        width."""
        access.copy(self, dst, dst_index, src, src_index, lanes)

    def move(
        self, dst: Buffer, first: int, pattern: Index, src: Buffer, src_first: int, src_pattern: Index, lanes: int = 1
    ) -> None:
        """Copy between the positions first + pattern.

        A first position is common to all lanes; a pattern is as in `passes`.
        """
        shortcut = self.cta.cluster.order.shortcut
        if not shortcut(block_moves.move, self, dst, first, pattern, src, src_first, src_pattern, lanes):
            self.copy(dst, first + pattern, src, src_first + src_pattern, lanes)

    def put(self, buffer: Buffer, first: int, pattern: Index, value: Number, lanes: int = 1) -> None:
        """Store to the positions first + pattern."""
        if not self.cta.cluster.order.shortcut(block_moves.put, self, buffer, first, pattern, value, lanes):
            self.store(buffer, first + pattern, value, lanes)

    def passes(self, buffer: Buffer, start: int, pattern: Index | None, lanes: int, write: bool) -> None:
        """Advance the time by a load or store without values, of `lanes` elements per thread at start + pattern.

        start: the same in all lanes. pattern: a static array that lives as long as the program; None for 0.
        Raises a fault or records a fact for accesses out of bounds or misaligned, like `load`.
        """
        timed_access.passes(self, buffer, start, pattern, lanes, write)

    def passes_at(self, buffer: Buffer, index: Index, lanes: int, write: bool) -> None:
        """Advance the time by an access at dynamic positions; see `passes`."""
        timed_access.passes_at(self, buffer, index, lanes, write)

    def load_matrices(self, registers: Registers, addresses: object, count: int, transpose: bool) -> None:
        """Execute ldmatrix."""
        matrix.load_matrices(self, registers, addresses, count, transpose)

    def store_matrices(self, addresses: object, registers: Registers, count: int, transpose: bool) -> None:
        """Execute stmatrix."""
        matrix.store_matrices(self, addresses, registers, count, transpose)

    def load_byte_matrices(self, registers: Registers, addresses: object, count: int) -> None:
        """Execute ldmatrix of bytes."""
        matrix.load_bytes(self, registers, addresses, count)

    def store_byte_matrices(self, addresses: object, registers: Registers, count: int) -> None:
        """Execute stmatrix of bytes."""
        matrix.store_bytes(self, addresses, registers, count)

    def multiply_matrices(
        self, d: Fragment, a: Fragment, b: Fragment, c: Fragment | None, product: WarpProduct, metadata: Addresses = 0
    ) -> None:
        """Execute mma."""
        warp_mma.multiply_matrices(self, d, a, b, c, product, metadata)

    def multiply_quads(self, d: Fragment, a: Fragment, b: Fragment, c: Fragment, product: QuadProduct) -> None:
        """Execute mma.m8n8k4."""
        warp_mma.multiply_quads(self, d, a, b, c, product)

    def shared_address(self, buffer: SharedBuffer, index: Index) -> Index:
        """Return the shared::cluster address of an element: cluster_ctarank << 24 | byte offset.
        Faults: out-of-bounds."""
        if not (isinstance(index, int) and 0 <= index < buffer.size):
            access.check_bounds(self, buffer, access.active(self, index), 1)
        return index * buffer.dtype.itemsize + (self.window + buffer.byte_offset)

    def global_address(self, buffer: GlobalBuffer, index: Index) -> Index:
        """Return the 64-bit address of an element of global memory.
        Faults: out-of-bounds."""
        access.check_bounds(self, buffer, access.active(self, index), 1)
        return index * buffer.dtype.itemsize + self.gpu.memory.base(buffer.slot)

    def tensor_map(self, name: str) -> TensorMap:
        """Return the tensor map held by the variable `name`."""
        return self.gpu.image.tensor_maps[name]

    # -- running -------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Run until the warp blocks or ends. The clock calls it."""
        if self.waiting is None or not self.waiting.polls:
            self.gpu.stillness.moved()
        self.waiting = None
        self.woken = False
        try:
            self.waiting = next(self.program)
        except StopIteration:
            self.done = True
            self.select(self.all_lanes)
            self.meet()
            self.cta.warp_ended(self)
        if self.behind:
            behind, self.behind = self.behind, ()
            for warp in behind:
                if warp.waiting is not None:
                    warp.resume()

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        where = "its start" if self.span is None else f"line {self.span.user.line}"
        return f"{self.place} at {where}"

    def delay(self, now: float) -> None:
        """Delay the warp until `now` at the earliest."""
        self.time = max(self.time, now)

"""The interface between instruction bodies and a machine that executes them: its verbs.

A body receives the GPU and `thread`, a warp with its active lanes. Its operands are equal in all of them, except those
of an instruction of whole warps, which may be arrays of 32 lanes. Verbs of the machine reach memory, barriers and
engines; verbs of the thread concern its lanes, its registers and the order of its accesses.

The protocols are generic in the classes that a machine has for warps, mbarriers and registers. Bodies are written for
any of them: `Machine`, `Thread` and `Mbarrier`. The simulator has one of each, and pyright checks that it has every
verb (`sim.verbs`). A verb that blocks returns a generator, which yields until the warp can go on.

Long because the verbs form one list, which authors of a machine read from beginning to end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar

import numpy as np

from tirx_mini.ir import TensorMap

from .descriptors import PLAIN, BlockScales, InstructionDescriptor, Kept, SmemDescriptor, TmemOperand
from .facts import BarrierEffect
from .requests import MemoryAccess, QuadProduct, WarpProduct, WgmmaProduct

Value = TypeVar("Value")
LanesT = TypeVar("LanesT", bound="Lanes")
ThreadT = TypeVar("ThreadT", contravariant=True)
RegistersT = TypeVar("RegistersT", contravariant=True)
MbarrierT = TypeVar("MbarrierT")

Blocking = Iterable[object]
"""The result of a blocking body or verb, which yields the reasons for which the warp waits."""
Addresses = int | np.ndarray
"""A byte address shared by all lanes, or one address for each lane, int64[32]."""

Loaded = np.ndarray | np.generic | int
"""A number that memory holds, or one for each lane."""

FaultKind = Literal["illegal-instruction", "bad-descriptor", "misaligned-access"]
"""The finding kinds for operands that violate a rule of the PTX ISA."""


class Lanes(Protocol):
    """A set of lanes of a warp."""

    @property
    def count(self) -> int:
        """The number of lanes in the set."""
        ...

    @property
    def first(self) -> int:
        """The lowest lane."""
        ...

    @property
    def lanes(self) -> np.ndarray:
        """The lane numbers in ascending order, int64[count]."""
        ...

    @property
    def bits(self) -> np.ndarray:
        """The lanes as a mask, bool[32]."""
        ...


class DivergentThread(Protocol[LanesT]):
    """A warp whose lanes may give different operands to one instruction; `Instruction.execute` sets its mask."""

    mask: LanesT

    def agreeing(self, operands: Sequence[object], /) -> Iterator[tuple[LanesT, tuple[object, ...]]]:
        """Yield groups of active lanes with equal operands, each with its operands as scalars."""
        ...


class RegisterOperand(Protocol):
    """32-bit registers of each lane, starting at the operand's; 16-bit elements lie two in each."""

    def read(self, words: int, /) -> np.ndarray:
        """Return the values of the first `words` registers, uint32[words, 32]."""
        ...

    def write(self, values: np.ndarray, /) -> None:
        """Set the first registers to `values`, uint32[words, 32]."""
        ...


class MbarrierVerbs(Protocol[ThreadT]):
    """An mbarrier: a phase, the arrivals pending in it, and a tx-count of bytes (PTX ISA: "mbarrier").

    A phase is complete when both counts are zero; the next one then begins with the expected arrivals pending.
    """

    def init(self, thread: ThreadT, count: int, /) -> None:
        """Begin phase 0 and expect `count` arrivals, 1 to 2²⁰ − 1, in each phase."""
        ...

    def invalidate(self, thread: ThreadT, /) -> None:
        """Invalidate the barrier."""
        ...

    def arrive(self, thread: ThreadT, count: int, /) -> None:
        """Subtract `count` from the pending arrivals; each arrival releases its thread's earlier accesses."""
        ...

    def drop(self, thread: ThreadT, count: int, /) -> None:
        """Arrive as `arrive`, and subtract `count` from the arrivals of every later phase."""
        ...

    def parity(self, thread: ThreadT, /) -> int:
        """Return the parity of the current phase."""
        ...

    def expect(self, thread: ThreadT, nbytes: int, /) -> bool:
        """Add `nbytes` to the current phase's tx-count; return False if the barrier was never initialised."""
        ...

    def wait(self, thread: ThreadT, parity: int, /) -> Blocking:
        """Block until the phase of this parity is complete, then acquire the accesses released in it."""
        ...

    def test(self, thread: ThreadT, parity: int, /) -> bool:
        """Return whether the phase of this parity is complete; if so, acquire the accesses released in it."""
        ...


class WgmmaVerbs(Protocol[RegistersT]):
    """The MMAs of a warp's warpgroup (PTX ISA: "Asynchronous wgmma Instructions")."""

    def fence(self) -> None:
        """Order earlier accesses to registers and shared memory before later MMAs."""
        ...

    def issue(
        self, d: RegistersT, product: WgmmaProduct, a: RegistersT | None = None, e: RegistersT | None = None, /
    ) -> None:
        """Begin an MMA into the registers `d`, with matrix A from the registers `a` if given.

        e: the register with the metadata of a sparse A.
        """
        ...

    def commit(self) -> None:
        """Close the open group of MMAs."""
        ...

    def wait(self, count: int, /) -> Blocking:
        """Block until at most `count` of the most recent groups are incomplete."""
        ...


class ThreadVerbs(Protocol[RegistersT]):
    """The warp that executes an instruction."""

    # -- lanes

    @property
    def mask(self) -> Lanes:
        """The active lanes."""
        ...

    def uniform(self, value: Value, what: str, /) -> Value:
        """Return the value that all active lanes hold. what: the operand, named in a finding if lanes differ."""
        ...

    def converged(self, what: str, /) -> bool:
        """Return whether the whole warp executes `what`, an instruction with .sync; record a finding if not."""
        ...

    def require_converged(self, what: str, /) -> None:
        """Raise a fault unless the whole warp executes `what`, an instruction with .aligned."""
        ...

    def named_lanes(self, mask: object, what: str, /) -> None:
        """Record a finding if the active lanes differ from the mask operand `mask` of `what`."""
        ...

    def not_modelled(self, what: str, effect: str, /) -> None:
        """Record that the simulator does not model `what`. effect: the substitute behaviour, as a clause."""
        ...

    def computed(self, function: str, values: tuple[object, ...], dtype: str, /) -> np.ndarray | None:
        """Return the results of a CUDA C++ function for 32 lanes as `dtype`, or None without a definition."""
        ...

    def unknown(self, dtype: str, /) -> np.ndarray:
        """Return an unknown value for each of 32 lanes: NaN, or 0 for a dtype without NaN."""
        ...

    def fault(self, kind: FaultKind, message: str, /, *, rule: str) -> Exception:
        """Return the exception to raise for operands that violate a rule of the PTX ISA.

        kind: of the finding. message: one sentence. rule: the section of the PTX ISA.
        """
        ...

    # -- registers

    @property
    def wgmma(self) -> WgmmaVerbs[RegistersT]:
        """The MMAs of the warp's warpgroup."""
        ...

    def load_matrices(self, registers: RegistersT, addresses: Addresses, count: int, transpose: bool, /) -> None:
        """Execute ldmatrix: load `count` blocks of 8 × 8 16-bit elements. addresses: shared-memory row addresses."""
        ...

    def store_matrices(self, addresses: Addresses, registers: RegistersT, count: int, transpose: bool, /) -> None:
        """Execute stmatrix, the reverse of `load_matrices`."""
        ...

    def load_byte_matrices(self, registers: RegistersT, addresses: Addresses, count: int, /) -> None:
        """Execute ldmatrix: load `count` transposed blocks of 16 × 16 bytes. addresses: shared-memory row addresses."""
        ...

    def store_byte_matrices(self, addresses: Addresses, registers: RegistersT, count: int, /) -> None:
        """Execute stmatrix: store `count` transposed 16 × 8-byte blocks. addresses: shared-memory column addresses."""
        ...

    def multiply_quads(
        self, d: RegistersT, a: RegistersT, b: RegistersT, c: RegistersT, product: QuadProduct, /
    ) -> None:
        """Execute mma.m8n8k4: each quad pair multiplies its fragments of A and B, adds C, and sets D."""
        ...

    def multiply_matrices(
        self, d: RegistersT, a: RegistersT, b: RegistersT, c: RegistersT | None, product: WarpProduct,
        metadata: int | np.ndarray = 0, /,
    ) -> None:
        """Execute mma: multiply the fragments of A and B, add C (zeros for None), and set D.

        metadata: of each lane, the places of the elements of a sparse A.
        """
        ...  # fmt: skip

    # -- order

    def fence_proxy_async(self, space: str = "") -> None:
        """Order earlier generic-proxy accesses before later async-proxy accesses (PTX ISA: "Proxies").

        space: the state space of the ordered accesses, "" for all.
        """
        ...

    def fence_mbarrier_init(self) -> None:
        """Release the thread's initialisations of mbarriers to the cluster and to the async proxy."""
        ...

    def fence_tcgen05_before(self) -> None:
        """Order the thread's earlier tcgen05 operations before its later synchronisation."""
        ...

    def fence_tcgen05_after(self) -> None:
        """Order the thread's later tcgen05 operations after its earlier synchronisation."""
        ...

    def wait_for_grids(self) -> None:
        """Acquire the completion of the grids that this grid depends on, with all of their writes."""
        ...


class MachineVerbs(Protocol[ThreadT, MbarrierT, RegistersT]):
    """The GPU, whose verbs `thread` executes; a shared-memory address may belong to another CTA of the cluster."""

    # -- addresses, mbarriers

    def complete_bytes(self, thread: ThreadT, bar: int, nbytes: int, /) -> None:
        """Subtract bytes from the tx-count of the mbarrier at an address, as a completed copy does."""
        ...

    def mbarrier(self, thread: ThreadT, bar: int, /) -> MbarrierT:
        """Return the mbarrier at a shared-memory address; raises a fault if there is no such memory."""
        ...

    def own_mbarrier(self, thread: ThreadT, bar: int, effect: BarrierEffect, /) -> MbarrierT:
        """Return an mbarrier of the executing CTA, for an instruction with .shared::cta.

        effect: the instruction's barrier effect, for a finding about another CTA's barrier.
        """
        ...

    def peer_mbarriers(self, thread: ThreadT, bar: int, cta_mask: int, /) -> list[MbarrierT]:
        """Return the mbarriers at the offset of `bar` in each CTA of a mask. cta_mask: bit r for cluster rank r."""
        ...

    def map_shared_rank(self, thread: ThreadT, address: int, rank: int, /) -> int:
        """Return the address of the same offset in the shared memory of the CTA of this rank."""
        ...

    def write_shared(self, thread: ThreadT, address: int, word: int, /) -> None:
        """Store a 32-bit word."""
        ...

    # -- accesses with a memory order

    def load_memory(self, thread: ThreadT, access: MemoryAccess, address: Addresses, /) -> Loaded:
        """Return the value at an address: a number, or an array of 32 lanes if addresses differ."""
        ...

    def load_registers(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, registers: RegistersT, /
    ) -> None:
        """Load words into registers."""
        ...

    def store_memory(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, values: Sequence[object], /
    ) -> None:
        """Store contiguous values, each a number or an array of 32 lanes."""
        ...

    def store_registers(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, registers: RegistersT, /
    ) -> None:
        """Store words from registers."""
        ...

    def update_memory(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, op: str, value: object, compare: object, /
    ) -> np.ndarray:
        """Update memory atomically in each active lane; return the old values. compare: for op = "cas"."""
        ...

    def update_registers(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, op: str, value: RegistersT,
        compare: RegistersT | None, old: RegistersT | None, count: int, /,
    ) -> None:
        """Update adjacent elements atomically from `count` registers, which hold one or two elements each.

        compare: for op = "cas", which compares all bits together. old: receives the old values.
        """
        ...  # fmt: skip

    def fence_memory(self, thread: ThreadT, sem: str, scope: str, /) -> None:
        """End an acquire pattern and begin a release pattern of the active lanes.

        sem: "acquire", "release", "acq_rel" or "sc" (PTX ISA: "Release and Acquire Patterns").
        """
        ...

    def fence_tensormap(self, thread: ThreadT, sem: str, scope: str, address: int | None, /) -> None:
        """Release changes of tensor maps to the tensormap proxy, or acquire those of the map at `address` for it.

        sem: "release", with None for the address, or "acquire". It fences the generic proxy, too.
        """
        ...

    def release_before(self, thread: ThreadT, scope: str, /) -> None:
        """Order a release by an arrival at another CTA's mbarrier, at its cost. scope: as written, "" for none."""
        ...

    def acquire_after(self, thread: ThreadT, scope: str, /) -> None:
        """Order an acquire beyond the CTA, once a wait for an mbarrier is over."""
        ...

    # -- barriers of a CTA and a cluster

    def warp_sync(self, thread: ThreadT, /) -> None:
        """Synchronise the lanes of the warp and order their accesses."""
        ...

    def lanes_sync(self, thread: ThreadT, mask: int, /) -> None:
        """Synchronise the lanes of a mask and order their accesses."""
        ...

    def bar_sync(
        self, thread: ThreadT, number: int, threads: int | None, /, *, aligned: bool = True
    ) -> Blocking:
        """Arrive at named barrier 0 to 15 and block until `threads` threads arrive; None means the whole CTA.

        aligned: whether all lanes of the warp must execute it together.
        """
        ...

    def bar_arrive(self, thread: ThreadT, number: int, threads: int, /, *, aligned: bool = True) -> None:
        """Arrive at a named barrier that completes with `threads` threads."""
        ...

    def bar_count(self, thread: ThreadT, number: int, holds: object, /) -> Generator[object, None, int]:
        """Arrive, block until all threads of the CTA arrive, and count the threads whose condition holds."""
        ...

    def grid_sync(self, thread: ThreadT, /) -> Blocking:
        """Arrive, and block until all threads of the grid arrive, with their earlier accesses visible."""
        ...

    def cluster_arrive(self, thread: ThreadT, /, *, releases: bool = True, aligned: bool = True) -> None:
        """Arrive at the cluster's barrier. aligned: requires convergence of the warp's lanes."""
        ...

    def cluster_wait(self, thread: ThreadT, /, *, aligned: bool = True) -> Blocking:
        """Block until all threads of the cluster arrive, then acquire. aligned: as for the arrival."""
        ...

    # -- tensor memory and the tensor core of Blackwell

    def tmem_alloc(self, thread: ThreadT, columns: int, cta_group: int, /) -> Generator[object, None, int]:
        """Block until enough columns of tensor memory are free, allocate them, and return their address."""
        ...

    def tmem_dealloc(self, thread: ThreadT, address: int, columns: int, cta_group: int, /) -> None:
        """Free an allocation."""
        ...

    def tmem_relinquish(self, thread: ThreadT, cta_group: int, /) -> None:
        """Give up the CTA's permit to allocate."""
        ...

    def tmem_load(
        self, thread: ThreadT, address: int, lanes: np.ndarray, columns: np.ndarray, registers: RegistersT, /
    ) -> None:
        """Begin to load registers. lanes, columns: of register r of thread t, int[registers, 32], from `address` on."""
        ...

    def tmem_store(
        self, thread: ThreadT, address: int, lanes: np.ndarray, columns: np.ndarray, registers: RegistersT, /
    ) -> None:
        """Begin to store registers, the reverse of `tmem_load`."""
        ...

    def tmem_wait(self, thread: ThreadT, loads: bool, /) -> None:
        """Wait for the warp's loads from tensor memory, or for its stores."""
        ...

    def mma(
        self, thread: ThreadT, d: int, a: SmemDescriptor | TmemOperand, a_start: int, b: SmemDescriptor, b_start: int,
        shape: InstructionDescriptor, accumulate: bool, cta_group: int, scales: BlockScales | None = None,
        kept: Kept = PLAIN, metadata: int | None = None, /,
    ) -> None:
        """Begin D = A Bᵀ (+ D) at `d` in tensor memory. a_start, b_start: where the operands lie, in bytes of shared
        memory; A's address in tensor memory. scales: where the scale factors of A and B are, if they have any.
        metadata: the address in tensor memory of the metadata of a sparse A."""
        ...  # fmt: skip

    def tmem_copy(
        self, thread: ThreadT, address: int, layout: SmemDescriptor, start: int, shape: str, multicast: str,
        cta_group: int, /,
    ) -> None:
        """Begin to copy rows of shared memory, starting at byte `start`, to tensor memory."""
        ...  # fmt: skip

    def commit(self, thread: ThreadT, barriers: Sequence[MbarrierT], cta_group: int, /) -> None:
        """Arrive once at each barrier when the thread's earlier tcgen05 operations are complete."""
        ...

    # -- copies

    def tma_load(
        self, thread: ThreadT, tensor_map: TensorMap | int, dst: int, bar: int, coords: Sequence[int], cta_mask: int,
        cta_group: int, rows: bool, /,
    ) -> None:
        """Begin to copy the box at `coords`, innermost first, to `dst`; its bytes complete on `bar`.

        cta_mask: the CTAs that receive it at the same offsets, bit r for cluster rank r; 0 for the CTA of `dst` alone.
        rows: whether `coords` are a column and four rows.
        """
        ...  # fmt: skip

    def tma_store(
        self, thread: ThreadT, tensor_map: TensorMap | int, src: int, coords: Sequence[int], reduce: str | None,
        rows: bool, /,
    ) -> None:
        """Begin to copy `src` to the box at `coords`, in the open bulk group.

        reduce: "add" to add to it instead. rows: as of `tma_load`.
        """
        ...

    def bulk_load(
        self, thread: ThreadT, dst: int, src: int, nbytes: int, bar: int, cta_mask: int, /
    ) -> None:
        """Begin to copy bytes of global memory to `dst`; they complete on `bar`. cta_mask: as for `tma_load`."""
        ...

    def bulk_store(
        self, thread: ThreadT, dst: int, src: int, nbytes: int, reduce: str | None, dtype: str, /
    ) -> None:
        """Begin to copy bytes of `src` to global memory, in the open bulk group.

        reduce: an operation that is applied instead, to elements of `dtype`.
        """
        ...

    def bulk_copy(self, thread: ThreadT, dst: int, src: int, nbytes: int, bar: int, /) -> None:
        """Begin to copy bytes of the CTA's own shared memory to `dst` in the cluster's; they complete on `bar`."""
        ...

    def store_async(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, registers: RegistersT, bar: int, /
    ) -> None:
        """Begin to store words of registers to the cluster's shared memory; their bytes complete on `bar`."""
        ...

    def cancel_cluster(self, thread: ThreadT, handle: int, bar: int, multicast: bool, /) -> None:
        """Request the cancellation of an unstarted cluster; the 16-byte response at `handle` completes on `bar`.

        multicast: whether to write the response at the same offsets in each CTA of the cluster.
        """
        ...

    def cancelled_cluster(self, thread: ThreadT, handle: int, /) -> int:
        """Return the x of the first CTA of the cluster in a response, or 2³² − 1 if there is none."""
        ...

    def bulk_commit(self, thread: ThreadT, /) -> None:
        """Close the open bulk group of each active lane."""
        ...

    def bulk_wait(self, thread: ThreadT, count: int, read: bool, /) -> Blocking:
        """Block until at most `count` bulk groups of each lane are incomplete.

        read: whether a group counts as finished when its sources have been read.
        """
        ...

    def cp_async(
        self, thread: ThreadT, dst: Addresses, src: Addresses, nbytes: int, size: Addresses | None = None, /
    ) -> None:
        """Begin to copy 4, 8 or 16 bytes in each lane from global to shared memory."""
        ...

    def cp_async_commit(self, thread: ThreadT, /) -> None:
        """Close each lane's open group of cp.async copies."""
        ...

    def cp_async_wait(self, thread: ThreadT, count: int, /) -> None:
        """Wait until at most `count` groups of each lane are incomplete."""
        ...

    def cp_async_arrive(self, thread: ThreadT, bar: int, more: bool, /) -> None:
        """Arrive at `bar` for each active lane when its earlier copies are complete.

        more: whether to add these arrivals to the pending count, in addition to the barrier's expected arrivals.
        """
        ...

    # -- the rest

    def shuffle(self, thread: ThreadT, value: Value, source: np.ndarray, mask: object = None, /) -> Value:
        """Return in each lane the value of the lane that `source`, int[32], names.

        mask: the lanes that execute the shuffle, None for the whole warp. Values of other lanes are unknown.
        """
        ...

    def nanoseconds(self, thread: ThreadT, /) -> int:
        """Return the time since the launch in nanoseconds."""
        ...

    def cycles(self, thread: ThreadT, /) -> int:
        """Return the time since the launch in SM clock cycles."""
        ...

    def sleep(self, thread: ThreadT, nanoseconds: int, /) -> None:
        """Suspend the warp for a time."""
        ...

    def set_max_registers(self, thread: ThreadT, count: int, increase: bool, /) -> Blocking:
        """Set the registers of each thread of the warp; an increase blocks until the CTA has enough."""
        ...


Thread = ThreadVerbs[RegisterOperand]
Mbarrier = MbarrierVerbs[Thread]
Machine = MachineVerbs[Thread, Mbarrier, RegisterOperand]

MBARRIER_VERBS = frozenset({
    "mbarrier", "own_mbarrier", "peer_mbarriers", "tma_load", "complete_bytes", "bulk_load", "bulk_copy",
    "store_async", "cancel_cluster", "cp_async_arrive",
})  # fmt: skip
"""The machine verbs that take an mbarrier's address; no body accesses an mbarrier without them."""

"""The verbs of which the bodies of instructions are made, and which a machine that executes them provides.

A body gets the GPU and `thread`, a warp with its active lanes. Its operands are the same in all of them, except those
of an instruction of whole warps, which may be arrays of 32 lanes. Verbs of the machine reach memory, barriers and
engines; verbs of the thread concern its lanes, its registers and the order of its accesses.

The protocols are generic in the classes that a machine has for warps, mbarriers and registers. Bodies are written for
any of them: `Machine`, `Thread` and `Mbarrier`. The simulator has one of each, and pyright checks that it has every
verb (`sim.verbs`). A verb that blocks returns a generator, which yields until the warp can go on.

Long because what a machine has to provide is one list, which its authors read from beginning to end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeVar

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
"""The result of a body or a verb that blocks: it yields the reason for which the warp waits."""
Addresses = int | np.ndarray
"""An address in bytes that all lanes give, or one for each lane, int64[32]."""

FaultKind = Literal["illegal-instruction", "bad-descriptor", "misaligned-access"]
"""The kinds of findings for operands that break a rule of the PTX ISA."""


class Lanes(Protocol):
    """A set of lanes of a warp."""

    @property
    def count(self) -> int:
        """How many they are."""
        ...

    @property
    def first(self) -> int:
        """The lowest of them."""
        ...

    @property
    def lanes(self) -> np.ndarray:
        """Their numbers, ascending, int64[count]."""
        ...

    @property
    def bits(self) -> np.ndarray:
        """Which lanes they are, bool[32]."""
        ...


class DivergentThread(Protocol[LanesT]):
    """A warp whose lanes may give different operands to one instruction; `Instruction.execute` sets its mask."""

    mask: LanesT

    def agreeing(self, operands: Sequence[object], /) -> Iterator[tuple[LanesT, tuple[Any, ...]]]:
        """Groups of active lanes that give the same operands, with these as scalars."""
        ...


class RegisterOperand(Protocol):
    """32-bit registers of each lane, from the one that the operand points to on; 16-bit elements lie two in each."""

    def read(self, words: int, /) -> np.ndarray:
        """The values of the first `words` registers, uint32[words, 32]."""
        ...

    def write(self, values: np.ndarray, /) -> None:
        """Set the first registers to uint32[words, 32]."""
        ...


class MbarrierVerbs(Protocol[ThreadT]):
    """An mbarrier: a phase, the arrivals pending in it, and a tx-count of bytes (PTX ISA: "mbarrier").

    A phase is complete when both counts are zero; the next one then begins with the expected arrivals pending.
    """

    def init(self, thread: ThreadT, count: int, /) -> None:
        """Begin phase 0, and expect `count` arrivals in each phase, 1 to 2²⁰ − 1."""
        ...

    def invalidate(self, thread: ThreadT, /) -> None:
        """End its life as a barrier."""
        ...

    def arrive(self, thread: ThreadT, count: int, /) -> None:
        """Take `count` from the pending arrivals; each arrival releases its thread's earlier accesses."""
        ...

    def parity(self, thread: ThreadT, /) -> int:
        """The parity of the current phase."""
        ...

    def expect(self, thread: ThreadT, nbytes: int, /) -> bool:
        """Add `nbytes` to the tx-count of the current phase. False where `bar` was never initialised."""
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
        """Order accesses to registers and shared memory before it, and MMAs after it."""
        ...

    def issue(self, d: RegistersT, product: WgmmaProduct, a: RegistersT | None = None, /) -> None:
        """Begin an MMA into the registers `d`, with matrix A in the registers `a` where these are given."""
        ...

    def commit(self) -> None:
        """Close the open group of MMAs."""
        ...

    def wait(self, count: int, /) -> Blocking:
        """Block until at most `count` of the most recent groups are unfinished."""
        ...


class ThreadVerbs(Protocol[RegistersT]):
    """The warp that executes an instruction."""

    # -- lanes

    @property
    def mask(self) -> Lanes:
        """The active lanes."""
        ...

    def uniform(self, value: Value, what: str, /) -> Value:
        """The value that all active lanes give. what: the operand, for the finding where they differ."""
        ...

    def converged(self, what: str, /) -> bool:
        """Return whether the whole warp executes `what`, an instruction with .sync; record a finding if not."""
        ...

    def require_converged(self, what: str, /) -> None:
        """The same, as a fault: for an instruction with .aligned."""
        ...

    def named_lanes(self, mask: object, what: str, /) -> None:
        """Record a finding if the active lanes are not the lanes that the operand `mask` of `what` names."""
        ...

    def not_modelled(self, what: str, effect: str, /) -> None:
        """Record that the simulator does not know what `what` does. effect: what it did instead, a clause."""
        ...

    def computed(self, function: str, values: tuple[object, ...], dtype: str, /) -> np.ndarray | None:
        """The result of a CUDA C++ function for the values of 32 lanes, as `dtype`; None without a definition."""
        ...

    def unknown(self, dtype: str, /) -> np.ndarray:
        """An unknown value in each of 32 lanes: NaN, or 0 for a dtype without NaN."""
        ...

    def fault(self, kind: FaultKind, message: str, /, *, rule: str) -> Exception:
        """The exception to raise where operands break a rule of the PTX ISA.

        kind: of the finding. message: one sentence. rule: the section of the PTX ISA.
        """
        ...

    # -- registers

    @property
    def wgmma(self) -> WgmmaVerbs[RegistersT]:
        """The MMAs of its warpgroup."""
        ...

    def load_matrices(self, registers: RegistersT, addresses: Addresses, count: int, transpose: bool, /) -> None:
        """ldmatrix: `count` blocks of 8 × 8 elements of 16 bits. addresses: of the rows, of shared memory."""
        ...

    def store_matrices(self, addresses: Addresses, registers: RegistersT, count: int, transpose: bool, /) -> None:
        """stmatrix: the reverse of `load_matrices`."""
        ...

    def load_byte_matrices(self, registers: RegistersT, addresses: Addresses, count: int, /) -> None:
        """ldmatrix: `count` transposed blocks of 16 × 16 bytes. addresses: of the rows, of shared memory."""
        ...

    def store_byte_matrices(self, addresses: Addresses, registers: RegistersT, count: int, /) -> None:
        """stmatrix: `count` transposed blocks of 16 × 8 bytes. addresses: of the columns, of shared memory."""
        ...

    def multiply_quads(
        self, d: RegistersT, a: RegistersT, b: RegistersT, c: RegistersT, product: QuadProduct, /
    ) -> None:
        """Execute mma.m8n8k4: each quad pair multiplies fragments of its own A and B, adds its C, and sets its D."""
        ...

    def multiply_matrices(
        self, d: RegistersT, a: RegistersT, b: RegistersT, c: RegistersT | None, product: WarpProduct, /
    ) -> None:
        """Execute mma: multiply the fragments of A and B, add C, and set D. c: None for zeros."""
        ...

    # -- order

    def fence_proxy_async(self, space: str = "") -> None:
        """Order accesses of the generic proxy before it and of the async proxy after it (PTX ISA: "Proxies").

        space: the state space whose accesses it orders, "" for all.
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
        """Acquire the end of the grids that this one depends on, and all of their writes."""
        ...


class MachineVerbs(Protocol[ThreadT, MbarrierT, RegistersT]):
    """The GPU. Each verb is executed by `thread`; an address of shared memory may be another CTA's of the cluster."""

    # -- addresses, mbarriers

    def complete_bytes(self, thread: ThreadT, bar: int, nbytes: int, /) -> None:
        """Take bytes off the tx-count of the mbarrier at an address, as a copy does that has brought them."""
        ...

    def mbarrier(self, thread: ThreadT, bar: int, /) -> MbarrierT:
        """The mbarrier at an address of shared memory; a fault where there is no such memory."""
        ...

    def own_mbarrier(self, thread: ThreadT, bar: int, effect: BarrierEffect, /) -> MbarrierT:
        """The same for an instruction with .shared::cta, which reaches the mbarriers of its own CTA only.

        effect: of the instruction, for the finding about another CTA's.
        """
        ...

    def peer_mbarriers(self, thread: ThreadT, bar: int, cta_mask: int, /) -> list[MbarrierT]:
        """The mbarriers at the offset of `bar` in each CTA of a mask. cta_mask: bit r for cluster rank r."""
        ...

    def map_shared_rank(self, thread: ThreadT, address: int, rank: int, /) -> int:
        """The address of the same offset in the shared memory of the CTA of this rank."""
        ...

    def write_shared(self, thread: ThreadT, address: int, word: int, /) -> None:
        """Store 32 bits."""
        ...

    # -- accesses with a memory order

    def load_memory(self, thread: ThreadT, access: MemoryAccess, address: Addresses, /) -> Any:
        """The value at an address: a number, or an array of 32 lanes where addresses differ."""
        ...

    def load_registers(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, registers: RegistersT, /
    ) -> None:
        """Load words into registers."""
        ...

    def store_memory(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, values: Sequence[object], /
    ) -> None:
        """Store values side by side, each a number or an array of 32 lanes."""
        ...

    def store_registers(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, registers: RegistersT, /
    ) -> None:
        """Store words from registers."""
        ...

    def update_memory(
        self, thread: ThreadT, access: MemoryAccess, address: Addresses, op: str, value: object, compare: object, /
    ) -> Any:
        """An atomic operation of each active lane; the old values, an array of 32 lanes. compare: for op = "cas"."""
        ...

    def fence_memory(self, thread: ThreadT, sem: str, scope: str, /) -> None:
        """The end of an acquire pattern, and the beginning of a release pattern, of the active lanes.

        sem: "acquire", "release", "acq_rel" or "sc" (PTX ISA: "Release and Acquire Patterns").
        """
        ...

    def release_before(self, thread: ThreadT, scope: str, /) -> None:
        """What a release by an arrival at another CTA's mbarrier costs and orders. scope: as written, "" for none."""
        ...

    def acquire_after(self, thread: ThreadT, scope: str, /) -> None:
        """What an acquire by a wait for an mbarrier orders beyond the CTA, once the wait is over."""
        ...

    # -- barriers of a CTA and a cluster

    def warp_sync(self, thread: ThreadT, /) -> None:
        """Let the lanes of the warp wait for one another, and order their accesses."""
        ...

    def lanes_sync(self, thread: ThreadT, mask: int, /) -> None:
        """The same for the lanes of a mask."""
        ...

    def bar_sync(
        self, thread: ThreadT, number: int, threads: int | None, /, *, aligned: bool = True
    ) -> Blocking:
        """Arrive at named barrier 0 to 15 and block until `threads` threads have; None for all of the CTA.

        aligned: whether all lanes of the warp must execute it together.
        """
        ...

    def bar_arrive(self, thread: ThreadT, number: int, threads: int, /, *, aligned: bool = True) -> None:
        """Arrive at a named barrier that `threads` threads complete."""
        ...

    def bar_count(self, thread: ThreadT, number: int, holds: object, /) -> Generator[object, None, int]:
        """Arrive, block until all threads of the CTA have, and count those for which a condition holds."""
        ...

    def grid_sync(self, thread: ThreadT, /) -> Blocking:
        """Arrive, and block until all threads of the grid have, with all that they did visible."""
        ...

    def cluster_arrive(self, thread: ThreadT, /, *, releases: bool = True, aligned: bool = True) -> None:
        """Arrive at the barrier of the cluster. aligned: all lanes of the warp must be there."""
        ...

    def cluster_wait(self, thread: ThreadT, /, *, aligned: bool = True) -> Blocking:
        """Block until all threads of the cluster have arrived, then acquire. aligned: as for the arrival."""
        ...

    # -- tensor memory and the tensor core of Blackwell

    def tmem_alloc(self, thread: ThreadT, columns: int, cta_group: int, /) -> Generator[object, None, int]:
        """Block until so many columns of tensor memory are free, and allocate them; the result is their address."""
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
        """Begin to store registers; the reverse of `tmem_load`."""
        ...

    def tmem_wait(self, thread: ThreadT, loads: bool, /) -> None:
        """Wait for the warp's loads from tensor memory, or for its stores."""
        ...

    def mma(
        self, thread: ThreadT, d: int, a: SmemDescriptor | TmemOperand, a_start: int, b: SmemDescriptor, b_start: int,
        shape: InstructionDescriptor, accumulate: bool, cta_group: int, scales: BlockScales | None = None,
        kept: Kept = PLAIN, /,
    ) -> None:
        """Begin D = A Bᵀ (+ D) at `d` in tensor memory. a_start, b_start: where the operands lie, in bytes of shared
        memory; A's address in tensor memory. scales: where the scale factors of A and B are, if they have any."""
        ...  # fmt: skip

    def tmem_copy(
        self, thread: ThreadT, address: int, layout: SmemDescriptor, start: int, shape: str, multicast: str,
        cta_group: int, /,
    ) -> None:
        """Begin to copy rows of shared memory, which begin at byte `start`, to tensor memory."""
        ...  # fmt: skip

    def commit(self, thread: ThreadT, barriers: Sequence[MbarrierT], cta_group: int, /) -> None:
        """Let each barrier get one arrival when the thread's earlier tcgen05 operations are complete."""
        ...

    # -- copies

    def tma_load(
        self, thread: ThreadT, tensor_map: TensorMap, dst: int, bar: int, coords: Sequence[int], cta_mask: int,
        cta_group: int, rows: bool, /,
    ) -> None:
        """Begin to copy the box at `coords`, innermost first, to `dst`; its bytes complete on `bar`.

        cta_mask: CTAs that get it at the same offsets, bit r for cluster rank r; 0 for the CTA of `dst` alone.
        rows: whether `coords` are a column and four rows.
        """
        ...  # fmt: skip

    def tma_store(
        self, thread: ThreadT, tensor_map: TensorMap, src: int, coords: Sequence[int], reduce: str | None, rows: bool, /
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
        """Request a cluster that has not begun; the answer is written to `handle`, and its 16 bytes complete on `bar`.

        multicast: whether at the same offsets in each CTA of the cluster.
        """
        ...

    def cancelled_cluster(self, thread: ThreadT, handle: int, /) -> int:
        """The x of the first CTA of the cluster in an answer, 2³² − 1 where there is none."""
        ...

    def bulk_commit(self, thread: ThreadT, /) -> None:
        """Close the open bulk group of each active lane."""
        ...

    def bulk_wait(self, thread: ThreadT, count: int, read: bool, /) -> Blocking:
        """Block until at most `count` bulk groups of each lane are unfinished.

        read: whether a group counts as finished when its sources have been read.
        """
        ...

    def cp_async(
        self, thread: ThreadT, dst: Addresses, src: Addresses, nbytes: int, size: Addresses | None = None, /
    ) -> None:
        """Begin to copy 4, 8 or 16 bytes in each lane, from global to shared memory."""
        ...

    def cp_async_commit(self, thread: ThreadT, /) -> None:
        """Close the open group of these copies of each lane."""
        ...

    def cp_async_wait(self, thread: ThreadT, count: int, /) -> None:
        """Wait until at most `count` groups of each lane are unfinished."""
        ...

    def cp_async_arrive(self, thread: ThreadT, bar: int, more: bool, /) -> None:
        """Let each active lane arrive at `bar` when its earlier copies are done.

        more: whether these arrivals are pending from now on, besides those that the barrier expects.
        """
        ...

    # -- the rest

    def shuffle(self, thread: ThreadT, value: object, source: np.ndarray, mask: object = None, /) -> Any:
        """In each lane, the value of the lane that `source`, int[32], names.

        mask: the lanes that execute it together, None for the whole warp. The value of another lane is unknown.
        """
        ...

    def nanoseconds(self, thread: ThreadT, /) -> int:
        """The time since the launch, in ns."""
        ...

    def cycles(self, thread: ThreadT, /) -> int:
        """The time since the launch, in cycles of the SM's clock."""
        ...

    def sleep(self, thread: ThreadT, nanoseconds: int, /) -> None:
        """Let the warp do nothing for a while."""
        ...

    def set_max_registers(self, thread: ThreadT, count: int, increase: bool, /) -> Blocking:
        """Set the registers of each thread of the warp; blocks until the CTA has enough for an increase."""
        ...


Thread = ThreadVerbs[RegisterOperand]
Mbarrier = MbarrierVerbs[Thread]
Machine = MachineVerbs[Thread, Mbarrier, RegisterOperand]

MBARRIER_VERBS = frozenset({
    "mbarrier", "own_mbarrier", "peer_mbarriers", "tma_load", "complete_bytes", "bulk_load", "bulk_copy",
    "store_async", "cancel_cluster", "cp_async_arrive",
})  # fmt: skip
"""The verbs of a machine that are given the address of an mbarrier: no body touches one without them."""

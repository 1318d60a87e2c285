"""The facts stated in a table entry; all others follow from its signature and body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, Flag, auto
from typing import Any, Literal, TypeAlias

from tirx_mini.records import dataclass

SharedFacts: TypeAlias = dict[str, Any]
"""Keywords of `instruction` that several entries of the table share."""


class Scope(Enum):
    """The group of threads that execute an instruction together."""

    THREAD = "thread"
    WARP = "warp"
    WARPGROUP = "warpgroup"


class BarrierEffect(Enum):
    """The effect of an instruction on the mbarrier that it names (PTX ISA: "mbarrier").

    INIT: the barrier begins its phase 0.
    INVALIDATE: the object ceases to be a barrier.
    ARRIVE: pending arrivals fall by one for each thread, at once or when its earlier copies are done.
    EXPECT_TX: the tx-count rises.
    ARRIVE_EXPECT_TX: the tx-count rises, then pending arrivals fall by one.
    COMPLETE_TX: the tx-count falls as the bytes of an asynchronous copy land.
    COMMIT: pending arrivals fall by one when the thread's earlier tcgen05 operations are complete.
    WAIT: the barrier stays as it is; the thread blocks until a phase is complete.
    TEST: the barrier stays as it is; the thread tests whether a phase is complete.
    """

    INIT = "init"
    INVALIDATE = "inval"
    ARRIVE = "arrive"
    EXPECT_TX = "expect_tx"
    ARRIVE_EXPECT_TX = "arrive.expect_tx"
    COMPLETE_TX = "complete_tx"
    COMMIT = "commit"
    WAIT = "wait"
    TEST = "test"

    @property
    def arrives(self) -> bool:
        """Return whether the effect decreases the pending arrivals."""
        return self in (BarrierEffect.ARRIVE, BarrierEffect.ARRIVE_EXPECT_TX, BarrierEffect.COMMIT)

    @property
    def expects_bytes(self) -> bool:
        """Return whether the effect increases the tx-count."""
        return self in (BarrierEffect.EXPECT_TX, BarrierEffect.ARRIVE_EXPECT_TX)


class Memory(Flag):
    """Memories of a GPU (PTX ISA: "State Spaces"). TENSOR: the tensor memory of Blackwell."""

    NONE = 0
    GLOBAL = auto()
    SHARED = auto()
    TENSOR = auto()


class Completion(Enum):
    """The way to observe the end of an asynchronous instruction (PTX ISA: "Asynchronous Operations").

    MBARRIER: its bytes complete on the mbarrier that it names.
    COMMIT: tcgen05.commit, which arrives at an mbarrier.
    TCGEN05_WAIT: tcgen05.wait, by the same warp.
    CP_ASYNC_GROUP: cp.async.wait_group, by the same thread, or an arrival that cp.async.mbarrier.arrive triggers.
    BULK_GROUP: cp.async.bulk.wait_group, by the same thread.
    WGMMA_GROUP: wgmma.wait_group, by the same warpgroup.
    """

    MBARRIER = "mbarrier"
    COMMIT = "tcgen05.commit"
    TCGEN05_WAIT = "tcgen05.wait"
    CP_ASYNC_GROUP = "cp.async group"
    BULK_GROUP = "bulk group"
    WGMMA_GROUP = "wgmma group"


class LaneResult(Enum):
    """The distribution of an instruction's result among the lanes of a warp.

    AS_OPERANDS: only where the operands do.
    PER_LANE: also where all lanes give the same operands.
    ELECTED: it is true in one active lane, the same one each time.
    """

    AS_OPERANDS = "as operands"
    PER_LANE = "per lane"
    ELECTED = "elected"


@dataclass(frozen=True)
class CudaName:
    """The name of an instruction in emitted CUDA C++, if it is not derived from the PTX name.

    name: the device function, without the prefix that all have; for an entry with no PTX, a function of CUDA C++.
    fixed: the values that operands must have for this name; they are then written into the function.
    """

    name: str
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])


Ptx = str | Callable[..., str]
"""A template with {operand}, {modifier} and {result}, or a function of the modifiers that returns one.

Conditions ({operand} of type pred, and such a result) are predicate registers. {operand_space} is "cta" where a shared
operand is a pointer to the CTA's own memory, "cluster" where it is an address, which may be another CTA's. {.modifier}
is a part of the opcode that the modifier's value names, and nothing where that is "" or False. The opcode is also how
kernels may spell the instruction (`spelling`).
"""

_SHUFFLE = "shfl.sync"
_BY_MASK = frozenset(("bar.warp.sync", _SHUFFLE, "vote.sync", "match.sync", "redux.sync"))
"""The sections of instructions executed together by the lanes of a mask."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """The facts that a decorator states.

    ptx: the PTX; "" for a function of CUDA C++, which `cuda` names.
    name: the name in the table, which `Call.op` holds.
    issued_by: the threads that execute it together.
    min_sm: the first architecture that has it, as in 90; from 90 on, the one with the `a` feature set.
    cost: its issue cost class, a key of `hardware.ISSUE_CYCLES`.
    isa: the section of the PTX ISA that describes it; "" where the section has its name.
    max_sm: the last architecture that has it; None if all later ones do.
    only_on: the architectures that have a value of a modifier, where others lack it: {("kind", "i8"): (100, 110)}.
    barrier: its effect on the mbarrier among its operands; None if there is none among them.
    adds_arrival: whether the phase expects its arrival in addition to the count of init.
    reads, writes: the memories whose data it reads and writes, at once or later; the mbarrier does not count.
    completion: how the end of an asynchronous instruction is observed; None for any other.
    lanes: how its result differs among lanes.
    pure: whether it neither touches nor orders memory, so that a compiler may move accesses across it.
    cuda: its name in CUDA C++; None for one made from its own.
    implied: parts of its opcode that may be omitted without a change of meaning, as in ("release", "cta").
    sparse: modifiers that a call omits if they equal their defaults.
    typed: the modifier that names the PTX type of its operands and of its result.
    carriers: for an instruction that converts between types: the PTX types of the registers of its operands and of its
        result, from the modifiers.
    lanewise: for an instruction of single threads, whether its body takes operands that differ among lanes.
    computes: the function that a CPU calls in its place: an intrinsic of LLVM, "rcp" or "rsqrt", or one of C's
        mathematical library ("libm.sinf"); "" where none.
    check: the error in a combination of operands and modifiers, as a clause; None if it is valid.
    fence: the ordering of a fence that does not wait: "proxy" for accesses by threads and those by the
        async proxy, "tcgen05" for accesses to tensor memory before and after a synchronisation; else "".
    reads_clock: whether its result is a clock value.
    cancels_launches: whether it takes the place of a cluster that has not begun.
    moves_registers: whether it sets the registers of each thread to its modifier `count`.
    waits_for_grids: whether it waits for the grids before this one; its kernel is then launched before their end.
    grid_wide: whether it lets threads of different clusters synchronise; its kernel is then launched cooperatively.
    registers: the 32-bit registers of each thread in its register operand, from the modifiers; where it has several
        such operands, of each by its name.
    scattered: whether these registers may lie anywhere: a call gives one pointer for each operand, from which on they
        lie side by side, or one for each register of all operands.
    opaque: whether the simulator cannot model its writes through its pointer operands.
    only_in_ptx: whether only PTX programs have it: the code generator refuses it.
    awaits: what a warp waits for that is blocked in it, in a word for a timeline; "" where it does not block, and where
        `barrier` is WAIT, which names it.
    """

    ptx: Ptx = field(kw_only=False)
    name: str
    issued_by: Scope
    min_sm: int
    cost: str
    isa: str = ""
    max_sm: int | None = None
    only_on: Mapping[tuple[str, object], tuple[int, ...]] = field(
        default_factory=dict[tuple[str, object], tuple[int, ...]]
    )
    barrier: BarrierEffect | None = None
    adds_arrival: bool = False
    reads: Memory = Memory.NONE
    writes: Memory = Memory.NONE
    completion: Completion | None = None
    lanes: LaneResult = LaneResult.AS_OPERANDS
    pure: bool = False
    cuda: CudaName | None = None
    implied: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    typed: str = ""
    carriers: Callable[..., tuple[str, str]] | None = None
    lanewise: bool = False
    computes: str = ""
    check: Callable[..., str | None] | None = None
    fence: Literal["", "proxy", "tcgen05"] = ""
    reads_clock: bool = False
    cancels_launches: bool = False
    moves_registers: bool = False
    waits_for_grids: bool = False
    grid_wide: bool = False
    registers: Callable[..., int | Mapping[str, int]] | None = None
    scattered: bool = False
    opaque: bool = False
    only_in_ptx: bool = False
    awaits: str = ""

    @property
    def section(self) -> str:
        """The PTX ISA section that describes the instruction."""
        return self.isa or self.name

    @property
    def shuffles(self) -> bool:
        """Return whether the result is read from another lane (PTX ISA: "shfl.sync")."""
        return self.section == _SHUFFLE

    @property
    def meets_by_mask(self) -> bool:
        """Return whether the lanes of a mask execute it together without convergence: `.sync` without `.aligned`."""
        return self.section in _BY_MASK

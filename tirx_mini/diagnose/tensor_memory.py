"""Rules for tensor memory and the tensor core: allocation, access, and results of MMAs."""

from __future__ import annotations

from tirx_mini.hardware import TMEM_ALLOCATIONS, TMEM_COLUMNS
from tirx_mini.sim import (
    AccumulatorLane,
    AllocRule,
    AllocWithoutPermit,
    BadAllocation,
    BadDealloc,
    CommitAtExit,
    CopyAtExit,
    CopyOutOfLanes,
    FreedBeforePeer,
    FreedTwice,
    ImplicitTmemLane,
    LostResult,
    MixedCtaGroups,
    MmaAtExit,
    NoPair,
    Operation,
    TmemAtExit,
    TmemColumnsExceeded,
    TmemNotHeld,
    WrongTmemLane,
)

from .kind import ALIVE, ILLEGAL_INSTRUCTION, IN_FLIGHT_AT_EXIT, Explanation, Kind, explains

ALLOCATION = Kind(
    "tmem-allocation", "TX308", "fault",
    f"Tensor memory is allocated in powers of two of {TMEM_ALLOCATIONS[0]} to {TMEM_COLUMNS} columns, "
    "as many as an SM has.",
    "PTX ISA: tcgen05.alloc, tcgen05.dealloc",
)  # fmt: skip
ACCESS = Kind(
    "tmem-access", "TX309", "fault",
    "Tensor memory is accessed while it is allocated, by the warp whose lanes it is.",
    "PTX ISA: Tensor Memory, access restrictions",
)  # fmt: skip
NOT_FREED = Kind(
    "tmem-not-freed", "TX310", "fault", "All tensor memory is freed before the CTA ends.",
    "PTX ISA: tcgen05.alloc, tcgen05.dealloc",
)  # fmt: skip
FREED_TWICE = Kind(
    "tmem-freed-twice", "TX314", "fault", "Each allocation of tensor memory is freed once.",
    "PTX ISA: tcgen05.dealloc",
)  # fmt: skip
LOST_RESULT = Kind(
    "lost-result", "TX210", "hazard", "An MMA that does not accumulate replaces what tensor memory held.",
    "PTX ISA: tcgen05.mma, enable-input-d",
)  # fmt: skip


# -- allocation --------------------------------------------------------------------------------------------------------


@explains(BadAllocation, ALLOCATION)
def bad_allocation(fact: BadAllocation) -> Explanation:
    message = {
        AllocRule.POWER_OF_TWO: f"tcgen05.alloc of {fact.columns} columns: the number must be a power of two from "
        f"{TMEM_ALLOCATIONS[0]} to {TMEM_COLUMNS}",
        AllocRule.NOT_GROWING: f"tcgen05.alloc of {fact.columns} columns after one of {fact.other_columns}: a CTA's "
        "allocations must not grow",
        AllocRule.PAIR_AGREES: f"the CTAs of a pair allocate {fact.columns} and {fact.other_columns} columns; with "
        "cta_group=2 both ask for the same",
    }[fact.broken]
    return Explanation(message, rule="PTX ISA: tcgen05.alloc")


@explains(AllocWithoutPermit, ALLOCATION)
def alloc_without_permit(fact: AllocWithoutPermit) -> Explanation:
    return Explanation(
        "tcgen05.alloc after the CTA gave up its permit to allocate",
        "allocate first, and relinquish the permit at the end, before dealloc",
        (("the permit was given up here", fact.relinquished),),
        rule="PTX ISA: tcgen05.relinquish_alloc_permit",
    )


@explains(BadDealloc, ALLOCATION)
def bad_dealloc(fact: BadDealloc) -> Explanation:
    held = ", ".join(f"{block.columns} columns at address {block.column:#x}" for block in fact.held) or "nothing"
    return Explanation(
        f"tcgen05.dealloc of {fact.columns} columns at address {fact.address:#x}, but the CTA holds {held}",
        "free each allocation once, with the address that alloc wrote and the same number of columns",
        (("columns were freed here", fact.freed),) if fact.freed else (),
        rule="PTX ISA: tcgen05.dealloc",
    )


@explains(FreedTwice, FREED_TWICE, "warning")
def freed_twice(fact: FreedTwice) -> Explanation:
    where = f"the {fact.columns} columns of tensor memory at address {fact.address:#x}"
    hint = "let one warp of the CTA call tcgen05.dealloc, after all warps are done with tensor memory"
    notes = ((f"{fact.first.role} freed them here", fact.first.span),)
    if fact.ordered:
        return Explanation(
            f"{fact.origin.role} frees {where} again: code compiled by CUDA 13 traps where it finds them free already",
            hint,
            notes,
            severity="error",
        )
    return Explanation(
        f"{fact.origin.role} frees {where}, which {fact.first.role} frees too",
        hint,
        notes,
        order="if one of the two warps executes it after the other is done: code compiled by CUDA 13 then traps",
    )


@explains(FreedBeforePeer, ALLOCATION)
def freed_before_peer(fact: FreedBeforePeer) -> Explanation:
    return Explanation(
        f"{fact.origin.place} frees tensor memory of the pair, and nothing orders that after the tcgen05.alloc of "
        f"{fact.peer}",
        "cluster_sync() between tcgen05.alloc and tcgen05.dealloc with cta_group=2",
        rule="PTX ISA: tcgen05.dealloc, .cta_group::2",
        severity="warning" if fact.met else "error",
        order=f"if {fact.peer} has not returned from its tcgen05.alloc by then",
    )


@explains(TmemAtExit, NOT_FREED)
def tmem_at_exit(fact: TmemAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} ends while it holds {fact.columns} columns of tensor memory",
        "one warp frees every allocation with tcgen05.dealloc before the kernel ends",
        rule="PTX ISA: tcgen05.alloc",
    )


@explains(MixedCtaGroups, ILLEGAL_INSTRUCTION)
def mixed_cta_groups(fact: MixedCtaGroups) -> Explanation:
    return Explanation(
        f"a tcgen05 instruction with cta_group={fact.cta_group} in a kernel that uses cta_group={fact.before}",
        "give alloc, mma, commit and dealloc the same cta_group",
        rule="PTX ISA: tcgen05, .cta_group",
    )


@explains(NoPair, ILLEGAL_INSTRUCTION)
def no_pair(fact: NoPair) -> Explanation:
    who = f"{fact.instruction} with cta_group=2" if fact.instruction else "cta_group=2"
    return Explanation(
        f"{who} needs a cluster of an even number of CTAs",
        "launch clusters of two CTAs, or use cta_group=1",
        rule="PTX ISA: tcgen05, CTA pair",
    )


# -- access ------------------------------------------------------------------------------------------------------------


@explains(TmemNotHeld, ACCESS)
def tmem_not_held(fact: TmemNotHeld) -> Explanation:
    what = "the accumulator of an MMA" if fact.operation is Operation.TCGEN05_MMA else str(fact.operation)
    if fact.held:
        held = ", ".join(f"{block.column} to {block.column + block.columns - 1}" for block in fact.held)
        return Explanation(
            f"{what} touches columns {fact.column} to {fact.column + fact.columns - 1} of tensor memory, but the CTA "
            f"holds {held}",
            notes=tuple(("allocated here", block.span) for block in fact.held),
            rule="PTX ISA: Tensor Memory",
        )
    if fact.freed is not None:
        taken = " and another CTA has allocated it" if fact.taken else ""
        return Explanation(
            f"{what} touches tensor memory after it was freed{taken}",
            "free tensor memory after every warp is done with it: cta_sync() before dealloc",
            (("it was freed here", fact.freed),),
            rule="PTX ISA: tcgen05.dealloc",
        )
    return Explanation(
        f"{what} touches tensor memory, but the CTA has allocated none",
        "one warp allocates it with tcgen05.alloc before its first use",
        rule="PTX ISA: tcgen05.alloc",
    )


@explains(AccumulatorLane, ACCESS)
def accumulator_lane(fact: AccumulatorLane) -> Explanation:
    return Explanation(
        f"an operand of an MMA is at address {fact.address:#x} of tensor memory, lane {fact.address >> 16}; "
        f"it must begin at lane {' or '.join(map(str, fact.lanes))}",
        rule="PTX ISA: tcgen05.mma, Data Path Layout Organization",
    )


@explains(ImplicitTmemLane, ACCESS, severity="warning")
def implicit_tmem_lane(fact: ImplicitTmemLane) -> Explanation:
    return Explanation(
        f"{fact.origin.role} gives an address in the lanes of warp 0; warp {fact.warp_in_warpgroup} of a warpgroup "
        f"reaches lanes {fact.first} to {fact.first + 31}, which today's chips take",
        "add the lane to the address: 32 × the warp's number in its warpgroup, shifted left by 16",
        rule="PTX ISA: tcgen05.ld, access restrictions",
    )


@explains(WrongTmemLane, ACCESS)
def wrong_tmem_lane(fact: WrongTmemLane) -> Explanation:
    return Explanation(
        f"{fact.origin.role} accesses tensor memory from lane {fact.lane} on; warp {fact.warp_in_warpgroup} of a "
        f"warpgroup can only reach lanes {fact.first} to {fact.first + 31}",
        "the address's lane is 32 × the warp's number in its warpgroup",
        rule="PTX ISA: tcgen05.ld, access restrictions",
    )


@explains(TmemColumnsExceeded, ACCESS)
def tmem_columns_exceeded(fact: TmemColumnsExceeded) -> Explanation:
    return Explanation(
        f"{fact.operation} of {fact.width} columns from column {fact.column} on leaves the {TMEM_COLUMNS} columns of "
        "tensor memory",
        rule="PTX ISA: Tensor Memory",
    )


# -- MMAs --------------------------------------------------------------------------------------------------------------


@explains(CommitAtExit, IN_FLIGHT_AT_EXIT)
def commit_at_exit(fact: CommitAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} ends while a tcgen05.commit is to arrive at its {fact.barrier}",
        ALIVE,
        about={"barrier": str(fact.barrier)},
    )


@explains(MmaAtExit, IN_FLIGHT_AT_EXIT)
def mma_at_exit(fact: MmaAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} or its peer ends while an MMA is in flight",
        "wait for the MMA's commit before the kernel ends",
    )


@explains(CopyAtExit, IN_FLIGHT_AT_EXIT)
def copy_at_exit(fact: CopyAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} or its peer ends while a tcgen05.cp is in flight",
        "wait for the commit that tracks the copy before the kernel ends",
    )


@explains(CopyOutOfLanes, ACCESS)
def copy_out_of_lanes(fact: CopyOutOfLanes) -> Explanation:
    return Explanation(
        f"a tcgen05.cp from lane {fact.lane} on leads to lane {fact.last} of tensor memory, which has lanes 0 to 127",
        "begin it at lane 0, with an address from tcgen05.alloc and a column",
        rule="PTX ISA: tcgen05.cp",
    )


@explains(LostResult, LOST_RESULT)
def lost_result(fact: LostResult) -> Explanation:
    notes = (("the result that is lost is computed here", fact.earlier.span),)
    (first, last), (low, high) = fact.columns, fact.unread
    if (low, high) != (first, last):
        return Explanation(
            f"the MMA of {fact.origin.role} overwrites columns {first} to {last} of tensor memory, and no "
            f"thread has read columns {low} to {high} since the last MMA wrote them",
            f"read all columns of the accumulator before the next tile: check the slices that are copied, as nothing "
            f"reads columns {low} to {high}",
            notes,
        )
    return Explanation(
        f"the MMA of {fact.origin.role} overwrites an accumulator that no thread has read since the last MMA wrote it",
        f"accumulate (accum=True) on every K tile but the first; read columns {first} to {last} before the next tile",
        notes,
    )

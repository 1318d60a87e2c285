"""Rules for the execution of instructions: convergence, operands, copies, setmaxnreg and wgmma."""

from __future__ import annotations

from tirx_mini.hardware import MAX_TMA_BOX, MAX_TMA_RANK, TMA_GLOBAL_ALIGN
from tirx_mini.sim import (
    BadCtaMask,
    BadRegisterCount,
    BadTensorMap,
    BoxOutOfSharedMemory,
    BulkCopyAtExit,
    CancelAfterFailure,
    CopyOutOfShared,
    ForeignCopyBarrier,
    ForeignLoadBarrier,
    ForeignStoreSource,
    LanesDiffer,
    LoadAtExit,
    MisalignedBox,
    MisalignedBoxStart,
    MissingWgmmaFence,
    NotModelled,
    OperandOutOfBounds,
    OperandRule,
    PartialSetmaxnreg,
    PartialWarp,
    RegisterCountsDiffer,
    StoreAtExit,
    StoreBeforeTensor,
    TensorMapRule,
    UnsynchronisedRegisters,
    WarpApart,
    WarpgroupTooSmall,
    WgmmaAtExit,
    WgmmasDiffer,
    WrongRegisterDirection,
)

from .kind import (
    BAD_DESCRIPTOR,
    ILLEGAL_CONVERGENCE,
    ILLEGAL_INSTRUCTION,
    IN_FLIGHT_AT_EXIT,
    MISALIGNED_ACCESS,
    NOT_MODELLED,
    OUT_OF_BOUNDS,
    Explanation,
    Kind,
    explains,
)

BAD_TENSOR_MAP = Kind(
    "bad-tensor-map", "TX312", "fault",
    f"Strides of a tensor map are multiples of {TMA_GLOBAL_ALIGN} bytes, boxes at most {MAX_TMA_BOX} wide.",
    "CUDA driver API: cuTensorMapEncodeTiled",
)  # fmt: skip
MISSING_WGMMA_FENCE = Kind(
    "missing-wgmma-fence", "TX211", "hazard", "wgmma sees registers and memory as they were at wgmma.fence.",
    "PTX ISA: wgmma.fence",
)  # fmt: skip


@explains(NotModelled, NOT_MODELLED, "note")
def not_modelled(fact: NotModelled) -> Explanation:
    return Explanation(
        f"the simulator does not model {fact.what}: {fact.effect}",
        "what the run shows after this may be wrong; replace it by instructions of Tx.ptx, or run the kernel on a GPU",
    )


@explains(OperandRule)
def operand_rule(fact: OperandRule) -> Explanation:
    kind = {kind.name: kind for kind in (ILLEGAL_INSTRUCTION, BAD_DESCRIPTOR, MISALIGNED_ACCESS)}[fact.kind]
    return Explanation(fact.message, fact.hint, rule=fact.rule, kind=kind)


# -- convergence -------------------------------------------------------------------------------------------------------


@explains(PartialWarp, ILLEGAL_CONVERGENCE)
def partial_warp(fact: PartialWarp) -> Explanation:
    return Explanation(
        f"{fact.instruction} is executed by {fact.lanes} lane{'s' * (fact.lanes != 1)} of {fact.origin.role}; "
        f"all {fact.all} must execute it together",
        "move it out of the branch or of the elected thread's scope, so that the whole warp reaches it",
        rule=f"PTX ISA: {fact.instruction}",
    )


@explains(WarpApart, ILLEGAL_CONVERGENCE)
def warp_apart(fact: WarpApart) -> Explanation:
    rest = fact.all - fact.lanes
    return Explanation(
        f"{fact.instruction} is executed by {fact.lanes} lane{'s' * (fact.lanes != 1)} of {fact.origin.role}, and the "
        f"other {rest} wait at {fact.waits}: a GPU executes it once for the whole warp, so each waits for the other",
        "let all lanes of the warp execute it; the ISA allows a part of a warp, but Hopper GPUs hang",
        rule="PTX ISA: barrier.cluster",
    )


@explains(LanesDiffer, ILLEGAL_CONVERGENCE)
def lanes_differ(fact: LanesDiffer) -> Explanation:
    return Explanation(
        f"the lanes of a warp give different values for {fact.operand} of one instruction",
        "all 32 lanes execute it together and must agree",
    )


# -- TMA ---------------------------------------------------------------------------------------------------------------


@explains(BadTensorMap, BAD_TENSOR_MAP)
def bad_tensor_map(fact: BadTensorMap) -> Explanation:
    tensor_map = fact.tensor_map
    row = tensor_map.box[0] * tensor_map.buffer.dtype.itemsize
    broken = {
        TensorMapRule.RANK: f"has {tensor_map.rank} dimensions and a box of {len(tensor_map.box)}; both must be the "
        f"same, from 1 to {MAX_TMA_RANK}",
        TensorMapRule.BOX_EXTENT: f"has a box of {tensor_map.box} elements (innermost first); each extent must be from "
        f"1 to {MAX_TMA_BOX}",
        TensorMapRule.ROW_MULTIPLE: f"has box rows of {row} bytes; they must be a multiple of {TMA_GLOBAL_ALIGN}",
        TensorMapRule.SWIZZLE: f"has a swizzle of {tensor_map.swizzle} bytes; it can be 0, 32, 64 or 128",
        TensorMapRule.ROW_IN_SWIZZLE: f"has box rows of {row} bytes, wider than its {tensor_map.swizzle}-byte swizzle",
        TensorMapRule.ROWS: f"has {tensor_map.rank} dimensions and a box of {tensor_map.box} (innermost first); "
        "copies of four rows need two dimensions and a box of one row",
        TensorMapRule.STRIDES: f"has strides of {tensor_map.strides} bytes; they must be multiples of "
        f"{TMA_GLOBAL_ALIGN} below 2^40",
    }[fact.broken]
    name = tensor_map.buffer.name
    return Explanation(f"the tensor map of {name} {broken}", about={"buffer": name})


@explains(MisalignedBox, MISALIGNED_ACCESS)
def misaligned_box(fact: MisalignedBox) -> Explanation:
    return Explanation(
        f"the shared-memory {'source' if fact.source else 'destination'} of a TMA copy, {fact.element}, is at byte "
        f"{fact.offset}; it must be at a multiple of {fact.alignment}",
        "allocate it with the layout of tma_shared_layout, or with align=1024",
        rule="PTX ISA: cp.async.bulk.tensor",
    )


@explains(BoxOutOfSharedMemory, OUT_OF_BOUNDS)
def box_out_of_shared_memory(fact: BoxOutOfSharedMemory) -> Explanation:
    return Explanation(
        f"a TMA copy of {fact.nbytes} bytes at byte {fact.offset} leaves the shared memory of the CTA, "
        f"{fact.size} bytes",
        rule="PTX ISA: cp.async.bulk.tensor",
    )


@explains(MisalignedBoxStart, MISALIGNED_ACCESS)
def misaligned_box_start(fact: MisalignedBoxStart) -> Explanation:
    return Explanation(
        f"a TMA copy of {fact.buffer} begins at element {fact.column} of its rows, byte {fact.column * fact.itemsize}; "
        f"it must be at a multiple of {fact.granule} bytes",
        f"let the last coordinate be a multiple of {fact.granule // fact.itemsize} elements",
        rule="PTX ISA: tensor, bounding box",
    )


@explains(StoreBeforeTensor, ILLEGAL_INSTRUCTION)
def store_before_tensor(fact: StoreBeforeTensor) -> Explanation:
    return Explanation(
        f"a TMA store to {fact.buffer} begins before the tensor, at {fact.coords}",
        "a store may stick out past the end of the tensor only; a load also before its start",
        rule="seen on an H100, for every kind of box: an illegal instruction",
    )


@explains(ForeignLoadBarrier, ILLEGAL_INSTRUCTION)
def foreign_load_barrier(fact: ForeignLoadBarrier) -> Explanation:
    return Explanation(
        f"a TMA load into {fact.into} signals {fact.barrier} of {fact.owner}; the barrier must be in the same CTA, or "
        "with cta_group=2 in its pair",
        "use the CTA's own barrier, or cta_group=2 for the barrier of the pair's other CTA",
        rule="PTX ISA: cp.async.bulk.tensor, .cta_group",
    )


@explains(ForeignStoreSource, ILLEGAL_INSTRUCTION)
def foreign_store_source(fact: ForeignStoreSource) -> Explanation:
    return Explanation(
        f"{fact.what} reads the shared memory of its own CTA only", rule="PTX ISA: cp.async.bulk"
    )


@explains(ForeignCopyBarrier, ILLEGAL_INSTRUCTION)
def foreign_copy_barrier(fact: ForeignCopyBarrier) -> Explanation:
    return Explanation(
        f"{fact.what} into {fact.into} signals {fact.barrier} of {fact.owner}; the barrier must be in the CTA that "
        "receives the bytes",
        "give map_shared_rank of the barrier, of the same CTA as the destination",
        rule=_rule_of(fact.what),
    )


@explains(BadCtaMask, ILLEGAL_INSTRUCTION)
def bad_cta_mask(fact: BadCtaMask) -> Explanation:
    return Explanation(
        f"cta_mask={fact.mask:#b} names CTAs that the cluster of {fact.ctas} does not have",
        "bit r of the mask is the CTA of rank r in the cluster",
        rule="PTX ISA: .multicast::cluster",
    )


@explains(LoadAtExit, IN_FLIGHT_AT_EXIT)
def load_at_exit(fact: LoadAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} ends while a TMA load into its shared memory may be in flight",
        "wait for every load before the kernel ends",
        about={"buffer": fact.buffer},
        order="if the load lands after the end of the CTA, in memory that may be another CTA's by then",
    )


@explains(StoreAtExit, IN_FLIGHT_AT_EXIT, "warning")
def store_at_exit(fact: StoreAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.cta} ends while a TMA store may still read its shared memory",
        "after the last TMA store: commit_group(), then wait_group(0)",
        rule="PTX ISA: cp.async.bulk.wait_group",
        order="if the store reads after the end of the CTA, when its memory may be another CTA's",
    )


@explains(BulkCopyAtExit, IN_FLIGHT_AT_EXIT)
def bulk_copy_at_exit(fact: BulkCopyAtExit) -> Explanation:
    use, it = "write" if fact.writes else "read", fact.what.replace("a bulk", "the")
    return Explanation(
        f"{fact.origin.cta} ends while {fact.what} may still {use} its shared memory",
        "let the CTA that receives the bytes wait for them, and both for the cluster's barrier before they end",
        rule=_rule_of(fact.what),
        order=f"if {it} {use}s after the end of the CTA, when its memory may be another CTA's",
    )


def _rule_of(sent: str) -> str:
    """Return the PTX ISA section of an instruction that sends bytes to another CTA."""
    return f"PTX ISA: {'cp.async.bulk' if sent == 'a bulk copy' else sent}"


# -- setmaxnreg --------------------------------------------------------------------------------------------------------

_SETMAXNREG = "PTX ISA: setmaxnreg"


@explains(BadRegisterCount, ILLEGAL_INSTRUCTION)
def bad_register_count(fact: BadRegisterCount) -> Explanation:
    return Explanation(
        f"setmaxnreg to {fact.count} registers; it must be a multiple of {fact.step} from {fact.fewest} to {fact.most}",
        rule=_SETMAXNREG,
    )


@explains(WrongRegisterDirection, ILLEGAL_INSTRUCTION)
def wrong_register_direction(fact: WrongRegisterDirection) -> Explanation:
    verb, other = ("inc", "dec") if fact.increase else ("dec", "inc")
    return Explanation(
        f"setmaxnreg.{verb} to {fact.count}, and each thread of {fact.origin.role} has {fact.held} registers",
        f"use setmaxnreg.{other}, or another number",
        rule=_SETMAXNREG,
        severity="warning" if fact.increase else "error",
    )


@explains(RegisterCountsDiffer, ILLEGAL_CONVERGENCE)
def register_counts_differ(fact: RegisterCountsDiffer) -> Explanation:
    return Explanation(
        f"{fact.origin.role} asks for {fact.count} registers, and {fact.peer} for {fact.peer_count}: the four warps of "
        "a warpgroup execute one setmaxnreg together",
        "choose the number by warpgroup, not by warp",
        rule=_SETMAXNREG,
    )


@explains(UnsynchronisedRegisters, ILLEGAL_CONVERGENCE)
def unsynchronised_registers(fact: UnsynchronisedRegisters) -> Explanation:
    return Explanation(
        f"{fact.origin.role} executes a second setmaxnreg, and nothing orders the first one of {fact.peer} before it",
        "synchronise the warpgroup between the two: Tx.cuda.warpgroup_sync(id)",
        ((f"the first one of {fact.peer} is here", fact.earlier),) if fact.earlier else (),
        rule=_SETMAXNREG,
        order=f"if {fact.peer} has not executed its first one by then",
    )


@explains(PartialSetmaxnreg, ILLEGAL_CONVERGENCE)
def partial_setmaxnreg(fact: PartialSetmaxnreg) -> Explanation:
    return Explanation(
        f"{fact.many} executes a setmaxnreg that {fact.few} does not: the four warps of a warpgroup execute it "
        "together",
        "put it under the condition of the warpgroup alone, before the roles of its warps part",
        rule=_SETMAXNREG,
    )


# -- cluster launch control --------------------------------------------------------------------------------------------


@explains(CancelAfterFailure, ILLEGAL_INSTRUCTION)
def cancel_after_failure(fact: CancelAfterFailure) -> Explanation:
    return Explanation(
        f"{fact.origin.place} asks for a further cluster, and {fact.role} of this CTA has seen that none was left",
        "end the loop at the first answer that says so: no try_cancel may follow it in this CTA",
        ((f"{fact.role} sees that answer here", fact.seen),),
        rule="PTX ISA: clusterlaunchcontrol.try_cancel",
    )


# -- MMAs --------------------------------------------------------------------------------------------------------------


@explains(OperandOutOfBounds, BAD_DESCRIPTOR)
def operand_out_of_bounds(fact: OperandOutOfBounds) -> Explanation:
    return Explanation(
        f"the descriptor of operand {fact.operand.upper()} of an MMA leads to bytes {fact.low} to {fact.high - 1} of "
        f"shared memory, which has {fact.size}",
        "check the buffer's layout and the offset that the descriptor is built from",
        rule="PTX ISA: shared memory descriptor, matrix descriptor",
    )


@explains(CopyOutOfShared, BAD_DESCRIPTOR)
def copy_out_of_shared(fact: CopyOutOfShared) -> Explanation:
    return Explanation(
        f"the descriptor of a tcgen05.cp leads to bytes {fact.low} to {fact.high - 1} of shared memory, "
        f"which has {fact.size}",
        "check the buffer's layout and the offset that the descriptor is built from",
        rule="PTX ISA: shared memory descriptor, tcgen05.cp",
    )


@explains(WgmmasDiffer, ILLEGAL_CONVERGENCE)
def wgmmas_differ(fact: WgmmasDiffer) -> Explanation:
    return Explanation(
        f"the warps of {fact.warpgroup} issue different wgmmas: all four must issue the same ones, in one order",
        "operands and conditions of a wgmma must not depend on the warp within the warpgroup",
        rule="PTX ISA: wgmma.mma_async",
    )


@explains(WarpgroupTooSmall, ILLEGAL_INSTRUCTION)
def warpgroup_too_small(fact: WarpgroupTooSmall) -> Explanation:
    return Explanation(
        f"wgmma takes the four warps of a warpgroup, and the CTA has {fact.warps}", rule="PTX ISA: wgmma, warpgroup"
    )


@explains(MissingWgmmaFence, MISSING_WGMMA_FENCE)
def missing_wgmma_fence(fact: MissingWgmmaFence) -> Explanation:
    name = fact.registers
    return Explanation(
        f"the first wgmma on {name} is not preceded by a wgmma.fence"
        if fact.first
        else f"{name} is used by ordinary instructions and then by a wgmma, without a wgmma.fence between",
        "call Tx.ptx.wgmma.fence() after the last use of the accumulators and before the MMA",
        about={"buffer": name},
        order=f"if the wgmma begins before the last instruction on {name} is done",
    )


@explains(WgmmaAtExit, IN_FLIGHT_AT_EXIT)
def wgmma_at_exit(fact: WgmmaAtExit) -> Explanation:
    return Explanation(
        f"{fact.origin.place} ends without having waited for its wgmma",
        "Tx.ptx.wgmma.commit_group(), then Tx.ptx.wgmma.wait_group(0), before the accumulators are used",
    )

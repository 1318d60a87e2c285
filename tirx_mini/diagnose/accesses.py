"""Rules for single accesses: bounds, alignment, registers, division and loops."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.sim import (
    BadAddress,
    BadBulkSize,
    BorrowedRegister,
    CopyOutOfBounds,
    CopyTooLarge,
    CtasNeverStart,
    DivisionByZero,
    ElementOutOfBounds,
    EndlessLoop,
    IndexOverflow,
    LanesDisagree,
    MatrixRowOutOfBounds,
    MisalignedAddress,
    MisalignedCopy,
    MisalignedMatrixRow,
    MisalignedVector,
    NobodyWrites,
    NoSharedMemory,
    NoSuchRank,
    PendingRegister,
    RegisterOutOfBounds,
    RunawayLoop,
    UninitialisedRegister,
    WideRegisters,
)

from .kind import (
    ILLEGAL_INSTRUCTION,
    MISALIGNED_ACCESS,
    MISSING_TMEM_WAIT,
    OUT_OF_BOUNDS,
    RACE,
    Explanation,
    Kind,
    Notes,
    counted,
    explains,
)

UNINITIALISED_REGISTER = Kind(
    "uninitialised-register", "TX208", "hazard", "A register holds nothing until it is written."
)
MISSING_WGMMA_WAIT = Kind(
    "missing-wgmma-wait", "TX212", "hazard", "Accumulators are not touched before wgmma.wait_group.",
    "PTX ISA: wgmma.wait_group",
)  # fmt: skip
DIVISION_BY_ZERO = Kind("division-by-zero", "TX313", "fault", "A divisor is not zero.")
RUNAWAY_LOOP = Kind(
    "runaway-loop", "TX114", "deadlock", "A loop ends when its condition changes, and nothing in this one changes it."
)

INDEX_HINT = "check the loop bounds and offsets that lead to this index"


def _declared(name: str, span: Span | None) -> Notes:
    return ((f"{name} is declared here", span),) if span else ()


# -- memory ------------------------------------------------------------------------------------------------------------


@explains(ElementOutOfBounds, OUT_OF_BOUNDS)
def element_out_of_bounds(fact: ElementOutOfBounds) -> Explanation:
    name, unit = fact.buffer, "byte" if fact.in_bytes else "element"
    return Explanation(
        f"{unit} {fact.element} of {name} is accessed, but {name} has {fact.size} {unit}s",
        INDEX_HINT if -(1 << 31) <= fact.element < 1 << 31 else f"{INDEX_HINT}; this one does not fit in int32",
        about={"buffer": name},
    )


@explains(IndexOverflow, OUT_OF_BOUNDS)
def index_overflow(fact: IndexOverflow) -> Explanation:
    return Explanation(
        f"an index is computed as {fact.value}, which does not fit in int{fact.bits}: the result of a signed overflow "
        "is undefined in CUDA C++",
        f"compute it in int{min(64, 2 * fact.bits)}, or in an unsigned type, which wraps by definition",
        rule="C++: expressions, signed integer overflow",
    )


@explains(MisalignedVector, MISALIGNED_ACCESS)
def misaligned_vector(fact: MisalignedVector) -> Explanation:
    return Explanation(
        f"a {fact.width}-byte access to {fact.buffer} is not at a multiple of {fact.width} bytes",
        about={"buffer": fact.buffer},
        rule="PTX ISA: vector loads and stores are aligned to their size",
    )


@explains(BadAddress, OUT_OF_BOUNDS)
def bad_address(fact: BadAddress) -> Explanation:
    memory = fact.space or "global or shared"
    return Explanation(
        f"{fact.nbytes} bytes at address {fact.address:#x} are accessed, which {memory} memory does not have",
        "take the address from ptr_to, and name the state space of its buffer",
        rule="PTX ISA: State Spaces",
    )


@explains(BadBulkSize, MISALIGNED_ACCESS)
def bad_bulk_size(fact: BadBulkSize) -> Explanation:
    return Explanation(
        f"the {fact.what} of a bulk copy is {fact.number}, which is not a multiple of 16", rule="PTX ISA: cp.async.bulk"
    )


@explains(MisalignedAddress, MISALIGNED_ACCESS)
def misaligned_address(fact: MisalignedAddress) -> Explanation:
    return Explanation(
        f"{fact.width} bytes at address {fact.address:#x} are accessed, which is not a multiple of {fact.width}",
        rule="PTX ISA: Alignment, vector loads and stores are aligned to their size",
    )


@explains(LanesDisagree, RACE)
def lanes_disagree(fact: LanesDisagree) -> Explanation:
    return Explanation(
        f"several lanes of one warp write different values to the same element of {fact.buffer}",
        "let one thread write it, or give each thread its own element",
        about={"buffer": fact.buffer},
        order="if the store of a lane comes last that is not the one meant: the ISA leaves open which does",
    )


@explains(NoSharedMemory, OUT_OF_BOUNDS)
def no_shared_memory(fact: NoSharedMemory) -> Explanation:
    return Explanation(
        f"address {fact.address:#x} is not in the shared memory of the cluster",
        "shared-memory addresses come from ptr_to, map_shared_rank and remote views",
    )


@explains(NoSuchRank, OUT_OF_BOUNDS)
def no_such_rank(fact: NoSuchRank) -> Explanation:
    return Explanation(f"a cluster of {fact.ctas} has no CTA {fact.rank}", rule="PTX ISA: mapa")


@explains(MatrixRowOutOfBounds, OUT_OF_BOUNDS)
def matrix_row_out_of_bounds(fact: MatrixRowOutOfBounds) -> Explanation:
    return Explanation(
        f"a row of {fact.instruction} is at address {fact.address:#x}, outside the shared memory of {fact.origin.cta}",
        rule=f"PTX ISA: {fact.instruction}",
    )


@explains(MisalignedMatrixRow, MISALIGNED_ACCESS)
def misaligned_matrix_row(fact: MisalignedMatrixRow) -> Explanation:
    return Explanation(
        f"a row of {fact.instruction} is not at a multiple of {fact.row_bytes} bytes",
        rule=f"PTX ISA: {fact.instruction}",
    )


@explains(MisalignedCopy, MISALIGNED_ACCESS)
def misaligned_copy(fact: MisalignedCopy) -> Explanation:
    return Explanation(
        f"a cp.async of {fact.nbytes} bytes is not at multiples of {fact.nbytes} bytes", rule="PTX ISA: cp.async"
    )


@explains(CopyTooLarge, OUT_OF_BOUNDS)
def copy_too_large(fact: CopyTooLarge) -> Explanation:
    return Explanation(
        f"a cp.async reads {fact.size} bytes, and writes {fact.nbytes}",
        f"give a size of at most {fact.nbytes}",
        rule="PTX ISA: cp.async, src-size",
    )


@explains(CopyOutOfBounds, OUT_OF_BOUNDS)
def copy_out_of_bounds(fact: CopyOutOfBounds) -> Explanation:
    where = "writes outside the shared memory of its CTA" if fact.writes else "reads outside its global buffer"
    return Explanation(f"a cp.async {where}", INDEX_HINT, rule="PTX ISA: cp.async")


# -- registers ---------------------------------------------------------------------------------------------------------


@explains(RegisterOutOfBounds, OUT_OF_BOUNDS)
def register_out_of_bounds(fact: RegisterOutOfBounds) -> Explanation:
    name = fact.name
    return Explanation(
        f"element {fact.index} of {name} is accessed, but {name} has {fact.size} elements",
        INDEX_HINT,
        _declared(name, fact.declared),
        {"buffer": name},
    )


@explains(UninitialisedRegister, UNINITIALISED_REGISTER)
def uninitialised_register(fact: UninitialisedRegister) -> Explanation:
    return Explanation(
        f"{fact.name} is read before anything was written to it",
        f"assign {fact.name} on every path that leads here",
        _declared(fact.name, fact.declared),
        {"buffer": fact.name},
    )


@explains(PendingRegister, MISSING_TMEM_WAIT)
def pending_register(fact: PendingRegister) -> Explanation:
    return Explanation(
        f"{fact.element} is written while a tcgen05.ld may still write it: the load may come last",
        "call Tx.ptx.tcgen05.wait.ld() between the load and the next write to its registers",
        (("the load is issued here", fact.issued),),
        {"buffer": fact.name},
        order="if the load lands after the instruction that writes the register",
    )


@explains(BorrowedRegister, MISSING_WGMMA_WAIT)
def borrowed_register(fact: BorrowedRegister) -> Explanation:
    return Explanation(
        f"{fact.name} is {'written' if fact.writes else 'read'} while a wgmma that accumulates in it may be in flight",
        "call commit_group(), then wait_group(0), before the accumulators are used",
        (("the wgmma is issued here", fact.issued),),
        {"buffer": fact.name},
        "PTX ISA: wgmma.mma_async",
        order="if the wgmma is still under way when this instruction is executed",
    )


@explains(WideRegisters, ILLEGAL_INSTRUCTION)
def wide_registers(fact: WideRegisters) -> Explanation:
    return Explanation(
        f"{fact.name} holds {fact.dtype}, and registers have 32 bits",
        "use a buffer of float32, uint32 or a 16-bit type",
        about={"buffer": fact.name},
    )


# -- arithmetic and loops ----------------------------------------------------------------------------------------------


@explains(DivisionByZero, DIVISION_BY_ZERO)
def division_by_zero(fact: DivisionByZero) -> Explanation:
    return Explanation(
        "an integer is divided by zero: the result is unspecified",
        "guard the division, or check the value of the divisor",
        rule="PTX ISA: div, rem",
    )


@explains(RunawayLoop, RUNAWAY_LOOP)
def runaway_loop(fact: RunawayLoop) -> Explanation:
    return Explanation(
        f"{fact.origin.role} is still in this loop after a great many iterations",
        "check the loop's condition, and that each iteration brings it nearer to its end",
    )


@explains(CtasNeverStart, RUNAWAY_LOOP)
def ctas_never_start(fact: CtasNeverStart) -> Explanation:
    several = f" and {fact.waiting - 1} more" if fact.waiting > 1 else ""
    return Explanation(
        f"{fact.origin.place} waits in this loop for what another thread writes, and no thread is left to write it: "
        f"{fact.first}{several} of {fact.ctas} CTAs never start{'' if several else 's'}, as the {fact.resident} that a "
        f"{fact.gpu} holds at a time stay until this ends",
        "launch no more CTAs than are resident, or wait only for CTAs of lower numbers, which start before this one",
        rule="CUDA C++ Programming Guide: thread blocks are scheduled in any order",
    )


@explains(NobodyWrites, RUNAWAY_LOOP)
def nobody_writes(fact: NobodyWrites) -> Explanation:
    several = f", and so {'do' if fact.warps > 2 else 'does'} {counted(fact.warps - 1, 'more warp')}"
    return Explanation(
        f"{fact.origin.place} waits in this loop for what another thread writes{several if fact.warps > 1 else ''}; no "
        "thread is left to write it: all others have ended, or wait for something else",
        "let the thread that writes it do so before it waits or ends, and give a lock back on every path",
    )


@explains(EndlessLoop, RUNAWAY_LOOP)
def endless_loop(fact: EndlessLoop) -> Explanation:
    state = fact.state
    if not state:
        return Explanation(
            "this loop never ends: nothing in it can make its condition false",
            "let the condition depend on something that the loop changes, or leave it with `break`",
        )
    names = " and ".join([", ".join(state[:-1]), state[-1]] if len(state) > 1 else state)
    unchanged = f"{names} as {'they were' if state[1:] else 'it was'}"
    return Explanation(
        f"this loop never ends: an iteration left {unchanged}, and nothing else decides whether it goes on",
        f"change {names} in every iteration (a tile scheduler: call next_tile() at the end)",
    )

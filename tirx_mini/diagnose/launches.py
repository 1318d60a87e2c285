"""Rules for launches: grids, clusters, and the resources of a CTA."""

from __future__ import annotations

from tirx_mini.hardware import DEFAULT_GPU, GPUS, REGISTERS_PER_SM
from tirx_mini.sim import (
    BudgetExceeded,
    ClusterTooLarge,
    GridNotResident,
    GridOverBudget,
    GridTooLarge,
    MemoryOverBudget,
    NanResult,
    NothingWritten,
    PartialCluster,
    SharedMemoryExceeded,
    TooManyRegisters,
    TooManyThreads,
)

from .kind import Explanation, Kind, explains, of_error

_SMEM_KIB = GPUS[DEFAULT_GPU].architecture.smem_per_cta // 1024

LAUNCH_LIMIT = of_error("launch-limit")
SHARED_MEMORY_LIMIT = Kind(
    "shared-memory-limit", "TX303", "fault", f"A CTA has at most {_SMEM_KIB} KiB of shared memory.",
    "CUDA: compute capabilities",
)  # fmt: skip
REGISTER_LIMIT = Kind(
    "register-limit", "TX304", "fault", f"The threads of a CTA share the {REGISTERS_PER_SM:,} registers of an SM.",
    "CUDA: compute capabilities",
)  # fmt: skip
NOTHING_WRITTEN = Kind(
    "nothing-written", "TX502", "fault", "A kernel writes its result to an argument.",
)  # fmt: skip


@explains(NothingWritten, NOTHING_WRITTEN)
def nothing_written(fact: NothingWritten) -> Explanation:
    return Explanation(
        f"no thread writes {' or '.join(fact.results)}, nor any other argument: the kernel has no effect",
        f"write the result to {fact.results[-1]}: with a store, Tx.copy, or Tx.copy_async and bulk.commit_group",
        (("what the kernel computes gets as far as here", fact.last),) if fact.last else (),
    )


@explains(GridTooLarge, LAUNCH_LIMIT)
def grid_too_large(fact: GridTooLarge) -> Explanation:
    return Explanation(
        f"a grid of {fact.grid} CTAs is larger than {fact.most}",
        rule="CUDA: technical specifications, dimensions of a grid",
    )


@explains(PartialCluster, LAUNCH_LIMIT)
def partial_cluster(fact: PartialCluster) -> Explanation:
    return Explanation(
        f"a grid of {fact.grid} CTAs is not a multiple of the cluster {fact.cluster}", rule="CUDA: cluster launch"
    )


NAN_RESULT = Kind("nan-result", "TX503", "fault", "A result is NaN only where an argument or the arithmetic makes it.")

DIFFERING_RESULTS = Kind(
    "differing-results", "TX504", "fault", "A kernel computes the same however far its compiler optimises it.",
    "PTX ISA: memory consistency model",
)  # fmt: skip
"""Of a CUDA source, whose texts a front end compares."""


@explains(NanResult, NAN_RESULT)
def nan_result(fact: NanResult) -> Explanation:
    about = {"buffer": fact.buffer}
    if fact.poison:
        return Explanation(
            f"{fact.element} is NaN with the bits of memory that nothing has written, and no argument has NaN",
            "look for what the result is computed from: a load before its data, or of other lanes or columns",
            (), about,
        )  # fmt: skip
    return Explanation(
        f"{fact.element} is NaN, and no argument has NaN or an infinity: the kernel computes it",
        "look for a division of zero by zero, a difference of infinities, or a root or logarithm of a negative number",
        (), about, severity="note",
    )  # fmt: skip


@explains(TooManyThreads, LAUNCH_LIMIT)
def too_many_threads(fact: TooManyThreads) -> Explanation:
    return Explanation(f"the CTA has {fact.threads} threads; {fact.gpu} allows {fact.most}")


@explains(ClusterTooLarge, LAUNCH_LIMIT)
def cluster_too_large(fact: ClusterTooLarge) -> Explanation:
    return Explanation(f"the cluster has {fact.ctas} CTAs; {fact.gpu} allows {fact.most}")


@explains(SharedMemoryExceeded, SHARED_MEMORY_LIMIT)
def shared_memory_exceeded(fact: SharedMemoryExceeded) -> Explanation:
    culprit = fact.culprit
    which = f"; {culprit.name} ends at byte {culprit.end}" if culprit else ""
    return Explanation(
        f"the kernel needs {fact.nbytes} bytes of shared memory, and a CTA can have {fact.most} "
        f"({fact.most // 1024} KiB) on {fact.gpu}{which}",
        "use fewer stages or smaller tiles, or let buffers that are not needed at the same time overlap",
        tuple((f"{b.name} takes {b.nbytes} bytes", b.span) for b in fact.buffers if b.nbytes >= 1024),
        {"buffer": culprit.name} if culprit else {},
    )


@explains(TooManyRegisters, REGISTER_LIMIT)
def too_many_registers(fact: TooManyRegisters) -> Explanation:
    return Explanation(
        f"{fact.threads} threads of {fact.registers} registers do not fit in the {fact.most} of an SM"
    )


@explains(GridNotResident, LAUNCH_LIMIT)
def grid_not_resident(fact: GridNotResident) -> Explanation:
    return Explanation(
        f"the grid has {fact.ctas} CTAs and synchronises, but a {fact.gpu} holds {fact.most} of them at a time",
        "launch at most as many CTAs as are resident, and let each work on several tiles",
        rule="CUDA C++ Programming Guide: Grid Synchronization, cooperative launches",
    )


OVER_BUDGET = Kind(
    "over-budget", "TX602", "incomplete", "A simulation makes only as many iterations of loops as its budget allows.",
)  # fmt: skip
_LESS = "simulate a smaller problem, or give the run a larger budget: simulate(…, budget={0}), or --budget {0}"


@explains(BudgetExceeded, OVER_BUDGET, "note")
def budget_exceeded(fact: BudgetExceeded) -> Explanation:
    if fact.asked is None:
        goes_on, hint = "is still in this loop", f"check that it ends; if it does, {_LESS.format(10 * fact.budget)}"
    else:
        goes_on, hint = f"is about to make {fact.asked:,} more", _LESS.format(_rounded(fact.used + fact.asked))
    return Explanation(
        f"the simulation ends here, at its budget of {fact.budget:,} iterations of loops: {fact.origin.role} {goes_on} "
        f"after {fact.used:,} of all warps",
        hint,
        ((f"{fact.ctas:,} of {fact.of:,} CTAs have ended; nothing is known of the rest of the run", None),),
    )


@explains(GridOverBudget, OVER_BUDGET, "note")
def grid_over_budget(fact: GridOverBudget) -> Explanation:
    return Explanation(
        f"the simulation does not begin: its budget is {fact.budget:,} iterations of loops, each CTA counts as "
        f"{fact.each}, and the grid has {fact.ctas:,} CTAs",
        _LESS.format(_rounded(2 * fact.ctas * fact.each)),
    )


@explains(MemoryOverBudget, OVER_BUDGET, "note")
def memory_over_budget(fact: MemoryOverBudget) -> Explanation:
    return Explanation(
        f"the simulation does not begin: {fact.threads:,} threads are resident, each with {fact.nbytes:,} bytes of "
        f"arrays, and the simulator keeps at most {fact.most >> 30} GiB of them",
        "simulate a smaller grid, or model fewer SMs: --sms N",
    )


def _rounded(iterations: int) -> int:
    """Round a budget up to one significant digit."""
    digit = 10 ** (len(str(iterations)) - 1)
    return -(-iterations // digit) * digit

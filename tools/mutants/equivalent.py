"""Mutants that are no mistakes, each with the reason. The table speaks of sites, not of kinds of edit.

A mutant that the simulator lets pass counts as equivalent only where an entry names its operator, its edit and the
place of the edit; an entry that fits no survivor is out of date, and the tool says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tirx_mini.course import STEPS, steps_from

ALL, FROM_7, FROM_9 = tuple(STEPS), steps_from(7), steps_from(9)


@dataclass(frozen=True)
class Equivalent:
    """Why a mutant computes the same in every legal execution.

    operators: names in `OPERATORS`, parted by "|". change, inside, before: patterns for the edit in words, the headline
    of the block that holds the changed statement, and that of the statement after it; each is searched for.
    """

    steps: tuple[int, ...]
    operators: str
    change: str
    why: str
    inside: str = ""
    before: str = ""

    def fits(self, step: int, operator: str, change: str, inside: str, before: str) -> bool:
        return (
            step in self.steps
            and operator in self.operators.split("|")
            and all(map(re.search, (self.change, self.inside, self.before), (change, inside, before)))
        )


TOP = r"with Tx\.kernel\(\)"
LAST_SYNC = r"if (warp|wg)_id == 0:"

EQUIVALENTS = (
    # -- setting up --------------------------------------------------------------------------------------------------
    Equivalent(
        ALL, "drop a fence|move past the next", r"fence\.proxy_async",
        "fence.mbarrier_init, which still stands between the initialisation and the synchronisation, makes the "
        "barriers known to the async proxy too, and that proxy reads nothing else that was written before",
        inside=TOP,
    ),
    Equivalent(
        ALL[:8], "drop a fence|move past the next", r"fence\.mbarrier_init",
        "the barriers are used in their own CTA only, where fence.proxy.async and cta_sync() make them known",
        inside=TOP,
    ),
    Equivalent(
        (1, 2, 3), "drop a sync", r"cta_sync",
        "all threads come to another cta_sync() before any uses the barrier or the allocation",
        inside=TOP, before=r"tmem = Tx\.decl_buffer",
    ),
    Equivalent(
        (4, 5, 6), "drop a sync", r"cta_sync",
        "warp 0 initialises, allocates and issues: its lanes meet at elect.sync, and chips keep a warp's accesses to "
        "shared memory in order; the other warps come to another cta_sync() before they use either",
        inside=TOP, before=r"tmem = Tx\.decl_buffer",
    ),
    Equivalent(
        (5, 6), "stage", r"`i` becomes `\(i \+ 1\) % PIPE_DEPTH`",
        "all barriers of the loop are initialised, in another order",
    ),
    Equivalent(
        (5, 6), "depth", r"`PIPE_DEPTH` becomes `\(PIPE_DEPTH \+ 1\)` in `tma_bar = pool\.alloc",
        "one barrier more than is used",
    ),
    Equivalent(
        (7, 8), "mask", r"`1` becomes `[02]`",
        "a constant mask of at most one bit means the barrier of the own CTA, whichever bit it is",
    ),
    Equivalent(
        (7, 8, 9), "guard", r"`wg_id == 0` becomes `wg_id != 0`",
        "any warp may allocate or free tensor memory: here warp 0 of warpgroup 1 does",
        inside=TOP,
    ),
    # -- the end -----------------------------------------------------------------------------------------------------
    Equivalent(
        ALL, "drop an alloc or dealloc", r"relinquish_alloc_permit",
        "without it the permit is given up when the CTA ends; another CTA on the SM only has to wait for longer",
    ),
    Equivalent(
        (1, 2, 3), "move past the next", r"`with Tx\.thread\(\):` with `Tx\.cuda\.cta_sync\(\)`",
        "every warp has read tensor memory before the barrier; what follows works on registers",
        before=LAST_SYNC,
    ),
    Equivalent(
        (4, 5, 6), "drop a sync|move past the next|move into the branch", r"cta_sync",
        "write_back()'s second cta_sync() comes after all reads of tensor memory, and warp 0 frees it after that; a "
        "barrier does not wait for threads that have ended",
        inside=TOP, before=LAST_SYNC,
    ),
    Equivalent(
        (7, 8, 9), "drop a sync|move past the next|move into the branch", r"(cta|cluster)_sync",
        "warp 0 of the write-back frees tensor memory after store(), whose warpgroup_sync() comes after all reads, and "
        "the MMAs are done before those; a pair's dealloc waits for the peer's, and a barrier not for ended threads",
        inside=TOP, before=LAST_SYNC,
    ),
    # -- own counters ------------------------------------------------------------------------------------------------
    Equivalent(
        (4,), "move past the next", r"`phase_tma = .*` with `Tx\.ptx\.tcgen05\.fence\.after_thread_sync\(\)`",
        "the thread's own phase and the fence have nothing to do with one another",
    ),
    Equivalent(
        (5, 6), "move past the next", r"`phase_mma = .*` with `if k \+ PIPE_DEPTH < K_TILES:`",
        "the branch does not use the phase of the MMA's barrier",
    ),
    Equivalent(
        FROM_7, "move past the next", r"`ld_phase\.move_to_next_stage\(\)` with `for k in",
        "the K loop does not use the state of the tensor memory's barrier",
    ),
    Equivalent(
        FROM_7, "move past the next", r"`wb_phase\.move_to_next_stage\(\)` with `Tx\.ptx\.tcgen05\.fence\.after",
        "the thread's own state and the fence have nothing to do with one another",
    ),
    Equivalent(
        FROM_7, "move past the next", r"`mma2ld\.arrive\(.*\)` with `tile_scheduler\.next_tile\(\)`",
        "the thread's own place in the schedule and the commit have nothing to do with one another",
    ),
    Equivalent(
        (7, 8, 9), "stage", r"`(ld|wb)_phase\.stage` becomes `0`",
        "a state of depth 1 is always at stage 0",
    ),
    Equivalent(
        (1,), "phase", r"`phase_mma` becomes `0`",
        "it is 0, and the one wait of the step is for that phase",
    ),
    # -- the same, sooner or later ------------------------------------------------------------------------------------
    Equivalent(
        (4, 5, 6, 7, 8), "move past the next", r"`Tx\.copy_async\(Bsmem.*` with `.*(expect_tx|arrive)\(.*TMA_BYTES\)`",
        "the phase cannot complete before as many bytes have landed as are announced, of whichever loads",
    ),
    Equivalent(
        (7, 8, 9), "move past the next", r"`ld2mma\.arrive\(.*\)` with `store\(\)`",
        "tensor memory is said to be free later than it is",
    ),
    Equivalent(
        (1, 2, 3), "move into the branch", r"after_thread_sync\(\)` into `if warp_id == 0:`",
        "the warp that issues the MMA executes the fence, and no other needs it",
    ),
    Equivalent(
        ALL[:6], "move into the branch", r"after_thread_sync\(\)` into `with Tx\.warpgroup\(\):`",
        "all threads of the CTA are in the block",
    ),
    Equivalent(
        (6,), "move past the next|move into the branch", r"before_thread_sync\(\)` (with|into) `with Tx\.thread\(\):`",
        "all threads execute it after their reads and before cta_sync() all the same",
    ),
    Equivalent(
        (10,), "move out of the branch", r"before_thread_sync\(\)` out of, and before, `if i ==",
        "it is also executed after the other chunks, which does no harm",
    ),
    Equivalent(
        ALL[3:], "move out of the branch", r"fence\.proxy_async.* out of, and after, `with Tx\.thread\(\):`",
        "the same threads execute it, before they synchronise",
    ),
    Equivalent(
        (4, 5), "move into the branch", r"cta_sync\(\)` into `if warp_id == 0:`",
        "the other warps meet warp 0 there at their last cta_sync(); at its last one they have ended",
        inside=r"def write_back",
    ),
    Equivalent(
        (6,), "drop a sync|move past the next", r"cta_sync",
        "warp 0 comes to the next tile's first cta_sync() after its store has read Dsmem, and the others wait there",
        inside=r"def write_back", before=r"^$",
    ),
    # -- other threads, as good --------------------------------------------------------------------------------------
    Equivalent((1, 2, 3), "scope", r"`Tx\.cta\(\)` becomes `Tx\.warpgroup\(\)`", "the CTA is one warpgroup"),
    Equivalent(
        (7, 8, 9), "roles", r"exchange `(wg|warp)_id == \d` and `(wg|warp)_id == \d`",
        "which warps load, multiply and write back is free, as long as each role has its own",
    ),
    Equivalent(
        FROM_7, "guard", r"`wg_id (== 0|< NUM_CONSUMER)` becomes `(True|wg_id <= NUM_CONSUMER)`",
        "the warpgroups that are left at the elif are those that it names",
        inside=r"if wg_id == ",
    ),
    Equivalent(
        FROM_9, "guard", r"`cbx == 0` becomes `cbx != 0`",
        "CTA 1 announces the bytes of the pair on CTA 0's barrier, once a phase, as CTA 0 did",
        inside=r"def tma_load",
    ),
    Equivalent(
        FROM_9, "barrier", r"`tma2mma_cta0` becomes `tma2mma` in `tma2mma_cta0\.arrive",
        "CTA 0 executes it, and the view is of CTA 0's barrier",
        inside=r"if cbx == 0:",
    ),
    Equivalent((9,), "named barrier", r"`1` becomes `0`", "the kernel synchronises its CTAs with no other barrier 0"),
    # -- the same numbers --------------------------------------------------------------------------------------------
    Equivalent(
        (4,), "loop", r"`K_TILES` becomes `K_TILES \+ 1`",
        "the last load lies outside A and B, where TMA fills in zeros, and adds nothing",
    ),
)  # fmt: skip


def reason(
    step: int, operator: str, change: str, inside: str, before: str, table: Iterable[Equivalent] = EQUIVALENTS
) -> Equivalent | None:
    """The entry that says why a mutant is equivalent, or None."""
    return next((entry for entry in table if entry.fits(step, operator, change, inside, before)), None)

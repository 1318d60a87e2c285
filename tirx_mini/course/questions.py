"""The quiz questions, by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.hardware import B200, BLACKWELL, HOPPER

from .hopper_questions import HOPPER_QUESTIONS
from .quiz import FACTOR, Figure, Prediction, Reference, Slip
from .steps import Shape

_SMS, _SHARED = B200.sms, B200.architecture.smem_per_cta
"""The SMs of the modelled GPU, and its maximum shared memory for a CTA in bytes."""


def _at(step: int, *shape: int) -> Reference:
    """Return the reference of a step for a shape, or a square problem."""
    whole: Shape = (shape[0], shape[0], shape[0]) if len(shape) == 1 else (shape[0], shape[1], shape[2])
    return Reference(step, whole)


def _slip(figure: float | Figure, said: str) -> Slip:
    return Slip(figure if callable(figure) else lambda: figure, said)


def _speedup(step: int, size: int, reasons: tuple[str, ...], slips: tuple[Slip, ...]) -> Prediction:
    """Return the question of a step's speedup over the step before at a square problem."""
    before, after = _at(step - 1, size), _at(step, size)

    def measured() -> float | None:
        old, new = before.measured_us, after.measured_us
        return None if old is None or new is None else old / new

    asked = f"By what factor is step {step} faster than step {step - 1} at {size} × {size} × {size}?"
    return Prediction(asked, "times", lambda: before.us / after.us, reasons, slips, FACTOR, measured)


def _stage_bytes(step: int, size: int) -> float:
    """Return the bytes that TMA loads for one K tile of one tile of D."""
    reference = _at(step, size)
    return reference.amount("tma_load_bytes") / (sum(reference.tiles().values()) * size // 64)


def _deepest(step: int) -> int:
    """Return the largest depth of a step's pipeline that fits in shared memory; the reference has four stages."""
    stage = _stage_bytes(step, 1024)
    return int((_SHARED - (_at(step, 1024).launch.smem_bytes - 4 * stage)) // stage)


_FIRST = (
    Prediction(
        "How many arrivals complete phase 0 of `mma_bar`?", "arrivals",
        lambda: _at(1, 128, 128, 64).arrivals("mma_bar"),
        ("A commit makes the tensor core arrive once, when all MMAs before it have completed.",
         "The 128 threads wait for the phase; a wait is not an arrival.",
         "So the barrier is initialised with the count 1."),
        (_slip(128, "128 threads wait, and a wait does not arrive."),
         _slip(4, "The MMA consists of four instructions along K, and one commit covers them all."),
         _slip(2, "The two tiles were copied by threads, which meet at `cta_sync` and not here.")),
    ),
    Prediction(
        "How many bytes of tensor memory does the tile of D take (float32)?", "bytes",
        lambda: 128 * 128 * 4,
        ("The tile has 128 rows and 128 columns, and the tensor core accumulates in float32.",
         "Row r is in lane r, and column c is in column c: 128 lanes × 128 columns of 4 bytes.",
         "The kernel allocates all 512 columns, of which it uses a quarter."),
        (_slip(128 * 512 * 4, "That is all of the tensor memory, which is allocated; the tile uses 128 columns."),
         _slip(128 * 128 * 2, "D has 2 bytes an element in global memory; the accumulator has 4."),
         _slip(128 * 128, "That is the number of elements; each takes 4 bytes.")),
    ),
    Prediction(
        "In what percentage of the time is the tensor core busy?", "%",
        lambda: _at(1, 128, 128, 64).tensor_share(),
        ("The launch, the copies and the write-back take thousands of cycles.",
         "The MMA of one K tile takes 256: 128 × 128 × 64 products at 4,096 a cycle.",
         "One tile has nothing with which to overlap."),
        (_slip(100, "The tensor core idles during the launch, the copies and the write-back."),
         _slip(50, "The launch alone takes about twenty times as long as the MMA."),
         _slip(25, "The launch alone takes about twenty times as long as the MMA.")),
        FACTOR,
    ),
)

_K_LOOP = (
    Prediction(
        "K is 4096. How many phases of `mma_bar` complete?", "phases",
        lambda: _at(2, 128, 128, 4096).phases("mma_bar"),
        ("A K tile has 64 columns, so there are 4096 / 64 iterations.",
         "Each iteration commits once, and waits for that phase.",
         "The barrier is not initialised again: its phases go on."),
        (_slip(4096, "An iteration takes 64 columns of K, not one."),
         _slip(1, "Each iteration commits, and each commit completes a phase of its own."),
         _slip(256, "The four MMAs of an iteration share one commit.")),
    ),
    Prediction(
        "K is 4096. For which parity does the last iteration wait?", "(0 or 1)",
        lambda: (_at(2, 128, 128, 4096).phases("mma_bar") - 1) % 2,
        ("The phases are numbered from 0, so the last one of 64 is phase 63.",
         "A wait names the parity of its phase.",
         "63 is odd."),
        (_slip(0, "The first phase is 0, not 1: the last of 64 phases is 63."),
         _slip(63, "A wait takes the parity of the phase, one bit."),
         _slip(64, "A wait takes the parity of the phase, one bit.")),
    ),
    Prediction(
        "By what factor is K = 4096 slower than K = 1024?", "times",
        lambda: _at(2, 128, 128, 4096).us / _at(2, 128, 128, 1024).us,
        ("The K loop takes four times as long, for it has four times as many iterations.",
         "The launch and the write-back take the same time for both.",
         "They are a fifth of the shorter run, so the factor stays below 4."),
        (_slip(16, "The work grows with K, not with its square: M and N stay 128."),
         _slip(1, "One CTA executes all iterations one after the other."),
         _slip(2, "The loop is four fifths of the shorter run, and it takes four times as long.")),
        1.2,
    ),
)

_TILING = (
    Prediction(
        "The problem is 2048 × 2048 × 2048. How many CTAs does the grid have?", "CTAs",
        lambda: _at(3, 2048).launch.num_ctas,
        ("Each CTA computes one tile of 128 × 128.",
         "2048 / 128 = 16 tiles along each side of D.",
         "K is looped over inside of the CTA."),
        (_slip(16, "That is one side of the grid; it has two."),
         _slip(16**3, "K is not part of the grid: each CTA loops over it."),
         _slip(_SMS, "The grid follows from the problem; the GPU's 148 SMs take its CTAs in turn.")),
    ),
    Prediction(
        "In how many waves do these CTAs run on the 148 SMs of a B200?", "waves",
        lambda: math.ceil(_at(3, 2048).launch.num_ctas / _SMS),
        ("Each CTA allocates all of the tensor memory, so an SM holds one at a time.",
         "148 CTAs run at first, and 108 are left.",
         "The second wave takes as long as the first, though 40 SMs idle."),
        (_slip(1, "Each CTA allocates all 512 columns of tensor memory, so no SM holds two."),
         _slip(256, "CTAs on different SMs run at the same time."),
         _slip(4, "148 SMs take 148 CTAs at a time.")),
    ),
    Prediction(
        "How many megabytes of A do all CTAs together read at 2048 × 2048 × 2048?", "MB",
        lambda: 2048 * 2048 * 2 * 16 / 1e6,
        ("A has 2048 × 2048 elements of 2 bytes, which are 8.4 MB.",
         "The 16 CTAs of one row of tiles read the same rows of A.",
         "So each element is read 16 times, mostly from the L2."),
        (_slip(8.4, "Each of the 16 CTAs in a row of tiles reads the same rows of A again."),
         _slip(2147.5, "A CTA reads 128 rows of A, not all of it."),
         _slip(268.4, "That counts B, too.")),
        FACTOR,
    ),
)

_TMA = (
    Prediction(
        "How many bytes must a phase of `tma_bar` expect?", "bytes",
        lambda: _stage_bytes(4, 1024),
        ("An iteration loads a tile of A and a tile of B.",
         "Each has 128 × 64 elements of 2 bytes, which are 16,384 bytes.",
         "The barrier counts the bytes of both loads."),
        (_slip(16384, "Two loads signal the barrier: the tiles of A and B."),
         _slip(128 * 64, "The barrier counts bytes, and an element has two."),
         _slip(65536, "An element of float16 has 2 bytes, not 4.")),
    ),
    Prediction(
        "How many arrivals complete a phase of `tma_bar`, besides its bytes?", "arrivals",
        lambda: _at(4, 1024).arrivals("tma_bar"),
        ("One thread announces the bytes with `arrive.expect_tx`, which is the arrival.",
         "The loads count bytes down, and they do not arrive.",
         "The phase completes when both counts are zero."),
        (_slip(2, "A load counts bytes down; it does not arrive."),
         _slip(128, "One thread issues the loads and arrives; all 128 wait."),
         _slip(0, "The arrival of `arrive.expect_tx` keeps the phase open until the bytes are announced.")),
    ),
    _speedup(
        4, 1024,
        ("TMA replaces the copies by threads, which took half of the time.",
         "The kernel still waits for each load before the MMA, and for the MMA before the next load.",
         "So the copies' time turns mostly into latency."),
        (_slip(4, "The load and the MMA still take turns: nothing overlaps yet."),
         _slip(2, "Half of the time was copies, and waiting for the loads takes its place."),
         _slip(0.5, "One instruction replaces the copies of all threads, so the step is not slower.")),
    ),
)

_PIPELINE = (
    Prediction(
        "K is 1024. How many phases does `tma_bar[0]`, the barrier of stage 0, complete for one tile?", "phases",
        lambda: _at(5, 1024).phases("tma_bar[0]"),
        ("There are 1024 / 64 = 16 K tiles.",
         "K tile k goes to stage k % 2.",
         "So each stage is filled eight times."),
        (_slip(16, "The K tiles take turns at two stages, each with a barrier of its own."),
         _slip(2, "2 is the number of stages."),
         _slip(1024 // 2, "A K tile has 64 columns.")),
    ),
    Prediction(
        "How many bytes of shared memory do both stages take?", "bytes",
        lambda: 2 * _stage_bytes(5, 1024),
        ("A stage holds a tile of A and a tile of B, 32,768 bytes.",
         "There are two stages.",
         "The tile for the write-back and the barriers come on top."),
        (_slip(32768, "That is one stage."),
         _slip(16384, "That is one tile of one stage."),
         _slip(lambda: _at(5, 1024).launch.smem_bytes, "That is all of the CTA, write-back included.")),
    ),
    _speedup(
        5, 2048,
        ("The next load runs while the tensor core computes, so most of its latency is hidden.",
         "One thread still waits for each MMA before it issues the next load.",
         "The launch and the write-back stay as they are."),
        (_slip(3, "Only the latency of loads is hidden; MMAs, launch and write-back stay."),
         _slip(10, "Only the latency of loads is hidden; MMAs, launch and write-back stay."),
         _slip(0.7, "The second stage takes memory, and no time.")),
    ),
)

_PERSISTENT = (
    Prediction(
        "How many CTAs does the grid have at 2048 × 2048 × 2048?", "CTAs",
        lambda: _at(6, 2048).launch.num_ctas,
        ("A persistent kernel launches one CTA an SM, whatever the problem is.",
         "A B200 has 148 SMs.",
         "Each CTA takes tile after tile."),
        (_slip(256, "That is the number of tiles; a persistent grid follows from the GPU."),
         _slip(16, "That is one side of the tiles."),
         _slip(_SMS * 2, "One CTA fills the tensor memory of an SM.")),
    ),
    Prediction(
        "How many tiles does CTA 0 compute there?", "tiles",
        lambda: _at(6, 2048).tiles()[0],
        ("256 tiles are dealt to 148 CTAs in turn.",
         "CTA 0 gets tile 0 and tile 148.",
         "108 CTAs get two tiles, and 40 get one."),
        (_slip(1, "256 tiles for 148 CTAs: the first 108 get a second one."),
         _slip(3, "The third turn would begin with tile 296, and there are 256."),
         _slip(256, "The tiles are dealt to all CTAs in turn.")),
    ),
    Prediction(
        "How many phases does `mma_bar` of CTA 0 complete there?", "phases",
        lambda: _at(6, 2048).phases("mma_bar"),
        ("A tile has 2048 / 64 = 32 K tiles, each with a commit.",
         "CTA 0 computes two tiles.",
         "The barrier is initialised once, so its phases go on from tile to tile."),
        (_slip(32, "CTA 0 computes two tiles, and the barrier is not initialised again."),
         _slip(2, "Each K tile has a commit, not each tile of D."),
         _slip(2048, "A K tile has 64 columns.")),
    ),
)

_ROLES = (
    Prediction(
        "How many arrivals complete a phase of `ld2mma`, with which the write-back frees tensor memory?", "arrivals",
        lambda: _at(7, 2048).arrivals("ld2mma"),
        ("All 128 threads of the write-back warpgroup read their lane of the accumulator.",
         "Each of them arrives when its own reads are complete.",
         "The MMA role may overwrite the accumulator only after the last of them."),
        (_slip(1, "Each thread of the warpgroup reads a lane of its own, and must report it."),
         _slip(4, "The threads arrive, not the warps."),
         _slip(256, "The other warpgroup loads and multiplies; it reads nothing.")),
    ),
    Prediction(
        "With which parity does the TMA role wait for `mma2tma` the first time, when no MMA has run yet?", "(0 or 1)",
        lambda: 1,
        ("At first every stage is free, so the wait must pass.",
         "A wait for parity 1 asks for the phase before phase 0, which counts as complete.",
         "The MMA role waits for its first data with parity 0."),
        (_slip(0, "Phase 0 completes when the MMA of this stage has read it; nothing was loaded yet, so this hangs."),
         _slip(2, "A parity is one bit."),
         _slip(-1, "A parity is one bit.")),
    ),
    _speedup(
        7, 2048,
        ("Loads, MMAs and write-back run in roles of their own, so none waits for another's instructions.",
         "The tensor core was the longest of the three, and it stays.",
         "Two stages still do not hide the whole latency of loads."),
        (_slip(3, "Three roles overlap, and the longest one remains."),
         _slip(6, "Three roles overlap, and the longest one remains."),
         _slip(0.5, "The roles overlap; nobody does more than before.")),
    ),
)

_DEPTH = (
    Prediction(
        "What is the largest depth of the pipeline that fits into 227 KiB of shared memory?", "stages",
        lambda: _deepest(8),
        ("A stage takes 32 KiB: 227 KiB would hold 7.09 of them.",
         "The tile for the write-back takes 16 KiB, and the barriers take a little.",
         "Six stages are left."),
        (_slip(7, "The tile for the write-back and the barriers need memory, too."),
         _slip(14, "A stage holds two tiles of 16 KiB."),
         _slip(4, "4 is the depth of the reference; more would fit.")),
    ),
    Prediction(
        "How many cycles do the MMAs of one K tile take on the tensor core?", "cycles",
        lambda: _at(8, 1024).amount("tensor_cycles") / (64 * 16),
        ("128 × 128 × 64 products are 1,048,576.",
         "The tensor core of an SM computes 4,096 products of float16 a cycle for this shape.",
         "1,048,576 / 4,096 = 256."),
        (_slip(64, "Four instructions of 64 cycles each make a K tile."),
         _slip(1024, "That is the time of four K tiles."),
         _slip(16, "That would be 65,536 products a cycle.")),
        FACTOR,
    ),
    _speedup(
        8, 2048,
        ("Four stages have four loads in flight, and their latency is hidden.",
         "The depth does not change the work of the tensor core or the L2.",
         "Where the latency is hidden, more stages gain nothing."),
        (_slip(2, "Twice the depth hides latency; it does not double the rate of loads or MMAs."),
         _slip(4, "Twice the depth hides latency; it does not double the rate of loads or MMAs."),
         _slip(0.7, "Deeper pipelines cost memory, and no time.")),
    ),
)

_CLUSTER = (
    Prediction(
        "How many CTAs does a cluster have whose MMAs use `cta_group=2`?", "CTAs",
        lambda: _at(9, 1024).launch.cluster_size,
        ("An MMA of a pair runs on the tensor cores of two SMs.",
         "Each CTA holds half of the operands, and half of the accumulator.",
         "So the cluster is the pair."),
        (_slip(1, "One MMA uses the tensor cores of two SMs: both CTAs must run at once."),
         _slip(4, "A pair is two CTAs; larger clusters hold several pairs."),
         _slip(8, "A pair is two CTAs; larger clusters hold several pairs.")),
    ),
    Prediction(
        "By what factor does step 9 load fewer bytes by TMA than step 8, at 1024 × 1024 × 1024?", "times",
        lambda: _at(8, 1024).amount("tma_load_bytes") / _at(9, 1024).amount("tma_load_bytes"),
        ("The pair computes a tile of twice the height and twice the width.",
         "The traffic of a tile grows with its sides, and its work with its area.",
         "So each byte serves twice as many products."),
        (_slip(1, "Each CTA loads its half only, and the pair's MMA reads both halves."),
         _slip(4, "The tile has four times the area, and twice the sides."),
         _slip(8, "The tile has four times the area, and twice the sides.")),
        1.1,
    ),
    Prediction(
        "At 1024 × 1024 × 1024, how many CTAs compute a tile?", "CTAs",
        lambda: len(_at(9, 1024).tiles()),
        ("The tiles of the pairs are 256 × 256: there are 16 of them.",
         "Each is computed by the two CTAs of a pair.",
         "116 of the 148 SMs idle, which is why step 9 is slower here than step 8."),
        (_slip(16, "Each of the 16 tiles is computed by two CTAs."),
         _slip(64, "64 tiles of 128 × 128 were step 8's; a pair computes four of them at once."),
         _slip(_SMS, "There are fewer tiles than pairs.")),
    ),
)

_CONSUMERS = (
    Prediction(
        "How many warps does a CTA of step 10 have?", "warps",
        lambda: _at(10, 1024).launch.warps,
        ("One warpgroup holds the warps for loads and for MMAs.",
         "Each of the two consumers writes back with a warpgroup of its own.",
         "Three warpgroups are twelve warps."),
        (_slip(8, "There are two write-back warpgroups now."),
         _slip(3, "Those are warpgroups; a warpgroup has four warps."),
         _slip(16, "Both consumers share the warp that loads, and its warpgroup.")),
    ),
    Prediction(
        "By what factor does step 10 load fewer bytes by TMA than step 9, at 1024 × 1024 × 1024?", "times",
        lambda: _at(9, 1024).amount("tma_load_bytes") / _at(10, 1024).amount("tma_load_bytes"),
        ("Two consumers multiply two tiles of A with the same tile of B.",
         "The tile grows from 256 × 256 to 512 × 256.",
         "(256 + 256) / (256 · 256) against (512 + 256) / (512 · 256) is 4 to 3."),
        (_slip(2, "B is shared by both consumers; A is not."),
         _slip(1, "Both consumers read the same tile of B, which is loaded once."),
         _slip(4, "B is shared by both consumers; A is not.")),
        1.1,
    ),
    Prediction(
        "How many bytes of the 227 KiB of shared memory are left?", "bytes",
        lambda: _SHARED - _at(10, 1024).launch.smem_bytes,
        ("Four stages of two tiles of A and one of B fill 196,608 bytes.",
         "The tiles for the write-back and the barriers take the next 33,792.",
         "So a fifth stage does not fit."),
        (_slip(0, "The tiles and the barriers do not fill the last two KiB."),
         _slip(49152, "That is one stage."),
         _slip(_SHARED, "The stages and the tiles for the write-back take nearly all of it.")),
    ),
)

QUESTIONS: Mapping[int, tuple[Prediction, ...]] = MappingProxyType({
    1: _FIRST, 2: _K_LOOP, 3: _TILING, 4: _TMA, 5: _PIPELINE,
    6: _PERSISTENT, 7: _ROLES, 8: _DEPTH, 9: _CLUSTER, 10: _CONSUMERS,
})  # fmt: skip
"""The questions of each step of the ladder for Blackwell."""
QUIZZES: Mapping[str, Mapping[int, tuple[Prediction, ...]]] = MappingProxyType(
    {BLACKWELL.kernels: QUESTIONS, HOPPER.kernels: HOPPER_QUESTIONS}
)
"""The questions of each step, by the folder of the references."""

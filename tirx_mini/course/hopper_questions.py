"""The quiz questions of the ladder for Hopper, by step."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.hardware import H100

from .quiz import FACTOR, Figure, Prediction, Reference, Slip
from .steps import Shape

_GPU = H100.name.lower()
_SMS, _SHARED = H100.sms, H100.architecture.smem_per_cta
_TILE_BYTES, _STAGE_BYTES = 128 * 64 * 2, 2 * 128 * 64 * 2
"""The bytes of a tile of A or of B, and of both."""


def _at(step: int, *shape: int) -> Reference:
    """Return the reference of a step for a shape, or a square problem."""
    whole: Shape = (shape[0], shape[0], shape[0]) if len(shape) == 1 else (shape[0], shape[1], shape[2])
    return Reference(step, whole, _GPU)


def _slips(*slips: tuple[float | Figure, str]) -> tuple[Slip, ...]:
    return tuple(Slip(figure if callable(figure) else lambda figure=figure: figure, said) for figure, said in slips)


def _ratio(slow: Reference, fast: Reference) -> float | None:
    """Return by what factor a reference was measured to be faster than another one."""
    before, after = slow.measured_us, fast.measured_us
    return None if before is None or after is None else before / after


_FIRST = (
    Prediction(
        "How many float32 sums of D does each thread of the warpgroup hold?", "sums",
        lambda: 128 * 128 / (32 * _at(1, 128, 128, 64).launch.warps),
        ("Hopper's tensor core accumulates in registers.",
         "The tile has 128 × 128 sums, which the 128 threads of the warpgroup share.",
         "16,384 / 128 = 128 registers a thread."),
        _slips((16384, "That is the whole tile; the threads of the warpgroup share it."),
               (512, "The four warps of the warpgroup share the tile, and a warp has 32 threads."),
               (64, "A sum is float32, one register: two of them do not share one.")),
    ),
    Prediction(
        "How many warps issue a `wgmma` together?", "warps",
        lambda: _at(1, 128, 128, 64).launch.warps,
        ("`wgmma` is an instruction of a warpgroup.",
         "A warpgroup is four warps whose numbers begin at a multiple of four.",
         "Each warp receives 16 of every 64 rows."),
        _slips((1, "One thread of a warp issues Blackwell's MMA; `wgmma` takes a warpgroup."),
               (128, "Those are the threads; they are four warps."),
               (2, "A warpgroup is four warps.")),
    ),
    Prediction(
        "How many bytes of shared memory do the tiles of A and B take?", "bytes",
        lambda: _at(1, 128, 128, 64).launch.smem_bytes,
        ("Each tile has 128 × 64 elements of 2 bytes, 16,384 bytes.",
         "Both operands of `wgmma` are read from shared memory.",
         "D needs none: it stays in registers."),
        _slips((16384, "That is one tile; A and B have one each."),
               (65536, "An element of float16 has 2 bytes, not 4."),
               (98304, "D stays in registers, and is stored from there.")),
    ),
)  # fmt: skip

_K_LOOP = (
    Prediction(
        "K is 4096. How many iterations does the loop over K have?", "iterations",
        lambda: 4096 / 64,
        ("A tile of A or B has 64 columns of K.",
         "4096 / 64 = 64.",
         "The sums stay in the registers of the warpgroup all the time."),
        _slips((4096, "An iteration takes 64 columns of K, not one."),
               (256, "`wgmma` takes 16 columns, and an iteration has four times as many."),
               (32, "A tile has 64 columns of K; 128 is its number of rows.")),
    ),
    Prediction(
        "How many `wgmma` instructions of m64n128k16 multiply the tiles of one iteration?", "instructions",
        lambda: 128 / 64 * (64 / 16),
        ("An instruction has 64 rows, and the tile has 128: two blocks of rows.",
         "It takes 16 columns of K, and the tile has 64: four steps.",
         "2 × 4 = 8."),
        _slips((4, "An instruction computes 64 rows, so the 128 rows take twice as many."),
               (2, "An instruction takes 16 columns of K, a quarter of the tile's."),
               (1, "The tile is larger than the instruction in M and in K.")),
    ),
    Prediction(
        "By what factor is K = 4096 slower than K = 1024?", "times",
        lambda: _at(2, 128, 128, 4096).us / _at(2, 128, 128, 1024).us,
        ("The K loop takes four times as long, for it has four times as many iterations.",
         "The launch and the write-back take the same time for both.",
         "They are a small part here, so the factor is nearly 4."),
        _slips((16, "The work grows with K, not with its square: M and N stay 128."),
               (1, "One CTA executes all iterations one after the other."),
               (2, "The loop takes most of the time of both runs, and it is four times as long.")),
        FACTOR,
    ),
)  # fmt: skip

_TILING = (
    Prediction(
        "The problem is 2048 × 2048 × 2048. How many CTAs does the grid have?", "CTAs",
        lambda: _at(3, 2048).launch.num_ctas,
        ("Each CTA computes one tile of 128 × 128.",
         "2048 / 128 = 16 tiles along each side of D.",
         "K is looped over inside of the CTA."),
        _slips((16, "That is one side of the grid; it has two."),
               (16**3, "K is not part of the grid: each CTA loops over it."),
               (_SMS, "The grid follows from the problem; the GPU's 132 SMs take its CTAs in turn.")),
    ),
    Prediction(
        "How many CTAs read each element of B there?", "CTAs",
        lambda: 2048 / 128,
        ("An element of B belongs to one column of tiles.",
         "That column has 2048 / 128 = 16 tiles, each computed by a CTA.",
         "So B is read 16 times, mostly from the L2."),
        _slips((1, "Each tile of D in the same column needs the same rows of B."),
               (256, "The CTAs of one column of tiles read it, not all of them."),
               (2048, "A tile has 128 rows, so a column has 16 tiles.")),
    ),
    Prediction(
        "How many megabytes of A do all CTAs together read there?", "MB",
        lambda: 2048 * 2048 * 2 * 16 / 1e6,
        ("A has 2048 × 2048 elements of 2 bytes, which are 8.4 MB.",
         "The 16 CTAs of one row of tiles read the same rows of A.",
         "So each element is read 16 times."),
        _slips((8.4, "Each of the 16 CTAs in a row of tiles reads the same rows of A again."),
               (2147.5, "A CTA reads 128 rows of A, not all of it."),
               (268.4, "That counts B, too.")),
        FACTOR,
    ),
)  # fmt: skip

_TMA = (
    Prediction(
        "How many bytes must a phase of `tma_bar` expect?", "bytes",
        lambda: _at(4, 256).amount("tma_load_bytes") / (4 * 256 // 64),
        ("An iteration loads a tile of A and a tile of B.",
         "Each has 128 × 64 elements of 2 bytes, which are 16,384 bytes.",
         "The barrier counts the bytes of both loads."),
        _slips((_TILE_BYTES, "Two loads signal the barrier: the tiles of A and B."),
               (128 * 64, "The barrier counts bytes, and an element has two."),
               (65536, "An element of float16 has 2 bytes, not 4.")),
    ),
    Prediction(
        "How many arrivals complete a phase of `tma_bar`, besides its bytes?", "arrivals",
        lambda: _at(4, 256).arrivals("tma_bar"),
        ("One thread announces the bytes with `arrive.expect_tx`, which is the arrival.",
         "The loads count bytes down, and they do not arrive.",
         "The phase completes when both counts are zero."),
        _slips((2, "A load counts bytes down; it does not arrive."),
               (128, "One thread issues the loads and arrives; all 128 wait."),
               (0, "The arrival of `arrive.expect_tx` keeps the phase open until the bytes are announced.")),
    ),
    Prediction(
        "By what factor is step 4 faster than step 3 at 1024 × 1024 × 1024?", "times",
        lambda: _at(3, 1024).us / _at(4, 1024).us,
        ("TMA replaces the copies by threads and their addresses.",
         "The kernel still waits for each load before the MMAs, and for these before the next load.",
         "So a part of the copies' time turns into latency."),
        _slips((4, "The load and the MMAs still take turns: nothing overlaps within a CTA."),
               (2.5, "Waiting for the loads takes the place of a part of the copies."),
               (0.5, "One instruction replaces the copies of all threads, so the step is not slower.")),
        FACTOR, lambda: _ratio(_at(3, 1024), _at(4, 1024)),
    ),
)  # fmt: skip

_PIPELINE = (
    Prediction(
        "K is 256. How many phases does `tma_bar[0]`, the barrier of stage 0, complete for one tile?", "phases",
        lambda: _at(5, 256).phases("tma_bar[0]"),
        ("There are 256 / 64 = 4 K tiles.",
         "K tile k goes to stage k % 2.",
         "So each stage is filled twice."),
        _slips((4, "The K tiles take turns at two stages, each with a barrier of its own."),
               (1, "Four K tiles share two stages."),
               (128, "A K tile has 64 columns.")),
    ),
    Prediction(
        "How many bytes of shared memory do both stages take?", "bytes",
        lambda: 2 * _STAGE_BYTES,
        ("A stage holds a tile of A and a tile of B, 32,768 bytes.",
         "There are two stages.",
         "The tile for the write-back and the barriers come on top."),
        _slips((_STAGE_BYTES, "That is one stage."),
               (_TILE_BYTES, "That is one tile of one stage."),
               (lambda: _at(5, 256).launch.smem_bytes, "That is all of the CTA, write-back included.")),
    ),
    Prediction(
        "By what factor is step 5 faster than step 4 at 1024 × 1024 × 1024?", "times",
        lambda: _at(4, 1024).us / _at(5, 1024).us,
        ("The next load runs while the tensor core computes, so a part of its latency is hidden.",
         "All warps still wait for the MMAs before the next load is issued.",
         "The launch and the write-back stay as they are."),
        _slips((3, "Only latency of loads is hidden; MMAs, launch and write-back stay."),
               (10, "Only latency of loads is hidden; MMAs, launch and write-back stay."),
               (0.7, "The second stage takes memory, and no time.")),
        FACTOR, lambda: _ratio(_at(4, 1024), _at(5, 1024)),
    ),
)  # fmt: skip

_PERSISTENT = (
    Prediction(
        "How many CTAs does the grid have at 2048 × 2048 × 2048?", "CTAs",
        lambda: _at(6, 2048).launch.num_ctas,
        ("The kernel launches two CTAs an SM, whatever the problem is.",
         "An H100 has 132 SMs.",
         "While one CTA of an SM stores its tile, the other one multiplies."),
        _slips((256, "That is the number of tiles; a persistent grid follows from the GPU."),
               (_SMS, "Two CTAs share an SM, so that one multiplies while the other one stores."),
               (16, "That is one side of the tiles.")),
    ),
    Prediction(
        "How many tiles does CTA 0 compute at 4096 × 4096 × 4096?", "tiles",
        lambda: -(-1024 // _at(6, 4096).launch.num_ctas),
        ("There are 32 × 32 = 1024 tiles.",
         "They are dealt to 264 CTAs in turn: CTA 0 gets the tiles 0, 264, 528 and 792.",
         "232 CTAs get four tiles, and 32 get three."),
        _slips((8, "There are two CTAs an SM, 264 in all."),
               (3, "1024 / 264 is 3.9: the first CTAs get a fourth tile."),
               (1024, "The tiles are dealt to all CTAs in turn.")),
    ),
    Prediction(
        "How many bytes of shared memory do both CTAs of an SM take?", "bytes",
        lambda: 2 * _at(6, 256).launch.smem_bytes,
        ("Two stages take 65,536 bytes, and the tile for the write-back 32,768.",
         "The barriers and the alignment take 1,024 more: 99,328 for each CTA.",
         "Twice that fits into the 228 KiB of an SM; a third stage would not."),
        _slips((lambda: _at(6, 256).launch.smem_bytes, "That is one CTA, and an SM holds two."),
               (4 * _STAGE_BYTES, "The tiles for the write-back need memory, too."),
               (_SHARED, "That is the most that one CTA may take.")),
    ),
)  # fmt: skip

_ROLES = (
    Prediction(
        "How many warps does a CTA of step 7 have?", "warps",
        lambda: _at(7, 256).launch.warps,
        ("One warpgroup multiplies and writes back: four warps.",
         "One more warp issues the loads.",
         "Its other 31 threads have nothing to do."),
        _slips((4, "The loads have a warp of their own."),
               (8, "One warp is enough for the loads; the warpgroup of `wgmma` needs four."),
               (2, "`wgmma` takes a warpgroup, four warps.")),
    ),
    Prediction(
        "How many arrivals complete a phase of `mma2tma`, with which the warpgroup frees a stage?", "arrivals",
        lambda: _at(7, 256).arrivals("mma2tma[0]"),
        ("`wgmma.wait_group` returns in all warps when the MMAs are complete.",
         "One thread then arrives for the warpgroup.",
         "So the barrier is initialised with the count 1."),
        _slips((128, "One thread arrives for all, after the group of MMAs is complete."),
               (4, "One thread arrives for the whole warpgroup."),
               (0, "A phase has at least one arrival.")),
    ),
    Prediction(
        "With which parity does the TMA role wait for `mma2tma` the first time, when no MMA has run yet?", "(0 or 1)",
        lambda: 1,
        ("At first every stage is free, so the wait must pass.",
         "A wait for parity 1 asks for the phase before phase 0, which counts as complete.",
         "The MMA role waits for its first data with parity 0."),
        _slips((0, "Phase 0 completes when the MMAs have read the stage; nothing was loaded yet, so this hangs."),
               (2, "A parity is one bit."),
               (-1, "A parity is one bit.")),
    ),
)  # fmt: skip

_DEPTH = (
    Prediction(
        "What is the largest depth of the pipeline that fits into 227 KiB of shared memory?", "stages",
        lambda: (_SHARED - (_at(8, 256).launch.smem_bytes - 4 * _STAGE_BYTES)) // _STAGE_BYTES,
        ("A stage takes 32 KiB: 227 KiB would hold 7.09 of them.",
         "The tile for the write-back takes 32 KiB, and the barriers take a little.",
         "Six stages are left."),
        _slips((7, "The tile for the write-back and the barriers need memory, too."),
               (14, "A stage holds two tiles of 16 KiB."),
               (4, "4 is the depth of the reference; more would fit.")),
    ),
    Prediction(
        "How many cycles do the MMAs of one K tile take on the tensor cores of an SM?", "cycles",
        lambda: _at(8, 256).amount("tensor_cycles") / (4 * 4),
        ("128 × 128 × 64 products are 1,048,576.",
         "The tensor cores of an SM compute 2,048 products of float16 a cycle.",
         "1,048,576 / 2,048 = 512."),
        _slips((256, "That is a B200, whose SM computes twice as many products a cycle."),
               (64, "That is one of the eight instructions."),
               (2048, "That is the number of products of a cycle.")),
        FACTOR,
    ),
    Prediction(
        "How many CTAs does the grid of step 8 have at 2048 × 2048 × 2048?", "CTAs",
        lambda: _at(8, 2048).launch.num_ctas,
        ("Four stages and the tile for the write-back take 161 KiB.",
         "Two such CTAs do not fit into an SM.",
         "The depth has to hide what the second CTA hid before."),
        _slips((264, "Two CTAs of this size do not fit into the shared memory of an SM."),
               (256, "That is the number of tiles; a persistent grid follows from the GPU."),
               (148, "A B200 has 148 SMs, and an H100 has 132.")),
    ),
)  # fmt: skip

_CLUSTER = (
    Prediction(
        "How many arrivals complete a phase of `mma2tma` in each CTA of the pair?", "arrivals",
        lambda: _at(9, 256).arrivals("mma2tma[0]"),
        ("The tile of B is in both CTAs: a multicast load overwrites it in both.",
         "So a stage is free when the consumers of both CTAs have read it.",
         "One thread of each arrives at the barrier of each CTA."),
        _slips((1, "The load of one CTA also writes to the other one, whose consumer must have read the stage, too."),
               (256, "One thread arrives for each warpgroup."),
               (4, "There are two consumers, one in each CTA.")),
    ),
    Prediction(
        "How many bytes does a phase of `tma2mma` expect in each CTA?", "bytes",
        lambda: _STAGE_BYTES,
        ("Each CTA loads its own tile of A, and half of the tile of B.",
         "The other half is loaded by its peer, and signals the same barrier in both CTAs.",
         "So each barrier counts a whole tile of A and of B."),
        _slips((24576, "The half of B that the peer loads signals this barrier, too."),
               (2 * _STAGE_BYTES, "The tile of A of the peer goes to the peer alone."),
               (_TILE_BYTES, "That is the tile of A.")),
    ),
    Prediction(
        "By what factor do the CTAs ask the L2 for fewer bytes of a K tile than those of step 8?", "times",
        lambda: _STAGE_BYTES / (_TILE_BYTES * 1.5),
        ("A CTA of step 8 loads 16 KiB of A and 16 KiB of B.",
         "A CTA of the pair loads 16 KiB of A and 8 KiB of B, which the multicast delivers twice.",
         "32 / 24 is 4 to 3."),
        _slips((2, "B is shared by both CTAs; A is not."),
               (1, "The L2 delivers each half of B once, for both CTAs."),
               (4, "B is shared by both CTAs; A is not.")),
        1.1,
    ),
)  # fmt: skip

_CONSUMERS = (
    Prediction(
        "How many warps does a CTA of step 10 have?", "warps",
        lambda: _at(10, 256).launch.warps,
        ("Each of the two consumers is a warpgroup.",
         "The producer has a warpgroup of its own, so that it can give registers away.",
         "Three warpgroups are twelve warps."),
        _slips((9, "`setmaxnreg` moves the registers of whole warpgroups, so the producer is one."),
               (8, "The producer has a warpgroup of its own."),
               (3, "Those are warpgroups; a warpgroup has four warps.")),
    ),
    Prediction(
        "How many registers do the threads of a CTA hold together, after `setmaxnreg`?", "registers",
        lambda: 128 * 24 + 2 * 128 * 240,
        ("128 threads of the producer keep 24 each, which are 3,072.",
         "256 threads of the consumers have 240 each, which are 61,440.",
         "Together they are 64,512 of the 65,536 of an SM."),
        _slips((65536, "That is what an SM has; 1,024 are left."),
               (61440, "The producer keeps 24 a thread."),
               (92160, "The producer gives most of its registers away.")),
    ),
    Prediction(
        "How many arrivals complete a phase of `turn`, with which one consumer lets the other one begin?", "arrivals",
        lambda: 4,
        ("A warpgroup issues its MMAs warp by warp.",
         "One thread of each of its four warps arrives when the last MMAs of the tile are issued.",
         "So the barrier is initialised with the number of warps."),
        _slips((1, "Each warp of the consumer reports for itself."),
               (128, "One thread of each warp arrives."),
               (8, "The warps of one consumer arrive, and those of the other one wait.")),
    ),
)  # fmt: skip

HOPPER_QUESTIONS: Mapping[int, tuple[Prediction, ...]] = MappingProxyType({
    1: _FIRST, 2: _K_LOOP, 3: _TILING, 4: _TMA, 5: _PIPELINE,
    6: _PERSISTENT, 7: _ROLES, 8: _DEPTH, 9: _CLUSTER, 10: _CONSUMERS,
})  # fmt: skip
"""The questions of each step of the ladder for Hopper."""

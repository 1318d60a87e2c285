"""The mistakes with barriers of steps 4 to 10: who arrives, how often, and how many bytes are announced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import DONE, EMPTY, FREE, FULL, LOAD_A
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

INITS = ("tma2mma.init(1)", "mma2tma.init(1)", "mma2ld.init(1)", "ld2mma.init(128)")


def arrive(count: int, indent: int = 20) -> str:
    """`ld2mma.arrive(0)` under guards that leave `count` threads of the warpgroup."""
    guards = ["if warp_id == 0:"] + ["if lane_id == 0:"] * (count == 1)
    lines = [*guards, "ld2mma.arrive(0)"]
    return "".join(" " * (indent + 4 * depth) + text + "\n" for depth, text in enumerate(lines))


COUNTS = (
    Wrong(
        name="tma2mma counts two arrivals",
        edit=Edit(step=7, old=INITS[0], new="tma2mma.init(2)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FULL,
        page_says=("2 arrivals a phase, but only 1 arrives",),
        also_shows="tma2mma.init(2)",
    ),
    Wrong(
        name="mma2tma counts two arrivals",
        edit=Edit(step=8, old=INITS[1], new="mma2tma.init(2)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=EMPTY,
        page_says=("mma2tma[0]", "initialise mma2tma with 1"),
        also_shows="mma2tma.init(2)",
    ),
    Wrong(
        name="ld2mma counts two warpgroups",
        edit=Edit(step=7, old=INITS[3], new="ld2mma.init(256)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FREE,
        page_says=("ld2mma was initialised for 256", "only 128"),
        also_shows="ld2mma.init(256)",
    ),
    Wrong(
        name="ld2mma counts one thread",
        edit=Edit(step=7, old=INITS[3], new="ld2mma.init(1)"),
        verdict="fault",
        kind="barrier-overflow",
        code="TX123",
        line="ld2mma.arrive(0)",
        page_says=("more arrivals",),
        also_shows="ld2mma.init(1)",
    ),
    Wrong(
        name="ld2mma counts the threads of one CTA only",
        edit=Edit(step=9, old="ld2mma.init(128 * CTA_GROUP)", new="ld2mma.init(128)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX116",
        line=DONE,
        page_says=("initialised for 128", "256 arrive"),
        also_shows="ld2mma.init(128)",
    ),
    Wrong(
        name="mma2ld counts consumers",
        edit=Edit(step=10, old=INITS[2], new="mma2ld.init(NUM_CONSUMER)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line="mma2ld.wait(wg_id, wb_phase.phase)",
        page_says=("mma2ld[0]", "2 arrivals", "only 1"),
        also_shows="mma2ld.init(NUM_CONSUMER)",
    ),
    Wrong(
        name="ld2mma.arrive under a guard for one thread",
        edit=Edit(step=7, old="                    ld2mma.arrive(0)\n", new=arrive(1)),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FREE,
        page_says=("only 1 arrives", "`lane_id == 0`"),
        also_shows="ld2mma.arrive(0)",
    ),
    Wrong(
        name="ld2mma.arrive by one warp",
        edit=Edit(
            step=9,
            old="                    ld2mma.arrive(0, cta_id=0, pred=True)\n",
            new=arrive(32).replace("arrive(0)", "arrive(0, cta_id=0, pred=True)"),
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FREE,
        page_says=("initialised for 256", "only 64"),
        also_shows="ld2mma.arrive(0",
    ),
    Wrong(
        name="ld2mma.arrive at the CTA's own barrier",
        edit=Edit(step=9, old="ld2mma.arrive(0, cta_id=0, pred=True)", new="ld2mma.arrive(0)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FREE,
        page_says=("only 128", "without cta_id"),
        also_shows="ld2mma.arrive(0)",
    ),
    Wrong(
        name="inits nested under a warpgroup that thread 0 is not in",
        edit=Edit(
            step=7,
            old="".join(f"            {init}\n" for init in INITS),
            new="            if wg_id == 1:\n" + "".join(f"                {init}\n" for init in INITS),
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX101",
        line=DONE,
        page_says=("never initialised", "no thread satisfies both `wg_id == 1`"),
    ),
    Wrong(
        name="one init nested",
        edit=Edit(
            step=8, old=f"            {INITS[3]}\n", new=f"            if wg_id == 1:\n                {INITS[3]}\n"
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX101",
        line=FREE,
        page_says=("ld2mma is never initialised", "top level"),
        also_shows=INITS[3],
    ),
    Wrong(
        name="tma2mma without expect_tx",
        edit=Edit(
            step=4, old="                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)\n", new=""
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line="Tx.ptx.mbarrier.try_wait(tma_bar",
        page_says=("nothing announces them", "expect_tx"),
    ),
    Wrong(
        name="no commit for the write-back",
        edit=Edit(step=7, old="                            mma2ld.arrive(0, cta_group=1, cta_mask=1)\n", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line=DONE,
        page_says=("nothing ever arrives at mma2ld", "tcgen05.commit"),
    ),
    Wrong(
        name="the write-back never arrives",
        edit=Edit(step=7, old="                    ld2mma.arrive(0)\n", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line=FREE,
        page_says=("nothing ever arrives at ld2mma", "mbarrier.arrive"),
    ),
)

BYTES = (
    Wrong(
        name="bytes without the size of an element",
        edit=Edit(step=7, old="(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE", new="(BLK_M * BLK_K + BLK_N * BLK_K)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line=FULL,
        page_says=("announces 16384 bytes", "deliver 32768"),
        also_shows="tma2mma.arrive(",
    ),
    Wrong(
        name="bytes of A only",
        edit=Edit(step=4, old="(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE", new="BLK_M * BLK_K * DTYPE_SIZE"),
        verdict="hazard",
        kind="byte-count",
        code="TX106",
        line="Tx.ptx.mbarrier.arrive.expect_tx(tma_bar",
        page_says=("announces 16384", "deliver 32768"),
        also_shows=LOAD_A,
    ),
    Wrong(
        name="bytes of one CTA of the pair",
        edit=Edit(step=9, old="TMA_BYTES = CTA_GROUP * (", new="TMA_BYTES = ("),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line=FULL,
        page_says=("announces 32768", "deliver 65536", "all CTAs"),
        also_shows="tma2mma_cta0.arrive(",
    ),
    Wrong(
        name="bytes of one consumer",
        edit=Edit(step=10, old="NUM_CONSUMER * BLK_M * BLK_K + BLK_N", new="BLK_M * BLK_K + BLK_N"),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line=FULL,
        page_says=("announces 65536", "deliver 98304"),
        also_shows="tma2mma_cta0.arrive(",
    ),
    Wrong(
        name="twice the bytes",
        edit=Edit(step=5, old="TMA_BYTES = (BLK_M", new="TMA_BYTES = 2 * (BLK_M"),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line="Tx.ptx.mbarrier.try_wait(tma_bar",
        page_says=("bytes",),
    ),
)


@pytest.mark.parametrize("wrong", (*COUNTS, *BYTES), ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))

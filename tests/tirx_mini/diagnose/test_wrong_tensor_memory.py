"""The mistakes with tensor memory of steps 2 to 10: allocation, deallocation and accumulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import ELECTED, MMA, READ_TMEM
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

ALLOC = "                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)\n"

TENSOR_MEMORY = (
    Wrong(
        name="alloc by the elected thread",
        edit=Edit(step=4, old=ALLOC, new=ELECTED + "    " + ALLOC),
        verdict="fault",
        kind="illegal-convergence",
        code="TX306",
        line="Tx.ptx.tcgen05.alloc(",
        page_says=("1 lane of warp 0", "all 32"),
    ),
    Wrong(
        name="alloc by one lane",
        edit=Edit(step=7, old="    " + ALLOC, new="                    if lane_id == 0:\n        " + ALLOC),
        verdict="fault",
        kind="illegal-convergence",
        code="TX306",
        line="Tx.ptx.tcgen05.alloc(",
        page_says=("1 lane of write-back (warp 0 of warpgroup 0)", "all 32"),
    ),
    Wrong(
        name="dealloc by one lane",
        edit=Edit(
            step=7,
            old="                    Tx.ptx.tcgen05.dealloc(",
            new="                    if lane_id == 0:\n                        Tx.ptx.tcgen05.dealloc(",
        ),
        verdict="fault",
        kind="illegal-convergence",
        code="TX306",
        line="Tx.ptx.tcgen05.dealloc(",
        page_says=("1 lane of write-back (warp 0 of warpgroup 0)", "all 32"),
    ),
    Wrong(
        name="no dealloc",
        edit=Edit(
            step=8, old="                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)\n", new=""
        ),
        verdict="fault",
        kind="tmem-not-freed",
        code="TX310",
        line="Tx.ptx.tcgen05.alloc(",
        page_says=("512 columns",),
    ),
    Wrong(
        name="dealloc of half",
        edit=Edit(step=8, old="dealloc(tmem_addr[0], n_cols=512", new="dealloc(tmem_addr[0], n_cols=256"),
        verdict="fault",
        kind="tmem-allocation",
        code="TX308",
        line="Tx.ptx.tcgen05.dealloc(",
        page_says=("256 columns", "512 columns"),
    ),
    Wrong(
        name="no cta_sync before dealloc, in step 2's way",
        edit=Edit(
            step=2,
            old="            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
            new="            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
        ),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=(READ_TMEM, "Tx.ptx.tcgen05.dealloc("),
        page_says=("frees", "before tcgen05.dealloc"),
    ),
    Wrong(
        name="dealloc with no synchronisation of the cluster",
        edit=Edit(step=10, old="            Tx.cuda.cluster_sync()\n            if wg_id", new="            if wg_id"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line="Tx.ptx.tcgen05.dealloc(",
        page_says=("dealloc",),
    ),
    Wrong(
        name="accum=True from the first tile",
        edit=Edit(step=7, old="accum=(k != 0)", new="accum=True"),
        verdict="hazard",
        kind="uninitialised-read",
        code="TX207",
        line=MMA,
        page_says=("accum=False",),
    ),
    Wrong(
        name="accum=False on every tile",
        edit=Edit(step=7, old="accum=(k != 0)", new="accum=False"),
        verdict="hazard",
        kind="lost-result",
        code="TX210",
        line=MMA,
        page_says=("accum=True",),
    ),
)


@pytest.mark.parametrize("wrong", TENSOR_MEMORY, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))

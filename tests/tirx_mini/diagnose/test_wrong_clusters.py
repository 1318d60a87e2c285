"""The mistakes with clusters of steps 7 to 10: masks, remote views, and the synchronisation of a pair of CTAs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import DONE, EMPTY, FULL, LOAD_A, MMA
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

CLUSTERS = (
    Wrong(
        name="no fence.mbarrier_init in a cluster",
        edit=Edit(step=9, old="            Tx.ptx.fence.mbarrier_init()\n", new=""),
        verdict="hazard",
        kind="missing-mbarrier-fence",
        code="TX205",
        line="tma2mma.init(1)",
        page_says=("fence.mbarrier_init()",),
    ),
    Wrong(
        name="stages are declared free to CTA 0 only",
        edit=Edit(
            step=9,
            old="mma2tma.arrive(stage, cta_group=2, cta_mask=3)",
            new="mma2tma.arrive(stage, cta_group=2, cta_mask=1)",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX105",
        line=EMPTY,
        page_says=("mma2tma[0] of CTA 0 only", "cta_mask=3"),
        also_shows="mma2tma.arrive(",
    ),
    Wrong(
        name="the result is declared to CTA 0 only",
        edit=Edit(
            step=9, old="mma2ld.arrive(0, cta_group=2, cta_mask=3)", new="mma2ld.arrive(0, cta_group=2, cta_mask=1)"
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX105",
        line=DONE,
        page_says=("CTA 1 waits for its own", "cta_mask=3"),
        also_shows="mma2ld.arrive(",
    ),
    Wrong(
        name="the result is declared to one CTA only",
        edit=Edit(
            step=10,
            old="mma2ld.arrive(warp_id, cta_group=2, cta_mask=3)",
            new="mma2ld.arrive(warp_id, cta_group=2, cta_mask=2)",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX105",
        line="mma2ld.wait(",
        page_says=("CTA 1 waits for its own", "cta_mask=3"),
        also_shows="mma2ld.arrive(",
    ),
    Wrong(
        name="a mask of CTAs that there are not",
        edit=Edit(
            step=7, old="mma2ld.arrive(0, cta_group=1, cta_mask=1)", new="mma2ld.arrive(0, cta_group=1, cta_mask=3)"
        ),
        verdict="fault",
        kind="illegal-instruction",
        code="TX307",
        line="mma2ld.arrive(",
        page_says=("cta_mask=0b11",),
    ),
    Wrong(
        name="loads signal the CTA's own barrier",
        edit=Edit(step=9, old='"mbar": tma2mma_cta0.ptr_to([stage])', new='"mbar": tma2mma.ptr_to([stage])'),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line=FULL,
        page_says=("announced at one CTA's tma2mma", "remote view of the leader"),
        also_shows=LOAD_A,
    ),
    Wrong(
        name="no remote view",
        edit=Edit(step=9, old="tma2mma_cta0 = tma2mma.remote_view(0)", new="tma2mma_cta0 = tma2mma"),
        verdict="deadlock",
        kind="deadlock",
        code="TX106",
        line=FULL,
        page_says=("announces 65536", "deliver 32768"),
        also_shows=LOAD_A,
    ),
    Wrong(
        name="the remote view of the wrong CTA",
        edit=Edit(step=9, old="tma2mma.remote_view(0)", new="tma2mma.remote_view(1)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX105",
        line=FULL,
        page_says=("goes to CTA 1", "tma2mma[0] of its own CTA"),
        also_shows="tma2mma_cta0.arrive(",
    ),
    Wrong(
        name="both CTAs announce",
        edit=Edit(
            step=9,
            old="                if cbx == 0:\n                    tma2mma_cta0.arrive(",
            new="                if True:\n                    tma2mma_cta0.arrive(",
        ),
        verdict="fault",
        kind="barrier-overflow",
        code="TX123",
        line="tma2mma_cta0.arrive(",
        page_says=("more arrivals",),
        also_shows="tma2mma.init(1)",
    ),
    Wrong(
        name="both CTAs issue MMAs",
        edit=Edit(
            step=9,
            old="                    if cbx == 0:\n                        with",
            new="                    if True:\n                        with",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX105",
        line=FULL,
        page_says=("goes to CTA 0", "CTA 1"),
        also_shows="tma2mma_cta0.arrive(",
    ),
    Wrong(
        name="cta_sync where the cluster has to begin",
        edit=Edit(step=9, old="            Tx.cuda.cluster_sync()\n\n", new="            Tx.cuda.cta_sync()\n\n"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=LOAD_A,
        page_says=("tma2mma[0]", "cluster_sync()"),
        also_shows="tma2mma.init(1)",
    ),
    Wrong(
        name="cta_sync where the cluster has to end",
        edit=Edit(
            step=9,
            old="            Tx.cuda.cluster_sync()\n            if wg_id",
            new="            Tx.cuda.cta_sync()\n            if wg_id",
        ),
        verdict="hazard",
        kind="in-flight-at-exit",
        code="TX209",
        line="ld2mma.arrive(",
        page_says=("may end before the arrival", "cluster_sync()"),
    ),
    Wrong(
        name="alloc for one CTA, MMA for two",
        edit=Edit(
            step=9,
            old="n_cols=512, cta_group=2)\n            Tx.ptx.fence",
            new="n_cols=512, cta_group=1)\n            Tx.ptx.fence",
        ),
        verdict="fault",
        kind="illegal-instruction",
        code="TX307",
        line=MMA,
        page_says=("cta_group",),
    ),
)


@pytest.mark.parametrize("wrong", CLUSTERS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))

"""The mistakes with the write-back of Hopper's steps 4 and 10: proxy fences, named barriers, stores that still read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_named, simulate_on_hopper

STORE = "Tx.copy(Dsmem["
TMA_STORE = "Tx.copy_async(D["
SYNC = "                        Tx.cuda.warpgroup_sync(wg_id)\n"
IF_FIRST_THREAD = "                        if warp_id == 0:\n                            if lane_id == 0:\n"
M_EPI = "                                m_epi ="
HAND_WRITTEN = (
    "                with Tx.warpgroup():\n                    Tx.copy(Dsmem[:, :], D_16b[:, :])\n",
    (
        "                for r in Tx.unroll(BLK_M // 4):\n"
        "                    Dsmem[r * 4 + warp_id, lane_id] = Dreg_16b[r]\n"
    ),
)
"""Results stored to shared memory by plain assignments, which no fence follows."""

STORES = (
    Wrong(
        name="plain stores without a proxy fence",
        edit=HopperEdit(step=4, old=HAND_WRITTEN[0], new=HAND_WRITTEN[1]),
        verdict="hazard",
        kind="missing-proxy-fence",
        line=TMA_STORE,
        page_says=("Dsmem", "without fence.proxy.async between the two"),
    ),
    Wrong(
        name="no barrier before the TMA store",
        edit=HopperEdit(step=10, old=f"{SYNC}{IF_FIRST_THREAD}{M_EPI}", new=f"{IF_FIRST_THREAD}{M_EPI}"),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(",
        page_says=("Dsmem",),
    ),
    Wrong(
        name="Dsmem overwritten while a store reads it",
        edit=HopperEdit(step=10, old=", read=True)", new=" + 1, read=True)"),
        verdict="hazard",
        kind="race",
        line=STORE,
        page_says=("the TMA store of",),
    ),
    Wrong(
        name="the CTA ends while a store reads",
        edit=HopperEdit(
            step=10,
            old="                if warp_id == 0:\n                    if lane_id == 0:\n"
            "                        Tx.ptx.cp_async.bulk.wait_group(0)\n",
            new="",
        ),
        verdict="ok",
        kind="in-flight-at-exit",
        line="Tx.copy_async(",
        page_says=("wait_group(0)",),
    ),
    Wrong(
        name="Dsmem overwritten by warps that do not know that the store has read it",
        edit=HopperEdit(
            step=10,
            old=f"{SYNC}                        with Tx.thread():\n",
            new="                        with Tx.thread():\n",
        ),
        verdict="hazard",
        kind="race",
        line=STORE,
        page_says=("the TMA store of",),
    ),
    Wrong(
        name="both consumers at one named barrier",
        edit=HopperEdit(
            step=10, old=f"{SYNC}{IF_FIRST_THREAD}{M_EPI}", new=f"{SYNC.replace('wg_id', '1')}{IF_FIRST_THREAD}{M_EPI}"
        ),
        verdict="hazard",
        kind="race",
        line="Tx.cuda.warpgroup_sync(1)",
        page_says=("barrier 1 is used by", "a barrier id of its own"),
    ),
)


@pytest.mark.parametrize("wrong", STORES, ids=lambda wrong: f"{wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_named(wrong, simulate_on_hopper(wrong.edit, tmp_path))

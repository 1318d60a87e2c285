"""The mistakes with TMA stores of steps 4 to 10: proxy fences, groups, and the shared memory that a store reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import LOAD_A, PROXY_FENCE, STORE_D
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

WRITES = "Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[:])\n"
COMMIT_GROUP = "                            Tx.ptx.cp_async.bulk.commit_group()\n"
WAIT_GROUP = "                            Tx.ptx.cp_async.bulk.wait_group(0)\n"
WG_SYNC = "                    Tx.cuda.warpgroup_sync(1)\n"
WRITE_D = "Tx.copy(Dsmem["

STORES = (
    Wrong(
        name="no proxy fence before the TMA store",
        edit=Edit(step=7, old=f"                        {PROXY_FENCE}{WG_SYNC}", new=WG_SYNC),
        verdict="hazard",
        kind="missing-proxy-fence",
        code="TX202",
        line=STORE_D,
        page_says=("fence.proxy.async", "Dsmem[0, 0]"),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="the same in step 4",
        edit=Edit(
            step=4, old=f"                    {PROXY_FENCE}                Tx.cuda", new="                Tx.cuda"
        ),
        verdict="hazard",
        kind="missing-proxy-fence",
        code="TX202",
        line=STORE_D,
        page_says=("fence.proxy.async",),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="the proxy fence before the writes",
        edit=Edit(
            step=4,
            old=f"                    {WRITES}",
            new="",
            then=(
                (
                    f"                    {PROXY_FENCE}                Tx.cuda",
                    f"                    {PROXY_FENCE}                    {WRITES}                Tx.cuda",
                ),
            ),
        ),
        verdict="hazard",
        kind="missing-proxy-fence",
        code="TX202",
        line=STORE_D,
        page_says=("fence.proxy.async",),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="no synchronisation before the TMA store",
        edit=Edit(step=7, old=f'"shared::cta")\n{WG_SYNC}', new='"shared::cta")\n'),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=STORE_D,
        page_says=("warpgroup_sync or cta_sync",),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="no synchronisation after the TMA store",
        edit=Edit(step=7, old=f"# The next chunk overwrites Dsmem.\n{WG_SYNC}", new="# Not here.\n"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=WRITE_D,
        page_says=("Dsmem", "missing is the one after the TMA store"),
        also_shows=STORE_D,
    ),
    Wrong(
        name="no commit_group",
        edit=Edit(step=7, old=COMMIT_GROUP, new=""),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=STORE_D,
        page_says=("Dsmem", "commit_group(), wait_group(0)"),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="no wait_group",
        edit=Edit(step=7, old=WAIT_GROUP, new=""),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=STORE_D,
        page_says=("Dsmem", "commit_group(), wait_group(0)"),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="wait_group(1) leaves one",
        edit=Edit(step=7, old="wait_group(0)", new="wait_group(1)"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=STORE_D,
        page_says=("Dsmem", "wait_group(0)"),
        also_shows=WRITE_D,
    ),
    Wrong(
        name="no wait_group before the end",
        edit=Edit(step=4, old=WAIT_GROUP[4:], new=""),
        verdict="ok",
        kind="in-flight-at-exit",
        code="TX209",
        line=STORE_D,
        page_says=("ends while a TMA store", "wait_group(0)"),
    ),
    Wrong(
        name="two warpgroups at one barrier",
        edit=Edit(
            step=10, old=f'shared::cta")\n{WG_SYNC.replace("1)", "wg_id + 1)")}', new=f'shared::cta")\n{WG_SYNC}'
        ),
        verdict="deadlock",
        kind="race",
        code="TX201",
        line="Tx.cuda.warpgroup_sync(1)",
        page_says=("barrier id of its own",),
    ),
    Wrong(
        name="Dsmem over tiles in use",
        edit=Edit(
            step=7, old="            Dsmem = pool", new="            pool.move_base_to(1024)\n            Dsmem = pool"
        ),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=LOAD_A,
        page_says=("Dsmem",),
    ),
)


@pytest.mark.parametrize("wrong", STORES, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))

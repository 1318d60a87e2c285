"""The mistakes of steps 4 to 10 that the compiler refuses before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import ELECTED, MMA, PROXY_FENCE, STORE_D
from tests.tirx_mini.diagnose.wrong_kernels import Refused, assert_refused

REFUSED = (
    Refused(
        name="pool.alloc after commit",
        edit=Edit(
            step=7,
            old="            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=D_layout)\n            pool.commit()\n",
            new="            pool.commit()\n            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=D_layout)\n",
        ),
        kind="pool-committed",
        line="Dsmem = pool.alloc",
    ),
    Refused(
        name="a barrier after commit",
        edit=Edit(
            step=7,
            old='            ld2mma = MBarrier(pool, 1, "ld2mma")\n',
            new="",
            then=(
                (
                    "            pool.commit()\n",
                    '            pool.commit()\n            ld2mma = MBarrier(pool, 1, "ld2mma")\n',
                ),
            ),
        ),
        kind="pool-committed",
        line="ld2mma = MBarrier",
    ),
    Refused(
        name="a constant defined in the kernel",
        edit=Edit(
            step=7,
            old="        with Tx.kernel():\n",
            new="        with Tx.kernel():\n            CHUNK = EPI_N\n",
            then=(("n_epi : n_epi + EPI_N]", "n_epi : n_epi + CHUNK]"),),
        ),
        kind="not-constant",
        line=STORE_D,
    ),
    Refused(
        name="a cast of the warpgroup's view",
        edit=Edit(step=7, old="(i + 1) * TMEM_LD_N], Dreg[:])", new="(i + 1) * TMEM_LD_N], Dreg_wg[:, :])"),
        kind="extents-differ",
        line="Tx.cast(",
    ),
    Refused(
        name="the fence's scope by a keyword",
        edit=Edit(
            step=4,
            old=f"                    {PROXY_FENCE}                Tx.cuda",
            new='                    Tx.ptx.fence.proxy_async(scope="shared::cta")\n                Tx.cuda',
        ),
        kind="lowering",
        line="Tx.ptx.fence.proxy_async(scope=",
    ),
    Refused(
        name="an MMA by all lanes",
        edit=Edit(
            step=7,
            old=f"                elif warp_id == 0:\n    {ELECTED}",
            new='                elif warp_id == 0:\n                    with Tx.thread(parent="warp"):\n',
        ),
        kind="no-dispatch",
        line=MMA,
    ),
)


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.name)
def test_the_compiler_refuses_the_mistake_and_says_what_to_write_instead(refused: Refused, tmp_path: Path) -> None:
    assert assert_refused(refused, tmp_path).diagnostic.hint

"""docs/concepts/clusters.md: each mistake in its table of pitfalls leads to the code that stands beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tirx_mini.course import check_file
from tools.figures._references import patched
from tools.pages import DOCS

LAST_SYNC = "neither may exit before the last arrival.\n            Tx.cuda.cluster_sync()"
FIRST_SYNC = "the barriers of both CTAs are initialised.\n            Tx.cuda.cluster_sync()"
ALLOC = "Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group="
ANNOUNCE = "tma2mma_cta0.arrive(stage, TMA_BYTES)"
ISSUER = "elif warp_id == 0:\n                    if cbx == 0:"
DRAIN = "for _ in range(PIPE_DEPTH):\n                            "
LAST_WAIT = "mma2tma.wait(tma_phase.stage, tma_phase.phase)"
EDITS = (
    {"mma2ld.arrive(0, cta_group=2, cta_mask=3)": "mma2ld.arrive(0, cta_group=2, cta_mask=1)"},
    {"TMA_BYTES = CTA_GROUP * (": "TMA_BYTES = ("},
    {'"mbar": tma2mma_cta0.ptr_to([stage])': '"mbar": tma2mma.ptr_to([stage])'},
    {f"if cbx == 0:\n                    {ANNOUNCE}": ANNOUNCE},
    {ISSUER: ISSUER.replace("cbx == 0", "cbx >= 0")},
    {"ld2mma.init(128 * CTA_GROUP)": "ld2mma.init(128)"},
    {"ld2mma.arrive(0, cta_id=0, pred=True)": "ld2mma.arrive(0)"},
    {FIRST_SYNC: FIRST_SYNC.replace("cluster", "cta")},
    {f"{DRAIN}{LAST_WAIT}": f"{DRAIN}if cbx == 0:\n                                {LAST_WAIT}"},
    {LAST_SYNC: LAST_SYNC.replace("cluster", "cta")},
    {f"{ALLOC}2)": f"{ALLOC}1)"},
    {"b_st = Tx.meta_var(n_st + cbx * BLK_N)": "b_st = Tx.meta_var(n_st)"},
)
"""The mistakes, in the order of the table: what is replaced in the reference of step 9."""


def codes_of_table() -> list[str]:
    page = (DOCS / "concepts/clusters.md").read_text(encoding="utf-8")
    table = page.partition("\n## Pitfalls\n")[2].partition("\n## ")[0]
    return [
        found[1] for line in table.splitlines() if line.startswith("|") and (found := re.search(r"\[(TX\d{3})", line))
    ]


def test_each_row_is_tried() -> None:
    assert len(codes_of_table()) == len(EDITS)


@pytest.mark.parametrize("row", range(len(EDITS)))
def test_a_mistake_leads_to_the_code_beside_it(row: int, tmp_path: Path) -> None:
    checked = check_file(patched(9, EDITS[row], tmp_path), shape=(512, 256, 256), sms=2, trace=False)
    findings = [*checked.report.findings, *([checked.wrong] if checked.wrong else [])]
    assert findings and findings[0].code == codes_of_table()[row]

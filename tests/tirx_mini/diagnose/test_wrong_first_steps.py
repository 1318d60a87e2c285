"""The mistakes of steps 1 to 3: each is found, at the right line, and explained.

A wrong kernel is a reference with one edit, so what is tested is the edit and nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels_ref.edits import SHAPES, SOURCES, Edit
from tests.tirx_mini.diagnose.wrong_kernels import Refused, Wrong, assert_found, assert_refused, simulate
from tirx_mini.course import load_kernels
from utils import WrongResult, compile_and_run, prepare_data, verify

STEPS = (1, 2, 3)

COPY_A = "Tx.copy(Asmem[:, :]"
MMA = "Tx.gemm_async("
WAIT = "Tx.ptx.mbarrier.try_wait("
READ_TMEM = "Tx.copy(Dreg_wg[:, :]"
ALLOC = "Tx.ptx.tcgen05.alloc("
DEALLOC = "Tx.ptx.tcgen05.dealloc("

# Whole lines of the references that edits begin or end with.
CTA_SYNC = "            Tx.cuda.cta_sync()\n"
AFTER_THREAD_SYNC = "            Tx.ptx.tcgen05.fence.after_thread_sync()\n"
COMMIT = "                    Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)\n"
ALLOCATE = "                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)\n"
INIT = "                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)\n"
WARP_0 = "            if warp_id == 0:\n"
LANE_0 = "                if lane_id == 0:\n"
RELINQUISH = "                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)\n"
TODO = "            # TODO: synchronise\n            ...\n"
POOL_COMMIT = "            pool.commit()\n"


WRONG = (
    Wrong(
        name="no cta_sync between the copy and the MMA",
        edit=Edit(
            step=1,
            old=CTA_SYNC + AFTER_THREAD_SYNC + "\n            # Mul",
            new=AFTER_THREAD_SYNC + "\n            # Mul",
        ),
        verdict="hazard",
        kind="race",
        line=MMA,
        page_says=("Asmem", "cta_sync"),
        also_shows=COPY_A,
    ),
    Wrong(
        name="no commit",
        edit=Edit(step=1, old=COMMIT, new=""),
        verdict="deadlock",
        kind="deadlock",
        line=WAIT,
        page_says=("mma_bar", "commit"),
    ),
    Wrong(
        name="waiting for the wrong phase",
        edit=Edit(step=1, old="phase_mma = 0", new="phase_mma = 1"),
        verdict="hazard",
        kind="passes-at-once",
        line=WAIT,
        page_says=("mma_bar", "passes at once", "wait for parity 0"),
    ),
    Wrong(
        name="no wait before reading tensor memory",
        edit=Edit(step=1, old="            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)\n", new=""),
        verdict="hazard",
        kind="uninitialised-read",
        line=READ_TMEM,
        page_says=("tensor memory", "wait for the mbarrier of the MMA"),
    ),
    Wrong(
        name="phase not flipped in the K loop",
        edit=Edit(step=2, old="                phase_mma = phase_mma ^ 1\n", new=""),
        verdict="hazard",
        kind="state-stands-still",
        line="Tx.ptx.mbarrier.try_wait(mma_bar",
        page_says=("waits again for round 1 of mma_bar", "nothing in its loop changes the phase", "phase = phase ^ 1"),
    ),
    Wrong(
        name="accum=True on the first tile",
        edit=Edit(step=2, old="accum=(k != 0)", new="accum=True"),
        verdict="hazard",
        kind="uninitialised-read",
        line=MMA,
        page_says=("tensor memory",),
    ),
    Wrong(
        name="accum=False on every tile",
        edit=Edit(step=2, old="accum=(k != 0)", new="accum=False"),
        verdict="hazard",
        kind="lost-result",
        line=MMA,
        page_says=("accum",),
    ),
    Wrong(
        name="tcgen05.alloc by one lane",
        edit=Edit(step=1, old=ALLOCATE, new=LANE_0 + "    " + ALLOCATE),
        verdict="fault",
        kind="illegal-convergence",
        line=ALLOC,
        page_says=("32",),
    ),
    Wrong(
        name="no dealloc",
        edit=Edit(
            step=1, old="                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)\n", new=""
        ),
        verdict="fault",
        kind="tmem-not-freed",
        line=ALLOC,
        page_says=("dealloc",),
    ),
    Wrong(
        name="dealloc before every warp has read",
        edit=Edit(step=1, old=CTA_SYNC + WARP_0 + RELINQUISH, new=WARP_0 + RELINQUISH),
        verdict="hazard",
        kind="race",
        line=(READ_TMEM, DEALLOC),
        page_says=("frees", "before tcgen05.dealloc"),
    ),
    Wrong(
        name="cta_sync inside an elected branch",
        edit=Edit(step=1, old=COMMIT, new=COMMIT + "                    Tx.cuda.cta_sync()  # by one thread\n"),
        verdict="deadlock",
        kind="deadlock",
        line="# by one thread",
        page_says=("elected", "cta_sync"),
    ),
    Wrong(
        name="barrier init under a guard that no thread satisfies",
        edit=Edit(step=1, old=LANE_0 + INIT, new="                if warp_id == 1:\n" + INIT),
        verdict="deadlock",
        kind="deadlock",
        line=WAIT,
        page_says=("mma_bar", "`warp_id == 0` and `warp_id == 1`"),
        also_shows=INIT.strip(),
    ),
    Wrong(
        name="256 KiB of shared memory",
        edit=Edit(step=1, old=POOL_COMMIT, new='            big = pool.alloc((262144,), "uint8")\n' + POOL_COMMIT),
        verdict="fault",
        kind="shared-memory-limit",
        line="big = pool.alloc",
        page_says=("232448 (227 KiB)",),
    ),
)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))


def test_a_missing_after_thread_sync_is_a_warning(tmp_path: Path) -> None:
    edit = Edit(1, "phase_mma)\n            Tx.ptx.tcgen05.fence.after_thread_sync()\n", "phase_mma)\n")
    report = simulate(edit.kernel(tmp_path), 1)
    assert report.verdict == "ok", str(report)
    assert [(f.kind, f.severity) for f in report.findings] == [("missing-tcgen05-fence", "warning")], str(report)
    (finding,) = report.findings
    assert finding.span is not None and finding.span.user.line == edit.line_of(READ_TMEM)
    assert "after_thread_sync" in finding.diagnostic.render()


def test_b_read_at_the_offset_of_a_names_the_line(tmp_path: Path) -> None:
    edit = Edit(3, "B[n_st : n_st + BLK_N", "B[m_st : m_st + BLK_N")
    kernel = edit.kernel(tmp_path)
    A, B, D = prepare_data(*SHAPES[3], target="sim", arrays=True)
    run = compile_and_run(kernel, A, B, D, "sim")  # nothing is out of order: only the numbers are wrong
    with pytest.raises(WrongResult) as error:
        verify(A, B, D, run)
    page = str(error.value)
    assert max(map(len, page.splitlines())) <= 80
    assert page.startswith("kernel: wrong (1 error), ")
    text = " ".join(page.split())
    assert "multiplied rows 0-127 of B instead of rows 128-255" in text
    store = edit.line_of("Tx.copy(D[row")
    found = re.findall(r"wrong\.py:(\d+)", "".join(page.splitlines()))
    assert found == [str(store), str(edit.line_of("B[m_st"))]


REFUSED = (
    Refused(
        name="pool.alloc after commit",
        edit=Edit(step=1, old=POOL_COMMIT, new=POOL_COMMIT + '            late = pool.alloc((64,), "float32")\n'),
        line="late = pool.alloc",
        page_says=("commit",),
    ),
    Refused(
        name="a 96-wide slice copied into a 64-wide one",
        edit=Edit(
            step=3,
            old="Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, k * BLK_K : (k + 1) * BLK_K])",
            new="Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, k * BLK_K : k * BLK_K + 96])",
        ),
        line="BLK_K + 96",
        page_says=("96", "64"),
    ),
    Refused(
        name="an undefined name",
        edit=Edit(step=1, old="Tx.copy(Asmem[:, :], A[:, :])", new="Tx.copy(Asmen[:, :], A[:, :])"),
        line="Asmen",
        page_says=("Asmen", "Asmem"),
    ),
    Refused(
        name="a TODO that is not filled in",
        edit=Edit(step=1, old=CTA_SYNC + WARP_0 + RELINQUISH, new=TODO + WARP_0 + RELINQUISH),
        line="# TODO: synchronise",
        page_says=("TODO", "not filled in", "synchronise"),
    ),
)


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.name)
def test_the_compiler_refuses_the_mistake_at_its_line(refused: Refused, tmp_path: Path) -> None:
    assert_refused(refused, tmp_path)


def test_a_condition_with_and_is_right(tmp_path: Path) -> None:
    both = "            if warp_id == 0 and lane_id == 0:\n"
    edit = Edit(1, WARP_0 + ALLOCATE + LANE_0 + INIT, WARP_0 + ALLOCATE + both + INIT)
    report = simulate(edit.kernel(tmp_path), 1)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


@pytest.mark.parametrize("step", STEPS)
def test_the_references_themselves_have_no_findings(step: int) -> None:
    kernel = load_kernels(SOURCES[step])[step](*SHAPES[step])
    A, B, D = prepare_data(*SHAPES[step], target="sim", arrays=True)
    run = compile_and_run(kernel, A, B, D, "sim")
    assert run.report is not None and run.report.findings == (), str(run.report)
    verify(A, B, D, run)

"""The mistakes of steps 1 to 3: each is found, at the right line, and explained.

A wrong kernel is a reference with one edit, so what is tested is the edit and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.wrong_kernels import SHAPES, SOURCES, Edit, Wrong, assert_found, simulate
from tirx_mini.course import load_kernels
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower
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
        "no cta_sync between the copy and the MMA",
        Edit(1, CTA_SYNC + AFTER_THREAD_SYNC + "\n            # Mul", AFTER_THREAD_SYNC + "\n            # Mul"),
        "hazard", "race", MMA, ("Asmem", "cta_sync"), COPY_A,
    ),
    Wrong(
        "no commit",
        Edit(1, COMMIT, ""),
        "deadlock", "deadlock", WAIT, ("mma_bar", "commit"),
    ),
    Wrong(
        "waiting for the wrong phase",
        Edit(1, "phase_mma = 0", "phase_mma = 1"),
        "hazard", "uninitialised-read", READ_TMEM, ("tensor memory", "wait for the mbarrier of the MMA"),
    ),
    Wrong(
        "no wait before reading tensor memory",
        Edit(1, "            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)\n", ""),
        "hazard", "uninitialised-read", READ_TMEM, ("tensor memory", "wait for the mbarrier of the MMA"),
    ),
    Wrong(
        "phase not flipped in the K loop",
        Edit(2, "                phase_mma = phase_mma ^ 1\n", ""),
        "hazard", "race", MMA, ("Asmem", "wait for that MMA"), COPY_A,
    ),
    Wrong(
        "accum=True on the first tile",
        Edit(2, "accum=(k != 0)", "accum=True"),
        "hazard", "uninitialised-read", MMA, ("tensor memory",),
    ),
    Wrong(
        "accum=False on every tile",
        Edit(2, "accum=(k != 0)", "accum=False"),
        "hazard", "lost-result", MMA, ("accum",),
    ),
    Wrong(
        "tcgen05.alloc by one lane",
        Edit(1, ALLOCATE, LANE_0 + "    " + ALLOCATE),
        "fault", "illegal-convergence", ALLOC, ("32",),
    ),
    Wrong(
        "no dealloc",
        Edit(1, "                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)\n", ""),
        "fault", "tmem-not-freed", ALLOC, ("dealloc",),
    ),
    Wrong(
        "dealloc before every warp has read",
        Edit(1, CTA_SYNC + WARP_0 + RELINQUISH, WARP_0 + RELINQUISH),
        "fault", "tmem-access", READ_TMEM, ("cta_sync() before dealloc",), DEALLOC,
    ),
    Wrong(
        "cta_sync inside an elected branch",
        Edit(1, COMMIT, COMMIT + "                    Tx.cuda.cta_sync()  # by one thread\n"),
        "deadlock", "deadlock", "# by one thread", ("elected", "cta_sync"),
    ),
    Wrong(
        "barrier init under a guard that no thread satisfies",
        Edit(1, LANE_0 + INIT, "                if warp_id == 1:\n" + INIT),
        "deadlock", "deadlock", WAIT, ("mma_bar", "`warp_id == 0` and `warp_id == 1`"), INIT.strip(),
    ),
    Wrong(
        "256 KiB of shared memory",
        Edit(1, POOL_COMMIT, '            big = pool.alloc((262144,), "uint8")\n' + POOL_COMMIT),
        "fault", "shared-memory-limit", "big = pool.alloc", ("232448 (227 KiB)",),
    ),
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_it_is_found_where_it_is(wrong: Wrong, tmp_path: Path) -> None:
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
    A, B, D = prepare_data(*SHAPES[3], target="sim")
    run = compile_and_run(kernel, A, B, D, "sim")  # nothing is out of order: only the numbers are wrong
    with pytest.raises(WrongResult) as error:
        verify(A, B, D, run)
    page = str(error.value)
    assert "multiplied rows 0-127 of B, and should have multiplied rows 128-255" in page
    assert f"wrong.py:{edit.line_of('B[m_st')}" in page


REFUSED: dict[str, tuple[Edit, str, tuple[str, ...]]] = {
    "pool.alloc after commit": (
        Edit(1, POOL_COMMIT, POOL_COMMIT + '            late = pool.alloc((64,), "float32")\n'),
        "late = pool.alloc", ("commit",),
    ),
    "a 96-wide slice copied into a 64-wide one": (
        Edit(3, "Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, k * BLK_K : (k + 1) * BLK_K])",
             "Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, k * BLK_K : k * BLK_K + 96])"),
        "BLK_K + 96", ("96", "64"),
    ),
    "an undefined name": (
        Edit(1, "Tx.copy(Asmem[:, :], A[:, :])", "Tx.copy(Asmen[:, :], A[:, :])"),
        "Asmen", ("Asmen", "Asmem"),
    ),
    "a TODO that is not filled in": (
        Edit(1, CTA_SYNC + WARP_0 + RELINQUISH, TODO + WARP_0 + RELINQUISH),
        "# TODO: synchronise", ("TODO", "not filled in", "synchronise"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    edit, at, words = REFUSED[name]
    with pytest.raises(TirxError) as error:
        lower(edit.kernel(tmp_path))
    page = str(error.value)
    assert error.value.span is not None and error.value.span.user.line == edit.line_of(at), page
    for word in words:
        assert word in page, page


def test_and_works(tmp_path: Path) -> None:
    both = "            if warp_id == 0 and lane_id == 0:\n"
    edit = Edit(1, WARP_0 + ALLOCATE + LANE_0 + INIT, WARP_0 + ALLOCATE + both + INIT)
    report = simulate(edit.kernel(tmp_path), 1)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


@pytest.mark.parametrize("step", STEPS)
def test_the_references_themselves_have_no_findings(step: int) -> None:
    kernel = load_kernels(SOURCES[step])[step](*SHAPES[step])
    A, B, D = prepare_data(*SHAPES[step], target="sim")
    run = compile_and_run(kernel, A, B, D, "sim")
    assert run.report is not None and run.report.findings == (), str(run.report)
    verify(A, B, D, run)

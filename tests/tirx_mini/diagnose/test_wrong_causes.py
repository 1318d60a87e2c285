"""Mistakes whose consequences are more striking: the mistake is named first, and the help is for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import FREE, FULL, MMA
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate
from tirx_mini.course import Shape, check_kernel
from tirx_mini.report import plain, report_page
from tirx_mini.script import tirx as T

FIRST_SYNC = "Tx.cuda.warpgroup_sync(wg_id + 1)\n                    if warp_id == 0:"
NEXT = "                    # The next chunk overwrites Dsmem.\n"


def one_barrier(number: int) -> Edit:
    """Step 10 with one named barrier for both warpgroups."""
    sync = f"Tx.cuda.warpgroup_sync({number})"
    second = f"{NEXT}                    Tx.cuda.warpgroup_sync(wg_id + 1)"
    return Edit(
        step=10,
        old=FIRST_SYNC,
        new=FIRST_SYNC.replace("Tx.cuda.warpgroup_sync(wg_id + 1)", f"{sync}  # first"),
        then=((second, f"{NEXT}                    {sync}"),),
    )


ALLOC = "Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)"
FENCES = '            Tx.ptx.fence.proxy_async("shared::cta")\n            Tx.ptx.fence.mbarrier_init()\n'
SECOND_ALLOC = f"            if wg_id == 1:\n                if warp_id == 0:\n                    {ALLOC}  # again\n"

KERNELS = (
    *(
        Wrong(
            name=f"barrier {number} of two warpgroups",
            edit=one_barrier(number),
            verdict="deadlock",
            kind="race",
            line="# first",
            page_says=(f"barrier {number} is used by write-back (warp 0 of warpgroup 1)", "a barrier id of its own"),
        )
        for number in (1, 10)
    ),
    Wrong(
        name="no synchronisation after the TMA store",
        edit=Edit(step=7, old=f"{NEXT}                    Tx.cuda.warpgroup_sync(1)\n", new=""),
        verdict="hazard",
        kind="race",
        line="Tx.copy(Dsmem",
        page_says=("missing is the one after the TMA store", "line 129 orders the writes before the store only"),
    ),
    Wrong(
        name="no synchronisation after the TMA stores of two warpgroups",
        edit=Edit(step=10, old=f"{NEXT}                    Tx.cuda.warpgroup_sync(wg_id + 1)\n", new=""),
        verdict="hazard",
        kind="race",
        line="Tx.copy(Dsmem",
        page_says=("missing is the one after the TMA store",),
    ),
    Wrong(
        name="no synchronisation before the TMA store",
        edit=Edit(step=7, old="Tx.cuda.warpgroup_sync(1)\n                    if warp_id", new="if warp_id"),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(D[",
        page_says=("synchronise after the writes",),
    ),
    Wrong(
        name="a second allocation",
        edit=Edit(step=7, old=FENCES, new=SECOND_ALLOC + FENCES),
        verdict="deadlock",
        kind="deadlock",
        code="TX113",
        line=f"{ALLOC}  # again",
        page_says=("this CTA holds 512", "the CTA has allocated columns here before", "let one warp of a CTA allocate"),
        also_shows=f"{ALLOC}\n            if wg_id == 1",
    ),
    Wrong(
        name="an allocation by each warpgroup",
        edit=Edit(step=8, old=f"if wg_id == 0:\n                if warp_id == 0:\n                    {ALLOC}",
                  new=f"if wg_id < 2:\n                if warp_id == 0:\n                    {ALLOC}"),
        verdict="deadlock",
        kind="deadlock",
        code="TX113",
        line=ALLOC,
        page_says=("the CTA has allocated columns here before",),
    ),
    Wrong(
        name="one of two consumers does not wait for data",
        edit=Edit(step=10, old=FULL, new=f"if warp_id == 0:\n                                        {FULL}"),
        verdict="deadlock",
        kind="uninitialised-read",
        line=MMA,
        page_says=(
            "the MMA of warp 1 of warpgroup 2", "wait for the mbarrier of the TMA load",
            "MMA (warp 1 of warpgroup 2) of CTA 0 never waits for tma2mma[0]",
        ),
        also_shows=FULL,
    ),
    Wrong(
        name="one of two consumers does not wait for tensor memory",
        edit=Edit(
            step=10,
            old="ld2mma.wait(warp_id, ld_phase.phase)",
            new="if warp_id == 0:\n                                    ld2mma.wait(warp_id, ld_phase.phase)",
        ),
        verdict="hazard",
        kind="race",
        line=MMA,
        page_says=("columns 256 to 319", "no thread waits for ld2mma[1]"),
    ),
    Wrong(
        name="each CTA begins with the first tile",
        edit=Edit(step=6, old="tile_scheduler.init(bx)", new="tile_scheduler.init(0)"),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(D[",
        page_says=("its place is computed here, the same in each CTA",),
        also_shows="tile_scheduler.init(0)",
    ),
    Wrong(
        name="a result that stays in shared memory",
        edit=Edit(
            step=6,
            old='Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")',
            new="pass",
        ),
        verdict="fault",
        kind="nothing-written",
        code="TX502",
        line="def kernel(",
        page_says=("no thread writes D", "what the kernel computes gets as far as here"),
        also_shows="Tx.copy(Dsmem",
    ),
    Wrong(
        name="one slice of the accumulator is read again and again",
        edit=Edit(step=8, old="tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N]", new="tmem[:, :TMEM_LD_N]"),
        verdict="hazard",
        kind="lost-result",
        line=MMA,
        page_says=("columns 0 to 127 of tensor memory", "has read columns 64 to 127", "check the slices"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("wrong", KERNELS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_named_first(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))


def test_a_slice_that_nobody_reads_is_named_beside_a_wrong_result(tmp_path: Path) -> None:
    edit = Edit(step=8, old="tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N]", new="tmem[:, :TMEM_LD_N]")
    checked = check_kernel(edit.kernel(tmp_path, (128, 128, 256)))
    assert checked.wrong is not None and checked.wrong.code == "TX501"
    line = edit.line_of(MMA)
    expected = f"no thread reads columns 64 to 127 of tensor memory, which the MMA of line {line} writes"
    assert checked.report.unwritten == (expected,)
    assert checked.wrong.details["notes"][0][0] == expected


@T.prim_func
def each_warp_stores_its_lanes(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
    T.device_entry()
    tx = T.thread_id([128])
    D[tx % 32] = A[tx]


@T.prim_func
def each_cta_stores_its_threads(A: T.Buffer((256,), "float32"), D: T.Buffer((256,), "float32")):
    T.device_entry()
    bx = T.cta_id([2])
    tx = T.thread_id([128])
    D[tx] = A[bx * 128 + tx]


@pytest.mark.parametrize(
    ("kernel", "lacks"), [(each_warp_stores_its_lanes, "warp"), (each_cta_stores_its_threads, "CTA")]
)
def test_an_index_that_lacks_a_part_is_no_matter_of_synchronisation(kernel: tvm.PrimFunc, lacks: str) -> None:
    size = kernel.params[0].shape
    report = tvm.simulate(kernel, np.arange(size[0], dtype=np.float32), np.zeros(size, np.float32))
    hint = report.findings[0].details["hint"]
    assert f"its index lacks the number of the {lacks}, and no synchronisation" in hint
    assert report.unwritten


def test_barriers_have_the_names_of_their_variables(tmp_path: Path) -> None:
    names = "TCGen05Bar(pool, 1, {!r})\n            ld2mma = MBarrier(pool, 1, {!r})"
    edit = Edit(
        step=7,
        old=names.replace("!r", "").format('"mma2ld"', '"ld2mma"'),
        new=names.format("bar", "bar").replace("'", '"'),
        then=(("ld2mma.init(128)", "ld2mma.init(64)"),),
    )
    report = simulate(edit.kernel(tmp_path), 7)
    assert report.findings[0].message.startswith("ld2mma was initialised for 64 arrivals a phase, and 128 arrive")


DEADLOCKS = (
    Edit(step=7, old="tma2mma.init(1)", new="tma2mma.init(2)"),
    Edit(step=8, old="                                mma_phase.move_to_next_stage()\n", new=""),
    Edit(step=9, old="tma_phase.init(is_producer=True)", new="tma_phase.init(is_producer=False)"),
    Edit(step=7, old=FREE, new=f"{FREE}\n                            Tx.cuda.cta_sync()"),
    one_barrier(3),
)


@pytest.mark.parametrize("edit", DEADLOCKS, ids=lambda edit: f"step {edit.step}")
def test_the_page_of_a_deadlock_fits_a_screen(edit: Edit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # paths below the working directory are short
    report = simulate(edit.kernel(tmp_path), edit.step)
    assert report.verdict == "deadlock"
    page = plain(report_page(report)).splitlines()
    assert len(page) <= 52, "\n".join(page)


NEXT = "mma2ld.arrive(0, cta_group=1, cta_mask=1)\n                            tile_scheduler.next_tile()\n"


def test_a_state_that_is_advanced_twice_in_a_row_is_shown(tmp_path: Path) -> None:
    edit = Edit(step=7, old=NEXT, new=f"{NEXT}                            tile_scheduler.next_tile()\n")
    report = simulate(edit.kernel(tmp_path), edit.step)
    finding = report.findings[0]
    lines = [span.user.line for text, span in finding.details["notes"] if "advanced" in text and span is not None]
    first = edit.line_of(NEXT) + 1
    assert report.verdict == "deadlock" and lines == [first, first + 1], str(report)


ALL_BYTES = "TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE\n"
HALF_THE_BYTES = "TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE // 2\n"


@pytest.mark.parametrize(("step", "shape"), [(4, (256, 256, 320)), (5, None), (7, None)])
def test_half_of_the_bytes_is_one_cause_with_consequences(step: int, shape: Shape | None, tmp_path: Path) -> None:
    """Step 5 announces in a function that is inlined twice; step 4 hangs in its fourth round."""
    report = check_kernel(Edit(step, ALL_BYTES, HALF_THE_BYTES).kernel(tmp_path, shape)).report
    assert [finding.code for finding in report.causes] == ["TX106"], str(report)
    assert len(report.consequences) >= 2 and report.verdict == "deadlock"
    page = plain(report_page(report))
    assert page.count("error[") == 1 and f"{len(report.consequences)} consequences" in page
    assert plain(report_page(report, everything=True)).count("error[") == len(report.findings)


def test_a_fence_that_is_missing_is_no_consequence_of_wrong_bytes(tmp_path: Path) -> None:
    sync = "                    Tx.cuda.warpgroup_sync(1)"
    fence = f'                        Tx.ptx.fence.proxy_async("shared::cta")\n{sync}'
    kernel = Edit(7, ALL_BYTES, HALF_THE_BYTES, then=((fence, sync),)).kernel(tmp_path, (256, 256, 64))
    codes = [finding.code for finding in check_kernel(kernel).report.causes]
    assert codes[0] == "TX106" and "TX202" in codes, codes


def test_a_missing_wait_for_both_operands_is_one_finding(tmp_path: Path) -> None:
    report = check_kernel(Edit(7, "tma2mma.wait(mma_phase.stage, mma_phase.phase)", "pass").kernel(tmp_path)).report
    reads = [f for f in report.findings if f.details.get("operation") == "MMA" and f.kind == "race"]
    assert [f.details["buffer"] for f in reads] == ["Asmem and Bsmem"], str(report)


INNER_ARRIVE = Edit(
    step=7,
    old="                    ld2mma.arrive(0)\n                    store()",
    new="                    store()",
    then=(("                    # The next chunk overwrites Dsmem.\n", "                    ld2mma.arrive(0)\n"),),
)
ALLOC_TWICE = (
    "            if wg_id == 0:\n                if warp_id == 0:\n                    Tx.ptx.tcgen05.alloc",
    "            if warp_id == 0:\n                if True:\n                    Tx.ptx.tcgen05.alloc",
)


def test_what_hangs_now_comes_before_a_mistake_that_no_thread_has_got_to(tmp_path: Path) -> None:
    both = Edit(INNER_ARRIVE.step, INNER_ARRIVE.old, INNER_ARRIVE.new, (*INNER_ARRIVE.then, ALLOC_TWICE))
    report = simulate(both.kernel(tmp_path), 7)
    found = [(f.code, f.happened, bool(f.details.get("consequence"))) for f in report.errors]
    assert found == [("TX113", True, False), ("TX110", False, False)], str(report)
    assert "what follows from it" not in str(report)


def test_the_same_mistake_is_the_cause_where_its_barrier_was_used(tmp_path: Path) -> None:
    report = simulate(Edit(7, "tma2mma.init(1)", "tma2mma.init(2)").kernel(tmp_path), 7)
    assert [f.code for f in report.causes] == ["TX107"], str(report)


@pytest.mark.parametrize("step", [9, 10])
def test_a_missing_synchronisation_of_the_cluster_is_one_finding_of_both_ctas(step: int, tmp_path: Path) -> None:
    edit = Edit(
        step,
        "barriers of both CTAs are initialised.\n            Tx.cuda.cluster_sync()",
        "barriers of both CTAs are initialised.\n            Tx.cuda.cta_sync()  # one CTA",
    )
    report = simulate(edit.kernel(tmp_path), step)
    (finding,) = report.findings
    assert finding.code == "TX201" and "of CTA 1 uses tma2mma[0] of CTA 0" in finding.message
    line = edit.line_of("Tx.cuda.cta_sync()  # one CTA")
    assert f"the cta_sync() of line {line} orders CTA 0 only" in finding.message
    assert "cluster_sync()" in finding.details["hint"]


STEP_BACK = "advance the state (move_to_next_stage) behind the wait"


def advanced(step: int, indent: int, wait: str, state: str, between: str = "") -> Edit:
    """A reference whose role advances its state ahead of the wait. between: the lines from the wait to the advance."""
    wait, move = (f"{' ' * indent}{line}\n" for line in (wait, f"{state}.move_to_next_stage()"))
    return Edit(step, f"{wait}{between}{move}", f"{move.rstrip()}  # first\n{wait}{between}")


LOADED = f"{' ' * 32}tma_load(tma_phase.stage, k)\n"
FIRST = "  # first"


@pytest.mark.parametrize(
    ("edit", "line", "help"),
    [
        (advanced(7, 32, "mma2tma.wait(tma_phase.stage, tma_phase.phase)", "tma_phase", LOADED), FIRST, STEP_BACK),
        (advanced(9, 32, "mma2tma.wait(tma_phase.stage, tma_phase.phase)", "tma_phase", LOADED), FIRST, STEP_BACK),
        (advanced(7, 20, "mma2ld.wait(wb_phase.stage, wb_phase.phase)", "wb_phase"), FIRST, STEP_BACK),
        (advanced(7, 28, "ld2mma.wait(ld_phase.stage, ld_phase.phase)", "ld_phase"), FIRST, STEP_BACK),
        (Edit(7, "tma2mma.ptr_to([stage])})", "tma2mma.ptr_to([0])})"), "A[m_st", "mbar=tma2mma.ptr_to([stage])"),
        (Edit(9, "tma2mma_cta0.ptr_to([stage])})", "tma2mma.ptr_to([stage])})"), "tma2mma.wait(", "the leader's"),
    ],
    ids=["TMA role of step 7", "TMA role of step 9", "write-back", "MMA role", "one stage", "the local barrier"],
)
def test_a_help_does_not_recommend_what_the_code_has(edit: Edit, line: str, help: str, tmp_path: Path) -> None:
    report = simulate(edit.kernel(tmp_path), edit.step)
    finding = report.causes[0]
    assert help in finding.details["hint"], str(report)
    assert finding.span is not None and line in edit.source().splitlines()[finding.span.user.line - 1], str(report)

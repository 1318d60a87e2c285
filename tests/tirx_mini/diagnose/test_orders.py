"""Orders that no schedule shows by itself: each is found from what the kernel guarantees, not from what happened."""

from __future__ import annotations

from pathlib import Path

import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import simulate_on_hopper
from tirx_mini.course import Shape, load_kernels
from tirx_mini.diagnose import Report
from utils import prepare_data

REFERENCES = Path(__file__).parents[3] / "kernels_ref" / "sm100"
SEVERITIES = ("error", "warning")
SHAPES: dict[int, Shape] = {6: (256, 256, 192), 7: (256, 256, 320), 9: (512, 512, 320), 10: (512, 512, 320)}

BEFORE = "                    Tx.ptx.tcgen05.fence.before_thread_sync()\n"
ARRIVE = "                    ld2mma.arrive(0)\n"
FENCE = "            Tx.ptx.fence.mbarrier_init()\n"
SYNC = (
    "            # After this, the barriers of both CTAs are initialised.\n"
    "            Tx.cuda.cluster_sync()\n"
)
WAIT = "mma2tma.wait(tma_phase.stage, tma_phase.phase)\n                                tma_load"


def simulate_edited(step: int, old: str, new: str, tmp_path: Path) -> Report:
    """The reference of a step for a GPU of two SMs, so that CTAs compute several tiles, with one edit."""
    (source,) = REFERENCES.glob(f"step{step:02}*.py")
    text = source.read_text(encoding="utf-8").replace("SM_COUNT = 148", "SM_COUNT = 2")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {source.name}"
    path = tmp_path / "edited.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    kernel = load_kernels(path)[step](*SHAPES[step])
    return tvm.simulate(kernel, *prepare_data(*SHAPES[step], target="sim", arrays=True))


@pytest.mark.parametrize("step", [7, 9])
def test_a_wait_for_another_stage_may_come_too_late(step: int, tmp_path: Path) -> None:
    """In every likely schedule the wait passes; a TMA warp that is late finds the phase gone, and waits for ever."""
    other = WAIT.replace("stage, ", "stage ^ 1, ")
    report = simulate_edited(step, WAIT, other, tmp_path)
    assert report.verdict == "hazard", str(report)
    finding = report.findings[0]
    assert finding.span is not None and "mma2tma.wait" in finding.diagnostic.render()
    if step == 7:  # of two stages, the other one is the next one
        assert finding.code == "TX120" and "is not for the stage that its role fills" in finding.message, str(report)
        return
    assert finding.kind == "race" and "nothing keeps the next phase" in finding.message, str(report)
    assert finding.details["barrier"].startswith("mma2tma")
    ((text, span),) = finding.details["notes"]
    assert "commit" in text and span is not None


@pytest.mark.parametrize("new", ["", "after the arrival"])
def test_before_thread_sync_stands_between_the_reads_and_the_arrival(new: str, tmp_path: Path) -> None:
    report = simulate_edited(7, BEFORE + ARRIVE, ARRIVE + (BEFORE if new else ""), tmp_path)
    assert report.verdict == "ok", str(report)
    assert [(f.kind, f.severity) for f in report.findings] == [("missing-tcgen05-fence", "warning")], str(report)
    finding = report.findings[0]
    page = finding.diagnostic.render()
    assert "before_thread_sync" in finding.message and "before_thread_sync" in finding.details["hint"]
    assert "Tx.gemm_async(" in page and "Tx.copy(Dreg_wg" in page


def test_a_barrier_of_the_cta_needs_before_thread_sync_too(tmp_path: Path) -> None:
    report = simulate_edited(6, BEFORE[4:], "", tmp_path)
    assert [(f.kind, f.severity) for f in report.findings] == [("missing-tcgen05-fence", "warning")], str(report)


@pytest.mark.parametrize("new", [SYNC, SYNC + FENCE])
def test_the_fence_of_initialised_barriers_comes_before_the_cluster_synchronises(new: str, tmp_path: Path) -> None:
    report = simulate_edited(9, FENCE + SYNC, new, tmp_path)
    assert report.verdict == "hazard", str(report)
    assert {f.kind for f in report.findings} == {"missing-mbarrier-fence"}, str(report)
    by_severity = {severity: [f.message for f in report.findings if f.severity == severity] for severity in SEVERITIES}
    assert all("asynchronous operation" in message for message in by_severity["error"])
    assert all("another CTA" in message for message in by_severity["warning"])


ORDERED = {
    "a wait for the wrong phase": (
        "mma2ld.wait(wb_phase.stage, wb_phase.phase)", "mma2ld.wait(wb_phase.stage, 0)",
        "TX109", ("waits again for round 1 of mma2ld", "mma2ld.wait(wb_phase.stage, 0)"),
    ),
    "a wait that is not there": (
        "ld2mma.wait(ld_phase.stage, ld_phase.phase)", "pass",
        "TX201", ("no thread waits for ld2mma", "ld2mma.arrive("),
    ),
    "no wait for the first result": (
        "mma2ld.wait(wb_phase.stage, wb_phase.phase)", "pass",
        "TX207", ("no thread waits for mma2ld", "mma2ld.arrive("),
    ),
    "a wait that passes too early": (
        "wb_phase.init(is_producer=False)", "wb_phase.init(is_producer=True)",
        "TX108", ("the first wait of write-back (warp 0 of warpgroup 0) for mma2ld passes at once", "mma2ld.wait("),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_the_page_of_a_race_shows_the_barrier_that_is_there_for_it(name: str, tmp_path: Path) -> None:
    old, new, code, words = ORDERED[name]
    report = simulate_edited(7, old, new, tmp_path)
    finding = report.findings[0]
    page = finding.diagnostic.render()
    assert finding.code == code, page
    for word in words:
        assert word in page, page


def test_the_page_says_that_one_thread_alone_has_waited(tmp_path: Path) -> None:
    """On Hopper, all threads issue the MMAs, and the elected one of step 4 for Blackwell is not enough."""
    wait = "                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)\n"
    alone = "                if lane_id == 0:\n    " + wait
    report = simulate_on_hopper(HopperEdit(step=4, old=wait, new=alone), tmp_path)
    notes = [text for text, _ in report.findings[0].details["notes"]]
    assert report.findings[0].code == "TX201"
    assert any("only one thread of warp 0 of CTA" in note and "waits for it here" in note for note in notes), report


def test_a_barrier_that_a_warp_signals_and_awaits_itself_is_not_named(tmp_path: Path) -> None:
    """Warp 0 of step 4 for Hopper makes the arrival of tma_bar and waits for it; Dsmem is not handed over by that."""
    copy = "                    Tx.copy(Dsmem[:, :], D_16b[:, :])\n"
    sync = copy + "                Tx.cuda.cta_sync()\n"
    report = simulate_on_hopper(HopperEdit(step=4, old=sync, new=copy), tmp_path)
    (finding,) = report.findings
    assert finding.code == "TX201" and "TMA store" in finding.message
    assert "tma_bar" not in finding.diagnostic.render(), report


def test_two_warpgroups_that_share_a_named_barrier_may_meet(tmp_path: Path) -> None:
    """Their rounds do not mix as long as one is much ahead of the other: luck, that the verdict must not rest on."""
    old = 'Tx.ptx.fence.proxy_async("shared::cta")\n                    Tx.cuda.warpgroup_sync(wg_id + 1)\n'
    report = simulate_edited(10, old, old.replace("wg_id + 1", "0"), tmp_path)
    assert report.verdict == "hazard", str(report)
    finding = report.findings[0]
    assert finding.kind == "race" and "barrier 0" in finding.message, str(report)
    assert "barrier id of its own" in finding.details["hint"]
    assert "warpgroup_sync(0)" in finding.diagnostic.render()


@pytest.mark.parametrize("step", SHAPES)
def test_the_references_keep_every_order(step: int, tmp_path: Path) -> None:
    report = simulate_edited(step, "SM_COUNT = 2", "SM_COUNT = 2 ", tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)

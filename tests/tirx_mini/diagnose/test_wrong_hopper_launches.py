"""The mistakes with launches and registers of Hopper's step 10: griddepcontrol and setmaxnreg."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_named, simulate_on_hopper
from tirx_mini.passes import lower

GRID_WAIT = "                        Tx.ptx.griddepcontrol.wait()\n"
LOAD = "                                tma_load(tma_phase.stage, k)\n"

LAUNCHES = (
    Wrong(
        name="the kernel before is waited for after the first load",
        edit=HopperEdit(step=10, old=GRID_WAIT, new="", then=((LOAD, f"{LOAD}        {GRID_WAIT}"),)),
        verdict="hazard",
        kind="missing-grid-wait",
        code="TX213",
        line="Tx.copy_async(Asmem",
        page_says=("no griddepcontrol.wait before it",),
    ),
    Wrong(
        name="the kernel before is waited for by the consumers",
        edit=HopperEdit(
            step=10,
            old=GRID_WAIT,
            new="",
            then=(("                last = 0\n", "                last = 0\n" + GRID_WAIT[8:]),),
        ),
        verdict="hazard",
        kind="missing-grid-wait",
        code="TX213",
        line="Tx.copy_async(Asmem",
        page_says=("no griddepcontrol.wait before it",),
    ),
)

REGISTERS = (
    Wrong(
        name="more registers than there are",
        edit=HopperEdit(
            step=10, old="PRODUCER_REGS, CONSUMER_REGS = 24, 240", new="PRODUCER_REGS, CONSUMER_REGS = 40, 240"
        ),
        verdict="deadlock",
        kind="deadlock",
        line="Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
        page_says=("168 registers a thread", "lower setmaxnreg"),
    ),
    Wrong(
        name="setmaxnreg by one warp",
        edit=HopperEdit(
            step=10,
            old="                Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)\n                if warp_id == 0:\n",
            new="                if warp_id == 0:\n                    Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)\n",
        ),
        verdict="deadlock",
        kind="deadlock",
        line="Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
    ),
    Wrong(
        name="a number of registers that is not a multiple of 8",
        edit=HopperEdit(
            step=10, old="PRODUCER_REGS, CONSUMER_REGS = 24, 240", new="PRODUCER_REGS, CONSUMER_REGS = 24, 236"
        ),
        verdict="fault",
        kind="illegal-instruction",
        line="Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
        page_says=("multiple of 8",),
    ),
)


@pytest.mark.parametrize("wrong", (*LAUNCHES, *REGISTERS), ids=lambda wrong: f"{wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_named(wrong, simulate_on_hopper(wrong.edit, tmp_path))


def test_a_kernel_that_does_not_wait_for_the_one_before_begins_after_it(tmp_path: Path) -> None:
    """Without griddepcontrol.wait nothing is wrong: the launch is an ordinary one, and no time is won."""
    reference, dropped = HopperEdit(10), HopperEdit(10, GRID_WAIT, "")
    launches = [lower(edit.kernel(tmp_path)).launch for edit in (reference, dropped)]
    assert [launch and launch.programmatic for launch in launches] == [True, False]
    report = simulate_on_hopper(dropped, tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)

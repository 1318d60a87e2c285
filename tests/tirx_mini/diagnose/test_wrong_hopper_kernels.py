"""What goes wrong on Hopper, and how it is told: a Hopper reference with one edit, and the finding that it leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.wrong_hopper_kernels import GRID_WAIT, NEXT_TILE, SHAPES, WRONG, Wrong
from tirx_mini.course import Shape, load_kernels
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from utils import WrongResult, prepare_data, verify


def kernel_of(wrong: Wrong, folder: Path) -> PrimFunc:
    path = folder / "wrong.py"
    path.write_text(wrong.source(), encoding="utf-8")
    return load_kernels(path)[wrong.step](*SHAPES[wrong.step])


def simulated(wrong: Wrong, folder: Path) -> Report:
    A, B, D = prepare_data(*SHAPES[wrong.step], target="sim")
    return tvm.simulate(kernel_of(wrong, folder), A, B, D, gpu="h100")


def edited(*edits: tuple[str, str]) -> Wrong:
    """Step 10 with edits that lead to no finding."""
    return Wrong("", 10, edits, "ok", "", "", ())


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.step}: {wrong.name}")
def test_the_mistake_is_found_where_it_is(wrong: Wrong, tmp_path: Path) -> None:
    report = simulated(wrong, tmp_path)
    assert report.verdict == wrong.verdict, str(report)
    lines = wrong.source().splitlines()
    found = [f for f in report.errors if f.kind == wrong.kind and f.span and wrong.at in lines[f.span.user.line - 1]]
    assert found, str(report)
    assert wrong.code in found[0].code
    for words in wrong.words:
        assert words in found[0].diagnostic.render()


@pytest.mark.parametrize("step", sorted(SHAPES))
def test_the_references_that_are_edited_are_clean(step: int, tmp_path: Path) -> None:
    report = simulated(Wrong("", step, (), "ok", "", "", ()), tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


def test_a_kernel_that_does_not_wait_for_the_one_before_begins_after_it(tmp_path: Path) -> None:
    """Without griddepcontrol.wait nothing is wrong: the launch is an ordinary one, and no time is won."""
    reference, dropped = edited(), edited((GRID_WAIT, ""))
    launches = [lower(kernel_of(wrong, tmp_path)).launch for wrong in (reference, dropped)]
    assert [launch and launch.programmatic for launch in launches] == [True, False]
    report = simulated(dropped, tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


def test_a_tile_written_where_the_next_one_is_shows_in_the_result(tmp_path: Path) -> None:
    """The scheduler may go on before the write-back: no rule is broken, but D is wrong."""
    wrong = edited((f"write_back()\n{NEXT_TILE}", f"{NEXT_TILE.lstrip()}                    write_back()\n"))
    A, B, D = prepare_data(*SHAPES[10], target="sim")
    assert tvm.simulate(kernel_of(wrong, tmp_path), A, B, D, gpu="h100").verdict == "ok"
    with pytest.raises(WrongResult, match="of D is wrong"):
        verify(A, B, D)


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("shape", [SHAPES[9], (1024, 1024, 512)])
def test_a_count_that_is_too_low_is_named_in_every_order(shape: Shape, seed: int, tmp_path: Path) -> None:
    (wrong,) = (wrong for wrong in WRONG if wrong.edits == (("mma2tma.init(CLUSTER)", "mma2tma.init(1)"),))
    (tmp_path / "wrong.py").write_text(wrong.source(), encoding="utf-8")
    kernel = load_kernels(tmp_path / "wrong.py")[9](*shape)
    report = tvm.simulate(kernel, *prepare_data(*shape, target="sim"), gpu="h100", seed=seed)
    (deadlock,) = (finding for finding in report.findings if finding.kind == "deadlock")
    assert deadlock.code == "TX116" and "mma2tma[" in deadlock.message, str(report)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name", ["no wait for the turn: a stage is multiplied that is not loaded", "both consumers begin"]
)
def test_consumers_out_of_turn_are_no_wrong_count(name: str, seed: int, tmp_path: Path) -> None:
    """Two arrive where one should. First comes what shows why: the waits that nothing held, what they let through."""
    (wrong,) = (wrong for wrong in WRONG if wrong.name == name)
    report = tvm.simulate(kernel_of(wrong, tmp_path), *prepare_data(*SHAPES[10], target="sim"), gpu="h100", seed=seed)
    codes = [finding.code for finding in report.findings]
    assert codes[0] in ("TX201", "TX207") and not {"TX109", "TX116", "TX120"} & {*codes}, str(report)


@pytest.mark.parametrize(
    ("edit", "message", "hint"),
    [
        (
            (
                "            with Tx.warpgroup():\n                Tx.ptx.wgmma.fence()",
                "            with Tx.cta():\n                Tx.ptx.wgmma.fence()",
            ),
            "must issue it, but the call is in cta scope",
            "with Tx.warpgroup():",
        ),
        (
            (
                "D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)",
                "from tirx_mini.layout import tcgen05_ld_layout\n    D_fragment = tcgen05_ld_layout(BLK_N)",
            ),
            "does not have the layout of wgmma's accumulators",
            "wgmma_accumulator_layout(128, 128)",
        ),
        (
            ('Dreg = Tx.alloc_local((DREG_N,), "float32")', "Dreg = Tx.alloc_local((DREG_N,), dtype)"),
            "into float32",
            "",
        ),
    ],
)
def test_what_the_rule_refuses(edit: tuple[str, str], message: str, hint: str, tmp_path: Path) -> None:
    wrong = Wrong("", 1, (edit,), "fault", "lowering", "", ())
    path = tmp_path / "wrong.py"
    path.write_text(wrong.source(), encoding="utf-8")
    with pytest.raises(TirxError) as caught:
        lower(load_kernels(path)[1](128, 128, 64))
    assert message in str(caught.value) and hint in str(caught.value)

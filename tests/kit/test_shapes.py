"""The shapes of the step tests that show what squares and single tiles hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini import SimulationError
from tirx_mini.commands.check import main as check
from tirx_mini.commands.ladder import main as ladder
from tirx_mini.course import STEPS, Shape, load_kernels, steps_from
from tirx_mini.hardware import gpu_spec
from tirx_mini.passes import lower
from utils import WrongResult, compile_and_run, prepare_data, verify

PERSISTENT = tuple(number for number, step in STEPS.items() if step.rounds)
WB = "                    wb_phase.move_to_next_stage()\n"
HIDDEN = {
    "a swapped grid": (3, "parent=\"kernel\")", "parent=\"kernel\")[::-1]", (256, 256, 256)),
    "K tiles counted in M": (4, "K_TILES = K // BLK_K", "K_TILES = M // BLK_K", (256, 256, 256)),
    "K tiles counted in N": (5, "K_TILES = K // BLK_K", "K_TILES = N // BLK_K", (256, 256, 256)),
    "a phase that is right for the first tile only": (7, WB, "", (256, 256, 256)),
    "a scheduler with M and N exchanged": (
        6, "num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N", "num_m_tiles=N // BLK_N, num_n_tiles=M // BLK_M",
        (256, 256, 256),
    ),
}  # fmt: skip


def ran(path: Path, step: int, shape: Shape, sms: int | None = None) -> None:
    """Build the step's kernel in a file, run it, and judge its result, as a step test does."""
    data = prepare_data(*shape, target="sim", arrays=True)
    run = compile_and_run(load_kernels(path, sms=sms)[step](*shape), *data, "sim", sms=sms)
    verify(*data, run)


@pytest.mark.parametrize("mistake", HIDDEN)
def test_a_mistake_that_a_square_hides_is_found_by_the_other_shapes(mistake: str, tmp_path: Path) -> None:
    step, old, new, square = HIDDEN[mistake]
    text = SOURCES[step].read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "mine.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    ran(path, step, square)
    course = STEPS[step]
    assert course.oblong is not None
    found = 0
    for shape, sms in ((course.oblong, None), *((few.shape, few.sms) for few in [*course.rounds.values()][:1])):
        try:
            ran(path, step, shape, sms)
        except (SimulationError, WrongResult):
            found += 1
    assert found


@pytest.mark.parametrize("arch", ["sm100", "sm90"])
@pytest.mark.parametrize("step", steps_from(3))
def test_the_oblong_shape_has_three_extents_in_whole_tiles(step: int, arch: str) -> None:
    shape = STEPS[step].oblong
    assert shape is not None and len(set(shape)) == 3
    assert all(extent % tile == 0 for extent, tile in zip(shape, STEPS[step].tile(arch), strict=True))


@pytest.mark.parametrize("step", PERSISTENT)
def test_few_sms_leave_every_cta_three_tiles(step: int) -> None:
    few, (m, n, _) = STEPS[step].rounds["sm100"], STEPS[step].tile("sm100")
    clusters = few.sms // (2 if step >= 9 else 1)
    assert few.shape[0] // m * (few.shape[1] // n) >= 3 * clusters


@pytest.mark.parametrize("step", PERSISTENT)
@pytest.mark.parametrize("arch", ["sm100", "sm90"])
def test_a_kernel_file_takes_the_number_of_sms(step: int, arch: str) -> None:
    few, all_sms = STEPS[step].rounds[arch], gpu_spec("b200" if arch == "sm100" else "h100").sms
    kernels = [load_kernels("kernels_ref", arch, sms=sms)[step](*few.shape) for sms in (None, few.sms)]
    whole, part = (lowered.launch.num_ctas for lowered in map(lower, kernels) if lowered.launch is not None)
    assert whole * few.sms == part * all_sms


def test_the_commands_model_few_sms(capsys: pytest.CaptureFixture[str]) -> None:
    assert check([f"{SOURCES[7]}:hgemm_v7", "--shape", "256,384,128", "--sms", "2"]) == 0
    assert ladder(["--steps", "6", "--size", "256", "--sms", "2", "--jobs", "1"]) == 0
    assert "ok" in capsys.readouterr().out
    assert check([f"{SOURCES[7]}:hgemm_v7", "--sms", "149"]) == 2
    assert "B200 has 148 SMs: --sms takes 1 to 148, not 149" in " ".join(capsys.readouterr().out.split())

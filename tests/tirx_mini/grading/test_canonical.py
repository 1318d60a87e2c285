"""The key of a kernel: blind to names, lines and hints, and to nothing else."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, load_kernels
from tirx_mini.grading import kernel_key
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.saved import load_json, save_json

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"


def built(path: Path, step: int, size: int = 512, folder: str = "sm100") -> PrimFunc:
    return lower(load_kernels(path, folder)[step](*STEPS[step].shape(size)))


def edited(tmp_path: Path, step: int, *edits: tuple[str, str]) -> PrimFunc:
    """A reference with pieces of its text replaced."""
    (source,) = (REFERENCES / "sm100").glob(f"step{step:02}_*.py")
    text = source.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"kernel{len(list(tmp_path.iterdir()))}.py"
    path.write_text(text)
    return built(path, step)


@pytest.mark.parametrize("folder", ["sm100", "sm90"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kernel_that_was_saved_has_the_same_key(step: int, folder: str) -> None:
    kernel = load_kernels(REFERENCES, folder)[step](*STEPS[step].shape(1024))
    assert kernel_key(lower(kernel)) == kernel_key(lower(load_json(save_json(kernel))))


def test_names_lines_and_hints_do_not_count(tmp_path: Path) -> None:
    other = edited(
        tmp_path, 4, ("Asmem", "tile_of_a"), ("phase_tma", "parity"), ("            m_st =", "\n\n            m_st ="),
        ("            write_back()\n", '            Tx.hint("now the write-back")\n            write_back()\n'),
    )  # fmt: skip
    assert kernel_key(other) == kernel_key(built(REFERENCES, 4))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("accum=(k != 0)", "accum=(k != 1)"),
        ("phase_tma ^ 1", "phase_tma ^ 0"),
        ("mbarrier.init(tma_bar.ptr_to([0]), 1)", "mbarrier.init(mma_bar.ptr_to([0]), 1)"),
        ("n_cols=512", "n_cols=256"),
    ],
)
def test_anything_that_a_gpu_sees_counts(tmp_path: Path, old: str, new: str) -> None:
    assert kernel_key(edited(tmp_path, 4, (old, new))) != kernel_key(built(REFERENCES, 4))


def test_every_reference_has_a_key_of_its_own() -> None:
    keys = [kernel_key(built(REFERENCES, step, 1024, folder)) for folder in ("sm100", "sm90") for step in STEPS]
    assert all(one != other for one, other in combinations(keys, 2))


def test_which_buffer_is_meant_counts(tmp_path: Path) -> None:
    swapped = edited(tmp_path, 3, ("Asmem[:, :], Bsmem[:, :], accum", "Bsmem[:, :], Asmem[:, :], accum"))
    assert kernel_key(swapped) != kernel_key(built(REFERENCES, 3))

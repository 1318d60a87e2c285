"""Pages of real kernels: what the simulator records of the references is shown, and a hang ends where it hangs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kernels_ref.edits import Edit
from tirx_mini.commands.trace import main

Show = Callable[..., Any]


def page_of(source: Path | str, step: int, size: int, folder: Path) -> str:
    """What `trace` writes of a step's kernel in that file."""
    out = folder / "page.html"
    main([f"{source}:hgemm_v{step}", "--size", str(size), "-o", str(out)])
    return out.read_text(encoding="utf-8")


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Path]:
    """The reference of a step in a file, with one edit or none."""

    def written(step: int, *edit: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(Edit(step, *edit).source(), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("step", "lanes"),
    [
        (3, ["all roles", "tensor core"]),
        (5, ["all roles", "TMA loads", "tensor core", "write-back", "TMA stores"]),
        (7, ["TMA", "TMA loads", "MMA", "tensor core", "write-back", "TMA stores"]),
        (10, ["TMA", "TMA loads", "MMA", "tensor core", "write-back 0", "write-back 1", "TMA stores"]),
    ],
)
def test_a_step_has_the_lanes_of_its_roles_and_its_tiles(
    show: Show, kernel: Callable[..., Path], tmp_path: Path, step: int, lanes: list[str]
) -> None:
    page = show(page_of(kernel(step), step, 512, tmp_path))
    assert page.title() == f"hgemm_v{step}, size 512"
    shown = page.locator("#labels .lane span").all_inner_texts()
    assert [name for name in lanes if name in shown] == lanes
    assert page.locator("#bound").inner_text().startswith("Bound by ")
    page.locator("#tab-bound").click()
    shares = page.locator("#panel-bound table").first.locator("td:nth-child(3)").all_inner_texts()
    assert sum(int(share.split()[0]) for share in shares) == pytest.approx(100, abs=len(shares) / 2)
    page.locator("#tab-wave").click()
    tiles = re.findall(r"^(\d+) tiles? on", page.locator("#panel-wave .lead").inner_text())
    area = {3: 128 * 128, 5: 128 * 128, 7: 128 * 128, 10: 256 * 256}
    assert int(tiles[0]) == 512 * 512 // area[step]


def test_a_kernel_that_hangs_shows_what_each_warp_waits_for(
    show: Show, kernel: Callable[..., Path], tmp_path: Path
) -> None:
    page = show(page_of(kernel(7, "tma2mma.init(1)", "tma2mma.init(2)"), 7, 256, tmp_path))
    assert "error[TX107]: tma2mma[0] was initialised for 2 arrivals" in page.locator("#findings").inner_text()
    assert "mma2tma[0]" in page.locator("#labels .strip span").all_inner_texts()
    page.locator("#labels .lane", has_text="TMA").first.focus()
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    assert page.locator("#live").inner_text().startswith("waits for mma2tma[0].")
    assert "it waits for ever" in page.locator("#live").inner_text()

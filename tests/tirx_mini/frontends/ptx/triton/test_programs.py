"""Programs of Triton, unmodified, on simulated GPUs: results as PyTorch's, and no false alarm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_mini.__main__ import main

pytest.importorskip("triton")
pytestmark = pytest.mark.torch
HERE = Path(__file__).parent


def checks() -> Iterator[tuple[str, str]]:
    for file in ("elementwise.py", "products.py", "descriptors.py", "gluon_programs.py", "gluon_pipelines.py"):
        yield from ((file, name) for name in re.findall(r"^def check_(\w+)", (HERE / file).read_text(), re.MULTILINE))


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize(("file", "name"), list(checks()))
def test_a_program_is_right(file: str, name: str, gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--strict", "--gpu", gpu, str(HERE / file), name]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("seed", "code", "line"),
    [
        ("wait", "TX207", "value = tile.load(layout) * 2"), ("phase", "TX108", "mbarrier.wait("),
        ("store_wait", "TX201", "tma.async_copy_global_to_shared(x"), ("bytes", "TX106", "mbarrier.wait("),
        ("expect", "TX103", "mbarrier.wait("), ("count", "TX107", "mbarrier.wait("),
    ],
)  # fmt: skip
def test_a_mistake_of_barriers_is_at_its_line(
    seed: str, code: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--strict", "--gpu", "h100", str(HERE / "seeded.py"), seed]) == 1
    page = capsys.readouterr().err.partition(f"error[{code}]")[2].splitlines()
    assert "seeded.py:" in page[1] and line in page[3]


@pytest.mark.parametrize(
    ("gpu", "check", "seed", "reads"),
    [("h100", "persistent", "early", "wgmma of warp 0"), ("b200", "roles", "arrive", "the MMA of warp 3")],
)
def test_a_stage_that_is_loaded_before_its_product_is_a_race(
    gpu: str, check: str, seed: str, reads: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--strict", "--gpu", gpu, str(HERE / "gluon_pipelines.py"), check, seed]) == 1
    page = capsys.readouterr().err
    assert "error[TX201]" in page and reads in page and "B.index(s)" in page


RACE = """
import torch, triton, triton.language as tl
@triton.jit
def bump(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) + tl.program_id(0))
x = torch.zeros(128, device="cuda")
bump[(2,)](x, N=128)
"""


def test_check_reports_the_launches_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "race.py"
    path.write_text(RACE)
    assert main(["check", "--gpu", "h100", str(path)]) == 1
    said = capsys.readouterr().out
    assert "TX201" in said and "race.py:6" in "".join(said.split())  # a long path is broken
    assert main(["check", f"{path}:other"]) == 2
    assert "launches no kernel called other" in " ".join("".join(capsys.readouterr()).split())
    assert main(["check", str(path), "--grid", "4"]) == 2
    assert "launches its kernels itself" in " ".join("".join(capsys.readouterr()).split())
    path.write_text(RACE.replace("(2,)", "(1,)"))
    assert main(["check", "--gpu", "h100", str(path)]) == 0


def test_a_race_that_did_not_show_is_a_warning_of_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "race.py"
    path.write_text(RACE)
    assert main(["run", "--gpu", "h100", str(path)]) == 0
    assert "warning[TX201]" in capsys.readouterr().err

"""``python -m tirx_mini tileir``, and lesson 11 of inspect: every level, the passes, and bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.__main__ import main
from tirx_mini.frontends.tile_ir.programs import TILE_PROGRAMS, tile_program
from tirx_mini.tile_ir import compile

PROGRAM = """
import cuda.tile as ct
import numpy as np

@ct.kernel
def scale(x, factor, N: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (N,)) * factor)

@ct.kernel
def never_launched(x, N: ct.Constant[int]):
    ct.store(x, (0,), ct.zeros((N,), ct.float32))

x = np.full(64, 3, np.float32)
ct.launch(None, (4,), scale, (x, 2.0, 16))
assert (x == 3).all()
"""


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert main(list(arguments)) == status
    return capsys.readouterr()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return str(path)


@pytest.mark.torch
@pytest.mark.parametrize("name", TILE_PROGRAMS)
def test_every_program_of_the_course_compiles(name: str) -> None:
    launch = tile_program(name, 256)
    assert compile(launch.kernel, launch.args, "h100").text().startswith(f"cuda_tile.module @{launch.kernel.__name__}")


@pytest.mark.parametrize(("stage", "words"), [
    ("cuda_tile", "load_view_tko weak %A_tiles[%block_x, %k]"), ("nv_tileaa", "tiled_load"), ("nv_tileas", "#linear"),
    ("tir", "@Tx.prim_func"), ("lowered", "@Tx.prim_func"),
    pytest.param("cuda", "__global__", marks=pytest.mark.compiler),
])  # fmt: skip
def test_each_level_is_shown(capsys: pytest.CaptureFixture[str], stage: str, words: str) -> None:
    out, notes = shown(capsys, "tileir", "gemm", "256", "--stage", stage, "--gpu", "h100")
    assert words in out and notes == ""


def test_lesson_11_is_the_gemm(capsys: pytest.CaptureFixture[str]) -> None:
    lesson, _ = shown(capsys, "inspect", "11", "256")
    assert lesson == shown(capsys, "tileir", "gemm", "256")[0]
    assert "softmax_row" in shown(capsys, "inspect", "11", "softmax", "256")[0]


def test_a_kernel_of_a_file_has_the_arguments_that_it_is_launched_with(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    out, _ = shown(capsys, "tileir", f"{file}:scale")
    assert "tensor_view<64xf32" in out and "tile=(16)" in out


def test_arguments_can_be_given(capsys: pytest.CaptureFixture[str], file: str) -> None:
    out, _ = shown(capsys, "tileir", f"{file}:scale", "--args", "float64[128], 2.0, 32")
    assert "tensor_view<128xf64" in out and "tile=(32)" in out


def test_the_compiler_is_told_what_to_choose(capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--stage", "nv_tileas", "--gpu", "h100", "--agents", "unspecialized", "--num-stages", "3")
    out, _ = shown(capsys, "tileir", "gemm", "512", *told)
    assert "pipeline<3, tma" in out and "elect_one" in out and "agent_switch" not in out


def test_passes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(capsys, "tileir", "vector_add", "64", "--print-before-all")
    assert out.startswith("// before convert-cudatile-to-tileaa\ncuda_tile.module")
    after, _ = shown(capsys, "tileir", "vector_add", "64", "--print-after", "convert-cudatile-to-tileaa")
    assert after == shown(capsys, "tileir", "vector_add", "64", "--stage", "nv_tileaa")[0]
    changes, _ = shown(capsys, "tileir", "vector_add", "64", "--diff")
    assert "+++ after convert-cudatile-to-tileaa" in changes


@pytest.mark.parametrize(("arguments", "words"), [
    (["gem"], "there is no tile program 'gem'"), (["nowhere.py:k"], "does not exist"),
    (["FILE"], "which kernel?"), (["FILE:scales"], "it has scale, never_launched"),
    (["FILE:never_launched"], "give its arguments"), (["FILE:scale", "--args", "float17[4]"], "not a dtype"),
    (["FILE:scale", "--args", "float32(4)"], "not an argument"),
    (["gemm", "64", "--print-after", "no"], "no pass 'no'"),
    (["gemm", "64", "--grid", "x"], "one to three numbers"), (["gemm", "64", "--gpu", "tpu"], "tpu"),
    (["gemm", "64", "--num-warps", "3"], "it is 1, 2, 4, 8 or 16"),
])  # fmt: skip
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], file: str, arguments: list[str], words: str
) -> None:
    _, error = shown(capsys, "tileir", *(a.replace("FILE", file) for a in arguments), status=2)
    assert error.startswith("error: ") and words in error


def test_a_mistake_in_the_program_is_a_page(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, error = shown(capsys, "tileir", f"{file}:scale", "--args", "float32[64], 2.0, 12", status=1)
    assert error.startswith("error[TX411]") and "12 is not a power of two" in error

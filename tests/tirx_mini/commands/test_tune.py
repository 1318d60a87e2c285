"""``python -m tirx_mini tune``: candidates of constants are ranked by the clock, refused with a reason, and checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kernels_ref.edits import HOPPER_SOURCES
from tirx_mini.__main__ import main
from tirx_mini.course import tuning

STEP_5 = f"{HOPPER_SOURCES[5]}:hgemm_v5"

CUTILE = """
import cuda.tile as ct

TILES = (256, 99)
LIMIT = 4096


@ct.kernel
def add_tile(A, B, C, T: ct.Constant[int], TIMES: ct.Constant[int]):
    i = ct.bid(0)
    sums = ct.load(A, (i,), shape=(T,))
    b = ct.load(B, (i,), shape=(T,))
    for _ in range(TIMES):
        sums = sums + b
    ct.store(C, (i,), sums)


def add(A, B, C):
    assert TILES[0] <= LIMIT
    ct.launch(None, (A.shape[0] // TILES[0],), add_tile, (A, B, C, *TILES))
"""
ADD = ("--args", "float32[512], float32[512], float32[512]")

TILELANG = """
import tilelang
import tilelang.language as T


@tilelang.autotune(configs=lambda M, N, K: [{"rows": rows, "threads": M // 2} for rows in (8, 16)])
@tilelang.jit
def double(M, N, K, rows, threads=128):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(M // rows, threads=threads) as bx:
            for i, j in T.Parallel(rows, N):
                B[bx * rows + i, j] = A[bx * rows + i, j] * 2

    return main
"""


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "missing_compiler", lambda: "left out")


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def tuned(capsys: pytest.CaptureFixture[str], status: int, *argv: str) -> str:
    """The output of the command, on one line."""
    assert main(["tune", *argv, "--gpu", "h100", "--jobs", "1"]) == status
    said = capsys.readouterr()
    return " ".join(f"{said.out} {said.err}".split())


def test_a_factory_is_tuned_for_a_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = tmp_path / "found.json"
    sets = ("--set", "PIPE_DEPTH=1,3,9", "--set", "BLK_K=64")
    out = tuned(capsys, 0, STEP_5, "--shape", "128,128,256", *sets, "--json", str(result))
    assert "predicted for H100 PIPE_DEPTH BLK_K µs TFLOPS GHz busiest unit KiB 3 64 " in out
    assert "PIPE_DEPTH = 9, BLK_K = 64: the kernel needs 328704" in out and "bytes of shared memory" in out
    assert "PIPE_DEPTH = 3, BLK_K = 64: right: D is A @ B.T, without findings bound by " in out
    assert "write PIPE_DEPTH = 3 (line " in out and ", now 2), predicted at " in out
    found = json.loads(result.read_text())
    depths = [each["assignment"]["PIPE_DEPTH"] for each in found["candidates"]]
    assert depths == ["3", "2", "1"] and found["candidates"][1]["present"] and found["chosen"]["PIPE_DEPTH"] == "3"
    times = [each["time_us"] for each in found["candidates"]]
    assert times == sorted(times) and times[0] < times[-1]


def test_a_wrong_candidate_is_said_to_be_wrong_and_the_next_one_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, CUTILE)
    out = tuned(capsys, 0, f"{file}:add", *ADD, "--set", "TILES[0]=300,256,8192", "--set", "TILES[1]=9,99")
    now = "TILES[0] = 256, TILES[1] = 99"
    wrong = rf"TILES\[0\] = 256, TILES\[1\] = 9 is wrong: [\d.]+% of the results are others than with {re.escape(now)}"
    assert re.search(wrong, out), out
    assert "TILES[0] = 300, TILES[1] = 9: " in out and "not a power of two" in out
    assert "TILES[0] = 8192, TILES[1] = 9: AssertionError" in out and "Traceback" not in out
    assert out.endswith(f"{now}: without findings the file has these values")


def test_nothing_else_than_the_time_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tuned(capsys, 0, f"{written(tmp_path, CUTILE)}:add", *ADD, "--set", "TILES[1]=9,49", "--quick")
    assert "is wrong" not in out and "write TILES[1] = 9 (line 4, now 99), predicted at " in out


def test_the_candidates_of_an_autotuned_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tuned(capsys, 0, f"{written(tmp_path, TILELANG)}:double", "--shape", "128,64,1")
    assert "rows threads µs" in out and "problem 128x64x1" in out
    assert "right: without findings, and with the results of rows = " in out and "threads = 64" in out


def test_no_candidate_runs(capsys: pytest.CaptureFixture[str]) -> None:
    out = tuned(capsys, 1, STEP_5, "--shape", "128,128,96", "--set", "BLK_K=64,128")
    assert out.count("to be a multiple of") == 2 and "no candidate runs" in out


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["{cutile}:add", "--set", "TILES[2]=1"], "add has no constant TILES[2]; it has LIMIT = 4096, TILES[0] = 256"),
        (["{cutile}:add", "--set", "TILES=1"], "TILES is a tuple: change an item, as TILES[0]"),
        (["{cutile}:add", "--set", "TILES[0]=x"], "TILES[0] takes a whole number, as in TILES[0]=256, not 'x'"),
        (["{cutile}:add_tile", *ADD, "--set", "LIMIT=1"], "name the function that launches it, not the kernel"),
        (["{cutile}:add"], "which constants? Write for example: python -m tirx_mini tune"),
        (["none.py:add", "--set", "T=1"], "the kernel file none.py does not exist"),
        (["kernel.cu:add", "--set", "T=1"], "kernel.cu:add is no kernel in a Python file"),
    ],
)
def test_bad_input_is_one_sentence(
    argv: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, CUTILE)
    assert problem in tuned(capsys, 2, *(each.format(cutile=file) for each in argv))


def test_measured_candidates_come_first_in_the_measured_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(program: object, entries: Any, rounds: int) -> list[Any]:
        return [tuning.replace(trial, row_us=10.0 - n, alone_us=20.0) for n, (trial, _) in enumerate(entries)]

    monkeypatch.setattr(tuning, "measured", measured)
    monkeypatch.setattr(tuning, "device_name", lambda: "NVIDIA H100")
    monkeypatch.setattr(
        tuning, "compiled", lambda program, trial: (tuning.replace(trial, registers=40, spilled=8), [None])
    )
    result = tmp_path / "found.json"
    argv = ("--set", "TILES[1]=50,99", "--measure", "--json", str(result))
    out = tuned(capsys, 0, f"{written(tmp_path, CUTILE)}:add", *ADD, *argv)
    assert "predicted for H100, the best measured on NVIDIA H100 TILES[1] µs" in out and "regs measured alone" in out
    assert " 40 9.0 20.0 50 " in out  # the row of 99, the slower one by the clock, and then that of 50
    assert "TILES[1] = 50: 8 bytes of a thread's registers are spilled, which the prediction leaves out" in out
    assert json.loads(result.read_text())["chosen"] == {"TILES[1]": "99"}

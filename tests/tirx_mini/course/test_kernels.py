"""Kernels in files: where they are found, and what a mistake in a file looks like."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tirx_mini.__main__ import main
from tirx_mini.course import KernelFileError, Task, gpu_of, load_kernels, load_module, run_task
from tirx_mini.ir import TirxError
from tirx_mini.resources import resource_root
from tirx_mini.script import tirx


def test_a_kernel_file_can_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_tiles.py").write_text("STEP = 4\n")
    (tmp_path / "mine.py").write_text("import my_tiles\n\ndef hgemm_v4(M, N, K):\n    return my_tiles.STEP\n")
    assert list(load_kernels(tmp_path / "mine.py")) == [4]
    assert str(tmp_path) not in sys.path


def test_a_kernel_file_anywhere_can_import_the_kits_utils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "utils", raising=False)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if Path(path or ".").resolve() != resource_root()])
    (tmp_path / "mine.py").write_text(
        "from utils import prepare_data\n\ndef hgemm_v4(M, N, K):\n    return prepare_data\n"
    )
    before = list(sys.path)
    assert load_kernels(tmp_path / "mine.py")[4](1, 1, 1).__module__ == "utils"
    assert sys.path == before


def test_the_utils_beside_a_kernel_file_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "utils", raising=False)
    (tmp_path / "utils.py").write_text("OWN = True\n")
    (tmp_path / "mine.py").write_text("from utils import OWN\n\ndef hgemm_v4(M, N, K):\n    return OWN\n")
    assert load_kernels(tmp_path / "mine.py")[4](1, 1, 1) is True
    monkeypatch.delitem(sys.modules, "utils")


TVM = """
import tvm
from tvm.script import tirx as Tx

def hgemm_v4(M, N, K):
    from tvm.tir.layout import S
    return tvm.tir.layout.S is S, Tx.ptx, M
"""


def test_a_kernel_file_for_tvm_finds_it_also_in_its_factories(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(TVM)
    before = {name for name in sys.modules if name.partition(".")[0] == "tvm"}
    assert load_kernels(path)[4](1, 1, 1) == (True, tirx.ptx, 1)
    assert load_module(path).Tx.ptx is tirx.ptx
    assert {name for name in sys.modules if name.partition(".")[0] == "tvm"} == before


def test_a_mistake_in_a_file_for_tvm_is_a_page_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import tvm\nfrom tvm.tir.layout import Nothing\nNothing()\n")
    with pytest.raises(TirxError, match=r"does not provide `Nothing` of `tvm\.tir\.layout`") as caught:
        load_kernels(path)
    assert f"{path}:3:" in str(caught.value)


def test_a_factory_without_a_dtype_is_one_for_float16(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def hgemm_v4(M, N, K): return M\n"
        "def hgemm_v5(M, N, K, BLK_N=128): return BLK_N\n"
        "def hgemm_v6(M, N, K, **options): return options\n"
    )
    kernels = load_kernels(path)
    assert [kernels[4](7, 1, 1), kernels[4](7, 1, 1, "float16"), kernels[5](7, 1, 1, dtype="float16")] == [7, 7, 128]
    assert kernels[6](7, 1, 1, "bfloat16") == {"dtype": "bfloat16"}
    with pytest.raises(ValueError, match='hgemm_v5 makes kernels of float16 only: give it a parameter dtype="float16"'):
        kernels[5](7, 1, 1, "bfloat16")


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "does not exist"), ("x = 1\n", "defines no hgemm_v1"), ("def f(:\n", "mine.py:1")],
)
def test_a_file_without_kernels_is_refused(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(KernelFileError, match=words):
        load_kernels(path)


MISTAKES = {
    "layout = tma_shared_layout('float16', SwizzleMode.SWIZZLE_128B_ATOM, (128,))": "fewer than two dimensions",
    "layout = tma_shared_layout('float16', (128, 64))": "TypeError: tma_shared_layout() missing 1 required",
    "tile = TileLyout(S[128, 64])": "NameError: name 'TileLyout' is not defined",
    "assert M > 1 << 40, 'too small'": "AssertionError: too small",
    "raise NotImplementedError": "this kernel is not written yet",
}
"""Python statements around a kernel, and what is said of them."""

LAYOUTS = "from tirx_mini.layout import S, SwizzleMode, TileLayout, tma_shared_layout\n"


@pytest.fixture(params=MISTAKES)
def mistake(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, MISTAKES[request.param]


def assert_page(page: str, path: Path, line: int, mistake: tuple[str, str]) -> None:
    statement, words = mistake
    assert words in page and f"{path}:{line}:" in page and statement in page and "Traceback" not in page


def test_a_mistake_in_a_factory_is_a_page_with_its_line(tmp_path: Path, mistake: tuple[str, str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{LAYOUTS}\n\ndef hgemm_v4(M, N, K, dtype='float16'):\n    {mistake[0]}\n")
    with pytest.raises(TirxError) as caught:
        load_kernels(path)[4](128, 128, 64)
    assert_page(str(caught.value), path, 5, mistake)
    row = run_task(Task(path, 4, (128, 128, 64)))
    assert row.verdict == "fault"
    assert_page(row.detail, path, 5, mistake)


def test_the_page_of_a_file_that_was_changed_has_its_new_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    for name in ("first", "the_second"):
        path.write_text(f"def hgemm_v4(M, N, K):\n    {name}()\n")
        with pytest.raises(TirxError) as caught:
            load_kernels(path)[4](128, 128, 64)
        assert f"2 |     {name}()" in str(caught.value)


def test_a_mistake_in_a_file_is_a_page_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mistake: tuple[str, str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{LAYOUTS}M = 1\n{mistake[0]}\n\ndef hgemm_v4(M, N, K):\n    pass\n")
    assert main(["ladder", "--kernels", str(path)]) == 1
    assert_page(capsys.readouterr().out, path, 3, mistake)


def test_a_failure_inside_the_package_keeps_its_traceback(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from tirx_mini.course import load_kernels\n\ndef hgemm_v4(M, N, K):\n    load_kernels(M)\n")
    with pytest.raises(TypeError):
        load_kernels(path)[4](128, 128, 64)


@pytest.mark.parametrize(
    ("name", "gpu"), [("gemm_kernels.py", "b200"), ("gemm_kernels_sm90.py", "h100"), ("mine.py", "b200")]
)
def test_a_ladder_has_its_gpu(name: str, gpu: str) -> None:
    assert gpu_of(Path("somewhere") / name) == gpu

"""Files written for the course's `tvm` run unchanged."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.compat.tvm import NAMES, PATHS, imports, main
from tirx_mini.ir import TVM, PrimFunc, structural_equal
from tirx_mini.script import from_source

HERE = Path(__file__).parent


@cache
def file(path: str) -> ModuleType:
    """The module of a file that imports `tvm`."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, HERE / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with imports():
        spec.loader.exec_module(module)
    return module


VARIANTS = [
    ("course_kernels.py", "tma_pipeline", (256, 128, 128), {}),
    ("course_kernels.py", "tma_pipeline", (128, 256, 64), {"EPI_N": 128, "use_lanes": False}),
    ("course_kernels.py", "warp_specialized", (256, 384, 192), {}),
    ("course_kernels.py", "warp_specialized", (128, 256, 128), {"TMEM_LD_N": 16, "EPI_N": 128}),
    ("course_kernels.py", "warp_specialized", (128, 128, 64), {"TMEM_LD_N": 128}),
    *[
        (f"students/{path.name}", make.__name__, shape, options)
        for path in sorted((HERE / "students").glob("*.py"))
        for make, shape, options in file(f"students/{path.name}").CASES
    ],
]


@pytest.mark.parametrize("path, name, shape, options", VARIANTS)
def test_a_variant_computes_the_product(
    path: str, name: str, shape: tuple[int, int, int], options: dict[str, Any]
) -> None:
    kernel: PrimFunc = getattr(file(path), name)(*shape, **options)
    assert structural_equal(kernel, from_source(kernel.script()))
    rng = np.random.default_rng(0)
    m, n, k = shape
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (n, k)))
    d = np.zeros((m, n), np.float16)
    report = tirx_mini.simulate(kernel, a, b, d)
    assert report.verdict == "ok", str(report)
    forgiven = {*FORGIVEN.get(path, ()), *(["missing-proxy-fence"] if kernel.dialect == TVM else [])}
    assert [f for f in report.findings if f.kind not in forgiven] == [], str(report)
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-2)


NO_TAIL = (
    "course_kernels.py", "students/newer_spelling.py", "students/roles_inlined.py", "students/two_accumulators.py",
)  # fmt: skip
FORGIVEN = {
    **dict.fromkeys(("students/persistent.py", "students/by_hand.py"), ("missing-tcgen05-fence",)),
    **dict.fromkeys(NO_TAIL, ("in-flight-at-exit",)),  # they do not wait for their last commits
}
"""Orderings that the ISA requires and current chips forgive, which the files omit."""


@pytest.mark.compiler
@pytest.mark.parametrize("path, name, shape, options", [v for v in VARIANTS if v[0].startswith("students/")])
def test_a_variant_assembles(path: str, name: str, shape: tuple[int, int, int], options: dict[str, Any]) -> None:
    kernel: PrimFunc = getattr(file(path), name)(*shape, **options)
    executable = tirx_mini.compile(tirx_mini.IRModule({"main": kernel}), target="cuda:sm_100a")
    assert "tcgen05.mma" in executable.source("ptx")


MODULE = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    \"\"\"Two kernels.\"\"\"

    @T.prim_func(tirx=True, private=True)
    def ones(A: T.Buffer((32,), "float32")):
        with T.kernel():
            A[T.thread_id([32], parent="cta")] = 1.0

    @T.prim_func(persistent=True)
    def main(A: T.Buffer((32,), "float32")):
        T.device_entry()
        A[T.thread_id([32])] = 2.0

import tvm
with tvm.target.Target("sim") as target:
    executable = tvm.compile(Module, target=target, tir_pipeline="tirx")
import numpy
A = numpy.zeros(32, "float32")
executable(A)
print(sorted(Module.functions), A.sum())
"""


def test_ir_module_turns_a_class_of_kernels_into_a_module(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    done = run(path)
    assert (done.stdout, done.returncode) == ("['main', 'ones'] 64.0\n", 0), done.stderr


@pytest.mark.parametrize("module", sorted({*PATHS, *NAMES}))
def test_each_path_can_be_imported(module: str) -> None:
    with imports():
        found = importlib.import_module(module)
        assert all(hasattr(found, name) for name in [*NAMES.get(module, {}), *getattr(found, "__all__", ())])


def test_tvm_is_importable_only_inside_the_block() -> None:
    before = dict(sys.modules)
    with imports():
        import tvm as outer  # type: ignore[import-not-found]
        import tvm.tir.layout  # type: ignore[import-not-found]

        assert outer.simulate is tirx_mini.simulate and outer.tir.layout.S is not None
        assert "DataType" in dir(outer) and not hasattr(outer, "nothing_of_this_name")
        assert outer.target.Target("cuda").kind == "cuda"
    assert {name for name in sys.modules if name.split(".")[0] == "tvm"} == {
        name for name in before if name.split(".")[0] == "tvm"
    }


def test_an_installed_tvm_is_restored_after_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ModuleType("tvm")
    monkeypatch.setitem(sys.modules, "tvm", installed)
    with imports():
        assert importlib.import_module("tvm") is not installed
    assert sys.modules["tvm"] is installed


SCRIPT = """
import sys
from tvm.script import tirx as Tx

@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((32,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        lane = Tx.thread_id([32], parent="cta")
        A[lane] = {value}

print(sys.argv[1], __name__, kernel.name)
"""


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tirx_mini.compat.tvm", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(tirx_mini.__file__).parents[1], check=False)


def test_a_script_runs_with_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT.format(value="lane * 2.0"), encoding="utf-8")
    done = run(path, "--size")
    assert (done.stdout, done.returncode) == ("--size __main__ kernel\n", 0), done.stderr


def test_a_mistake_in_a_script_prints_an_error_page(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT.format(value="lan * 2.0"), encoding="utf-8")
    done = run(path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error[TX403]: `lan` is not defined" in done.stderr and "did you mean `lane`" in done.stderr


def test_an_invalid_layout_prints_an_error_page(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("from tvm.tir.layout import S, TileLayout\n\nTileLayout(S[(128, 0)])\n", encoding="utf-8")
    done = run(path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "extents in S[shape : strides] must be at least 1" in done.stderr and f"{path}:3:1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "error: which script? Write for example: python -m tirx_mini.compat.tvm gemm_kernels.py"),
        (["none.py"], "error: the script none.py does not exist"),
        (["."], "error: the script . is a folder"),
    ],
)
def test_a_script_that_is_missing_is_said_in_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"{words}\n"

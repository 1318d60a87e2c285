"""A hand-in imports what is on one list, and gets the same of it in every sandbox."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_mini.resources import resource_root
from tirx_mini.sandbox import LOCKS, Limits, LockedProcess, find_sandbox
from tirx_mini.sandbox.imports import ABSENT, PACKAGES, PYTHON

PACKAGE = resource_root() / "tirx_mini"
SANDBOXES = {
    "bubblewrap": {"locks": ()},
    "landlock": {"bubblewrap": False, "locks": ("landlock", "rlimits")},
    "seccomp": {"bubblewrap": False, "locks": ("rlimits", "seccomp")},
    "all": {"locks": LOCKS},
}
HEAD = """
import numpy as np
import torch, torch.nn.functional as F
from tirx_mini.script import tirx as Tx
from tirx_mini import simulate
from utils import check_shape, prepare_data, verify
import tirx_mini as tvm
from tirx_mini.course import run_task

def train(x: torch.Tensor | None = None, y: "F.relu" = F.relu) -> torch.Tensor: ...

def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", multiple={"M": (M, 64)})
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype)):
        with Tx.kernel():
            A[0, 0] = Tx.cast(np.sqrt(4), dtype)
    return kernel
"""
BODIES = {
    # number: (body of hgemm_vN, what the answer says)
    2: ("torch.zeros(3)", "torch.zeros is not there while a hand-in is graded: kernels are built without it"),
    3: ("import requests", "requests cannot be imported: a hand-in imports tirx_mini, utils, numpy, ml_dtypes and"),
    4: ("import ctypes", "ctypes cannot be imported"),
    5: ("import kernels_ref.sm100", "kernels_ref.sm100 cannot be imported"),
    6: ("simulate(1)", "tirx_mini.driver.simulate is not there while a hand-in is graded"),
    7: ("from utils import nonsense", "cannot import name 'nonsense' from 'utils'"),
    8: ("import tirx_mini.nonsense", "No module named 'tirx_mini.nonsense'"),
    9: ("class Net(torch.nn.Module): ...", "torch.nn.Module is not there while a hand-in is graded"),
    10: ("from tirx_mini.ir import nonsense", "cannot import name 'nonsense' from 'tirx_mini.ir'"),
    11: ("prepare_data(1, 2, 3)", "utils.prepare_data is not there while a hand-in is graded"),
    12: ("run_task()", "tirx_mini.course.ladder.run_task is not there while a hand-in is graded"),
    13: ("tvm.nonsense", "has no attribute 'nonsense'"),
    14: ("from tirx_mini.script.nonsense import x", "No module named 'tirx_mini.script.nonsense'"),
    15: ("np.testing.assert_allclose(1, 1)", "numpy.testing.assert_allclose is not there while a hand-in is graded"),
}
LATER = "import datetime; datetime.datetime.strptime('2026', '%Y'); 'ä'.encode('latin-1'); ﬁeld = 1"
"""Python itself imports modules for these."""
REQUEST = {"shape": [64, 64, 64], "dtype": "float16", "sms": None}


@pytest.fixture(scope="module", params=SANDBOXES)
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedProcess]:
    sandbox = find_sandbox(**SANDBOXES[request.param])
    if request.param not in (*sandbox.name.split(" + "), "all"):
        pytest.skip(f"this machine has no {request.param}, or does not allow it here")
    file = tmp_path_factory.mktemp("handin") / "gemm_kernels.py"
    functions = [f"def hgemm_v{n}(M, N, K, dtype='float16'):\n    {body}\n" for n, (body, _) in BODIES.items()]
    imports = "; ".join(f"import {name}" for name in (*PYTHON, *PACKAGES) if name != "__future__")
    body = f"    {imports}; {LATER}\n    raise ValueError('all there')\n"
    everything = f"def hgemm_v16(M, N, K, dtype='float16'):\n{body}"
    file.write_text(HEAD + "\n".join(functions) + everything)
    process = sandbox.start(Limits(seconds=10), file)
    yield process
    process.close()


@pytest.mark.parametrize("step", BODIES)
def test_what_cannot_be_imported_is_said_in_the_same_words_everywhere(process: LockedProcess, step: int) -> None:
    answer = process.ask({"step": step, **REQUEST}, 10, "it")
    assert answer.kind in ("python", "error", "refused") and BODIES[step][1] in answer.text


def test_a_kernel_is_built_beside_imports_of_what_is_not_there(process: LockedProcess) -> None:
    assert process.ask({"step": 1, **REQUEST}, 10, "it").kind == "built"


def test_all_on_the_list_is_there(process: LockedProcess) -> None:
    assert "all there" in process.ask({"step": 16, **REQUEST}, 10, "it").text


def test_tvm_is_there_for_a_file_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "gemm_kernels.py"
    file.write_text(HEAD.replace("from tirx_mini.script import", "import tvm\nfrom tvm.script import"))
    process = find_sandbox().start(Limits(seconds=10), file)
    try:
        assert process.ask({"step": 1, **REQUEST}, 10, "it").kind == "built"
    finally:
        process.close()


def test_the_page_for_students_has_the_list() -> None:
    text = (resource_root() / "docs" / "grading.md").read_text(encoding="utf-8")
    _, _, section = text.partition("### What your file may import")
    section = section.partition("\n###")[0]
    for name in (*PYTHON, *PACKAGES, *ABSENT):
        assert f"`{name}`" in section, name


def test_a_locked_process_imports_nothing_later() -> None:
    """Functions of the language import no module that was not imported before the locks."""
    rooms = ("ir", "isa", "lang", "layout", "saved", "script")
    files = [path for room in rooms for path in (PACKAGE / room).rglob("*.py")]
    late = {(path.name, name) for path in files for name in imports_in_functions(path)}
    known = {name for _, name in late if name.partition(".")[0] in sys.stdlib_module_names and name in PYTHON}
    assert {name for _, name in late} <= known


def imports_in_functions(path: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield "." * node.level + (node.module or "")

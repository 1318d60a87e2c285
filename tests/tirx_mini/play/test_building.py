"""A text becomes IR in a sandbox, whatever it tries; and which locks a machine must have for texts nobody asked for."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tirx_mini.ir import walk
from tirx_mini.play.building import Build, Builders, Job, NotBuilt, missing_locks
from tirx_mini.sandbox import LOCKS, Sandbox
from tirx_mini.saved import load_json

SHAPE = (256, 256, 128)
SMALL = """
from tirx_mini.script import tirx as Tx
WIDTH = 4
def make(M, N, K):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, WIDTH), "float16")):
        with Tx.kernel():
            A[0, 0] = Tx.cast(0, "float16")
    return kernel
"""


def refused(builders: Builders, text: str, kernel: str = "make") -> NotBuilt:
    with pytest.raises(NotBuilt) as error:
        Build(builders).made(Job(text, kernel, SHAPE, {}))
    return error.value


def test_any_factory_is_built_with_other_constants(builders: Builders) -> None:
    built = Build(builders).made(Job(SMALL, "make", SHAPE, {"WIDTH": 8}))
    kernel = load_json(built.ir, built.files)
    assert kernel.params[0].shape == (256, 8)
    assert kernel.span is not None and kernel.span.user.file == "gemm_kernels.py"


def test_a_mistake_has_its_line_code_and_help(builders: Builders, step4: str) -> None:
    text = step4.replace("Tx.gemm_async", "Tx.gemm_asynk")
    error = refused(builders, text, "hgemm_v4")
    line = text[: text.index("Tx.gemm_asynk")].count("\n") + 1
    assert error.kind == "error"
    assert (error.finding["code"], error.finding["line"]) == ("TX403", line)
    assert "gemm_async" in error.finding["help"]
    assert str(builders.path.parent) not in error.finding["text"]


def test_a_help_that_names_one_other_spelling_is_an_edit(builders: Builders, step4: str) -> None:
    text = step4.replace("Tx.gemm_async", "Tx.gemm_asynk")
    edit = refused(builders, text, "hgemm_v4").finding["edit"]
    lines = text.split("\n")
    lines[edit["line"] - 1] = edit["after"]
    assert edit["before"] != edit["after"] and "\n".join(lines) == step4
    twice = SMALL.replace("A[0, 0] = Tx", "A[WIDHT - 1, WIDHT - 1] = Tx")
    assert "did you mean `WIDTH`?" in refused(builders, twice).finding["help"]
    assert refused(builders, twice).finding["edit"] is None  # of two, the help means either


MODULE = """
from tirx_mini.script import tirx as Tx

@Tx.inline
def zero(A):
    A[0, 0] = Tx.cast(0, "float16")
"""
WITH_MODULE = SMALL.replace("WIDTH = 4", "import beside\nWIDTH = 4").replace(
    'A[0, 0] = Tx.cast(0, "float16")', "beside.zero(A)"
)


def with_module(builders: Builders, module: str, text: str = WITH_MODULE) -> NotBuilt:
    with pytest.raises(NotBuilt) as error:
        Build(builders).made(Job(text, "make", SHAPE, {}, modules={"beside": module}))
    return error.value


def test_a_module_that_the_page_opened_is_imported_and_has_its_name(builders: Builders) -> None:
    built = Build(builders).made(Job(WITH_MODULE, "make", SHAPE, {}, modules={"beside": MODULE}))
    spans = {node.span.file for node in walk(load_json(built.ir, built.files).body) if node.span is not None}
    assert spans == {"gemm_kernels.py", "beside.py"}
    assert "beside cannot be imported" in refused(builders, WITH_MODULE).finding["title"]


@pytest.mark.parametrize(("module", "title", "line"), [
    (MODULE.replace("Tx.cast", "Tx.kast"), "`Tx` has no attribute `kast`", 6),
    (MODULE + "x = {}['missing']\n", "KeyError: 'missing'", 7),
    (MODULE + "def f(:\n", "the text is not Python: invalid syntax", 7),
    (f"import secrets\n{MODULE}", "secrets cannot be imported", 1),
])  # fmt: skip
def test_a_mistake_in_a_module_names_its_file(builders: Builders, module: str, title: str, line: int) -> None:
    finding = with_module(builders, module).finding
    assert title in finding["title"]
    assert (finding["where"], finding["line"]) == (f"beside.py:{line}", 0)
    assert str(builders.path.parent) not in str(finding)


def test_modules_import_each_other_and_no_other_files(builders: Builders) -> None:
    text = WITH_MODULE.replace("import beside", "import other as beside")
    modules = {"beside": MODULE, "other": "from beside import zero\n"}
    assert Build(builders).made(Job(text, "make", SHAPE, {}, modules=modules)).ir
    refusal = with_module(builders, "import other\n" + MODULE)
    assert "other cannot be imported" in refusal.finding["title"]


PACKAGE = {
    "beside/__init__": "from .parts.tiles import zero\n",
    "beside/parts/tiles": MODULE,
    "beside/sizes": "from . import parts\nWIDTH = 4\n",
}
"""A package, with one inside it that has no file of its own."""


def test_a_package_is_imported_and_its_modules_have_their_names(builders: Builders) -> None:
    text = WITH_MODULE.replace("WIDTH = 4", "from beside.sizes import WIDTH")
    built = Build(builders).made(Job(text, "make", SHAPE, {}, modules=PACKAGE))
    spans = {node.span.file for node in walk(load_json(built.ir, built.files).body) if node.span is not None}
    assert spans == {"gemm_kernels.py", "beside/parts/tiles.py"}


@pytest.mark.parametrize(("place", "text", "title", "where"), [
    ("beside/parts/tiles", MODULE.replace("Tx.cast", "Tx.kast"), "no attribute `kast`", "beside/parts/tiles.py:6"),
    ("beside/__init__", "from .parts import nothing\n", "cannot import name 'nothing'", "beside/__init__.py:1"),
    ("beside/__init__", "from .rings import zero\n", "beside.rings cannot be imported", "beside/__init__.py:1"),
    ("beside/__init__", "from ..other import zero\n", "beyond top-level package", "beside/__init__.py:1"),
])  # fmt: skip
def test_a_mistake_in_a_package_names_its_file(
    builders: Builders, place: str, text: str, title: str, where: str
) -> None:
    with pytest.raises(NotBuilt) as error:
        Build(builders).made(Job(WITH_MODULE, "make", SHAPE, {}, modules={**PACKAGE, place: text}))
    finding = error.value.finding
    assert title in finding["title"] and (finding["where"], finding["line"]) == (where, 0)
    assert str(builders.path.parent) not in str(finding)


def test_an_open_todo_is_said(builders: Builders) -> None:
    text = SMALL.replace('A[0, 0] = Tx.cast(0, "float16")', "...")
    error = refused(builders, text)
    assert (error.kind, error.finding["code"]) == ("todo", "TX402")


def test_text_that_is_not_python_is_marked_where_it_ends_to_be(builders: Builders) -> None:
    finding = refused(builders, "x = 1\ndef f(:\n").finding
    assert finding["line"] == 2 and finding["title"].startswith("the text is not Python")


def test_an_exception_is_marked_at_its_line_of_the_text(builders: Builders) -> None:
    text = SMALL.replace("    return kernel", "    return {}['missing']")
    finding = refused(builders, text).finding
    assert finding["line"] == text.splitlines().index("    return {}['missing']") + 1
    assert "KeyError" in finding["title"]


def test_what_is_no_kernel_is_said(builders: Builders) -> None:
    assert "it returned int" in refused(builders, "def make(M, N, K): return 3").finding["title"]
    assert "defines no make" in refused(builders, "x = 1").finding["title"]


def test_a_text_that_never_ends_is_ended_after_two_seconds(builders: Builders) -> None:
    error = refused(builders, "while True: pass")
    assert error.kind == "time" and error.finding["title"] == "make took longer than 2 s"


def test_a_text_that_takes_all_memory_is_refused(builders: Builders) -> None:
    assert refused(builders, "x = bytearray(1 << 40)").kind == "memory"


@pytest.mark.parametrize("attack", [
    "open('/etc/passwd')", "open('pwned', 'w')", "import socket", "import os; os.fork()", "import os; os.kill(1, 9)",
    "import subprocess", "import os; os.listdir('/')",
])  # fmt: skip
def test_a_text_cannot_reach_out(builders: Builders, attack: str) -> None:
    if missing_locks(builders._sandbox):
        pytest.skip("this machine lacks a lock")
    assert refused(builders, attack).kind in ("error", "python")
    assert list(builders.path.parent.iterdir()) == [builders.path]


def test_a_text_can_answer_lies_and_they_are_only_text(builders: Builders) -> None:
    lie = """
import sys
class Lie(Exception):
    pass
Lie.__module__ = "tirx_mini.ir.span"
error = Lie("no")
class D: message, code, hint, notes, span = "<img src=x onerror=alert(1)>", 7, None, (), None
error.diagnostic = D
raise error
"""
    finding = refused(builders, lie).finding
    assert isinstance(finding["title"], str) and finding["line"] >= 0 and finding["code"] in (None, "TX401")


def test_a_build_is_cancelled_from_another_thread(builders: Builders) -> None:
    build = Build(builders)
    timer = threading.Timer(0.3, build.cancel)
    timer.start()
    with pytest.raises(NotBuilt) as error:
        build.made(Job("while True: pass", "make", SHAPE, {}))
    assert error.value.kind in ("ended", "killed")  # not "time": its limit had not passed
    timer.join()


@pytest.mark.parametrize("lock", LOCKS)
def test_without_any_one_lock_a_text_is_not_executed_unasked(lock: str) -> None:
    assert missing_locks(Sandbox("all", None, LOCKS)) == []
    others = tuple(each for each in LOCKS if each != lock)
    assert len(missing_locks(Sandbox("fewer", "/usr/bin/bwrap", others))) == 1


def test_a_spare_imports_what_the_last_text_needed(builders: Builders, tmp_path: Path) -> None:
    text = SMALL.replace("from tirx_mini.script import tirx as Tx", "from tvm.script import tirx as Tx")
    for _ in range(2):
        assert '"kernel"' in Build(builders).made(Job(text, "make", SHAPE, {})).ir

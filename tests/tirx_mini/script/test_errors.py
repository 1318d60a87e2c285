"""Error pages: location, underlined source, one sentence and a fix; never a traceback from inside the package."""

from __future__ import annotations

import doctest
import functools
import importlib.util
import linecache
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.tirx_mini.script.reading import error_in, line_of
from tirx_mini.ir import TirxError
from tirx_mini.script import explained, from_source
from tirx_mini.script import tirx as Tx

MISTAKES = {
    "an undefined name": ("Tx.copy(Asmen, A)", "Asmen", ("`Asmen` is not defined", "`Asmem`")),
    "an undefined name without a similar one": ("x = qqqqq", "qqqqq", ("`qqqqq` is not defined",)),
    "a primitive without the language": ("copy(Asmem, A)", "copy", ("did you mean `Tx.copy`?",)),
    "an instruction without the language": ("elect_sync()", "elect_sync", ("write `Tx.ptx.elect_sync`",)),
    "an unknown primitive": ("Tx.coppy(Asmem, A)", "Tx.coppy", ("`copy`",)),
    "an unknown group": ("Tx.ptx.mbarier.init(bar.ptr_to([0]), 1)", "Tx.ptx.mbarier", ("`mbarrier`",)),
    "an instruction of another group": ("Tx.ptx.cta_sync()", "Tx.ptx.cta_sync", ("`Tx.cuda.cta_sync`",)),
    "an instruction without its group": ("Tx.elect_sync()", "Tx.elect_sync", ("`Tx.ptx.elect_sync`",)),
    "a group that is called": ("Tx.ptx.tcgen05()", "Tx.ptx.tcgen05()", ("group of instructions", "`alloc`")),
    "a missing operand": (
        "Tx.ptx.mbarrier.init(bar.ptr_to([0]))",
        "Tx.ptx.mbarrier.init(bar.ptr_to([0]))",
        ("mbarrier.init(bar, count)", "'count'"),
    ),
    "an unknown modifier": (
        "Tx.ptx.tcgen05.commit(bar.data, cta_grp=1)",
        "Tx.ptx.tcgen05.commit(bar.data, cta_grp=1)",
        ("cta_grp", "cta_group"),
    ),
    "a tile where an address is needed": ("Tx.ptx.mbarrier.arrive(reg)", "reg", ("an mbarrier",)),
    "an unknown option": (
        "Tx.copy_async(Asmem, A, dispach='tma')",
        "Tx.copy_async(Asmem, A, dispach='tma')",
        ("dispach", "dispatch"),
    ),
    "a missing tile": ("Tx.copy(Asmem)", "Tx.copy(Asmem)", ("src",)),
    "tiles with mismatched shapes": ("Tx.gemm_async(reg, Asmem, A)", "Tx.gemm_async(reg, Asmem, A)", ("M × N",)),
    "a missing argument of the language": ("Tx.alloc_local()", "Tx.alloc_local()", ("shape", "alloc_local(shape")),
    "an unknown argument of the language": (
        "Tx.alloc_local((4,), 'float32', lay=3)",
        "Tx.alloc_local((4,), 'float32', lay=3)",
        ("lay", "layout=None"),
    ),
    "calling a number": ("x = M(3)", "M(3)", ("`M` is 128 and cannot be called",)),
    "a list indexed by a value": ("x = [1, 2][lane_id]", "[1, 2][lane_id]", ("Python list",)),
    "a Python conversion of a value": ("x = int(lane_id)", "int(lane_id)", ("Tx.int32",)),
    "division by zero": ("x = lane_id // 0", "lane_id // 0", ("zero",)),
    "Python's division by zero": ("x = 1 // 0", "1 // 0", ("ZeroDivisionError",)),
    "a missing key": ("x = {}['a']", "{}['a']", ("KeyError",)),
    "an index that is out of range": ("x = [][3]", "[][3]", ("IndexError",)),
    "operands that cannot be added": ("x = 'a' + 3", "'a' + 3", ("`+` is not defined for 'a' and 3",)),
    "shifting floats": ("x = reg[0] << 1", "reg[0] << 1", ("`<<` needs integers",)),
    "too many arguments for a lambda": ("x = (lambda a: a)(1, 2)", "(lambda a: a)(1, 2)", ("arguments (a)", "found 2")),
    "an argument given twice": (
        "Tx.copy_async(Asmem, A, dispatch='a', **{'dispatch': 'b'})",
        "Tx.copy_async(Asmem, A, dispatch='a', **{'dispatch': 'b'})",
        ("`dispatch` is given twice",),
    ),
    "generators": ("yield 3", "yield 3", ("(yield 3)",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_at_its_expression(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    for word in words:
        assert word in str(error), str(error)


def test_the_text_of_an_error_page() -> None:
    page = str(error_in("Tx.copy(Asmen, A)")).splitlines()
    assert page[0] == "error[TX403]: `Asmen` is not defined"
    assert page[1].endswith(":19:17")
    assert page[3:] == [
        "19 |         Tx.copy(Asmen, A)",
        "   |                 ^^^^^",
        "help: did you mean `Asmem`?",
    ]


def helper(value: int) -> int:
    raise ValueError(f"no use for {value}")


def test_an_exception_in_called_python_code_keeps_its_message_and_location() -> None:
    error = error_in("x = helper(3)", helper=helper)
    assert line_of(error) == "helper(3)"
    assert "ValueError: no use for 3" in str(error)
    ((_, place),) = error.diagnostic.notes
    assert place is not None and place.file == __file__ and place.line == helper.__code__.co_firstlineno + 1


def asks(value: object) -> int:
    return 1 if value else 2


def test_python_code_cannot_branch_on_a_value() -> None:
    error = error_in("x = asks(lane_id == 0)", asks=asks)
    assert line_of(error) == "asks(lane_id == 0)" and "`lane_id == 0` is only known at run time" in str(error)


# -- unfilled parts ------------------------------------------------------------------------------------------------

TODO = {
    "above": ("# TODO: load A and B into\n# shared memory. Then wait.\n...", "load A and B into shared memory.", 19),
    "above, with a blank line": ("# TODO: sync\n\npass", "sync", 19),
    "beside": ("with Tx.cta():\n    pass  # TODO copy the tile", "copy the tile", 20),
    "within a comment": ("# The tile is here.\n# TODO - copy it\n...", "copy it", 20),
    "raised": ("raise NotImplementedError('TODO: write it')", "write it", 19),
    "raised below a comment": ("# TODO: the loop\nraise NotImplementedError", "the loop", 19),
}


@pytest.mark.parametrize("name", TODO)
def test_an_unfilled_todo_is_reported_with_its_text(name: str) -> None:
    body, text, line = TODO[name]
    error = error_in(body)
    assert error.diagnostic.message == f"TODO at line {line} is not filled in: {text}"
    assert error.span is not None and error.span.line == line


def test_a_placeholder_without_a_comment_is_reported() -> None:
    assert "placeholder" in error_in("...").diagnostic.message


def test_a_todo_comment_above_code_is_ignored() -> None:
    func = from_source(
        "@Tx.prim_func\ndef k():\n    with Tx.kernel():\n        # TODO: sync\n        Tx.cuda.cta_sync()\n"
    )
    assert "bar.sync" in func.script()


FACTORY = """
from tirx_mini.script import tirx as Tx

def hgemm(M):
    # TODO: the whole kernel
    raise NotImplementedError("TODO: write the kernel")

def wrong(M):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, 8), "float16")):
        with Tx.kernel():
            Tx.copy(A, B)
    return kernel
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "student.py"
    path.write_text(FACTORY, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("student", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_an_unimplemented_factory_is_reported_as_a_todo(module: ModuleType) -> None:
    with pytest.raises(NotImplementedError) as raised:
        module.hgemm(8)
    error = explained(raised.value)
    assert error is not None
    assert error.diagnostic.message == "TODO at line 6 is not filled in: write the kernel"
    assert error.span is not None and error.span.file.endswith("student.py")


def test_the_traceback_ends_at_the_decorator(module: ModuleType) -> None:
    with pytest.raises(TirxError) as raised:
        module.wrong(8)
    frames = traceback.extract_tb(raised.value.__traceback__)
    own = [
        frame
        for frame in frames
        if "tirx_mini" in Path(frame.filename).parts and "tests" not in Path(frame.filename).parts
    ]
    assert len(own) <= 2 and all(Path(frame.filename).name == "kernels.py" for frame in own)
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
    assert line_of(raised.value) == "B"


# -- outside kernels -----------------------------------------------------------------------------------------------


def test_an_unknown_name_of_the_namespace_suggests_similar_ones() -> None:
    with pytest.raises(AttributeError, match="did you mean `copy`"):
        Tx.coppy
    with pytest.raises(AttributeError, match="mbarrier"):
        Tx.ptx.mbarier


def test_dir_lists_the_namespace() -> None:
    names = dir(Tx)
    assert {"copy", "prim_func", "ptx", "cuda", "cta", "wg", "int32", "threadIdx", "tile"} <= set(names)
    assert "init" in dir(Tx.ptx.mbarrier) and "copy" in dir(Tx.tile)
    for name in names:
        assert getattr(Tx, name) is not None


@pytest.mark.parametrize("act", [lambda: Tx.copy(1, 2), lambda: Tx.PoolAllocator(), lambda: Tx.alloc_local((3,))])
def test_a_statement_outside_a_kernel_is_reported(act: object) -> None:
    with pytest.raises(TirxError, match="inside a kernel"):
        act()  # type: ignore[operator]


def test_unreadable_source_is_reported() -> None:
    names: dict[str, object] = {"Tx": Tx}
    with pytest.raises(TirxError, match="cannot read the source of `k`"):
        exec("@Tx.prim_func\ndef k():\n    pass", names)


K = "@Tx.prim_func\ndef k():\n    pass"


def _remember(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<string>", (len(text), None, text.splitlines(keepends=True), "<string>"))


@pytest.mark.parametrize(
    "other",
    ["import sys\n", "def g():\n    pass\n", "@Tx.prim_func\ndef k():\n    x = 1\n", "\n" + K, K + "\n    return"],
)
def test_the_text_of_another_program_is_not_taken_for_the_source(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.13, what `python -c` runs is remembered as `<string>`, which is the file of any text executed."""
    _remember(other, monkeypatch)
    with pytest.raises(TirxError, match="cannot read the source of `k` from <string>"):
        exec(K, {"Tx": Tx})


def test_what_is_said_of_executed_text_does_not_depend_on_what_was_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as program:
        _remember(K + "\n", program)  # as `python -c` does from Python 3.13 on
        names: dict[str, Any] = {"Tx": Tx}
        exec(K, names)
        assert names["k"].name == "k"
    with pytest.raises(TirxError, match="cannot read the source of `k` from <string>"):
        exec(K, {"Tx": Tx})


def test_a_kernel_in_a_doctest_can_be_read() -> None:
    text = ">>> @Tx.prim_func\n... def k():\n...     Tx.device_entry()\n>>> k.name\n'k'\n"
    test = doctest.DocTestParser().get_doctest(text, {"Tx": Tx}, "example", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test) == (0, 2)


@dataclass
class Late:
    """A class whose `__init__`, which Python generates, calls for a builder too early."""

    def __post_init__(self) -> None:
        Tx.alloc_local((3,))


def test_an_error_is_at_the_users_line_not_in_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    _remember("import sys\nimport os\nimport re\n" * 3, monkeypatch)
    names: dict[str, Any] = {"alloc": Tx.alloc_local}
    for make in (Late, lambda: exec("def f():\n    alloc((3,))\nf()", names)):
        with pytest.raises(TirxError) as raised:
            make()
        assert raised.value.span is not None and raised.value.span.file == __file__
        assert "import" not in str(raised.value)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("", id="emptied"),
        pytest.param("\n\n\ndef g(n):\n    return n + 1\n", id="another function there"),
        pytest.param("\n\n\ndef scale(n, m):\n    return n + 1\n", id="other parameters"),
        pytest.param("\n\n\nx = 1\n", id="no function there"),
    ],
)
def test_source_that_changed_since_it_was_loaded(after: str, tmp_path: Path) -> None:
    path = tmp_path / "library.py"
    text = "\n\n\ndef scale(n):\n    return n + 1\n"
    path.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    path.write_text(after, encoding="utf-8")
    with pytest.raises(TirxError, match=r"the source of `scale` in .*library\.py, line 4, has changed since"):
        Tx.prim_func(names["scale"])


def wrapping(function: Any) -> Any:
    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args)

    return around


def plain(A: Any) -> None:
    """A function that is wrapped."""


UNREADABLE = {
    "a lambda": (lambda A: None, ("cannot read a lambda", "with `def`", "lambda A: None")),
    "a wrapped function": (wrapping(plain), ("`plain` is wrapped by another function in test_errors", "def plain(A")),
    "a string": ("kernel", ("expects a function, but a str was given",)),
    "a built-in function": (len, ("expects a function",)),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("decorator", ["prim_func", "inline"])
def test_what_a_decorator_cannot_read_is_refused(name: str, decorator: str) -> None:
    function, words = UNREADABLE[name]
    with pytest.raises(TirxError) as raised:
        getattr(Tx, decorator)(function)
    for word in (f"@Tx.{decorator}", *words):
        assert word in str(raised.value), str(raised.value)


def test_text_without_a_valid_kernel_is_reported() -> None:
    with pytest.raises(TirxError, match="not valid Python"):
        from_source("def k(:\n    pass")
    with pytest.raises(TirxError, match="does not define a kernel"):
        from_source("x = 1")


def test_no_kernel_stays_open_after_an_error() -> None:
    error_in("x = qqqqq")
    with pytest.raises(TirxError, match="inside a kernel"):
        Tx.cuda.cta_sync()
    assert "student" not in sys.modules

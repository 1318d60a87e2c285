"""A wrong use of any object of the language gets a page that says what is wrong, and what to write."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, line_of, read
from tirx_mini.ir import TirxError
from tirx_mini.script import from_source
from tools import misuse
from tools.fuzz import DEFECT

SEEDS, SIMULATED = 75, 3
"""Kernels of a test, and which of those that can be read are simulated: every third."""


@pytest.mark.parametrize("first", [0, 1000, 2000, 3000])
def test_any_use_of_the_language_is_read_or_gets_a_page(first: int) -> None:
    read_kernels = 0
    for seed in range(first, first + SEEDS):
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = from_source(misuse.kernel_text(seed), misuse.names())
                read_kernels += 1
                if seed % SIMULATED == 0:
                    report = tirx_mini.simulate(made, *misuse.arguments(), budget=1000)
                    assert DEFECT not in str(report), f"seed {seed}: {report}"
            except TirxError as error:
                assert not misuse.shortcomings(error), f"seed {seed}: {error}"
    assert 0 < read_kernels < SEEDS / 2


@pytest.mark.parametrize("values", ["ANY", "PLAUSIBLE"])
def test_the_values_and_uses_are_of_this_language(values: str) -> None:
    """A table with names that the kernel lacks would only test the page for an undefined name."""
    kept = "\n".join(f"helper({value})" for value in getattr(misuse, values) if value != "range(lane_id)")
    from_source(misuse.kernel({3: kept}), misuse.names())


def test_every_object_of_the_language_is_among_those_that_are_used() -> None:
    everything = set(misuse.callables())
    assert {"Tx.copy_async", "Tx.cta.copy", "Tx.ptx.tcgen05.commit", "Tx.cuda.cta_sync", "TMABar"} < everything
    assert {"tma_shared_layout", "(Asmem).view", "(state).advance", "tvm.simulate", "(lane_id).astype"} < everything


MISTAKES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "an argument among others": (
        "Tx.ptx.mbarrier.init(bar.ptr_to([0]), [1])", "[1]",
        ("'count' of mbarrier.init needs an integer, but the list [1] is given", "Tx.ptx.mbarrier.init(bar, count)")),
    "an argument by name": ("Tx.alloc_local((4,), dtype=len)", "len", ("the function len is not a dtype",)),
    "too many arguments": (
        "Tx.alloc_local(4, 'int32', 3, 4)", "", ("takes 2 arguments, but 4 are given", "*, layout=None")),
    "a missing argument": ("y = Tx.cuda.cta_sum()", "", ("`Tx.cuda.cta_sum` is called without `value`",)),
    "an argument of no parameter": ("Tx.cuda.float2_x(1, wide=2)", "", ("has no parameter `wide`", "float2_x(packed)")),
    "an argument given twice": ("Tx.cuda.float2_x(1, packed=2)", "", ("is given `packed` twice",)),
    "a parameter of the package's own": ("Tx.ptx.mbarrier.arrive(bar.data, span=3)", "", ("has no parameter `span`",)),
    "an option of another kind": (
        "Tx.copy_async(Asmem, A, cta_group=lane_id)", "lane_id",
        ("cta_group of copy_async must be an integer that is known at compile time, but lane_id is given",)),
    "an option of no kind": ("Tx.copy_async(Asmem, A, dispatch=4)", "4", ("dispatch of copy_async must be a string",)),
    "a tile that is none": ("Tx.copy(Asmem, 'A')", "'A'", ("a tile must be a buffer or a slice of one, not 'A'",)),
    "a fraction as an index": ("y = A[1.5, 0]", "1.5", ("an index must be an integer, but 1.5 is float32",)),
    "a fraction in a pointer": ("y = A.ptr_to([0, 0.5])", "", ("an index must be an integer",)),
    "a pointer in arithmetic": ("y = lane_id + bar.ptr_to([0])", "", ("`+` needs values", "is a pointer")),
    "a pointer as a condition": ("if bar.ptr_to([0]):\n    reg[0] = 1.0", "bar.ptr_to([0])", ("is no condition",)),
    "a tile as a condition": ("y = lane_id and reg[0:4]", "", ("`and` needs values, but reg[0:4] is a tile",)),
    "a vector as a condition": ("if reg.vload([0], 'float32x4'):\n    reg[0] = 1.0", "reg.vload([0], 'float32x4')",
                                ("is a vector, which is no condition",)),
    "a pointer as a number": (
        "reg[0] = Tx.float32(bar.ptr_to([0]))", "bar.ptr_to([0])", ("cannot be converted to float32",)),
    "the bits of a fraction": ("y = ~A[0, 0]", "", ("`~` needs an integer, but A[0, 0] is float16",)),
    "a choice of a tile": (
        "y = reg[0:4] if lane_id == 0 else 1.0", "", ("a choice needs values, but reg[0:4] is a tile",)),
    "a vector for an instruction": (
        "Tx.Assert(reg.vload([0], 'float32x4'))", "reg.vload([0], 'float32x4')", ("needs a condition",)),
    "a variable of no number": ("y: 'tensormap'", "'tensormap'", ("a variable holds a number",)),
    "an element of a member": ("y = SwizzleMode.SWIZZLE_NONE[0]", "", ("which cannot be indexed",)),
    "an element of no buffer": ("Tx.buffer_store(lane_id == 0, 1, [0])", "", ("an element is one of a buffer",)),
    "a pointer in a difference": ("y = bar.ptr_to([0]) - bar[0]", "", ("`-` needs values", "is a pointer")),
    "a modifier of another kind": (
        "y = Tx.ptx.ex2.approx(reg[0], [1])", "[1]", ("'ftz' of ex2.approx must be True or False, not the list [1]",)),
    "a tile for a function of CUDA": (
        "Tx.cuda.func_call('f', reg[0:4], source_code='')", "reg[0:4]", ("passes values and pointers",)),
    "a vector as a filter": (
        "with Tx.thread()[reg.vload([0], 'float32x4')]:\n    pass", "", ("which is no condition",)),
    "a text as a number": ("y = Tx.uint32(Tx.StringImm('a'))", "", ("is a text, which cannot be converted to uint32",)),
    "a number of too many bits": ("y = lane_id + 10**30", "", ("does not fit in 64 bits",)),
    "a power of too many digits": ("y = 10 ** 10 ** 10", "", ("is a number of more than 65,536 bits",)),
    "a tile in a name": ("y = Tx.let(reg[0:4])", "", ("a tile, reg[0:4], is not a value that a name can hold",)),
    "no function": (
        "y = A.shape()", "", ("`A.shape` is the tuple (128, 64) and cannot be called", "without the parentheses")),
    "no elements": ("y = Tx.copy[0]", "", ("is the function copy, which cannot be indexed", "call it: `Tx.copy(…)`")),
    "no element of that number": ("y = (1, 2)[5]", "", ("which has no element 5 (IndexError)",)),
    "no element of that name": ("y = {'a': 1}['b']", "", ("has no key 'b' (KeyError)", "its keys are 'a'")),
    "an element of an object": ("M[0] = 1", "", ("cannot assign to an element of `M`, which is 128",)),
    "an attribute of the language": (
        "Tx.copy = 1", "", ("cannot assign to an attribute of `Tx`, which is the module tirx",)),
    "an attribute that resembles none": ("y = A.qqqq", "", ("`A` has no attribute `qqqq`", "its attributes are")),
    "nothing to iterate over": (
        "for i in Tx.thread():\n    pass", "Tx.thread()", ("cannot iterate over the scope Tx.thread()",)),
    "a list of a buffer": ("y = list(A)", "", ("cannot iterate over the buffer A",)),
    "a loop without end": ("for i in count():\n    reg[0] = 1.0", "count()", ("has more than 65,536 elements",)),
    "a list without end": ("y = list(count())", "", ("cannot iterate over a count",)),
    "an operator of others": ("y = Tx.copy + 1", "", ("`+` is not defined for the function copy and 1",)),
    "a whole buffer in arithmetic": ("y = -bar", "", ("`-` needs values, but bar is a whole buffer", "bar[…]")),
    "a key that cannot be one": ("y = {[1]: 2}", "[1]", ("the list [1] cannot be a key of a dict",)),
    "a module that is not there": (
        "import nothing_of_that_name", "", ("the module `nothing_of_that_name` cannot be imported",)),
    "a function of Python": ("y = len(lane_id == 0)", "", ("len() is a function of Python",)),
    "a function of Python for others": ("y = len(Tx.copy)", "", ("`len` cannot be called with the function copy",)),
    "a name that is no text": ("y = Tx.alloc_local((4,), name=7)", "7", ("a name must be a string, not 7",)),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_page_names_the_culprit(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body, count=itertools.count)
    assert line_of(error) == (culprit or line_of(error)), str(error)
    for word in words:
        assert word in str(error), str(error)
    assert error.diagnostic.hint is not None


def outer(value: Any) -> int:
    return inner(value)


def inner(value: Any) -> int:
    return value.nothing


@pytest.mark.parametrize("function", [outer, np.vectorize(outer)])
def test_an_exception_in_the_users_code_keeps_its_line(function: Any) -> None:
    error = error_in("y = function(3)", function=function)
    assert "object has no attribute 'nothing'" in error.diagnostic.message
    ((text, place),) = error.diagnostic.notes
    assert place is not None and linecache.getline(place.file, place.line).strip() == "return value.nothing"


def test_a_callback_of_the_user_is_not_taken_for_a_wrong_argument() -> None:
    assert "ZeroDivisionError" in str(error_in("y = Tx.meta_var(broken())", broken=lambda: 1 // 0))


def test_python_evaluates_what_it_can() -> None:
    read("y = sorted({3, 1})[0]\nfor k in (1, 2):\n    reg[k] = 1.0 * y\nassert max([y, 4]) == 4")

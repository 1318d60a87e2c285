"""Whatever the text is, `load_json` returns a kernel or says in one sentence what is wrong; nothing is evaluated."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.ir import PrimFunc, walk
from tirx_mini.saved import ELSEWHERE, MOST_BYTES

Saved = dict[str, Any]


@pytest.fixture(scope="module")
def saved() -> Saved:
    return json.loads(tvm.save_json(load_kernels(default_kernels())[4](256, 256, 256)))


def first(saved: Saved, cls: str) -> Saved:
    """The fields of the first node of a class."""
    return next(fields for name, fields in saved["nodes"] if name == cls)


def at(cls: str, **changes: Any) -> Callable[[Saved], None]:
    return lambda saved: first(saved, cls).update(changes)


def deep(saved: Saved) -> None:
    start = len(saved["nodes"])
    saved["nodes"].append(["Var", {"dtype": "int32", "name": "k"}])
    for number in range(start, start + 1000):
        saved["nodes"].append(["Unary", {"dtype": "int32", "op": "-", "value": {"ref": number}}])


def without(cls: str, field: str) -> Callable[[Saved], None]:
    return lambda saved: first(saved, cls).pop(field)


CHANGES: dict[str, tuple[Callable[[Saved], object], str]] = {
    "another format": (lambda s: s.update(format="pickle"), '"format" is not "tirx_mini kernel"'),
    "another version": (lambda s: s.update(version=2), "saved in version 2"),
    "no nodes": (lambda s: s.pop("nodes"), "nodes: expected a list"),
    "files that are none": (lambda s: s.update(files=[1]), "files: expected a list of names"),
    "no function": (lambda s: s.update(func=0), "func: expected the number of a PrimFunc"),
    "a number that is no line": (lambda s: s.update(func=10**9), "func: expected the number of a PrimFunc"),
    "a class that is none of the IR": (lambda s: s["nodes"].append(["Popen", {}]), "'Popen' is not a class of the IR"),
    "a line that is none": (lambda s: s["nodes"].append(7), "expected the name of a class and its fields"),
    "a field too many": (at("Seq", run="rm"), "Seq has no field 'run'"),
    "a field too few": (without("Buffer", "shape"), "Buffer needs shape"),
    "a reference to a later line": (at("BufferStore", value={"ref": 10**6}), "a reference to an earlier line"),
    "a node of another kind": (at("Seq", stmts=[{"ref": 0}]), ".stmts: expected Stmt"),
    "a name that is code": (at("Buffer", name="x); import os; ("), ".name: expected an identifier"),
    "a name that is a word of Python": (at("Buffer", name="lambda"), ".name: expected an identifier"),
    "an absurd size": (at("Buffer", shape=[2**30, 2**30]), "at most 1099511627776 elements"),
    "a negative extent": (at("Buffer", shape=[-1]), "an integer from 1"),
    "a dtype that is none": (at("Const", dtype="object"), ".dtype: expected a dtype"),
    "a value beyond its dtype": (at("Const", dtype="int8", value=1000), "a value of int8"),
    "a value of another type": (at("Const", dtype="int32", value="1"), ".value: expected a number"),
    "an operator that is none": (at("Binary", op="__import__"), ".op: expected one of +, -"),
    "a register that is none": (
        lambda s: s["nodes"].append(["Special", {"dtype": "int32", "name": "gridDim"}]),
        ".name: expected one of threadIdx.x",
    ),
    "an instruction that is none": (at("Call", op="os.system"), ".op: expected one of "),
    "operands that do not fit": (at("Call", args=[]), "operands that fit"),
    "a modifier that is given twice": (at("Call", attrs=[["space", "x"], ["space", "y"]]), "each modifier once"),
    "a modifier that is text of PTX": (at("Call", attrs=[["space", "x]; trap; //"]]), ".attrs: expected a word"),
    "a scope that is none": (at("Scope", kind="gpu"), ".kind: expected one of kernel"),
    "nodes within nodes without end": (deep, "at most 400 nodes within one another"),
    "a swizzle that is none": (at("SwizzleMode", name="__class__"), ".name: expected one of SWIZZLE_NONE"),
    "an address that is no integer": (
        lambda s: s["nodes"].extend([
            ["Var", {"dtype": "float32", "name": "x"}],
            ["Address", {"dtype": "handle", "value": {"ref": len(s["nodes"])}}],
        ]),
        "an integer as the number of an address",
    ),
    "an infinite loop step": (at("For", step=0), ".step: expected an integer from 1"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_text_that_is_no_saved_kernel_is_refused(change: str, saved: Saved) -> None:
    edit, said = CHANGES[change]
    edited = copy.deepcopy(saved)
    edit(edited)
    with pytest.raises(tvm.SavedKernelError) as refused:
        tvm.load_json(json.dumps(edited))
    assert said in str(refused.value) and "\n" not in str(refused.value)


NOT_JSON = ["", "[", "1", '{"format": NaN}', "[" * 100_000, '{"a": ' + "9" * 10_000 + "}", b"\xff\x00"]


@pytest.mark.parametrize("text", NOT_JSON)
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(tvm.SavedKernelError):
        tvm.load_json(text)


def test_a_text_that_is_too_long_is_not_parsed() -> None:
    with pytest.raises(tvm.SavedKernelError, match="at most"):
        tvm.load_json(" " * (MOST_BYTES + 1))


def test_spans_lead_only_to_files_that_the_reader_knows(saved: Saved) -> None:
    edited = copy.deepcopy(saved)
    edited["files"] = ["/etc/passwd" for _ in edited["files"]]
    func = tvm.load_json(json.dumps(edited), files={"gemm_kernels.py": "handin/gemm_kernels.py"})
    spans = {span.file for node in walk(func.body) if node.span is not None for span in node.span.chain()}
    assert spans == {ELSEWHERE}
    edited["files"][0] = "gemm_kernels.py"
    func = tvm.load_json(json.dumps(edited), files={"gemm_kernels.py": "handin/gemm_kernels.py"})
    spans = {span.file for node in walk(func.body) if node.span is not None for span in node.span.chain()}
    assert "handin/gemm_kernels.py" in spans <= {ELSEWHERE, "handin/gemm_kernels.py"}


@pytest.mark.parametrize("message", ["a\nvoid evil();", "end */ evil", "a line that goes on \\"])
def test_a_hint_stays_a_comment(message: str, saved: Saved) -> None:
    edited = copy.deepcopy(saved)
    edited["nodes"].append(["Hint", {"message": message}])
    with pytest.raises(tvm.SavedKernelError, match="one line of text"):
        tvm.load_json(json.dumps(edited))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["Var", "int32", "+", "kernel"])
    | st.builds(lambda n: {"ref": n}, st.integers(-1, 400)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_text_gives_a_kernel_or_one_sentence(saved: Saved, data: st.DataObject) -> None:
    edited = copy.deepcopy(saved)
    line = edited["nodes"][data.draw(st.integers(0, len(edited["nodes"]) - 1))]
    fields = list(line[1])
    if not fields or data.draw(st.booleans()):
        line[data.draw(st.integers(0, 1))] = data.draw(JUNK)
    else:
        line[1][data.draw(st.sampled_from(fields))] = data.draw(JUNK)
    try:
        func = tvm.load_json(json.dumps(edited))
    except tvm.SavedKernelError as refused:
        assert str(refused) and "\n" not in str(refused)
    else:
        assert isinstance(func, PrimFunc)

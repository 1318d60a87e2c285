"""Names that a kernel assigns again have the values that Python gives them, whatever the loops and branches around."""

from __future__ import annotations

import textwrap

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.ir import structural_equal
from tirx_mini.script import from_source

NAMES = ("x", "y", "z")
KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((3,), "int32"), n: T.int32):
    T.device_entry()
    tx = T.thread_id([32])
    if tx == 0:
"""
RESULTS = "\nA[0] = x\nA[1] = y\nA[2] = z"

atoms = st.sampled_from([*NAMES, "n", "1", "2", "5"])
values = st.builds("({} {} {}) % 97".format, atoms, st.sampled_from("+-*"), atoms) | atoms
conditions = st.builds("{} {} {}".format, atoms, st.sampled_from(["<", ">=", "=="]), atoms)
plain = (
    st.builds("{} = {}".format, st.sampled_from(NAMES), values)
    | st.builds("{} += {}".format, st.sampled_from(NAMES), st.sampled_from("12"))
    | st.builds("{0}, {1} = {1}, {0}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(
        lambda text: text[0] != text[3]
    )
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(lambda parts: textwrap.indent("\n".join(parts), "    "))
    return (
        st.builds("if {}:\n{}".format, conditions, bodies)
        | st.builds("if {}:\n{}\nelse:\n{}".format, conditions, bodies, bodies)
        | st.builds("for i in range({}):\n{}".format, st.sampled_from(["2", "3", "n"]), bodies)
        | st.builds("for i in (1, 2):\n{}".format, bodies)
        | st.builds("if True:\n{}".format, bodies)
    )


programs = st.lists(st.recursive(plain, _blocks, max_leaves=6), min_size=1, max_size=6).map("\n".join)


@settings(max_examples=60, deadline=None)
@given(programs, st.integers(0, 4), st.permutations(NAMES))
def test_a_kernel_computes_what_python_computes(program: str, n: int, order: list[str]) -> None:
    body = "\n".join([f"{name} = {index}" for index, name in enumerate(order)]) + "\n" + program + RESULTS
    expected = np.zeros(3, np.int32)
    exec(body, {"A": expected, "n": n})
    kernel = from_source(KERNEL + textwrap.indent(body, "        "))
    again = from_source(kernel.script())
    assert structural_equal(kernel, again), kernel.script()
    for each in (kernel, again):
        found = np.zeros(3, np.int32)
        report = tvm.simulate(each, found, n)
        assert report.verdict == "ok", f"{body}\n{report}"
        np.testing.assert_array_equal(found, expected, body)

"""The launch of a kernel is programmatic if and only if the kernel may execute griddepcontrol.wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirx_mini.ir import Launch, PrimFunc
from tirx_mini.passes import LoweringError, lower, verify_lowered
from tirx_mini.script import tirx as T


def kernel(form: str) -> PrimFunc:
    """A kernel with a wait of the given form."""

    @T.prim_func
    def small(A: T.Buffer((64,), "int32")):
        T.device_entry()
        cta = T.cta_id([2])
        tx = T.thread_id([32])
        if form == "plain":
            T.ptx.griddepcontrol.wait()
        if form == "of some threads" and tx == 3:
            T.ptx.griddepcontrol.wait()
        if form == "never executed" and tx == 32:
            T.ptx.griddepcontrol.wait()
        if form == "launch_dependents only":
            T.ptx.griddepcontrol.launch_dependents()
        A[cta * 32 + tx] = tx

    return small


FORMS = {
    "none": False, "plain": True, "of some threads": True, "never executed": False, "launch_dependents only": False
}  # fmt: skip


def launch_of(func: PrimFunc) -> Launch:
    assert func.launch is not None
    return func.launch


@pytest.mark.parametrize("form", FORMS)
def test_the_lowered_launch_is_programmatic_if_the_kernel_waits(form: str) -> None:
    func = lower(kernel(form))
    assert launch_of(func) == Launch((2, 1, 1), 32, programmatic=FORMS[form])
    assert ("programmatic=True" in func.script()) == FORMS[form]


def test_an_inconsistent_launch_is_reported() -> None:
    func = lower(kernel("plain"))
    wrong = replace(func, launch=replace(launch_of(func), programmatic=False))
    with pytest.raises(LoweringError, match=r"programmatic=False of its launch contradicts its griddepcontrol\.wait"):
        verify_lowered(wrong)

"""Debug output of kernels: on standard output in the simulator, through CUDA's printf on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


@T.prim_func
def prints(A_ptr: T.handle, C_ptr: T.handle):
    A = T.match_buffer(A_ptr, (3, 10), "float32")
    C = T.match_buffer(C_ptr, (4,), "float16")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    own = T.alloc_local((2,), "int32")
    own[0] = tx
    own[1] = -tx
    sm = T.alloc_shared((17,), "uint8")
    if tx == 3:
        for i in T.serial(17):
            sm[i] = T.Cast("uint8", i + 200)
        T.print_buffer(A.data, "float32", False, False, 2, (2, 10))
        T.print_buffer(C.data, "float16", False, True, 1, (4,))
        T.print_buffer(sm.data, "uint8", False, False, 1, (17,))
        T.cuda.printf("100%% of %d, %5.2f, %llu\n", tx, A[0, 1], T.Cast("uint64", tx) << 40)
    if tx < 2:
        T.print_buffer(own.data, "int32", False, False, 1, (2,))
    T.cuda.cta_sync()
    C[0] = T.float16(1)


EXPECTED = """\
A[0, 0:8] = 0 0.333333 0.666667 1 1.33333 1.66667 2 2.33333
A[0, 8:10] = 2.66667 3
A[1, 0:8] = 3.33333 3.66667 4 4.33333 4.66667 5 5.33333 5.66667
A[1, 8:10] = 6 6.33333
C[0:1] = 1.5
sm[0:8] = 200 201 202 203 204 205 206 207
sm[8:16] = 208 209 210 211 212 213 214 215
sm[16:17] = 216
100% of 3,  0.33, 3298534883328
thread 0: own[0:2] = 0 0
thread 1: own[0:2] = 1 -1
"""


def test_the_simulator_prints_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    a, c = np.arange(30, dtype=np.float32).reshape(3, 10) / 3, np.full(4, 1.5, np.float16)
    assert tvm.simulate(prints, a, c).verdict == "ok"
    assert capsys.readouterr().out == EXPECTED


def test_a_character_is_the_low_byte_of_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def letters(A: T.Buffer((1,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        if tx == 0:
            T.cuda.printf("%c%c%c", 65, 0x110000 + 66, -189)
            A[0] = 1

    assert tvm.simulate(letters, np.zeros(1, np.int32)).verdict == "ok"
    assert capsys.readouterr().out == "ABC"


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_the_gpu_prints_by_printf(arch: str) -> None:
    exe = tvm.compile(prints, target=f"cuda:{arch}")
    assert r'printf("A[%d, %d:%d] = %g %g\n", i, 8, 10, A[' in exe.source("cuda")
    assert ".extern .func  (.param .b32 func_retval0) vprintf" in exe.source("ptx")


def test_a_printing_kernel_parses_back_equal() -> None:
    for func in (prints, lower(prints)):
        assert structural_equal(func, from_source(func.script()))


MISTAKES = {
    'T.print_buffer(A, "float16", False, False, 1, (4,))': "with dtype float16",
    'T.print_buffer(A.data, "float32", False, False, 2, (4,))': "shape of 2 extents",
    'T.print_buffer(A.data, "float32", False, False, 1, (9,))': "cannot print shape (9,)",
    'T.print_buffer(A.data, "float32", True, False, 1, (4,))': "is_string must be False",
    'T.print_buffer(A.ptr_to([1]), "float32", False, False, 1, (4,))': "first element",
    'T.print_buffer(7, "float32", False, False, 1, (4,))': "write C.data",
    'T.cuda.printf("%d %d\\n", 1)': "expects 2 values, found 1",
    'T.cuda.printf("%d\\n", A[0])': "%d prints int32 values",
    'T.cuda.printf("%s\\n", 1)': "unknown conversion",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_an_invalid_print_is_reported(line: str) -> None:
    text = f"@T.prim_func\ndef k(p: T.handle):\n    A = T.match_buffer(p, (8,))\n    T.device_entry()\n    {line}\n"
    with pytest.raises(TirxError) as raised:
        from_source(text)
    assert MISTAKES[line] in str(raised.value)

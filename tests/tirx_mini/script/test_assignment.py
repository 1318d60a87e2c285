"""Assignment: declarations, stores, bindings and aliases."""

from __future__ import annotations

import pytest

from tests.tirx_mini.script.reading import error_in, line_of, printed

BECOMES = {
    "a declared scalar is stored to": ("x: Tx.int32\nx = lane_id\nx = x + 1", "x: Tx.int32 = lane_id\nx = x + 1"),
    "a declaration with a value": ("x: Tx.float32 = 1\nx *= 2", "x: Tx.float32 = 1.0\nx = x * 2.0"),
    "a dtype by its name": ('x: "uint32" = 3', "x: Tx.uint32 = 3"),
    "the first assignment binds": ("x = lane_id * 2\nreg[x] = 0", "x = lane_id * 2\nreg[x] = 0.0"),
    "a plain number binds too": ("x = 5\nreg[x] = 0", "x = 5\nreg[x] = 0.0"),
    "another name for a variable declares nothing": ("x = lane_id\nreg[x] = 0", "reg[lane_id] = 0.0"),
    "Tx.let binds even a variable": ("x = Tx.let(lane_id)\ny: Tx.let = 3", "x = Tx.let(lane_id)\ny = 3"),
    "Tx.meta_var makes an alias": ("x = Tx.meta_var(lane_id * 2)\nreg[x] = 0", "reg[lane_id * 2] = 0.0"),
    "a meta variable may be reassigned": (
        "x = Tx.meta_var(lane_id)\nx = Tx.meta_var(x + 1)\nreg[x] = 0",
        "reg[lane_id + 1] = 0.0",
    ),
    "a meta number may be incremented": ("x = Tx.meta_var(1)\nx += 2\nreg[x] = 0", "reg[3] = 0.0"),
    "a choice of meta variables": ("x = Tx.meta_var(2) if M > 1 else Tx.meta_var(3)\nreg[x] = 0", "reg[2] = 0.0"),
    "tuples of meta variables": (
        "a, (b, c) = Tx.meta_var(lane_id), Tx.meta_var((1, 2))\nreg[a + b + c] = 0",
        "reg[lane_id + 1 + 2] = 0.0",
    ),
    "tuples of values": ("a, b = lane_id + 1, 2\nreg[a] = b", "a = lane_id + 1\nb = 2\nreg[a] = Tx.float32(b)"),
    "a scalar read is a snapshot": ("x = phase\nphase = 1\nreg[x] = 0", "x = phase\nphase = 1\nreg[x] = 0.0"),
    "scalars swap": (
        "x: Tx.int32 = 1\nx, phase = phase, x",
        "x: Tx.int32 = 1\nprevious = phase\nprevious_1 = x\nx = previous\nphase = previous_1",
    ),
    "elements": ("reg[0] = 1\nreg[lane_id % 8] += 2", "reg[0] = 1.0\nreg[lane_id % 8] = reg[lane_id % 8] + 2.0"),
    "a whole number is an int": ("phase = 128 / 64", "phase = 2"),
    "an explicit conversion to int": (
        "phase = Tx.int32(reg[0])\nphase = Tx.int32(1.5)",
        "phase = Tx.int32(reg[0])\nphase = 1",
    ),
    "a bool becomes a number": ("phase = warp_id == 0", "phase = Tx.int32(warp_id == 0)"),
    "a wider value is converted": ("reg[0] = lane_id", "reg[0] = Tx.float32(lane_id)"),
    "several targets": ("a = b = lane_id * 2\nreg[a] = b", "a = lane_id * 2\nreg[a] = Tx.float32(a)"),
    "python containers": ("t = [1, 2]\nt[0] = 3\nreg[t[0]] = 0", "reg[3] = 0.0"),
    "augmented assignments": (
        "phase ^= 1\nphase += 2\nphase -= 1\nphase *= 3\nphase //= 2\nphase %= 5\nphase <<= 1\nphase |= 8",
        (
            "phase = phase ^ 1\nphase = phase + 2\nphase = phase - 1\nphase = phase * 3\nphase = phase // 2\n"
            "phase = phase % 5\nphase = phase << 1\nphase = phase | 8"
        ),
    ),
    "a pointer is an alias": (
        "p = bar.ptr_to([1])\nTx.ptx.mbarrier.arrive(p)",
        "Tx.ptx.mbarrier.arrive(bar.ptr_to([1]))",
    ),
    "a pointer that depends on a scalar is bound": (
        "p = bar.ptr_to([phase])\nTx.ptx.mbarrier.arrive(p)",
        "p = Tx.let(bar.ptr_to([phase]))\nTx.ptx.mbarrier.arrive(p)",
    ),
    "a view is declared under its name": (
        'pair = reg.view(4, 2, dtype="float32")\npair[1, 1] = 0',
        'pair = Tx.decl_buffer((4, 2), "float32", scope="local", source=reg)\npair[1, 1] = 0.0',
    ),
    "names may be reused in another block": (
        "for i in range(2):\n    x = i * 2\n    reg[x] = 0\nfor i in range(3):\n    x = i * 3\n    reg[x] = 0",
        "for i in range(2):\n    x = i * 2\n    reg[x] = 0.0\nfor i in range(3):\n    x = i * 3\n    reg[x] = 0.0",
    ),
    "deleted names may be reused": ("x = lane_id * 2\ndel x\nx = lane_id * 3", "x = lane_id * 2\nx_1 = lane_id * 3"),
}


@pytest.mark.parametrize("name", BECOMES)
def test_an_assignment_becomes_this_ir(name: str) -> None:
    body, expected = BECOMES[name]
    assert printed(body) == expected


MISTAKES = {
    "a second assignment": ("x = lane_id * 2\nx = x + 1", "x", ("`x: Tx.int32 = lane_id * 2`", "assigned twice")),
    "a second number": ("x = 0\nx ^= 1", "x", ("`x: Tx.int32 = 0`",)),
    "a second assignment in a branch": ("x = 0.5\nif warp_id == 0:\n    x = 1.5", "x", ("`x: Tx.float32 = 0.5`",)),
    "a loop variable": ("for k in range(4):\n    k = k + 1", "k", ("loop variable",)),
    "a scalar parameter of the kernel": ("n = n + 1", "n", ("`n` is a parameter",)),
    "too many names": ("a, b, c = 1, 2", "a, b, c", ("expected 3 values", "found 2 in")),
    "too few indices": ("a, b = Tx.cta_id([2])", "a, b", ("expected 2 values", "found 1 in")),
    "a slice": ("reg[0:4] = 0.0", "reg[0:4]", ("tile", "Tx.fill")),
    "an element of tensor memory": (
        "t = Tx.decl_buffer((128, 512), 'float32', scope='tmem', allocated_addr=tmem_addr[0])\nt[0, 0] = 1.0",
        "t[0, 0]",
        ("tensor memory",),
    ),
    "a fraction in an int": ("phase = 1.5", "phase", ("`phase` is int32, but 1.5 is a float", "`Tx.int32(1.5)`")),
    "a fraction in a declaration": ("x: Tx.uint32 = 0.5", "x", ("`x` is uint32, but 0.5 is a float",)),
    "a fraction that is added": ("phase += 0.5", "phase", ("`phase` is int32", "float32", "`Tx.int32(…)`")),
    "a fraction in an element": ("bar[0] = 1.5", "bar[0]", ("`bar[0]` is uint64",)),
    "a NaN in an int": ("phase = float('nan')", "phase", ("nan is a float",)),
    "a computed float in an int": ("phase = reg[0] * 2", "phase", ("the value is float32", "write `Tx.int32(…)`")),
    "a string in a register": ("reg[0] = 'one'", "reg[0]", ("str", "float32")),
    "an annotation that is not a dtype": ("x: int = 3", "int", ("`x: Tx.int32`",)),
    "an unknown dtype": ("x: Tx.int33 = 3", "Tx.int33", ("`int32`",)),
    "an element of a scalar": ("reg[0] = phase[0]", "phase[0]", ("`phase`", "brackets")),
    "an attribute of a buffer": ("reg.name = 3", "reg.name", ("cannot assign to an attribute",)),
    "a call": ("Tx.min(1, 2)[0] = 3", "Tx.min(1, 2)[0]", ()),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_invalid_assignment_is_reported(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    for word in words:
        assert word in str(error), str(error)


def test_the_error_for_a_second_assignment_points_at_the_first() -> None:
    error = error_in("x = lane_id * 2\nreg[x] = 0\nx = 3")
    (note,) = error.diagnostic.notes
    assert note[1] is not None and error.span is not None and note[1].line == error.span.line - 2

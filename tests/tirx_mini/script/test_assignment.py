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


VARIABLES = {
    "a number changed by a loop": (
        "accum = 0\nfor k in range(n):\n    reg[k % 8] = accum\n    accum = 1",
        "accum: Tx.int32 = 0\nfor k in range(n):\n    reg[k % 8] = Tx.float32(accum)\n    accum = 1",
    ),
    "a bool": (
        "flag = False\nif lane_id > 3:\n    flag = True",
        "flag: Tx.bool = False\nif lane_id > 3:\n    flag = True",
    ),
    "a float": (
        "acc = 0.0\nfor k in range(8):\n    acc += reg[k]",
        "acc: Tx.float32 = 0.0\nfor k in range(8):\n    acc = acc + reg[k]",
    ),
    "an expression": ("x = lane_id * 2\nx = x + 1", "x: Tx.int32 = lane_id * 2\nx = x + 1"),
    "a number in a straight line": ("x = 0\nx ^= 1", "x: Tx.int32 = 0\nx = x ^ 1"),
    "one arm of a branch": (
        "x = 0.5\nif warp_id == 0:\n    x = 1\nreg[0] = x",
        "x: Tx.float32 = 0.5\nif warp_id == 0:\n    x = 1.0\nreg[0] = x",
    ),
    "a first assignment in a loop": (
        "for k in range(4):\n    x = k\n    if lane_id == 0:\n        x += 1\n    reg[x] = 0",
        "for k in range(4):\n    x: Tx.int32 = k\n    if lane_id == 0:\n        x = x + 1\n    reg[x] = 0.0",
    ),
    "a condition of a loop": ("x = 0\nwhile x < 4:\n    x += 1", "x: Tx.int32 = 0\nwhile x < 4:\n    x = x + 1"),
    "a later value of another type": (
        "x = lane_id * 2\nx = Tx.uint32(7)\nx = warp_id == 0",
        "x: Tx.int32 = lane_id * 2\nx = 7\nx = Tx.int32(warp_id == 0)",
    ),
    "an id": ("x = lane_id\nx = x // 2", "x: Tx.int32 = lane_id\nx = x // 2"),
    "a copy of a variable is a snapshot": (
        "x = 0\ny = x\nx = 1\nreg[y] = x",
        "x: Tx.int32 = 0\ny = x\nx = 1\nreg[y] = Tx.float32(x)",
    ),
    "several targets, of which one changes": (
        "a = b = lane_id * 2\nb += 1\nreg[a] = b",
        "a = lane_id * 2\nb: Tx.int32 = a\nb = b + 1\nreg[a] = Tx.float32(b)",
    ),
    "names of a tuple": (
        "a, b = 0, 1\nfor k in range(4):\n    a, b = b, a",
        (
            "a: Tx.int32 = 0\nb: Tx.int32 = 1\nfor k in range(4):\n    previous = b\n    previous_1 = a\n"
            "    a = previous\n    b = previous_1"
        ),
    ),
    "a loop over Python values": (
        "x = 0\nfor i in (2, 3):\n    x = x + i",
        "x: Tx.int32 = 0\nx = x + 2\nx = x + 3",
    ),
    "the arms of a compile-time branch are alternatives": (
        "if M > 100:\n    x = 1\nelse:\n    x = 2\nreg[x] = 0",
        "x = 1\nreg[x] = 0.0",
    ),
    "the arms of a branch have names of their own": (
        "if warp_id == 0:\n    x = 1\n    reg[x] = 0\nelse:\n    x = 2\n    reg[x] = 0",
        "if warp_id == 0:\n    x = 1\n    reg[x] = 0.0\nelse:\n    x = 2\n    reg[x] = 0.0",
    ),
    "a start of a slice": (
        "x = 0\nfor k in range(2):\n    Tx.copy(Asmem[x : x + 8, :], A[x : x + 8, 0:64])\n    x += 8",
        "x: Tx.int32 = 0\nfor k in range(2):\n    Tx.copy(Asmem[x : x + 8, 0:64], A[x : x + 8, 0:64])\n    x = x + 8",
    ),
    "a buffer of one element": (
        "x = Tx.alloc_local((1,), 'int32')\nx = 5\nfor k in range(4):\n    x = x[0] + k",
        'x = Tx.alloc_local((1,), "int32")\nx[0] = 5\nfor k in range(4):\n    x[0] = x[0] + k',
    ),
    "an inline function": (
        "x = 0\n@Tx.inline\ndef step():\n    x = x + 1\nstep()\nreg[x] = 0",
        "x: Tx.int32 = 0\nx = x + 1\nreg[x] = 0.0",
    ),
    "an inline function defined before it": (
        "@Tx.inline\ndef step():\n    x = 1\nx = 0\nstep()",
        "x: Tx.int32 = 0\nx = 1",
    ),
    "nonlocal": (
        "x = 0\n@Tx.inline\ndef step():\n    nonlocal x\n    for k in range(2):\n        x += k\nstep()",
        "x: Tx.int32 = 0\nfor k in range(2):\n    x = x + k",
    ),
    "a variable within an inline function": (
        "@Tx.inline\ndef count():\n    x = 0\n    for k in range(4):\n        x += k\n    return x\nreg[0] = count()",
        "x: Tx.int32 = 0\nfor k in range(4):\n    x = x + k\nreg[0] = Tx.float32(x)",
    ),
    "an argument of an inline function": (
        "x = 0\n@Tx.inline\ndef put(i):\n    reg[i] = 0\nfor k in range(4):\n    put(x)\n    x = k",
        "x: Tx.int32 = 0\nfor k in range(4):\n    reg[x] = 0.0\n    x = k",
    ),
    "an id and a variable of an inline function": (
        "tid = Tx.thread_id([128])\n@Tx.inline\ndef put():\n    tid = tid % 32\n    reg[0] = tid\nput()\nphase = tid",
        'tid = Tx.thread_id([128], parent="cta")\ntid_1 = tid % 32\nreg[0] = Tx.float32(tid_1)\nphase = tid',
    ),
    "a pointer in a straight line is another name": (
        "p = bar.ptr_to([0])\nTx.ptx.mbarrier.arrive(p)\np = bar.ptr_to([1])\nTx.ptx.mbarrier.arrive(p)",
        "Tx.ptx.mbarrier.arrive(bar.ptr_to([0]))\nTx.ptx.mbarrier.arrive(bar.ptr_to([1]))",
    ),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_name_that_is_assigned_again_is_a_variable(name: str) -> None:
    body, expected = VARIABLES[name]
    assert printed(body) == expected


@pytest.mark.parametrize("name", BECOMES)
def test_an_assignment_becomes_this_ir(name: str) -> None:
    body, expected = BECOMES[name]
    assert printed(body) == expected


MISTAKES = {
    "a bound name": ("x = Tx.let(lane_id)\nx = 3", "x", ("bound by Tx.let", "`x: Tx.int32`", "`x` is first assigned")),
    "a bound name in a loop": ("x: Tx.let = 3\nfor k in range(4):\n    x += 1", "x", ("bound by Tx.let",)),
    "a pointer in a branch": (
        "p = bar.ptr_to([0])\nif warp_id == 0:\n    p = bar.ptr_to([1])\nTx.ptx.mbarrier.arrive(p)",
        "p",
        ("holds a pointer", "`bar.ptr_to([index])`"),
    ),
    "a fraction in a variable that starts as an integer": (
        "acc = 0\nfor k in range(4):\n    acc = acc + reg[k]",
        "acc",
        ("`acc` is int32", "`acc = 0.0`", "takes its type from its first value"),
    ),
    "a buffer in a variable": (
        "x = 0\nif warp_id == 0:\n    x = 1\nx = reg",
        "x",
        ("cannot store the buffer reg in `x`", "int32"),
    ),
    "an extent that is assigned twice": (
        "w = 4\nw = w * 2\nTx.fill(reg[0:w], 0.0)", "0:w", ("is not a constant", "bind `w` with `= Tx.meta_var(…)`"),
    ),
    "a number that does not fit": ("x = 0\nx = 1 << 40", "x", ("1099511627776 does not fit", "`x: Tx.int64 = …`")),
    "None in a variable": ("x = 0\nx += 1\nx = None", "x", ("cannot store None in `x`",)),
    "a loop variable": ("for k in range(4):\n    k = k + 1", "k", ("loop variable",)),
    "a scalar parameter of the kernel": ("n = n + 1", "n", ("`n` is a parameter", "`now: Tx.int32 = n`")),
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
    "a string in a register": ("reg[0] = 'one'", "reg[0]", ("'one'", "float32")),
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

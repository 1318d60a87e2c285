"""Inline functions: expansion at each call, parameters, defaults and captured names."""

from __future__ import annotations

import pytest

from tests.tirx_mini.script.reading import error_in, line_of, printed, read
from tirx_mini.ir import BufferStore, Evaluate, TirxError, walk
from tirx_mini.script import tirx as Tx

BECOMES = {
    "parameters and defaults": (
        "@Tx.inline\ndef put(i, value=2, *, scale=1):\n    reg[i] = value * scale\nput(0)\nput(1,3)\nput(i=2, scale=5)",
        "reg[0] = 2.0\nreg[1] = 3.0\nreg[2] = 10.0",
    ),
    "star arguments": (
        (
            "@Tx.inline\ndef put(first, *rest, **named):\n    reg[first] = rest[0]\n    reg[named['i']] = rest[1]\n"
            "put(0, *(3, lane_id), **{'i': 4})"
        ),
        "reg[0] = 3.0\nreg[4] = Tx.float32(lane_id)",
    ),
    "captured scalars are assigned": (
        "@Tx.inline\ndef flip():\n    phase = phase ^ 1\nflip()\nflip()",
        "phase = phase ^ 1\nphase = phase ^ 1",
    ),
    "captured scalars, augmented": ("@Tx.inline\ndef flip():\n    phase ^= 1\nflip()", "phase = phase ^ 1"),
    "names defined after the function are visible": (
        "@Tx.inline\ndef put():\n    reg[slot] = 1\nslot = Tx.meta_var(3)\nput()",
        "reg[3] = 1.0",
    ),
    "names of the function are local": (
        "@Tx.inline\ndef put():\n    x = warp_id * 3\n    reg[x] = 0\nput()\nx = lane_id * 2\nreg[x] = 1",
        "x = warp_id * 3\nreg[x] = 0.0\nx_1: Tx.int32 = lane_id * 2\nreg[x_1] = 1.0",
    ),
    "names of the kernel are assigned": (  # as in TVM 0.26, where a name that is visible is stored to
        "x = lane_id * 2\n@Tx.inline\ndef put():\n    x = warp_id * 3\n    reg[x] = 0\nput()\nreg[x] = 1",
        "x: Tx.int32 = lane_id * 2\nx = warp_id * 3\nreg[x] = 0.0\nreg[x] = 1.0",
    ),
    "it returns a value": (
        "@Tx.inline\ndef row(base):\n    return base + warp_id * 32 + lane_id\nreg[0] = row(bx * 128)",
        "reg[0] = Tx.float32(bx * 128 + warp_id * 32 + lane_id)",
    ),
    "it returns Python values": (
        "@Tx.inline\ndef pair(i):\n    return i, i + 1\na, b = pair(1)\nreg[b] = 0",
        "a = 1\nb = 2\nreg[b] = 0.0",
    ),
    "it recurses over Python values": (
        "@Tx.inline\ndef fill(i):\n    if i > 0:\n        fill(i - 1)\n        reg[i] = i\nfill(2)",
        "reg[1] = 1.0\nreg[2] = 2.0",
    ),
    "functions need no decorator": ("def put(i):\n    reg[i] = 1\nput(3)", "reg[3] = 1.0"),
    "functions within functions": (
        "@Tx.inline\ndef outer(i):\n    @Tx.inline\n    def inner(j):\n        reg[i + j] = 0\n    inner(1)\nouter(2)",
        "reg[3] = 0.0",
    ),
    "nonlocal": (
        (
            "total = (1,)\n@Tx.inline\ndef grow():\n    nonlocal total\n    total = total + (2,)\n"
            "grow()\nreg[total[1]] = 0"
        ),
        "reg[2] = 0.0",
    ),
    "tiles and dicts are passed": (
        (
            "@Tx.inline\ndef load(dst, src, **config):\n    Tx.copy_async(dst, src, **config)\n"
            "load(Asmem[:, :], A[:, :], dispatch='tma', mbar=bar.ptr_to([phase]))"
        ),
        'Tx.copy_async(Asmem[0:128, 0:64], A[0:128, 0:64], dispatch="tma", mbar=bar.ptr_to([phase]))',
    ),
}


@pytest.mark.parametrize("name", BECOMES)
def test_an_inline_call_becomes_this_ir(name: str) -> None:
    body, expected = BECOMES[name]
    assert printed(body) == expected


@Tx.inline
def double_into(buffer, index, value):
    """A helper of a module, with a closure over nothing."""
    twice = value * FACTOR
    buffer[index] = twice


FACTOR = 2


def helper(buffer, index):
    """Plain Python: it is called while the kernel is read."""
    double_into(buffer, index, 4)
    return index + 1


class Counter:
    """An object whose inline method changes scalars that it holds."""

    def __init__(self) -> None:
        self.value = Tx.alloc_scalar("int32", "count")

    @Tx.inline
    def step(self, by=1):
        self.value = self.value + by
        return self.value


def test_functions_of_a_module_are_expanded() -> None:
    assert printed("double_into(reg, 1, lane_id)", double_into=double_into) == (
        "twice = lane_id * 2\nreg[1] = Tx.float32(twice)"
    )


def test_a_plain_python_function_may_call_an_inline_function() -> None:
    assert printed("i = helper(reg, 1)", helper=helper) == "twice = 8\nreg[1] = Tx.float32(twice)\ni = 2"


def test_inline_methods_of_objects_are_expanded() -> None:
    body = "counter = Counter()\ncounter.value = 5\nreg[0] = counter.step(by=2)"
    assert printed(body, Counter=Counter) == "count: Tx.int32 = 5\ncount = count + 2\nreg[0] = Tx.float32(count)"


def test_an_inlined_span_links_the_line_to_the_call() -> None:
    func = read("@Tx.inline\ndef put(i):\n    reg[i] = 1\nput(0)\nput(1)")
    first, second = [node for node in walk(func.body) if isinstance(node, BufferStore)][-2:]
    assert first.span is not None and second.span is not None
    assert first.span.line == second.span.line
    (line, call) = first.span.chain()
    assert call.line == line.line + 1 and next(iter(second.span.chain())).line == line.line
    assert [span.line for span in second.span.chain()] == [line.line, call.line + 1]
    assert first.span.user is first.span  # an inline function in the kernel is the user's code


def test_a_library_span_resolves_to_the_users_line() -> None:
    func = read("state = PipelineState('tma', 4)\nstate.init(is_producer=True)", PipelineState=_pipeline_state())
    store = next(n for n in walk(func.body) if isinstance(n, BufferStore) and n.buffer.name == "tma_stage")
    assert store.span is not None and store.span.library
    assert not store.span.user.library and store.span.user.file.startswith("<kernel")


def _pipeline_state() -> object:
    from tirx_mini.lang import PipelineState

    return PipelineState


def test_statements_of_inline_functions_have_spans() -> None:
    func = read("@Tx.inline\ndef sync():\n    Tx.cuda.cta_sync()\nsync()")
    (sync,) = [node for node in walk(func.body) if isinstance(node, Evaluate)]
    assert sync.span is not None and sync.call.span is not None and sync.span.inlined_at is not None


MISTAKES = {
    "a missing argument": ("def f(n, m=1):\n    pass\nf()", "f()", ("`n`", "f(n, m=1)")),
    "an unknown argument": ("def f(n):\n    pass\nf(1, k=2)", "f(1, k=2)", ("`k`", "f(n)")),
    "too many arguments": ("def f(n):\n    pass\nf(1, 2)", "f(1, 2)", ("1 argument", "2 are given")),
    "an argument given twice": ("def f(n):\n    pass\nf(1, n=2)", "f(1, n=2)", ("twice",)),
    "a parameter that is assigned": (
        "def f(p):\n    p = p ^ 1\nf(phase)",
        "p",
        ("is a parameter", "remove `p` from the parameters", "`p` is declared here"),
    ),
    "a parameter that a loop changes": (
        "def f(p):\n    for k in range(4):\n        reg[p] = 0\n        p = p + 1\nf(2)",
        "p",
        ("changes it between iterations", "`now: Tx.int32 = p`"),
    ),
    "recursion without end": ("def f(i):\n    f(i + 1)\nf(0)", "f(i + 1)", ("without end",)),
    "an early return": ("def f():\n    if lane_id == 0:\n        return 1\nx = f()", "return 1", ("`if`",)),
    "a bound value of the kernel": (
        "x = Tx.let(lane_id * 2)\ndef f():\n    x = x + 1\nf()", "x", ("bound by Tx.let", "`x: Tx.int32`"),
    ),
    "a Python value of the kernel, augmented": ("t = (1,)\ndef f():\n    t += (2,)\nf()", "t", ("nonlocal t",)),
    "an undefined name": ("def f():\n    reg[0] = lane_idd\nf()", "lane_idd", ("`lane_id`", "inlined from")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_invalid_inline_call_is_reported(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    for word in words:
        assert word in str(error), str(error)


def test_an_inline_call_outside_a_kernel_is_reported() -> None:
    with pytest.raises(TirxError, match="inside a kernel"):
        double_into(None, 0, 1)

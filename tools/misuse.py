"""Kernels with one statement that is probably wrong: any object of the language, called and used in any way.

Every public object that a kernel can reach is called, indexed, asked for attributes, opened, iterated over, stored and
combined, with arguments of every kind, at several places of a kernel. `kernel_text` gives the kernel of a seed.
"""

from __future__ import annotations

import inspect
import itertools
import random
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import tirx_mini
from tirx_mini import lang, layout
from tirx_mini.ir import TirxError
from tirx_mini.script import from_source, tirx
from tirx_mini.script.instructions import Path

_KERNEL = """
M, N, K = 128, 256, 64
A_layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))

def helper(x=1):
    return 2

@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((M, K), "float16"), D: Tx.Buffer((M, N), "float32"), n: Tx.int32):
    {place}
    with Tx.kernel():
        bx = Tx.cta_id([4], parent="kernel")
        wg_id = Tx.warpgroup_id([2], parent="cta")
        warp_id = Tx.warp_id([4], parent="warpgroup")
        lane_id = Tx.thread_id([32], parent="warp")
        pool = Tx.PoolAllocator()
        Asmem = pool.alloc((128, 64), "float16", layout=A_layout)
        bar = pool.alloc((1,), "uint64")
        tmem_addr = pool.alloc((1,), "uint32")
        loads, load, mma, mbar = TMABar(pool, 2), TMABar(pool, 1), TCGen05Bar(pool, 1), MBarrier(pool, 1)
        state = PipelineState("tma", 2)
        {place}
        pool.commit()
        tmem = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                              layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))
        reg, half = Tx.alloc_local((8,), "float32"), Tx.alloc_local((8,), "float16")
        word = Tx.alloc_local((8,), "uint32")
        view = Tx.alloc_local((64,), "float32").view(128, 64, layout=TileLayout(S[(128, 64) : (1@tid_in_wg, 1)]))
        scheduler = ClusterPersistentScheduler2D("tile", 4, 4, 4)
        scheduler.init(bx)
        phase: Tx.int32 = 0
        x = lane_id * 2
        {place}
        {place}
        for i in range(4):
            {place}
        if lane_id < 4:
            {place}
        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
            {place}
        with Tx.warpgroup():
            {place}
        @Tx.inline
        def function(v):
            {place}
            return v
        called = function(x)
"""
PLACES = _KERNEL.count("{place}")

_ANY = """
None | 'x' | 'float16' | '' | 0 | -1 | 3 | 128 | 2**40 | 10**30 | -2**63 | 1.5 | True | (1, 2) | () | (128, 64) | [0]
[] | {} | {'a': 1} | {1, 2} | slice(0, 4) | (lambda: 0) | (lambda x: x) | float('nan') | ... | b'x' | 1j | object()
x | phase | n | lane_id + 0.5 | (lane_id == 0) | A | A[0, 0] | A[0:128, 0:64] | Asmem | Asmem[0, 0]
Asmem.ptr_to([0, 0]) | reg | reg[0] | reg[0:4] | view | tmem | tmem[:, 0:64] | bar | bar[0] | bar.ptr_to([0]) | loads
load | mma | state | scheduler | pool | Tx.float32 | Tx.ptx | Tx.cta | Tx.cta() | Tx.thread()[lane_id == 0] | range(4)
Tx.serial(4) | range(lane_id) | A_layout | TileLayout | S | S[(4, 4) : (4, 1)] | TLane | 1@TLane | R[2 : 1@TLane]
SwizzleMode.SWIZZLE_128B_ATOM | np.float32(1) | np.zeros(3) | Tx.alloc_local | Tx.copy | print | int | helper
function0 | Tx | np | Tx.threadIdx | Tx.let | Tx.handle | 'tensormap' | 'shared' | 'tma' | Tx.hint('a') | A.shape
Tx.max_value('float32') | iter([1]) | type | itertools.count() | NotImplementedError | Tx.StringImm('a')
Tx.Range(0, 4)
"""
_PLAUSIBLE = """
0 | 1 | -1 | 2 | 7 | 31 | 32 | 128 | 2**31 | 2**40 | -2**63 | 1.5 | float('nan') | float('inf') | True | None
lane_id | lane_id * 4 | bx | n | phase | x | lane_id + 0.5 | (lane_id == 0) | A[0, 0] | D[0, 0] | reg[0] | Asmem[0, 0]
bar[0] | tmem_addr[0] | Tx.int64(lane_id) | Tx.uint32(lane_id) | Tx.float16(1.5) | Tx.float64(2.0) | Tx.int8(3)
Tx.bool(True) | bar.ptr_to([0]) | loads.ptr_to([1]) | load | Asmem.ptr_to([lane_id, 0]) | reg.ptr_to([0])
half.ptr_to([0]) | word.ptr_to([0]) | A.ptr_to([0, 0]) | D.ptr_to([lane_id, 0]) | tmem_addr.ptr_to([0]) | reg | half
word | A | D | Asmem | bar | reg[:] | half[0:4] | A[0:128, 0:64] | D[0:128, 0:64] | Asmem[:, :] | view[:, :]
tmem[:, 0:64] | 'float16' | 'int32' | 'add' | 'max' | 'shared' | 'cta' | 'gpu' | 'acquire' | (1, 2) | [0] | (128, 64)
4 | 16 | 0xFFFFFFFF | lane_id % 4 | A[lane_id, 0:4] | reg.vload([0], 'float32x4') | Tx.Broadcast(1.0, 4)
"""
_USES = r"""
E | E | E | E | y = E | y = E | y = E | y: Tx.int32 = E | y: E = 1 | y: E | with E:\n    pass | for q in E:\n    pass
for q, r in E:\n    pass | if E:\n    pass | while E:\n    break | reg[E] = 1.0 | A[E, G] = 1.0 | reg[0] = E
phase = E | phase += E | x = E | Asmem[:, :] = E | y = lane_id + E | y = E - G | y = E == G | y = E < G | y = not E
y = -E | y = ~E | y = E and G | y = lane_id and E | y = E if lane_id == 0 else G | y = f'{E}' | y = G if E else 1
assert E | raise E | return E | del E | (E).foo = 1 | (E)[0] = G | E += 1 | y = [E for _ in (1, 2)]
y = [q for q in E] | y = {G: E} | y = E in (1, 2) | y = lane_id in E | y, z = E | *y, z = E
@E\ndef g(a):\n    return a\ng(1) | function0(E, G) | function0(*E) | function0(**E) | y = helper(E) | y = max(E, G)
y = abs(E) | y = len(E) | y = E @ G | y = E ** 2 | y = E // G | y = E % G | y = E << G | y = E & G | y = E / G
y = E[G] | y = (lambda q: q)(E) | y = int(E) | y = E is None | y = Tx.if_then_else(x == 0, E, G)
Tx.cuda.printf('%d', E) | Tx.cuda.printf(E, G) | Tx.copy(E, G) | mbar.wait(E, G) | mbar.arrive(E) | loads.arrive(E, G)
Tx.copy_async(Asmem[:, :], A[0:128, 0:64], dispatch='tma', mbar=E) | y = Tx.alloc_local(E, G) | y = pool.alloc(E, G)
y = A.view(E) | y = A[E, G] | with Tx.thread()[E]:\n    pass | with Tx.warp(parent=E)[G]:\n    pass
for q in range(E):\n    pass | for q in Tx.serial(E, G):\n    pass | for q in Tx.unroll(E):\n    pass | y = sum(E)
y = list(E) | y = dict(a=E) | print(E) | y = sorted(E) | import E | y = zip(E, G) | def g(a=E):\n    return a\ng()
reg[1] = Tx.float32(E) | D[lane_id, 0] = Tx.float32(E) | x = E\nreg[1] = Tx.float32(x)
for q in range(E, G):\n    reg[0] = 1.0
"""
_OWNERS = """
A | Asmem | reg | view | tmem | A[0:128, 0:64] | lane_id | phase | A[0, 0] | bar | load | mma | mbar | state
scheduler | pool | A_layout | TileLayout(S[(4, 4) : (4, 1)]) | TLane | 1@TLane | Tx.float32 | Tx.cta | Tx.cta()
Tx.serial(4) | Tx.axis | Tx.threadIdx | loads.remote_view(0) | Tx.Range(0, 4) | function0 | A.sub
Tx.Buffer((4,), 'float32') | Tx.tile
"""
_KEYWORDS = ("dtype", "layout", "foo", "mbar", "dispatch", "scope", "name", "span")
_ATTRIBUTES = ("foo", "shape", "data", "name", "x", "ptr_to", "copy", "T", "_a")


def _entries(table: str) -> Sequence[str]:
    lines = table.strip().splitlines()
    return [entry.strip().replace("\\n", "\n") for line in lines for entry in line.split(" | ")]


ANY, PLAUSIBLE, USES, OWNERS = map(_entries, (_ANY, _PLAUSIBLE, _USES, _OWNERS))


def kernel(statements: Mapping[int, str]) -> str:
    """The kernel with statements at some of its places, which are numbered from 0."""
    parts = _KERNEL.split("{place}")
    text = parts[0]
    for place, part in enumerate(parts[1:]):
        indent = text[text.rindex("\n") + 1 :]
        text += textwrap.indent(statements.get(place, "pass"), indent).lstrip(" ") + part
    return text


@cache
def names() -> Mapping[str, Any]:
    """The names that the kernels use besides those of the language and its layouts."""
    library = {name: getattr(lang, name) for name in lang.__all__}

    @tirx.inline
    def function0(a: Any, b: Any = 1) -> Any:
        return a

    return {**library, "np": np, "tvm": tirx_mini, "itertools": itertools, "function0": function0}


@cache
def callables() -> Sequence[str]:
    """Every public object, as a kernel writes it."""
    language = [*_language(), *(f"Tx.{scope}.{name}" for scope in ("cta", "wg", "thread") for name in dir(tirx.tile))]
    others = [*layout.__all__, *lang.__all__, *(f"tvm.{name}" for name in tirx_mini.__all__), *_members()]
    return sorted({*language, *others})


def _language() -> Iterator[str]:
    for name in dir(tirx):
        value = getattr(tirx, name)
        yield from (f"Tx.{node.name}" for node in value.walk()) if isinstance(value, Path) else (f"Tx.{name}",)


def _members() -> Iterator[str]:
    """The methods and attributes of the objects that a kernel has."""
    found: dict[str, Any] = {}
    notes = "\n".join(f"note({owner!r}, {owner})" for owner in OWNERS)
    from_source(kernel({2: notes}), {**names(), "note": found.__setitem__})
    for owner, value in found.items():
        yield from (f"({owner}).{name}" for name in dir(value) if not name.startswith("_"))


@cache
def _parameters(function: str) -> Sequence[str]:
    scope = {"Tx": tirx, "tvm": tirx_mini, **names(), **{name: getattr(layout, name) for name in layout.__all__}}
    try:
        return [name for name in inspect.signature(eval(function, scope)).parameters if name.isidentifier()]
    except Exception:  # a member of an object of the kernel, or no function
        return ()


def statement(rng: random.Random) -> str:
    """A statement that is probably wrong: with any arguments, or with such as a call might have."""
    values = rng.choice((ANY, PLAUSIBLE))
    subject = _subject(rng, values)
    use = rng.choice(USES if values is ANY else (*USES, *["E"] * 60))
    return re.sub(r"\b[EG]\b", lambda match: subject if match[0] == "E" else rng.choice(values), use)


def _subject(rng: random.Random, values: Sequence[str]) -> str:
    name, kind = rng.choice(callables()), rng.random()
    if kind < 0.75:
        return _call(rng, name, values)
    if kind < 0.80:
        return f"{name}[{rng.choice(values)}]"
    if kind < 0.85:
        return f"{name}.{rng.choice(_ATTRIBUTES)}"
    return name if kind < 0.92 else rng.choice(values)


def _call(rng: random.Random, name: str, values: Sequence[str]) -> str:
    parameters = _parameters(name)
    given = [rng.choice(values) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
    keywords = rng.sample((*parameters, *_KEYWORDS), rng.choice((0, 0, 1, 2)))
    return f"{name}({', '.join([*given, *(f'{key}={rng.choice(values)}' for key in dict.fromkeys(keywords))])})"


def kernel_text(seed: int) -> str:
    """The kernel of a seed; a text that Python itself refuses is passed over."""
    rng = random.Random(seed)
    while True:
        text = kernel({rng.randrange(PLACES): statement(rng)})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, "<misuse>", "exec")
        except SyntaxError:
            continue
        return text


def arguments() -> tuple[Any, ...]:
    """Arguments for one of these kernels."""
    return np.zeros((128, 64), np.float16), np.zeros((128, 256), np.float32), 1


def shortcomings(page: TirxError) -> list[str]:
    """Return the faults of a page: parts that it lacks, and parts that no page may have."""
    text = str(page)
    found = ["no place" if page.span is None else "", "no hint" if page.diagnostic.hint is None else ""]
    found += ["the address of an object" if " object at 0x" in text or "<function" in text else ""]
    found += ["no sentence" if len(page.diagnostic.message) > 400 else ""]
    found += ["a failure of the compiler" if page.__cause__ is not None or "tirx_mini itself" in text else ""]
    found += ["an exception of this package" if PYTHON.match(page.diagnostic.message) else ""]
    return [word for word in found if word]


PYTHON = re.compile(r"(TypeError|AttributeError|RecursionError|AssertionError|UnboundLocalError)\b")
"""The beginning of a message that shows a Python exception of the package's own code."""

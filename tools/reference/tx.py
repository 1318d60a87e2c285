"""The page of the names of `Tx` that are neither instructions nor tile primitives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, cast

from tirx_mini.ir import SPECIALS, VIEWS, Buffer, DataType
from tirx_mini.script import tirx
from tirx_mini.script.collectives import COLLECTIVES
from tirx_mini.script.mathematics import MATH
from tirx_mini.script.opaque import call_extern, func_call
from tirx_mini.script.operators import AXES, DTYPES, OPERATORS, SHORT_DTYPES
from tirx_mini.script.primitives import SCOPE_NAMES

from ._markdown import described, doc_of, document, table, wrapped

_HEAD = """# Names of `Tx`

This page lists what `from tirx_mini.script import tirx as Tx` has besides [instructions](instructions.md) and
[tile primitives](tile.md): kernels, ids and scopes, loops, buffers, values. [The language](../language.md) explains how
they work together. In the signatures, `Expr` is a value of the kernel, and `ExprLike` such a value or a
Python number."""

SECTIONS: Mapping[str, str] = {
    "Kernels and functions": "prim_func jit constexpr Optional inline meta_var meta_class let variable_name func_attr "
    "bind attr hint",
    "Ids and scopes": "device_entry cluster_id cta_id cta_id_in_cluster cta_id_in_pair warpgroup_id warp_id "
    "warp_id_in_wg thread_id thread_id_in_wg lane_id filter",
    "Loops": "serial unroll vectorized grid parallel thread_binding",
    "Buffers": "Buffer match_buffer alloc_local wg_reg_tile alloc_shared alloc_buffer alloc_scalar shared_scalar "
    "decl_buffer address_of Ptr ptr_byte_offset handle_add_byte_offset",
    "Storage and pointers in TVM's words": "decl_scalar tmem buffer tvm_access_ptr isnullptr ptr Var var "
    "type_annotation scalar_wrapper Range StringImm "
    "LetAnnotation LocalVectorAnnotation alloc_tcgen05_ldst_frag alloc_cast_frag",
    "Vectors": "ramp broadcast Shuffle vectorlow vectorhigh vectorcombine",
    "Values": "if_then_else min max ceildiv Cast reinterpret const likely assume static_assert evaluate",
    "Statements as functions": "If Then Else While break_loop continue_loop thread_return Return Assert buffer_store "
    "BufferLoad Bind Let tvm_storage_sync",
    "Indices of a launch": "launch_thread env_thread",
    "Blocks": "sblock axis reads writes where init sblock_attr sblock_alloc_buffer",
    "Tensor maps": "TensorMap tvm_stack_alloca call_packed",
    "Output and CUDA C++": "print_buffer",
    "Lowered kernels": "launch tensor_map node call",
}
"""The names by section."""

_TEXTS: Mapping[str, str] = {
    "Kernels and functions": """
        `prim_func` and `inline` are decorators. `meta_var` and `let` decide what an assignment means.
    """,
    "Ids and scopes": """
        `extents` is the number of units, or a list with one number for each id that is returned; without it, another
        declaration of the same unit gives the number. `parent` is the scope in which the units are counted. A scope is
        opened by `with Tx.cta():`, and restricted by a condition, an index or a slice in brackets.
    """,
    "Loops": """
        `for i in range(n):` is a loop of the kernel, too. The bounds are those of `range`; `annotations` and `parallel`
        are accepted for compatibility with TVM.
    """,
    "Buffers": """
        `shape` is the extents, `dtype` the type of an element, `layout` the place of each element (by default
        row-major), `align` an alignment in bytes, and `name` the name where the buffer is not assigned to a variable.
        The pool of shared memory, `Tx.PoolAllocator` or `Tx.SMEMPool`, is on the page on [lang](lang.md#poolallocator).
        `Tx.S`, `Tx.R`, `Tx.TileLayout`, `Tx.ComposeLayout`, `Tx.Layout` and `Tx.Iter` are those of
        [layouts](layout.md).
    """,
    "Statements as functions": """
        Plain Python code that builds a part of a kernel has these instead of syntax, as in TVM.
    """,
    "Indices of a launch": """
        Functions that TVM has scheduled declare their ids one by one, and have no `device_entry`.
    """,
    "Blocks": """
        Computations that schedules rearrange, by the names of TVM 0.26; `tvm.script.tir` has the older ones, without
        the `s`. `axis` declares what a block iterates over: `axis.spatial(extent, value)`, `axis.reduce`, `axis.remap`.
    """,
    "Tensor maps": """
        TMA copies make their tensor maps by themselves. Kernels that encode their own, as in TVM, name them in
        `Tx.ptx.cp_async.bulk.tensor.g2s_cluster`, `g2s_cta` and `s2g`.
    """,
    "Storage and pointers in TVM's words": """
        Other names and forms of the above, as TVM has them.
    """,
    "Vectors": """
        An index that names several elements loads or stores a vector. What only moves one is one access; arithmetic is
        done lane by lane.
    """,
    "Values": """
        Python's operators work on values, and so do `and`, `or`, `not`, chained comparisons, ternaries, `min`, `max`
        and `abs`.
    """,
    "Output and CUDA C++": """
        `Tx.cuda.printf` prints values ([Instructions](instructions.md#debug-output-of-a-running-kernel)).
    """,
    "Lowered kernels": "The printer writes these, and they can be read again.",
}
"""A paragraph about all names of a section."""


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for title, names in SECTIONS.items():
        parts += [f"## {title}", wrapped(" ".join(_TEXTS[title].split()))]
        for name in names.split():
            parts += _name(name)
        parts += _EXTRA[title]() if title in _EXTRA else ()
    return document(*parts)


def aliases(name: str) -> list[str]:
    """The other names of what `Tx` has under a name."""
    thing = getattr(tirx, name)
    return [other for other in tirx.__all__ if other != name and getattr(tirx, other) is thing]


def _name(name: str) -> Iterator[str]:
    thing = getattr(tirx, name)
    if name in ("let", "constexpr", "axis"):
        yield f"### Tx.{name}"
        yield doc_of(type(thing)).summary
    else:
        yield from described(thing, f"Tx.{name}", 3)
    others = aliases(name)
    if others:
        yield f"{' and '.join(f'`Tx.{other}`' for other in others)} {'are' if len(others) > 1 else 'is'} the same."


def _scopes() -> Iterator[str]:
    yield "### Scopes"
    yield table(("scope", "of a"), [(f"`Tx.{name}`", kind) for name, kind in SCOPE_NAMES.items()])


def _buffer() -> Iterator[str]:
    yield "### Attributes of a buffer"
    rows = [(f"`{name}`", doc_of(vars(Buffer)[name]).summary) for name in ("data", "size", "nbytes")]
    yield table(("attribute", "meaning"), [("`shape`, `dtype`, `layout`", "As declared."), *rows])
    for name in ("ptr_to", "view"):
        yield from described(vars(Buffer)[name], f"buf.{name}", 3)
    yield "### Parts of a buffer, and other views"
    sample = Buffer("buf", (8, 8), DataType("float32"), "shared")
    made = {name: make(sample) for name, make in VIEWS.items()}
    calls = [f"`buf.{n}{signature(f) if callable(f) else '[…]'}`".replace("'", "") for n, f in made.items()]
    texts = [doc_of(thing if callable(thing) else type(thing)).summary for thing in made.values()]
    yield table(("attribute", "meaning"), list(zip(calls, texts, strict=True)))


def _values() -> Iterator[str]:
    yield "### Functions"
    yield table(("function", "value"), [(f"`Tx.{name}{signature(MATH[name])}`".replace(": 'ExprLike'", "").replace(
        " -> 'Expr'", ""), doc_of(MATH[name]).summary) for name in MATH])  # fmt: skip
    yield "### Dtypes and special registers"
    dtypes = ", ".join(f"`Tx.{name}`" for name in DTYPES)
    short = ", ".join(f"`Tx.{name}`" for name in SHORT_DTYPES)
    yield wrapped(
        f"{dtypes}, and vectors such as `Tx.float16x8`. `Tx.int32(x)` converts a value, and `x: Tx.int32` declares a "
        f"variable. Short names: {short}."
    )
    plain = [name for name in SPECIALS if "." not in name]
    registers = ", ".join(f"`Tx.{name}`" for name in [*plain, *(f"{axis}.x" for axis in AXES)])
    yield wrapped(f"Special registers: {registers}, with `.y` and `.z`.")
    yield "### Operators as functions"
    yield wrapped(", ".join(f"`Tx.{name}`" for name in OPERATORS) + ": as TVM's printer writes operators.")
    yield "### Over the threads of a warp or a CTA"
    functions: dict[str, list[str]] = {}
    for path, function in COLLECTIVES.items():
        summary = doc_of(getattr(function, "func", function)).summary
        functions.setdefault(summary, []).append(f"`Tx.{path}`")
    yield table(("function", "what it does"), [(", ".join(paths), summary) for summary, paths in functions.items()])


def _foreign() -> Iterator[str]:
    yield from described(func_call, "Tx.cuda.func_call", 3)
    yield "`Tx.ptx.func_call` is the same."
    yield from described(call_extern, "Tx.call_extern", 3)
    yield "`Tx.call_pure_extern` is the same."
    yield from described(cast(Any, tirx.call_intrin).function, "Tx.call_intrin", 3)


_EXTRA = {"Output and CUDA C++": _foreign, "Ids and scopes": _scopes, "Buffers": _buffer, "Values": _values}

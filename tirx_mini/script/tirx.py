"""The language, as imported by kernels: ``from tirx_mini.script import tirx as Tx`` (or ``as T``).

The names in `__all__` are defined in the modules beside this one. The others are generated: dtypes from their names,
``Tx.ptx`` and ``Tx.cuda`` from the table of instructions, tile primitives (``Tx.copy``, ``Tx.cta.copy``) from the table
of tile operations. `tirx.pyi` has the types of all of them for editors; `make stubs` writes it.
"""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import Any

from tirx_mini.ir import SPECIALS, DataType, Expr, Special, const, special
from tirx_mini.layout import ComposeLayout, Iter, Layout, R, S, TileLayout
from tirx_mini.tile import OPS, SPELLINGS, op_of

from .blocks import alloc_block_buffer, axis, block, block_attr, init, reads, where, writes
from .collectives import COLLECTIVES
from .cuda_names import cuda_spelling
from .diagnostics import did_you_mean, unknown
from .encoding import ENCODING
from .forms import FORMS
from .frames import (
    Assert,
    Bind,
    BufferLoad,
    Else,
    If,
    Let,
    Return,
    Then,
    While,
    break_loop,
    buffer_store,
    continue_loop,
    thread_return,
    tvm_storage_sync,
)
from .functions import inline
from .handles import DType, Ptr, bind, hint, let, meta_class, meta_var
from .instructions import Path, elsewhere, namespace, raw_call
from .jit import Optional, constexpr, jit
from .kernels import prim_func
from .loops import grid, parallel, serial, thread_binding, unroll, vectorized
from .lowered import launch, node, tensor_map
from .mathematics import MATH
from .memory import (
    address_of,
    alloc_buffer,
    alloc_local,
    alloc_scalar,
    alloc_shared,
    buffer_type,
    decl_buffer,
    match_buffer,
    shared_scalar,
    variable_name,
    wg_reg_tile,
)  # fmt: skip
from .opaque import call_extern, func_call
from .operators import AXES, DTYPES, OPERATORS, SHORT_DTYPES
from .pairs import PAIRS
from .pointers import (
    LetAnnotation,
    LocalVectorAnnotation,
    Range,
    StringImm,
    Var,
    alloc_cast_frag,
    alloc_tcgen05_ldst_frag,
    buffer,
    buffer_var,
    decl_scalar,
    isnullptr,
    ptr,
    scalar_wrapper,
    smem,
    tmem,
    tvm_access_ptr,
    type_annotation,
    var,
)
from .pool import PoolAllocator
from .primitives import SCOPE_NAMES, Tiles, max, min, primitive_of, scope_of
from .printing import print_buffer, printf
from .registers import fetch_register
from .scopes import (
    attr,
    cluster_id,
    cta_id,
    cta_id_in_cluster,
    cta_id_in_pair,
    device_entry,
    filter,
    func_attr,
    lane_id,
    thread_id,
    thread_id_in_wg,
    warp_id,
    warp_id_in_wg,
    warpgroup_id,
)  # fmt: skip
from .stored import STORED
from .tensor_maps import TMA, TensorMap, call_packed, tvm_stack_alloca
from .threads import env_thread, launch_thread
from .values import (
    Cast,
    assume,
    ceildiv,
    evaluate,
    handle_add_byte_offset,
    if_then_else,
    likely,
    predicate,
    ptr_byte_offset,
    reinterpret,
    static_assert,
)
from .vectors import Shuffle, broadcast, ramp, vectorcombine, vectorhigh, vectorlow

__all__ = [
    "address_of", "alloc_buffer", "alloc_cast_frag", "alloc_local", "alloc_scalar", "alloc_shared",
    "alloc_tcgen05_ldst_frag", "Assert", "assume", "attr", "axis", "Bind", "bind", "Break", "break_loop",
    "Broadcast", "broadcast", "Buffer", "buffer", "buffer_decl", "buffer_store", "buffer_var", "BufferLoad", "call",
    "call_packed", "Cast", "cdiv", "ceildiv", "cluster_id", "ComposeLayout", "const", "constexpr", "Continue",
    "continue_loop", "cta_id", "cta_id_in_cluster", "cta_id_in_pair", "decl_buffer", "decl_scalar", "device_entry",
    "Else", "env_thread", "evaluate", "filter", "func_attr", "grid", "handle_add_byte_offset", "hint", "If",
    "if_then_else", "init", "inline", "isnullptr", "Iter", "jit", "lane_id", "launch", "launch_thread", "Layout",
    "Let", "let", "LetAnnotation", "likely", "local_cell", "local_scalar", "LocalVectorAnnotation", "macro",
    "match_buffer", "max", "meta_class", "meta_var", "min", "node", "Optional", "parallel", "PoolAllocator",
    "prim_func", "print_buffer", "Ptr", "ptr", "ptr_byte_offset", "R", "Ramp", "ramp", "Range", "reads",
    "reinterpret", "Return", "S", "sblock", "sblock_alloc_buffer", "sblock_attr", "scalar_wrapper", "Select",
    "select", "serial", "shared_scalar", "Shuffle", "smem", "SMEMPool", "static_assert", "StringImm", "tensor_map",
    "TensorMap", "Then", "thread_binding", "thread_id", "thread_id_in_wg", "thread_return", "TileLayout", "tmem",
    "tvm_access_ptr", "tvm_stack_alloca", "tvm_storage_sync", "type_annotation", "unroll", "Var", "var",
    "variable_name", "vectorcombine", "vectorhigh", "vectorized", "vectorlow", "warp_id", "warp_id_in_wg",
    "warpgroup_id", "wg_reg_tile", "where", "While", "writes",
]  # fmt: skip

Buffer = buffer_type
SMEMPool = PoolAllocator
call = raw_call
cdiv = ceildiv
local_cell = local_scalar = alloc_scalar
macro = inline
buffer_decl = decl_buffer
sblock = block
sblock_attr = block_attr
sblock_alloc_buffer = alloc_block_buffer
Break = break_loop
Continue = continue_loop
select = Select = if_then_else
Broadcast = broadcast
Ramp = ramp


def _call_intrin(dtype: Any, func_name: str, *args: object) -> Any:
    """Call a function by its name in TVM's operator table: ``T.call_intrin("float32", "tirx.exp", x)`` is `T.exp`.

    Raises `TirxError` where the language has no function of that name.
    """
    value: Any = sys.modules[__name__]
    for part in str(func_name).removeprefix("tirx.").removeprefix("tir.").split("."):
        value = getattr(value, part)
    result = value(*args)
    return Cast(dtype, result) if isinstance(result, Expr) and not result.dtype.is_handle else result


class _Axes:
    """Special registers with components, such as ``Tx.threadIdx``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, axis: str) -> Special:
        if f"{self._name}.{axis}" not in SPECIALS:
            raise unknown(f"Tx.{self._name}", axis, "its components are `x`, `y` and `z`")
        return special(f"{self._name}.{axis}")

    def __dir__(self) -> list[str]:
        return ["x", "y", "z"]


@cache
def _root() -> Path:
    """Return the root of all paths, with instructions and collective operations."""
    root = namespace()
    opaque = {"cuda.func_call": func_call, "ptx.func_call": func_call, "call_extern": call_extern}
    opaque |= {"call_pure_extern": call_extern, "cuda.printf": printf}
    opaque |= {"call_intrin": _call_intrin, "ptx.pred": predicate, "ptx.fetch_register": fetch_register}
    for path, function in {**COLLECTIVES, **STORED, **ENCODING, **TMA, **PAIRS, **FORMS, **opaque}.items():
        node = root.at(path)
        node.function = function
        node.__doc__ = inspect.getdoc(getattr(function, "func", function))  # a partial has the text of its class
        vars(node)["__signature__"] = inspect.signature(function)
    return root


@cache
def _generated(name: str) -> object:
    """Return the value of a generated name, or None."""
    if name in SCOPE_NAMES:
        return scope_of(name)
    if name in AXES:
        return _Axes(name)
    if op_of(name) is not None:
        return primitive_of(name, None)
    if name == "tile":
        return Tiles()
    if name in _root().below:
        return _root().below[name]
    if name in OPERATORS or name in MATH:
        return OPERATORS.get(name) or MATH[name]
    try:
        return DType(DataType(SHORT_DTYPES.get(name, name)))
    except ValueError:
        return None


def __getattr__(name: str) -> Any:
    if name.startswith("__") and cuda_spelling(name) is None:
        raise AttributeError(name)
    value = special(name) if name in SPECIALS else _generated(name)
    if value is None:
        raise unknown("Tx", name, elsewhere(name) or did_you_mean(name, __dir__()))
    return value


def __dir__() -> list[str]:
    plain = [name for name in SPECIALS if "." not in name]
    primitives = [*OPS, *SPELLINGS, "tile"]
    return sorted(
        {*__all__, *SCOPE_NAMES, *AXES, *primitives, *OPERATORS, *MATH, *DTYPES, *plain, *_root().below}
    )

"""Unsupported names of TVM's dialect, with reasons and alternatives.

A name that the language has wins over this table. The names are paths below ``Tx``, as in "ptx.tcgen05.cp"; a star
stands for the rest of a path. Tile primitives are listed once, below ``tile``; each scope has the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache

from tirx_mini.records import dataclass

_SCOPES = frozenset({"thread", "warp", "warpgroup", "wg", "cta", "cluster"})


@dataclass(frozen=True)
class Refusal:
    """A family of unsupported names, with the reason and an alternative."""

    family: str
    names: tuple[str, ...]
    why: str
    instead: str


def _row(family: str, names: str, why: str, instead: str) -> Refusal:
    return Refusal(family, tuple(names.split()), why, instead)


REFUSALS: Sequence[Refusal] = (
    _row(
        "other machines",
        "nki nki.* metal metal.* webgpu webgpu.* cooperative_tensor_*",
        "tirx_mini models NVIDIA GPUs, and this belongs to another machine",
        "write the kernel with `Tx.ptx` and the tile primitives",
    ),
    _row(
        "several GPUs",
        "nvshmem nvshmem.*",
        "NVSHMEM connects several GPUs, and the simulator models one",
        "split the work into one kernel for each GPU, and exchange data on the host between the launches",
    ),
    _row(
        "profiling",
        "start_profile_intrinsic end_profile_intrinsic",
        "it writes a profile of a run on a GPU",
        "the simulator records a timeline of every run: `python -m tirx_mini trace FILE:KERNEL`; in a kernel, "
        "`Tx.ptx.globaltimer()` reads a clock",
    ),
    _row(
        "calls of the host",
        "call_cpacked call_packed_lowered call_cpacked_lowered tvm_call_* anylist_* tvm_stack_make_* "
        "tvm_struct_* tvm_tuple tvm_throw_last_error TVMBackendAllocWorkspace TVMBackendFreeWorkspace lookup_param "
        "target func_name func_ret arg",
        "a kernel of tirx_mini has no host part: its arguments are those of its signature",
        "do this in Python, before or after the call of the compiled kernel",
    ),
    _row(
        "kernels in other languages",
        "call_kernel",
        "a kernel here does not launch kernels of another language",
        'bring CUDA C++ along as a device function: `Tx.cuda.func_call("name", …, source_code="…")`',
    ),
    _row(
        "schedules of tensor expressions",
        "block_name_suffix_context iter_var IterVar Reduce CommReducer comm_reducer ProducerLoad index_map "
        "ignore_loop_partition tvm_thread_allreduce tvm_thread_invariant tvm_global_barrier_kinit "
        "tvm_kernel_replace_point tile.compose_op",
        "reductions over iteration variables are part of what TVM's schedules build and lower",
        "write a block, `with T.sblock(\"C\"):` with its `T.axis` lines and `T.init`, or loops; "
        "`T.cuda.cta_reduce` and the tile primitives reduce among threads",
    ),
    _row(
        "fragments of WMMA",
        "tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment "
        "cuda.mma_store cuda.mma_store_legacy",
        "fragments of `wmma` have no layout that PTX documents",
        "use `Tx.ptx.mma` and `Tx.ptx.ldmatrix`, which take pointers to registers",
    ),
    _row(
        "dtypes of other machines",
        "float8_e3m4 float8_e3m4x* float8_e4m3 float8_e4m3x* float8_*fnuz float8_*fnuzx*",
        "no instruction of an NVIDIA GPU has this dtype",
        'the dtypes of eight bits are "float8_e4m3fn" and "float8_e5m2"',
    ),
    _row(
        "LLVM",
        "call_llvm_intrin call_llvm_pure_intrin llvm_lookup_intrinsic_id vscale get_active_lane_mask "
        "q_multiply_shift q_multiply_shift_per_axis",
        "it names an operation of TVM's LLVM back end",
        "write the expression with operators, or `Tx.ptx` and `Tx.cuda` where it is an instruction",
    ),
    _row(
        "statements as functions",
        "selector undef void",
        "it has no meaning in CUDA, and Apache TVM does not compile it for a GPU either",
        "give the value itself, and a filter as a condition: `with Tx.thread()[tx == 0]:`",
    ),
    _row(
        "sparse matrices",
        "ptx.tcgen05.mma.sp.block_scale",
        "a sparse MMA has the names and the operands of its PTX opcode",
        "use the dense `Tx.gemm_async`, or `Tx.ptx.tcgen05.mma`",
    ),
    _row(
        "choices by a predicate",
        "tile.select",
        "TVM 0.26 has no dispatch of it for NVIDIA GPUs either",
        "write a loop with `Tx.if_then_else`, or `Tx.maximum` and `Tx.minimum` with a tile of limits",
    ),
    _row(
        "parts of TVM's compiler",
        "CallEffectKind Call DtypeConstructor ExecScope ScopeIdDef add_to_parent register_script_namespace "
        "scope_id",
        "it builds or describes TVM's own IR",
        "write the statement itself; annotate arguments with `Tx.Buffer((M, N), dtype)`",
    ),
)
"""All families, in the order of the table in docs/dialects.md."""


@cache
def refusal(path: str) -> Refusal | None:
    """Return the row of a path below ``Tx``, or None."""
    scope, _, rest = path.partition(".")
    if scope in _SCOPES and rest:
        path = f"tile.{rest}"
    return next((row for row in REFUSALS if any(fnmatchcase(path, name) for name in row.names)), None)

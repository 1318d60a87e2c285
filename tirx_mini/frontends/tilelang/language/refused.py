"""TileLang 0.1.15 names that are not provided, with suggested replacements."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch

_FAMILIES: Mapping[str, str] = {
    "gemm_sp tcgen05_gemm_sp wgmma_gemm_sp *SparseTensorCoreIntrinEmitter mma_sp ptx_mma_sp ptx_wgmma_sp_*":
        "products of sparse matrices are instructions here: `T.ptx.mma_sp`, `T.ptx.wgmma`",
    "gemm_blockscaled *_blockscaled* make_blockscaled_gemm_layout tcgen05_cp_warpx4 tcgen05_sf_warp_transpose "
    "ptx_mma_block_scale *f8f6f4_family":
        "block-scaled products are `Tx.gemm_async(…, SFA=, SFB=)` in TIRx; T.gemm multiplies 8-bit floats",
    "WS* WarpSpecialize* warp_specialize ws_op annotate_ws_schedule ProducerLoad ClusterSpecialize":
        "give warpgroups their roles with `T.ws`, or let `T.Pipelined` do it",
    "clc_* *TileScheduler tile_schedule": "let persistent CTAs take tiles with `T.Persistent`",
    "rng_*": "pass random numbers as an argument",
    "*IntrinEmitter* TCGEN05DescriptorParams WGMMADescriptorParams compute_gmma_descriptor compute_umma_descriptor "
    "get_ldmatrix_offset get_mma_micro_size mma_fill mma_store* mma_gemm* ptx_mma ptx_wgmma_* ptx_tcgen05_* wgmma_mma "
    "tcgen05_mma* validate_gemm_ab_dtypes get_swizzle_layout make_mma_swizzle_layout index_map":
        "write `T.gemm`, or an instruction of `T.ptx`",
    "float8_*fnuz* float8_e3m4* float8_e4m3b11* float4_e2m1_unpacked is_float4* int4 tfloat32* vscale AnyDType "
    "float8_e4m3x*":
        "NVIDIA GPUs do not compute with this dtype; float32 is multiplied as tf32",
    "activemask match_*_sync __fns": "combine what the lanes of a warp have by `T.ballot_sync` and `T.shfl_sync`",
    "tma_gather4* tma_scatter4 tma_load_2sm copy_cluster ptx_cp_async_bulk ptx_cp_async_barrier":
        "write `T.tma_copy`, or an instruction of `T.ptx`",
    "alloc_global make_tensor* allocate deallocate_tmem create_barriers":
        "pass workspaces as arguments; tensor memory is freed when the kernel ends",
    "import_source CUDASourceCodeKernel call_kernel": "CUDA C++ of your own comes with `T.call_extern`",
    "PartialFragment": "the compiler chooses the layout of reducers",
    "call_* anylist_* TVMBackend* tvm_* end_profile_intrinsic start_profile_intrinsic q_multiply_shift* "
    "get_active_lane_mask llvm_lookup_intrinsic_id ignore_loop_partition lookup_param get_tvm_dtype":
        "it belongs to TVM's code for hosts and other targets",
    "Call CallEffectKind CommReducer IterVar JITFunc KernelLaunchFrame PrimFunc Reduce Ref SizeVar arg "
    "block_name_suffix_context extract_lane func_name func_ret get_let_value has_let_value iter_var ret target undef "
    "void atomic builtin common copy_op customize experimental fill_op frame gemm_op logical loop math_intrinsics meta "
    "overrides proxy reduce_op scan_op symbolics tir utils":
        "it belongs to the inside of TileLang's compiler, and kernels do not call it",
}  # fmt: skip
"""Reasons by patterns of names; the first that fits holds."""


def why_not(name: str) -> str | None:
    """Return the suggested replacement for a TileLang name that is not provided; None if TileLang has no such name."""
    for patterns, reason in _FAMILIES.items():
        if any(fnmatch(name, pattern) for pattern in patterns.split()):
            return reason
    return None

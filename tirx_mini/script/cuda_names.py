"""Spellings of CUDA C++ names in kernels: the table behind error pages and documentation.

A name that the kernel or the language defines wins over this table. The values in the code are a float32 ``x`` (and
``y``, ``z``), an int32 ``n``, a uint32 ``bits``, an index ``i`` and an array ``A``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tirx_mini.records import dataclass


@dataclass(frozen=True)
class CudaSpelling:
    """CUDA C++ names that share one spelling in kernels.

    family: the heading under which the documentation lists them.
    names: as CUDA C++ spells them.
    write: the code that a kernel has instead.
    note: a clause that the hint adds, or "".
    """

    family: str
    names: tuple[str, ...]
    write: str
    note: str = ""

    def hint(self, language: str = "Tx") -> str:
        """Return the hint of the error page, for a kernel that imports the language under this name."""
        text = f"write `{self.write}`" + (f", {self.note}" if self.note else "")
        return text.replace("Tx.", f"{language}.")


def _row(names: str, write: str, note: str = "") -> tuple[str, str, str]:
    return names, write, note


_ROWS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "barriers and fences": (
        _row("__syncthreads", "Tx.cuda.cta_sync()"),
        _row("__syncthreads_and", "Tx.cuda.syncthreads_and(n > 0)"),
        _row("__syncthreads_or", "Tx.cuda.syncthreads_or(n > 0)"),
        _row("__syncthreads_count", "Tx.cuda.syncthreads_count(n > 0)"),
        _row("__syncwarp", "Tx.cuda.warp_sync()"),
        _row("__threadfence", "Tx.cuda.thread_fence()"),
        _row("__threadfence_block", "Tx.cuda.thread_fence_block()"),
        _row("__threadfence_system", "Tx.cuda.thread_fence_system()"),
        _row("this_grid grid_group", "Tx.cuda.grid_sync()", "which waits for every thread of the grid"),
        _row("this_cluster cluster_group", "Tx.cuda.cluster_sync()", "which waits for every thread of the cluster"),
        _row("this_thread_block thread_block cooperative_groups cg", "Tx.cuda.cta_sync()",
             "or `Tx.cuda.warp_sync()`, `Tx.cuda.cluster_sync()`, `Tx.cuda.grid_sync()` for other groups"),
        _row("__cluster_barrier_arrive", "Tx.cuda.cluster_arrive()"),
        _row("__cluster_barrier_wait", "Tx.cuda.cluster_wait()"),
        _row("cudaGridDependencySynchronize", "Tx.ptx.griddepcontrol.wait()"),
        _row("cudaTriggerProgrammaticLaunchCompletion", "Tx.ptx.griddepcontrol.launch_dependents()"),
        _row("__nanosleep", "Tx.cuda.nano_sleep(100)"),
    ),
    "indices and sizes": (
        _row("threadIdx", "Tx.threadIdx.x", 'or declare the index: `tid = Tx.thread_id([THREADS], parent="cta")`'),
        _row("blockIdx", "Tx.blockIdx.x", 'or declare the index: `bx = Tx.cta_id([CTAS], parent="kernel")`'),
        _row("blockDim", "THREADS", 'the constant of the declaration `tid = Tx.thread_id([THREADS], parent="cta")`'),
        _row("gridDim", "Tx.gridDim.x"),
        _row("warpSize WARP_SIZE", "32", "the number of threads of every warp"),
        _row("laneid __laneid", 'lane_id = Tx.thread_id([32], parent="warp")'),
        _row("__clusterRelativeBlockRank", "Tx.cluster_ctarank"),
        _row("__clusterRelativeBlockIdx", "Tx.clusterCtaIdx.x"),
    ),
    "exchange within a warp": (
        _row("__shfl_sync __shfl", "Tx.cuda.shfl(x, 0)", "without the mask: all 32 lanes take part"),
        _row("__shfl_xor_sync __shfl_xor", "Tx.cuda.shfl_xor(x, 1)", "without the mask: all 32 lanes take part"),
        _row("__shfl_up_sync __shfl_up", "Tx.cuda.shfl_up(x, 1)", "without the mask: all 32 lanes take part"),
        _row("__shfl_down_sync __shfl_down", "Tx.cuda.shfl_down(x, 1)", "without the mask: all 32 lanes take part"),
        _row("__ballot_sync __ballot", "Tx.cuda.ballot_sync(0xFFFFFFFF, n > 0)"),
        _row("__any_sync __any", "Tx.cuda.any_sync(0xFFFFFFFF, n > 0)"),
        _row("__all_sync __all", "Tx.cuda.all_sync(0xFFFFFFFF, n > 0)"),
        _row("__activemask", "Tx.cuda.__activemask()"),
        _row("__match_any_sync", "Tx.ptx.match.any.sync.b32(bits, 0xFFFFFFFF)"),
        _row("__match_all_sync", "Tx.ptx.match.all.sync.b32(bits, 0xFFFFFFFF)"),
        _row("__reduce_add_sync", "Tx.cuda.reduce_add_sync_u32(0xFFFFFFFF, bits)",
             "or `Tx.cuda.warp_sum(x)` for floats"),
        _row("__reduce_min_sync", 'Tx.ptx.redux.u32(0xFFFFFFFF, bits, op="min")',
             "or `Tx.cuda.warp_min(x)` for floats"),
        _row("__reduce_max_sync", 'Tx.ptx.redux.u32(0xFFFFFFFF, bits, op="max")',
             "or `Tx.cuda.warp_max(x)` for floats"),
        _row("__reduce_and_sync", "bits & Tx.cuda.shfl_xor(bits, 16)", "then the same with 8, 4, 2 and 1"),
        _row("__reduce_or_sync", "Tx.bitwise_or(bits, Tx.cuda.shfl_xor(bits, 16))", "then the same with 8, 4, 2 and 1"),
        _row("__reduce_xor_sync", "bits ^ Tx.cuda.shfl_xor(bits, 16)", "then the same with 8, 4, 2 and 1"),
    ),
    "atomic operations": (
        _row("atomicAdd", "Tx.cuda.atomic_add(A.ptr_to([i]), x)"),
        _row("atomicAdd_block", 'Tx.ptx.atom(A.ptr_to([i]), x, op="add", scope="cta")'),
        _row("atomicAdd_system", 'Tx.ptx.atom(A.ptr_to([i]), x, op="add", scope="sys")'),
        _row("atomicSub", "Tx.cuda.atomic_add(A.ptr_to([i]), -x)"),
        _row("atomicMax", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="max")'),
        _row("atomicMin", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="min")'),
        _row("atomicAnd", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="and")'),
        _row("atomicOr", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="or")'),
        _row("atomicXor", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="xor")'),
        _row("atomicExch", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="exch")'),
        _row("atomicInc", 'Tx.ptx.atom(flags.ptr_to([i]), bits, op="inc")'),
        _row("atomicDec", 'Tx.ptx.atom(flags.ptr_to([i]), bits, op="dec")'),
        _row("atomicCAS", "Tx.cuda.atomic_cas(counters.ptr_to([i]), 0, n)"),
        _row("atomic_ref", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="add", sem="relaxed", scope="gpu")'),
    ),
    "memory": (
        _row("__shared__ extern", 'tile = Tx.alloc_shared((128,), "float32")',
             "or allocate it from a `Tx.PoolAllocator`"),
        _row("__constant__ __restrict__ __grid_constant__", 'Tx.Buffer((128,), "float32")',
             "as the annotation of a parameter: a kernel reads global memory through its arguments"),
        _row("__ldg", "Tx.cuda.ldg(B.ptr_to([i]))", "or `B[i]`: no thread may write the array in this kernel"),
        _row("__ldcg", 'Tx.ptx.ld(A.ptr_to([i]), returned="float32", type="b32", cop="cg")', "or `A[i]`"),
        _row("__ldcs", 'Tx.ptx.ld(A.ptr_to([i]), returned="float32", type="b32", cop="cs")', "or `A[i]`"),
        _row("__stcg __stcs __stwt __stwb", "A[i] = x"),
        _row("__cvta_generic_to_shared", "Tx.cuda.cvta_generic_to_shared(smem.ptr_to([0]))"),
        _row("__pipeline_memcpy_async memcpy_async",
             "Tx.ptx.cp_async(smem.ptr_to([4 * i]), B.ptr_to([4 * i]), bytes=16)"),
        _row("__pipeline_commit", "Tx.ptx.cp_async.commit_group()"),
        _row("__pipeline_wait_prior", "Tx.ptx.cp_async.wait_group(0)"),
        _row("malloc cudaMalloc cudaMallocManaged cudaHostAlloc free cudaFree", 'Tx.Buffer((128,), "float32")',
             "as the annotation of a parameter, and allocate the array in Python, outside the kernel"),
        _row("cudaMemcpy cudaMemcpyAsync cudaMemset cudaDeviceSynchronize cudaLaunchKernel",
             'Tx.Buffer((128,), "float32")',
             "as the annotation of a parameter: what belongs to the host is done in Python, around the launch"),
        _row("CUtensorMap cuTensorMapEncodeTiled", "Tx.copy_async",
             'with `dispatch="tma"`, which makes the tensor map'),
        _row("memcpy", "smem[i] = A[i]", "or copy tiles with `Tx.copy`"),
        _row("memset", "smem[i] = 0.0", "or set a tile with `Tx.fill`"),
        _row("sizeof", "smem.nbytes", "for the bytes of a buffer"),
    ),
    "functions and statements": (
        _row("__global__", "Tx.prim_func", "as the decorator of the function: `@Tx.prim_func`"),
        _row("__device__ __forceinline__ __noinline__ __host__ __inline__", "Tx.inline",
             "as the decorator of a function that the kernel calls: `@Tx.inline`"),
        _row("__launch_bounds__ __maxnreg__", 'Tx.thread_id([THREADS], parent="cta")',
             "which sets the threads of a CTA"),
        _row("__cluster_dims__", 'Tx.cta_id([2], parent="cluster")', "which sets the size of a cluster"),
        _row("printf", 'Tx.cuda.printf("%d\\n", n)'),
        _row("__trap __assert_fail", "assert n >= 0", "with the condition that must hold"),
        _row("__builtin_assume __assume", "Tx.assume(n >= 0)"),
        _row("clock64 clock", "Tx.cuda.clock64()"),
        _row("__globaltimer globaltimer", "Tx.ptx.globaltimer()"),
        _row("asm __asm__ __asm", 'Tx.ptx["fence.proxy.async.shared::cta"]()', "with the opcode and its operands"),
        _row("__builtin_expect", "Tx.likely(n > 0)"),
        _row("wmma nvcuda mma_sync", "Tx.gemm_async", "for tiles, or `Tx.ptx.mma` for registers"),
        _row("static_cast", "Tx.int32(x)"),
        _row("reinterpret_cast bit_cast __float_as_int", 'Tx.reinterpret("int32", x)'),
    ),
    "arithmetic": (
        _row("fmaf __fmaf_rn __ffma_rn", "Tx.fma(x, y, z)"),
        _row("__fadd_rn __fadd_rz __hadd __hadd2 __dadd_rn", "x + y"),
        _row("__fsub_rn __hsub __hsub2", "x - y"),
        _row("__fmul_rn __fmul_rz __hmul __hmul2 __dmul_rn", "x * y"),
        _row("__fdiv_rn __hdiv __fdividef", "x / y"),
        _row("__frcp_rn", "1.0 / x"),
        _row("__hfma __hfma2", "x * y + z"),
        _row("__hneg __hneg2", "-x"),
        _row("fmaxf fmax __hmax", "Tx.max(x, y)"),
        _row("fminf fmin __hmin", "Tx.min(x, y)"),
        _row("fabsf __habs", "Tx.abs(x)"),
        _row("__saturatef", "Tx.min(Tx.max(x, 0.0), 1.0)"),
        _row("expf __expf hexp", "Tx.exp(x)"),
        _row("exp2f", "Tx.exp2(x)"),
        _row("exp10f __exp10f", "Tx.exp10(x)"),
        _row("logf __logf hlog", "Tx.log(x)"),
        _row("log2f __log2f", "Tx.log2(x)"),
        _row("log10f __log10f", "Tx.log10(x)"),
        _row("log1pf", "Tx.log1p(x)"),
        _row("sqrtf __fsqrt_rn hsqrt", "Tx.sqrt(x)"),
        _row("rsqrtf __frsqrt_rn hrsqrt", "Tx.rsqrt(x)"),
        _row("powf __powf", "Tx.pow(x, y)"),
        _row("fmodf", "Tx.fmod(x, y)"),
        _row("hypotf", "Tx.hypot(x, y)"),
        _row("copysignf", "Tx.copysign(x, y)"),
        _row("sinf __sinf", "Tx.sin(x)"),
        _row("cosf __cosf", "Tx.cos(x)"),
        _row("tanf __tanf", "Tx.tan(x)"),
        _row("asinf", "Tx.asin(x)"),
        _row("acosf", "Tx.acos(x)"),
        _row("atanf", "Tx.atan(x)"),
        _row("atan2f", "Tx.atan2(y, x)"),
        _row("sinhf", "Tx.sinh(x)"),
        _row("coshf", "Tx.cosh(x)"),
        _row("tanhf __tanhf", "Tx.tanh(x)"),
        _row("erff", "Tx.erf(x)"),
        _row("floorf", "Tx.floor(x)"),
        _row("ceilf", "Tx.ceil(x)"),
        _row("truncf", "Tx.trunc(x)"),
        _row("roundf rintf nearbyintf", "Tx.nearbyint(x)"),
        _row("ldexpf", "Tx.ldexp(x, n)"),
        _row("__isnanf", "Tx.isnan(x)"),
        _row("__isinff", "Tx.isinf(x)"),
        _row("INFINITY HUGE_VALF", 'Tx.infinity("float32")'),
        _row("FLT_MAX", 'Tx.max_value("float32")'),
        _row("INT_MAX", 'Tx.max_value("int32")'),
        _row("INT_MIN", 'Tx.min_value("int32")'),
        _row("UINT_MAX", 'Tx.max_value("uint32")'),
    ),
    "bits": (
        _row("__popc __popcll", "Tx.popcount(n)"),
        _row("__clz __clzll", "Tx.clz(n)"),
        _row("__ffs __ffsll", "Tx.cuda.ffs_u32(bits)"),
        _row("__brev", "Tx.ptx.brev.b32(bits)"),
        _row("__brevll", "Tx.ptx.brev.b64(Tx.uint64(bits))"),
        _row("__byte_perm", "Tx.ptx.prmt.b32(bits, bits, 0x3210)"),
        _row("__umulhi", "Tx.ptx.mul.hi.u32(bits, bits)"),
        _row("__mulhi", "Tx.ptx.mul.hi.s32(n, n)"),
        _row("__umul24 __mul24", "n * n"),
        _row("__dp4a", 'Tx.dp4a(Tx.reinterpret("int8x4", bits), Tx.reinterpret("int8x4", bits), n)'),
        _row("__funnelshift_l", 'Tx.ptx.shf(bits, bits, 8, direction="l", mode="wrap")'),
        _row("__funnelshift_r", 'Tx.ptx.shf(bits, bits, 8, direction="r", mode="wrap")'),
    ),
    "types and conversions": (
        _row("half __half __half_raw", "Tx.float16(x)", 'or the dtype `"float16"`'),
        _row("__nv_bfloat16 nv_bfloat16 bfloat16_t", "Tx.bfloat16(x)", 'or the dtype `"bfloat16"`'),
        _row("__half2float __bfloat162float __low2float", "Tx.float32(h)"),
        _row("__float2half __float2half_rn", "Tx.float16(x)"),
        _row("__float2bfloat16 __float2bfloat16_rn", "Tx.bfloat16(x)"),
        _row("__int2float_rn __uint2float_rn __int2half_rn", "Tx.float32(n)"),
        _row("__float2int_rz __float2uint_rz __half2int_rz", "Tx.int32(x)"),
        _row("__float2int_rn __float2uint_rn", "Tx.int32(Tx.nearbyint(x))"),
        _row("__float2int_rd", "Tx.int32(Tx.floor(x))"),
        _row("__float2int_ru", "Tx.int32(Tx.ceil(x))"),
        _row("__float_as_uint", "Tx.cuda.float_as_uint(x)"),
        _row("__uint_as_float", "Tx.cuda.uint_as_float(bits)"),
        _row("__int_as_float", 'Tx.reinterpret("float32", n)'),
        _row("float4 make_float4", 'A.vload([4 * i], "float32x4")', "whose lanes are four neighbouring elements"),
        _row("float2 make_float2", 'A.vload([2 * i], "float32x2")', "or `Tx.cuda.make_float2(x, y)`"),
        _row("int4 make_int4 uint4 make_uint4", 'counters.vload([4 * i], "int32x4")',
             "whose lanes are four neighbouring elements"),
        _row("int2 make_int2 uint2 make_uint2", 'counters.vload([2 * i], "int32x2")',
             "whose lanes are two neighbouring elements"),
        _row("half2 __half2", 'halves.vload([2 * i], "float16x2")', "whose lanes are two neighbouring elements"),
        _row("int32_t signed", "Tx.int32(n)"),
        _row("uint32_t unsigned uint", "Tx.uint32(n)"),
        _row("int64_t", "Tx.int64(n)"),
        _row("uint64_t size_t", "Tx.uint64(n)"),
        _row("int16_t short", "Tx.int16(n)"),
        _row("uint16_t", "Tx.uint16(n)"),
        _row("int8_t", "Tx.int8(n)"),
        _row("uint8_t", "Tx.uint8(n)"),
        _row("double", "Tx.float64(x)"),
    ),
}  # fmt: skip

CUDA_NAMES: Sequence[CudaSpelling] = tuple(
    CudaSpelling(family, tuple(names.split()), write, note)
    for family, rows in _ROWS.items()
    for names, write, note in rows
)
"""All names, in the order of the documentation."""


@cache
def _by_name() -> Mapping[str, CudaSpelling]:
    return {name: row for row in CUDA_NAMES for name in row.names}


def cuda_spelling(name: str) -> CudaSpelling | None:
    """Return the row of a CUDA C++ name, or None."""
    return _by_name().get(name)

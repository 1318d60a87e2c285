"""Names of CUDA C++ that have another spelling in a kernel: the table behind their error pages and their documentation.

A name that the kernel or the language defines wins over this table. The values in the code are a float32 ``x`` (and
``y``, ``z``), an int32 ``n``, a uint32 ``bits``, an index ``i`` and an array ``A``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tirx_mini.records import dataclass


@dataclass(frozen=True)
class CudaSpelling:
    """Names of CUDA C++ that a kernel writes in the same way.

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
        """The help of the error page, for a kernel that calls the language by this name."""
        text = f"write `{self.write}`" + (f", {self.note}" if self.note else "")
        return text.replace("Tx.", f"{language}.")


_Row = tuple[str, str] | tuple[str, str, str]
_ROWS: Mapping[str, Sequence[_Row]] = {
    "barriers and fences": (
        ("__syncthreads", "Tx.cuda.cta_sync()"),
        ("__syncthreads_and", "Tx.cuda.syncthreads_and(n > 0)"),
        ("__syncthreads_or", "Tx.cuda.syncthreads_or(n > 0)"),
        ("__syncthreads_count", "Tx.cuda.syncthreads_count(n > 0)"),
        ("__syncwarp", "Tx.cuda.warp_sync()"),
        ("__threadfence", "Tx.cuda.thread_fence()"),
        ("__threadfence_block", "Tx.cuda.thread_fence_block()"),
        ("__threadfence_system", "Tx.cuda.thread_fence_system()"),
        ("this_grid grid_group", "Tx.cuda.grid_sync()", "which waits for every thread of the grid"),
        ("this_cluster cluster_group", "Tx.cuda.cluster_sync()", "which waits for every thread of the cluster"),
        ("this_thread_block thread_block cooperative_groups cg", "Tx.cuda.cta_sync()",
         "and `Tx.cuda.warp_sync()`, `Tx.cuda.cluster_sync()` or `Tx.cuda.grid_sync()` for other groups of threads"),
        ("__cluster_barrier_arrive", "Tx.cuda.cluster_arrive()"),
        ("__cluster_barrier_wait", "Tx.cuda.cluster_wait()"),
        ("cudaGridDependencySynchronize", "Tx.ptx.griddepcontrol.wait()"),
        ("cudaTriggerProgrammaticLaunchCompletion", "Tx.ptx.griddepcontrol.launch_dependents()"),
        ("__nanosleep", "Tx.cuda.nano_sleep(100)"),
    ),
    "indices and sizes": (
        ("threadIdx", "Tx.threadIdx.x", 'or declare the index: `tid = Tx.thread_id([THREADS], parent="cta")`'),
        ("blockIdx", "Tx.blockIdx.x", 'or declare the index: `bx = Tx.cta_id([CTAS], parent="kernel")`'),
        ("blockDim", "THREADS", 'the constant of the declaration `tid = Tx.thread_id([THREADS], parent="cta")`'),
        ("gridDim", "Tx.gridDim.x"),
        ("warpSize WARP_SIZE", "32", "the number of threads of every warp"),
        ("laneid __laneid", 'lane_id = Tx.thread_id([32], parent="warp")'),
        ("__clusterRelativeBlockRank", "Tx.cluster_ctarank"),
        ("__clusterRelativeBlockIdx", "Tx.clusterCtaIdx.x"),
    ),
    "exchange within a warp": (
        ("__shfl_sync __shfl", "Tx.cuda.shfl(x, 0)", "without the mask: all 32 lanes take part"),
        ("__shfl_xor_sync __shfl_xor", "Tx.cuda.shfl_xor(x, 1)", "without the mask: all 32 lanes take part"),
        ("__shfl_up_sync __shfl_up", "Tx.cuda.shfl_up(x, 1)", "without the mask: all 32 lanes take part"),
        ("__shfl_down_sync __shfl_down", "Tx.cuda.shfl_down(x, 1)", "without the mask: all 32 lanes take part"),
        ("__ballot_sync __ballot", "Tx.cuda.ballot_sync(0xFFFFFFFF, n > 0)"),
        ("__any_sync __any", "Tx.cuda.any_sync(0xFFFFFFFF, n > 0)"),
        ("__all_sync __all", "Tx.cuda.all_sync(0xFFFFFFFF, n > 0)"),
        ("__activemask", "Tx.cuda.__activemask()"),
        ("__match_any_sync", "Tx.ptx.match.any.sync.b32(bits, 0xFFFFFFFF)"),
        ("__match_all_sync", "Tx.ptx.match.all.sync.b32(bits, 0xFFFFFFFF)"),
        ("__reduce_add_sync", "Tx.cuda.reduce_add_sync_u32(0xFFFFFFFF, bits)", "or `Tx.cuda.warp_sum(x)` for floats"),
        ("__reduce_min_sync", 'Tx.ptx.redux.u32(0xFFFFFFFF, bits, op="min")', "or `Tx.cuda.warp_min(x)` for floats"),
        ("__reduce_max_sync", 'Tx.ptx.redux.u32(0xFFFFFFFF, bits, op="max")', "or `Tx.cuda.warp_max(x)` for floats"),
        ("__reduce_and_sync", "bits & Tx.cuda.shfl_xor(bits, 16)", "then the same with 8, 4, 2 and 1"),
        ("__reduce_or_sync", "Tx.bitwise_or(bits, Tx.cuda.shfl_xor(bits, 16))", "then the same with 8, 4, 2 and 1"),
        ("__reduce_xor_sync", "bits ^ Tx.cuda.shfl_xor(bits, 16)", "then the same with 8, 4, 2 and 1"),
    ),
    "atomic operations": (
        ("atomicAdd", "Tx.cuda.atomic_add(A.ptr_to([i]), x)"),
        ("atomicAdd_block", 'Tx.ptx.atom(A.ptr_to([i]), x, op="add", scope="cta")'),
        ("atomicAdd_system", 'Tx.ptx.atom(A.ptr_to([i]), x, op="add", scope="sys")'),
        ("atomicSub", "Tx.cuda.atomic_add(A.ptr_to([i]), -x)"),
        ("atomicMax", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="max")'),
        ("atomicMin", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="min")'),
        ("atomicAnd", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="and")'),
        ("atomicOr", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="or")'),
        ("atomicXor", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="xor")'),
        ("atomicExch", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="exch")'),
        ("atomicInc", 'Tx.ptx.atom(flags.ptr_to([i]), bits, op="inc")'),
        ("atomicDec", 'Tx.ptx.atom(flags.ptr_to([i]), bits, op="dec")'),
        ("atomicCAS", "Tx.cuda.atomic_cas(counters.ptr_to([i]), 0, n)"),
        ("atomic_ref", 'Tx.ptx.atom(counters.ptr_to([i]), n, op="add", sem="relaxed", scope="gpu")'),
    ),
    "memory": (
        ("__shared__ extern", 'tile = Tx.alloc_shared((128,), "float32")', "or allocate it from a `Tx.PoolAllocator`"),
        ("__constant__ __restrict__ __grid_constant__", 'Tx.Buffer((128,), "float32")',
         "as the annotation of a parameter: a kernel reads global memory through its arguments"),
        ("__ldg", "Tx.cuda.ldg(A.ptr_to([i]))", "or `A[i]`"),
        ("__ldcg", 'Tx.ptx.ld(A.ptr_to([i]), returned="float32", type="b32", cop="cg")', "or `A[i]`"),
        ("__ldcs", 'Tx.ptx.ld(A.ptr_to([i]), returned="float32", type="b32", cop="cs")', "or `A[i]`"),
        ("__stcg __stcs __stwt __stwb", "A[i] = x"),
        ("__cvta_generic_to_shared", "Tx.cuda.cvta_generic_to_shared(smem.ptr_to([0]))"),
        ("__pipeline_memcpy_async memcpy_async", "Tx.ptx.cp_async(smem.ptr_to([4 * i]), B.ptr_to([4 * i]), bytes=16)"),
        ("__pipeline_commit", "Tx.ptx.cp_async.commit_group()"),
        ("__pipeline_wait_prior", "Tx.ptx.cp_async.wait_group(0)"),
        ("malloc cudaMalloc cudaMallocManaged cudaHostAlloc free cudaFree", 'Tx.Buffer((128,), "float32")',
         "as the annotation of a parameter, and allocate the array in Python, outside the kernel"),
        ("cudaMemcpy cudaMemcpyAsync cudaMemset cudaDeviceSynchronize cudaLaunchKernel", 'Tx.Buffer((128,), "float32")',
         "as the annotation of a parameter: what belongs to the host is done in Python, around the launch"),
        ("CUtensorMap cuTensorMapEncodeTiled", "Tx.copy_async", 'with `dispatch="tma"`, which makes the tensor map'),
        ("memcpy", "smem[i] = A[i]", "or copy tiles with `Tx.copy`"),
        ("memset", "smem[i] = 0.0", "or set a tile with `Tx.fill`"),
        ("sizeof", "smem.nbytes", "for the bytes of a buffer"),
    ),
    "functions and statements": (
        ("__global__", "Tx.prim_func", "as the decorator of the function: `@Tx.prim_func`"),
        ("__device__ __forceinline__ __noinline__ __host__ __inline__", "Tx.inline",
         "as the decorator of a function that the kernel calls: `@Tx.inline`"),
        ("__launch_bounds__ __maxnreg__", 'Tx.thread_id([THREADS], parent="cta")', "which sets the threads of a CTA"),
        ("__cluster_dims__", 'Tx.cta_id([2], parent="cluster")', "which sets the size of a cluster"),
        ("printf", 'Tx.cuda.printf("%d\\n", n)'),
        ("__trap __assert_fail", "assert n >= 0", "with the condition that must hold"),
        ("__builtin_assume __assume", "Tx.assume(n >= 0)"),
        ("clock64 clock", "Tx.cuda.clock64()"),
        ("__globaltimer globaltimer", "Tx.ptx.globaltimer()"),
        ("asm __asm__ __asm", 'Tx.ptx["fence.proxy.async.shared::cta"]()', "with the opcode and its operands"),
        ("__builtin_expect", "Tx.likely(n > 0)"),
        ("wmma nvcuda mma_sync", "Tx.gemm_async", "for tiles, or `Tx.ptx.mma` for registers"),
        ("static_cast", "Tx.int32(x)"),
        ("reinterpret_cast bit_cast __float_as_int", 'Tx.reinterpret("int32", x)'),
    ),
    "arithmetic": (
        ("fmaf __fmaf_rn __ffma_rn", "Tx.fma(x, y, z)"),
        ("__fadd_rn __fadd_rz __hadd __hadd2 __dadd_rn", "x + y"),
        ("__fsub_rn __hsub __hsub2", "x - y"),
        ("__fmul_rn __fmul_rz __hmul __hmul2 __dmul_rn", "x * y"),
        ("__fdiv_rn __hdiv __fdividef", "x / y"),
        ("__frcp_rn", "1.0 / x"),
        ("__hfma __hfma2", "x * y + z"),
        ("__hneg __hneg2", "-x"),
        ("fmaxf fmax __hmax", "Tx.max(x, y)"),
        ("fminf fmin __hmin", "Tx.min(x, y)"),
        ("fabsf __habs", "Tx.abs(x)"),
        ("__saturatef", "Tx.min(Tx.max(x, 0.0), 1.0)"),
        ("expf __expf hexp", "Tx.exp(x)"),
        ("exp2f", "Tx.exp2(x)"),
        ("exp10f __exp10f", "Tx.exp10(x)"),
        ("logf __logf hlog", "Tx.log(x)"),
        ("log2f __log2f", "Tx.log2(x)"),
        ("log10f __log10f", "Tx.log10(x)"),
        ("log1pf", "Tx.log1p(x)"),
        ("sqrtf __fsqrt_rn hsqrt", "Tx.sqrt(x)"),
        ("rsqrtf __frsqrt_rn hrsqrt", "Tx.rsqrt(x)"),
        ("powf __powf", "Tx.pow(x, y)"),
        ("fmodf", "Tx.fmod(x, y)"),
        ("hypotf", "Tx.hypot(x, y)"),
        ("copysignf", "Tx.copysign(x, y)"),
        ("sinf __sinf", "Tx.sin(x)"),
        ("cosf __cosf", "Tx.cos(x)"),
        ("tanf __tanf", "Tx.tan(x)"),
        ("asinf", "Tx.asin(x)"),
        ("acosf", "Tx.acos(x)"),
        ("atanf", "Tx.atan(x)"),
        ("atan2f", "Tx.atan2(y, x)"),
        ("sinhf", "Tx.sinh(x)"),
        ("coshf", "Tx.cosh(x)"),
        ("tanhf __tanhf", "Tx.tanh(x)"),
        ("erff", "Tx.erf(x)"),
        ("floorf", "Tx.floor(x)"),
        ("ceilf", "Tx.ceil(x)"),
        ("truncf", "Tx.trunc(x)"),
        ("roundf rintf nearbyintf", "Tx.nearbyint(x)"),
        ("ldexpf", "Tx.ldexp(x, n)"),
        ("__isnanf", "Tx.isnan(x)"),
        ("__isinff", "Tx.isinf(x)"),
        ("INFINITY HUGE_VALF", 'Tx.infinity("float32")'),
        ("FLT_MAX", 'Tx.max_value("float32")'),
        ("INT_MAX", 'Tx.max_value("int32")'),
        ("INT_MIN", 'Tx.min_value("int32")'),
        ("UINT_MAX", 'Tx.max_value("uint32")'),
    ),
    "bits": (
        ("__popc __popcll", "Tx.popcount(n)"),
        ("__clz __clzll", "Tx.clz(n)"),
        ("__ffs __ffsll", "Tx.cuda.ffs_u32(bits)"),
        ("__brev", "Tx.ptx.brev.b32(bits)"),
        ("__brevll", "Tx.ptx.brev.b64(Tx.uint64(bits))"),
        ("__byte_perm", "Tx.ptx.prmt.b32(bits, bits, 0x3210)"),
        ("__umulhi", "Tx.ptx.mul.hi.u32(bits, bits)"),
        ("__mulhi", "Tx.ptx.mul.hi.s32(n, n)"),
        ("__umul24 __mul24", "n * n"),
        ("__dp4a", 'Tx.dp4a(Tx.reinterpret("int8x4", bits), Tx.reinterpret("int8x4", bits), n)'),
        ("__funnelshift_l", 'Tx.ptx.shf(bits, bits, 8, direction="l", mode="wrap")'),
        ("__funnelshift_r", 'Tx.ptx.shf(bits, bits, 8, direction="r", mode="wrap")'),
    ),
    "types and conversions": (
        ("half __half __half_raw", "Tx.float16(x)", 'or the dtype `"float16"`'),
        ("__nv_bfloat16 nv_bfloat16 bfloat16_t", "Tx.bfloat16(x)", 'or the dtype `"bfloat16"`'),
        ("__half2float __bfloat162float __low2float", "Tx.float32(h)"),
        ("__float2half __float2half_rn", "Tx.float16(x)"),
        ("__float2bfloat16 __float2bfloat16_rn", "Tx.bfloat16(x)"),
        ("__int2float_rn __uint2float_rn __int2half_rn", "Tx.float32(n)"),
        ("__float2int_rz __float2uint_rz __half2int_rz", "Tx.int32(x)"),
        ("__float2int_rn __float2uint_rn", "Tx.int32(Tx.nearbyint(x))"),
        ("__float2int_rd", "Tx.int32(Tx.floor(x))"),
        ("__float2int_ru", "Tx.int32(Tx.ceil(x))"),
        ("__float_as_uint", "Tx.cuda.float_as_uint(x)"),
        ("__uint_as_float", "Tx.cuda.uint_as_float(bits)"),
        ("__int_as_float", 'Tx.reinterpret("float32", n)'),
        ("float4 make_float4", 'A.vload([4 * i], "float32x4")', "whose lanes are four neighbouring elements"),
        ("float2 make_float2", 'A.vload([2 * i], "float32x2")', "or `Tx.cuda.make_float2(x, y)`"),
        ("int4 make_int4 uint4 make_uint4", 'counters.vload([4 * i], "int32x4")',
         "whose lanes are four neighbouring elements"),
        ("int2 make_int2 uint2 make_uint2", 'counters.vload([2 * i], "int32x2")',
         "whose lanes are two neighbouring elements"),
        ("half2 __half2", 'halves.vload([2 * i], "float16x2")', "whose lanes are two neighbouring elements"),
        ("int32_t signed", "Tx.int32(n)"),
        ("uint32_t unsigned uint", "Tx.uint32(n)"),
        ("int64_t", "Tx.int64(n)"),
        ("uint64_t size_t", "Tx.uint64(n)"),
        ("int16_t short", "Tx.int16(n)"),
        ("uint16_t", "Tx.uint16(n)"),
        ("int8_t", "Tx.int8(n)"),
        ("uint8_t", "Tx.uint8(n)"),
        ("double", "Tx.float64(x)"),
    ),
}  # fmt: skip

CUDA_NAMES: Sequence[CudaSpelling] = tuple(
    CudaSpelling(family, tuple(names.split()), write, *note)
    for family, rows in _ROWS.items()
    for names, write, *note in rows
)
"""All names, in the order of the documentation."""


@cache
def _by_name() -> Mapping[str, CudaSpelling]:
    return {name: row for row in CUDA_NAMES for name in row.names}


def cuda_spelling(name: str) -> CudaSpelling | None:
    """The row of a name of CUDA C++; None where the table has none."""
    return _by_name().get(name)

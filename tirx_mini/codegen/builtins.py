"""Device functions missing from the instruction table: special registers, addresses and rounding."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "tvm_builtin_"


def _register(name: str, ptx: str) -> str:
    return (
        f"__device__ __forceinline__ int {PREFIX}{name}() {{\n"
        f"  uint32_t value;\n"
        f'  asm("mov.u32 %0, {ptx};" : "=r"(value));\n'
        f"  return (int)value;\n"
        f"}}"
    )


DEFINITIONS: Mapping[str, str] = {
    "shared_address": """\
// The 32-bit shared-memory address that PTX instructions take.
__device__ __forceinline__ uint32_t tvm_builtin_shared_address(const void* pointer) {
  return (uint32_t)__cvta_generic_to_shared(pointer);
}""",
    "reinterpret": """\
// The bits of a value as a value of another type.
template <typename To, typename From>
__device__ __forceinline__ To tvm_builtin_reinterpret(From value) {
  static_assert(sizeof(To) == sizeof(From), "both types have the same size");
  return *reinterpret_cast<To*>(&value);
}""",
    "pair": """\
// A number twice, as the operand of an operation on pairs.
__device__ __forceinline__ float2 tvm_builtin_pair(float value) { return make_float2(value, value); }""",
    "floordiv": """\
// Division and remainder that round towards minus infinity, as in Python.
template <typename T>
__device__ __forceinline__ T tvm_builtin_floordiv(T a, T b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}""",
    "floormod": """\
// A remainder with the sign of the divisor, as in Python.
template <typename T>
__device__ __forceinline__ T tvm_builtin_floormod(T a, T b) {
  return a % b + (((a % b != 0) && ((a < 0) != (b < 0))) ? b : 0);
}""",
    "grid_sync": """\
// The CTAs that have arrived; CTA 0 adds what makes the sum of a round flip the highest bit. All launches of the kernel
// share it, so two of them must not run at the same time.
__device__ unsigned int tvm_builtin_grid_arrived;
// Wait for all threads of the grid, as cooperative_groups::this_grid().sync() does. The launch is cooperative.
__device__ __forceinline__ void tvm_builtin_grid_sync() {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1;
    const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
    __threadfence();
    const unsigned int before = atomicAdd(&tvm_builtin_grid_arrived, first ? 0x80000000u - others : 1u);
    while (((before ^ *(volatile unsigned int*)&tvm_builtin_grid_arrived) & 0x80000000u) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
}""",
    "cluster_ctarank": _register("cluster_ctarank", "%%cluster_ctarank"),
    **{f"cluster_ctaid_{axis}": _register(f"cluster_ctaid_{axis}", f"%%cluster_ctaid.{axis}") for axis in "xyz"},
}  # fmt: skip

PROLOGUE: Mapping[str, str] = {
    "warp_id_in_cta": "int warp_id_in_cta = __shfl_sync(0xffffffff, (((int)threadIdx.x) >> 5), 0, 32);",
    "cluster_ctarank": f"const int cluster_ctarank = {PREFIX}cluster_ctarank();",
    **{f"clusterCtaIdx.{a}": f"const int cluster_ctaid_{a} = {PREFIX}cluster_ctaid_{a}();" for a in "xyz"},
}
"""Special registers that a kernel reads once, at its start. The shuffle makes the value uniform for the compiler."""

NEEDS: Mapping[str, str] = {
    "cluster_ctarank": "cluster_ctarank",
    **{f"clusterCtaIdx.{axis}": f"cluster_ctaid_{axis}" for axis in "xyz"},
}
"""The definition that a line of the prologue calls."""

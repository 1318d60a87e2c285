// D = A B^T on Hopper in two steps along K, which use the same shared memory one after the other.
#include <cuda_fp16.h>
#include <cstdint>

__device__ static uint64_t desc(const half *tile)
{
    uint64_t d = (__cvta_generic_to_shared(tile) & 0x3ffff) >> 4;
    d |= uint64_t(128 >> 4) << 16;
    d |= uint64_t(256 >> 4) << 32;
    return d;
}

__global__ void gemm(const half *A, const half *B, float *D, int K)
{
    __shared__ alignas(128) half a[64 * 16];
    __shared__ alignas(128) half b[8 * 16];
    const int tid = threadIdx.x;
    float d[4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = tid; i < 64 * 2; i += blockDim.x) {
            const int row = i / 2, half8 = i % 2;
            *reinterpret_cast<uint4 *>(&a[(row / 8 * 2 + half8) * 64 + row % 8 * 8]) =   //@
                *reinterpret_cast<const uint4 *>(&A[row * K + k0 + half8 * 8]);          //@
        }
        if (tid < 16)
            *reinterpret_cast<uint4 *>(&b[tid % 2 * 64 + tid / 2 * 8]) =                 //@
                *reinterpret_cast<const uint4 *>(&B[tid / 2 * K + k0 + tid % 2 * 8]);    //@
        asm volatile("fence.proxy.async;" ::: "memory");  //-
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"                                               //@
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"  //@
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)), "r"(k0));  //@
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
        __syncthreads();
    }
    const int row = tid / 32 * 16 + tid % 32 / 4, col = tid % 4 * 2;
    *reinterpret_cast<float2 *>(D + row * 8 + col) = make_float2(d[0], d[1]);
    *reinterpret_cast<float2 *>(D + (row + 8) * 8 + col) = make_float2(d[2], d[3]);
}

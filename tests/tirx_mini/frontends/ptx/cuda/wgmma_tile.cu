// D = A B^T of one warpgroup on Hopper: 64 x 8 x 32 with operands in shared memory, not swizzled.
#include <cuda_fp16.h>
#include <cstdint>

__device__ uint64_t descriptor(const void *p)
{
    const uint64_t at = __cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

__global__ void __launch_bounds__(128) gemm(const half *A, const half *B, float *D)
{
    // Core matrices of 8 rows x 8 columns are contiguous: [k step][rows / 8][2][8][8].
    __shared__ alignas(128) half a[2][8][2][8][8];
    __shared__ alignas(128) half b[2][1][2][8][8];
    const int tid = threadIdx.x;
    for (int i = tid; i < 64 * 32; i += 128) {
        const int row = i / 32, k = i % 32;
        a[k / 16][row / 8][k / 8 % 2][row % 8][k % 8] = A[i];
    }
    for (int i = tid; i < 8 * 32; i += 128) {
        const int row = i / 32, k = i % 32;
        b[k / 16][0][k / 8 % 2][row][k % 8] = B[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 2; ++k)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"  //@
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a[k])), "l"(descriptor(b[k])));  //@
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  //-
    const int row = tid / 32 * 16 + tid % 32 / 4, col = tid % 4 * 2;
    D[row * 8 + col] = d[0];            //@
    D[row * 8 + col + 1] = d[1];        //@
    D[(row + 8) * 8 + col] = d[2];      //@
    D[(row + 8) * 8 + col + 1] = d[3];  //@
}

// out = in + 1 by tiles that TMA loads and stores, with one mbarrier.
#include <cuda.h>
#include <cstdint>

constexpr int ROWS = 8, COLS = 32;

__device__ inline uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__global__ void add_one(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) float tile[ROWS][COLS];
    __shared__ alignas(8) uint64_t bar;
    const int x = blockIdx.x * COLS, y = blockIdx.y * ROWS;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        constexpr int bytes = sizeof(tile);  //- constexpr int bytes = ROWS * COLS;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&bar)), "r"(bytes));  //@
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"  //@
                     ::"r"(shared_address(tile)), "l"(&in), "r"(x), "r"(y), "r"(shared_address(&bar)) : "memory");  //@
    }
    uint32_t done = 0;
    while (!done)  //@
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"  //@
                     : "=r"(done) : "r"(shared_address(&bar)), "r"(0) : "memory");  //@
    for (int i = threadIdx.x; i < ROWS * COLS; i += blockDim.x)
        tile[i / COLS][i % COLS] += 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(&out), "r"(x), "r"(y), "r"(shared_address(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

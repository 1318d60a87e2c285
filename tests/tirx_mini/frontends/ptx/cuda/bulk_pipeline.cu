// Sums of chunks: one warp fills a ring of two stages with bulk copies, another one adds.
#include <cstdint>

constexpr int STAGES = 2, CHUNK = 32;

__device__ inline uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ inline void init(uint64_t *bar, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(smem(bar)), "r"(count));
}
__device__ inline void arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(smem(bar)) : "memory");
}
__device__ inline void wait(uint64_t *bar, int parity)
{
    asm volatile("{\n.reg .pred P;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 P, [%0], %1;\n@P bra DONE;\nbra WAIT;\nDONE:\n}"  //@
                 ::"r"(smem(bar)), "r"(parity) : "memory");  //@
}

__global__ void sum_chunks(const float *in, float *out, int chunks)
{
    __shared__ alignas(16) float ring[STAGES][CHUNK];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], 1);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (warp == 0) {
        if (lane == 0)
            for (int i = 0; i < chunks; ++i) {
                const int s = i % STAGES;
                wait(&empty[s], (i / STAGES + 1) & 1);  //- wait(&empty[s], (i / STAGES) & 1);
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(smem(&full[s])), "r"(CHUNK * 4));
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             ::"r"(smem(ring[s])), "l"(in + i * CHUNK), "r"(CHUNK * 4), "r"(smem(&full[s])) : "memory");
            }
    } else {
        float sum = 0.0f;
        for (int i = 0; i < chunks; ++i) {
            const int s = i % STAGES;
            wait(&full[s], (i / STAGES) & 1);  //@
            sum += ring[s][lane];
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncwarp();
            if (lane == 0)
                arrive(&empty[s]);
        }
        out[lane] = sum;
    }
}

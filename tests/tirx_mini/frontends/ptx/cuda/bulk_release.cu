// Squares of chunks: two warps consume each stage that a third one fills; every consumer warp releases it once.
#include <cstdint>

constexpr int STAGES = 2, CHUNK = 64;

struct Barrier {
    uint64_t word;
    __device__ uint32_t at() const { return (uint32_t)__cvta_generic_to_shared(&word); }
    __device__ void init(int count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at()), "r"(count)); }
    __device__ void arrive() { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at()) : "memory"); }  //@
    __device__ void expect(int bytes)
    {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at()), "r"(bytes) : "memory");
    }
    __device__ bool test(int parity) const
    {
        int done;
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(at()), "r"(parity) : "memory");
        return done;
    }
    __device__ void wait(int parity) const { while (!test(parity)) {} }
};

__global__ void square(const int *in, int *out, int chunks)
{
    __shared__ alignas(16) int ring[STAGES][CHUNK];
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            full[s].init(1);
            empty[s].init(2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int stage = 0, phase = 0;
    for (int i = 0; i < chunks; ++i) {
        if (warp == 2) {
            if (lane == 0) {
                empty[stage].wait(phase ^ 1);
                full[stage].expect(sizeof(ring[0]));
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"  //@
                             ::"r"((uint32_t)__cvta_generic_to_shared(ring[stage])), "l"(in + i * CHUNK),  //@
                             "r"((int)sizeof(ring[0])), "r"(full[stage].at()) : "memory");                 //@
            }
        } else {
            full[stage].wait(phase);
            const int v = ring[stage][threadIdx.x];  //@
            out[i * CHUNK + threadIdx.x] = v * v;
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncwarp();
            if (lane == 0)  //- if (lane < 2)
                empty[stage].arrive();  //@
        }
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
}

// A producer warp and a consumer warp hand a buffer to and fro with the named barriers 1 and 2.
#define ROUNDS 4

__device__ void sync_named(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }      //@
__device__ void arrive_named(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }  //@

__global__ void transfer(const int *in, int *out)
{
    __shared__ int buffer[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < ROUNDS; ++i) {
            if (i > 0)
                sync_named(2, 64);  //@
            buffer[lane] = in[i * 32 + lane];
            arrive_named(1, 64);  //- arrive_named(1, 32);
        }
    } else {
        for (int i = 0; i < ROUNDS; ++i) {
            sync_named(1, 64);  //@
            out[i * 32 + lane] = buffer[31 - lane] + i;
            if (i + 1 < ROUNDS)
                arrive_named(2, 64);
        }
    }
}

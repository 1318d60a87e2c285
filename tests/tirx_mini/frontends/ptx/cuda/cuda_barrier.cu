// Each thread publishes a value, does other work, and reads its neighbour's after a split barrier.
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void exchange(const int *in, int *out, int rounds)
{
    __shared__ int slots[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier ready;
    const int tid = threadIdx.x;
    if (tid == 0)
        init(&ready, blockDim.x);  //- init(&ready, blockDim.x + 1);
    __syncthreads();
    int value = in[tid];
    for (int round = 0; round < rounds; ++round) {
        slots[tid] = value;
        auto token = ready.arrive();
        const int own = value * value;
        ready.wait(cuda::std::move(token));  //@
        value = own + slots[(tid + 1) % blockDim.x];
        ready.arrive_and_wait();             //@
    }
    out[tid] = value;
}

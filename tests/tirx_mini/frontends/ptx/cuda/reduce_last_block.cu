// The sum of all elements in one launch: the block that finishes last adds the blocks' sums.
__device__ unsigned int finished = 0;

__global__ void reduce(const float *in, volatile float *partial, float *out, int n)
{
    __shared__ float sums[64];
    __shared__ bool last;
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int half = 32; half > 0; half >>= 1) {
        if (tid < half)
            sums[tid] += sums[tid + half];
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = sums[0];  //@
        __threadfence();                //-
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && tid == 0) {
        __threadfence();
        float total = 0.0f;
        for (int block = 0; block < gridDim.x; ++block)
            total += partial[block];  //@
        *out = total;
    }
}

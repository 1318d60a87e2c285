// Sums of the elements of each block, by a tree in shared memory.
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float sums[128];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half)
            sums[tid] += sums[tid + half];  //@
        __syncthreads();                    //-
    }
    if (tid == 0)
        out[blockIdx.x] = sums[0];
}

// Sums of the elements of each block; the last warp goes on without barriers of the block.
template <unsigned BLOCK>
__global__ void reduce(const int *in, int *out)
{
    __shared__ int sums[BLOCK];
    const unsigned tid = threadIdx.x;
    sums[tid] = in[blockIdx.x * BLOCK + tid];
    __syncthreads();
    if (BLOCK >= 128) {
        if (tid < 64)
            sums[tid] += sums[tid + 64];
        __syncthreads();
    }
    if (tid < 32) {
        int sum = sums[tid] + sums[tid + 32];
        sums[tid] = sum; __syncwarp();
        #pragma unroll
        for (int half = 16; half > 0; half /= 2) {
            sum += sums[tid + half];  //@
            __syncwarp();
            sums[tid] = sum;          //@
            __syncwarp();             //-
        }
        if (tid == 0)
            out[blockIdx.x] = sum;
    }
}

// Sums of the elements of each block: shuffles within warps, then one warp adds the sums of all.
#define FULL 0xffffffffu

__device__ float warp_sum(float value)
{
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(FULL, value, offset);
    return value;
}

__global__ void reduce(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float partial[32];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (lane == 0)
        partial[warp] = sum;  //@
    __syncthreads();          //-
    if (warp == 0) {
        sum = lane < blockDim.x / warpSize ? partial[lane] : 0.0f;  //@
        sum = warp_sum(sum);
        if (lane == 0)
            out[blockIdx.x] = sum;
    }
}

// One sum of the whole array: a loop with the grid's stride, and one atomic addition for each warp.
__global__ void total(const float *x, float *sum, int n)
{
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        mine += x[i];
    for (int mask = 16; mask; mask >>= 1)
        mine += __shfl_xor_sync(0xffffffff, mine, mask);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(sum, mine);  //- *sum += mine;
}

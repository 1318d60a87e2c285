// A histogram with one copy of the bins for each warp; one block.
#define BINS 32
#define WARPS 4

__global__ void histogram(const int *keys, int *bins, int n)
{
    __shared__ int copies[WARPS][BINS];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int w = 0; w < WARPS; ++w)  //- for (int w = 0; w < WARPS - 1; ++w)
        if (warp == 0)
            copies[w][lane] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&copies[warp][keys[i]], 1);  //@
    __syncthreads();
    if (threadIdx.x < BINS) {
        int sum = 0;
        for (int w = 0; w < WARPS; ++w)
            sum += copies[w][threadIdx.x];  //@
        bins[threadIdx.x] = sum;
    }
}

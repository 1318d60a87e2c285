// Keeps the positive elements: ranks by ballot within a warp, one atomic addition for each warp.
__global__ void compact(const int *in, int *out, int *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const bool keep = i < n && in[i] > 0;
    const unsigned votes = __ballot_sync(0xffffffff, keep);  //- const unsigned votes = keep ? __ballot_sync(0xffffffff, true) : 0;
    int base = 0;
    if (lane == 0 && votes)
        base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffff, base, 0);  //@
    if (keep)
        out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}

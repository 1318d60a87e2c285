// One step of a radix sort: a stable partition of 64 keys by one bit.
__global__ void split(const unsigned *in, unsigned *out, int bit)
{
    __shared__ unsigned zeros_before[65];
    __shared__ unsigned sorted[64];
    const int tid = threadIdx.x;
    const unsigned key = in[tid];
    const unsigned zero = ~(key >> bit) & 1;
    zeros_before[tid + 1] = zero;
    if (tid == 0)
        zeros_before[0] = 0;
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        unsigned add = 0;
        if (tid + 1 > offset)
            add = zeros_before[tid + 1 - offset];
        __syncthreads();
        zeros_before[tid + 1] += add;
        __syncthreads();
    }
    const unsigned zeros = zeros_before[64];
    const unsigned rank = zero ? zeros_before[tid] : zeros + tid - zeros_before[tid];  //- const unsigned rank = zero ? zeros_before[tid] : zeros + tid - zeros_before[tid] + 1;
    sorted[rank] = key;  //@
    __syncthreads();
    out[tid] = sorted[tid];  //@
}

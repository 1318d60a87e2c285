// Inclusive prefix sums of one block, after Hillis and Steele, with two buffers in shared memory.
__global__ void scan(const int *in, int *out, int n)
{
    extern __shared__ int buffer[];  // 2 * n
    const int tid = threadIdx.x;
    int from = 1, to = 0;
    buffer[to * n + tid] = in[tid];
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        to = 1 - to;
        from = 1 - to;
        int value = buffer[from * n + tid];    //@
        if (tid >= offset)
            value += buffer[from * n + tid - offset];  //@
        buffer[to * n + tid] = value;          //@
        __syncthreads();                       //-
    }
    out[tid] = buffer[to * n + tid];           //@
}

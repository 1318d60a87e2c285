// Two kernels of an iteration that is launched in turn: a sweep between two arrays, and the largest change.
__global__ void sweep(const float *from, float *to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        to[i] = 0.5f * (from[i - 1] + from[i + 1]);  //- const_cast<float *>(from)[i] = 0.5f * (from[i - 1] + from[i + 1]);
    else if (i < n)
        to[i] = from[i];
}

__global__ void change(const float *a, const float *b, int *largest, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float difference = i < n ? fabsf(a[i] - b[i]) : 0.0f;
    for (int mask = 16; mask > 0; mask /= 2)
        difference = fmaxf(difference, __shfl_xor_sync(0xffffffffu, difference, mask));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, __float_as_int(difference));
}

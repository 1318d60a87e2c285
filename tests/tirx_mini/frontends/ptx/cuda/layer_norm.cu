// Layer normalisation with one warp a row.
__device__ float warp_total(float v)
{
    for (int m = 16; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffff, v, m);  //- v += __shfl_xor_sync(0x0000ffff, v, m);
    return v;
}

__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int columns)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *in = x + row * columns;
    float sum = 0.0f;
    for (int c = lane; c < columns; c += 32)
        sum += in[c];
    const float mean = warp_total(sum) / columns;
    float squares = 0.0f;
    for (int c = lane; c < columns; c += 32)
        squares += (in[c] - mean) * (in[c] - mean);
    const float scale = rsqrtf(warp_total(squares) / columns + 1e-5f);
    for (int c = lane; c < columns; c += 32)
        y[row * columns + c] = (in[c] - mean) * scale * gamma[c] + beta[c];
}

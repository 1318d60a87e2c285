// Softmax of rows, one block a row; the maximum and the sum are reduced in the same scratch.
#define BLOCK 64

__device__ float block_max(float v, float *scratch)
{
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int h = BLOCK / 2; h > 0; h /= 2) {
        if (threadIdx.x < h)
            scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + h]);
        __syncthreads();
    }
    return scratch[0];  //@
}

__device__ float block_sum(float v, float *scratch)
{
    scratch[threadIdx.x] = v;  //@
    __syncthreads();
    for (int h = BLOCK / 2; h > 0; h /= 2) {
        if (threadIdx.x < h)
            scratch[threadIdx.x] += scratch[threadIdx.x + h];
        __syncthreads();
    }
    return scratch[0];
}

__global__ void softmax(const float *x, float *y, int columns)
{
    __shared__ float scratch[BLOCK];
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float top = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        top = fmaxf(top, x[c]);
    top = block_max(top, scratch);
    __syncthreads();  //-
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        sum += __expf(x[c] - top);
    sum = block_sum(sum, scratch);
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        y[c] = __expf(x[c] - top) / sum;
}

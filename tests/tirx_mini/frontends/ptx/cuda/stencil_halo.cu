// A stencil of radius 3 in one dimension, with a tile and its halo in shared memory.
#define RADIUS 3
#define BLOCK 64

__constant__ float weights[2 * RADIUS + 1] = {0.05f, 0.1f, 0.2f, 0.3f, 0.2f, 0.1f, 0.05f};

__global__ void stencil(const float *in, float *out, int n)
{
    __shared__ float tile[BLOCK + 2 * RADIUS];
    const int g = blockIdx.x * BLOCK + threadIdx.x;
    const int l = threadIdx.x + RADIUS;
    tile[l] = g < n ? in[g] : 0.0f;
    if (threadIdx.x < RADIUS) {
        tile[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.0f;
        tile[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0.0f;  //- tile[l + BLOCK] = in[g + BLOCK];
    }
    __syncthreads();
    if (g >= n)
        return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += weights[k + RADIUS] * tile[l + k];
    out[g] = sum;
}

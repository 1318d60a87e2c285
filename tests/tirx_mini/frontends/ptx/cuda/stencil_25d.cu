// A stencil of seven points in three dimensions: planes in shared memory, the column along z in registers.
#define BX 8
#define BY 8

__global__ void stencil(const float *in, float *out, int nx, int ny, int nz)
{
    __shared__ float plane[BY + 2][BX + 2];
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int stride = nx * ny;
    int at = y * nx + x;
    float below = 0.0f, here = in[at], above = in[at + stride];
    for (int z = 0; z < nz; ++z, at += stride) {
        plane[ty][tx] = here;  //@
        if (threadIdx.x == 0) plane[ty][0] = x > 0 ? in[at - 1] : 0.0f;                  //@
        if (threadIdx.x == BX - 1) plane[ty][BX + 1] = x + 1 < nx ? in[at + 1] : 0.0f;   //@
        if (threadIdx.y == 0) plane[0][tx] = y > 0 ? in[at - nx] : 0.0f;                 //@
        if (threadIdx.y == BY - 1) plane[BY + 1][tx] = y + 1 < ny ? in[at + nx] : 0.0f;  //@
        __syncthreads();
        out[at] = below + above + plane[ty][tx - 1] + plane[ty][tx + 1]  //@
            + plane[ty - 1][tx] + plane[ty + 1][tx] - 6.0f * here;       //@
        below = here;
        here = above;
        above = z + 2 < nz ? in[at + 2 * stride] : 0.0f;
        __syncthreads();  //-
    }
}

// y = A x with one warp a row and loads of four elements.
__global__ void gemv(const float4 *A, const float4 *x, float *y, int rows, int quads)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;  //-
    float sum = 0.0f;
    for (int q = lane; q < quads; q += 32) {
        const float4 a = A[row * quads + q], b = x[q];  //@
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0)
        y[row] = sum;  //@
}

// C = A B by tiles in shared memory; square matrices whose size is a multiple of the tile.
template <int T>
__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int m = 0; m < n / T; ++m) {
        a[ty][tx] = A[row * n + m * T + tx];    //@
        b[ty][tx] = B[(m * T + ty) * n + col];  //@
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < T; ++k)
            sum += a[ty][k] * b[k][tx];         //@
        __syncthreads();                        //-
    }
    C[row * n + col] = sum;
}

// C = A B, one element a thread; any M, N, K.
__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {  //- if (row < M && col <= N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += A[row * K + k] * B[k * N + col];  //@
        C[row * N + col] = sum;                      //@
    }
}

// C = A B with 4 x 4 elements a thread: tiles of 32 x 32, and A transposed in shared memory.
#define BM 32
#define BN 32
#define BK 8
#define TM 4
#define TN 4

__global__ void __launch_bounds__(64) sgemm(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN), ty = tid / (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        {
            const int row = tid / 2, col = tid % 2 * 4;
            const float4 v = *reinterpret_cast<const float4 *>(&A[row * K + k0 + col]);
            As[col + 0][row] = v.x;
            As[col + 1][row] = v.y;
            As[col + 2][row] = v.z;
            As[col + 3][row] = v.w;
        }
        {
            const int row = tid / 8, col = tid % 8 * 4;
            *reinterpret_cast<float4 *>(&Bs[row][col]) = *reinterpret_cast<const float4 *>(&B[(k0 + row) * N + col]);
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {  //- for (int k = 0; k <= BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i)
                a[i] = As[k][ty * TM + i];  //@
            for (int j = 0; j < TN; ++j)
                b[j] = Bs[k][tx * TN + j];  //@
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            C[(ty * TM + i) * N + tx * TN + j] = acc[i][j];
}

// D = relu(A B + bias) with one warp for each tile of 16 x 16; the epilogue goes through shared memory.
#include <mma.h>
using namespace nvcuda;

__global__ void gemm(const half *A, const half *B, const float *bias, float *D, int N, int K)
{
    __shared__ float tile[16 * 16];
    const int row = blockIdx.y * 16, col = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(tile, acc, 16, wmma::mem_row_major);  //@
    __syncwarp();  //-
    for (int i = threadIdx.x; i < 256; i += 32) {
        const float value = tile[i] + bias[col + i % 16];  //@
        D[(row + i / 16) * N + col + i % 16] = fmaxf(value, 0.0f);
    }
}

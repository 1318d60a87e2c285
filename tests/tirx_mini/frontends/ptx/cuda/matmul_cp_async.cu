// C = A B by tiles of 16 x 16, with two buffers that cp.async fills.
#define T 16

__device__ __forceinline__ void copy16(void *shared, const void *global)
{
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(global) : "memory");  //@
}

template <int N>
__device__ __forceinline__ void wait_group()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    __shared__ alignas(16) float a[2][T][T], b[2][T][T];
    const int tid = threadIdx.x;  // of 64
    const int row = tid / 4, col = tid % 4 * 4;
    auto load = [&](int stage, int m) {
        copy16(&a[stage][row][col], &A[(blockIdx.y * T + row) * n + m * T + col]);  //@
        copy16(&b[stage][row][col], &B[(m * T + row) * n + blockIdx.x * T + col]);  //@
    };
    float sums[4] = {};
    const int tiles = n / T;
    load(0, 0);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    for (int m = 0; m < tiles; ++m) {
        if (m + 1 < tiles)
            load((m + 1) & 1, m + 1);
        asm volatile("cp.async.commit_group;\n" ::: "memory");
        wait_group<1>();  //- wait_group<2>();
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int j = 0; j < 4; ++j)
                sums[j] += a[m & 1][row][k] * b[m & 1][k][col + j];  //@
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        C[(blockIdx.y * T + row) * n + blockIdx.x * T + col + j] = sums[j];
}

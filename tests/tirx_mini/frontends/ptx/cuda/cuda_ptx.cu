// y = a x by chunks: bulk copies in both directions, by the functions of <cuda/ptx>.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
constexpr int CHUNK = 128;

__global__ void scale(const float *x, float *y, float a)
{
    __shared__ alignas(16) float buffer[CHUNK];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, blockDim.x);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    uint64_t token;
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffer, x + blockIdx.x * CHUNK, sizeof(buffer), &bar);
        token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(buffer));
    } else {
        token = ptx::mbarrier_arrive(&bar);
    }
    while (!ptx::mbarrier_try_wait(&bar, token)) {}
    for (int i = threadIdx.x; i < CHUNK; i += blockDim.x)
        buffer[i] *= a;  //@
    ptx::fence_proxy_async(ptx::space_shared);  //-
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + blockIdx.x * CHUNK, buffer, sizeof(buffer));  //@
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// A histogram whose bins are spread over the shared memory of a cluster of two blocks.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define BINS_PER_BLOCK 32

__global__ void __cluster_dims__(2, 1, 1) histogram(const int *keys, int *bins, int n)
{
    __shared__ int local[BINS_PER_BLOCK];
    cg::cluster_group cluster = cg::this_cluster();
    for (int b = threadIdx.x; b < BINS_PER_BLOCK; b += blockDim.x)
        local[b] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int key = keys[i];
        int *there = cluster.map_shared_rank(local, key / BINS_PER_BLOCK);
        atomicAdd(there + key % BINS_PER_BLOCK, 1);  //@
    }
    cluster.sync();  //-
    for (int b = threadIdx.x; b < BINS_PER_BLOCK; b += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * BINS_PER_BLOCK + b], local[b]);  //@
}

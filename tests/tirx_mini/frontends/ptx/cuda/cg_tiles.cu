// Sums of segments of 8 elements, by tiles of cooperative groups, and their maximum in each block.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void segments(const int *in, int *sums, int *maxima)
{
    __shared__ int shared_sums[8];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int value = in[block.group_index().x * block.size() + block.thread_rank()];
    for (int offset = tile.size() / 2; offset > 0; offset /= 2)
        value += tile.shfl_down(value, offset);
    if (tile.thread_rank() == 0) {
        sums[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = value;
        shared_sums[tile.meta_group_rank()] = value;  //@
    }
    block.sync();  //-
    if (block.thread_rank() == 0) {
        int maximum = shared_sums[0];           //@
        for (int i = 1; i < tile.meta_group_size(); ++i)
            maximum = max(maximum, shared_sums[i]);  //@
        maxima[blockIdx.x] = maximum;
    }
}

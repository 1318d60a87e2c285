// Normalises an array by its sum in one cooperative launch.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void normalise(const float *in, float *out, float *sum, int n)
{
    cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank();
    if (i < n)
        atomicAdd(sum, in[i]);  //@
    grid.sync();  //-
    if (i < n)
        out[i] = in[i] / *sum;  //@
}

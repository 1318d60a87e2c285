// Inclusive prefix sums in one pass: each tile looks back at the tiles before it.
#define TILE 64
enum { NOTHING = 0, AGGREGATE = 1, PREFIX = 2 };

__device__ unsigned int next_tile;

__global__ void scan(const int *in, int *out, volatile int *flags, volatile int *aggregates, volatile int *prefixes)
{
    __shared__ int warp_sums[TILE / 32];
    __shared__ int tile_index, exclusive;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    if (tid == 0)
        tile_index = atomicAdd(&next_tile, 1);
    __syncthreads();
    const int tile = tile_index;
    int value = in[tile * TILE + tid];
    for (int offset = 1; offset < 32; offset <<= 1) {
        const int other = __shfl_up_sync(~0u, value, offset);
        if (lane >= offset)
            value += other;
    }
    if (lane == 31)
        warp_sums[warp] = value;
    __syncthreads();
    if (tid == 0) {
        const int aggregate = warp_sums[0] + warp_sums[1];
        if (tile == 0) {
            prefixes[0] = aggregate;
            __threadfence();
            flags[0] = PREFIX;
            exclusive = 0;
        } else {
            aggregates[tile] = aggregate;  //@
            __threadfence();               //-
            flags[tile] = AGGREGATE;
            int before = 0;
            for (int other = tile - 1; other >= 0; --other) {
                int flag;
                do {
                    flag = flags[other];
                } while (flag == NOTHING);
                __threadfence();
                if (flag == PREFIX) {
                    before += prefixes[other];
                    break;
                }
                before += aggregates[other];  //@
            }
            prefixes[tile] = before + aggregate;
            __threadfence();
            flags[tile] = PREFIX;
            exclusive = before;
        }
    }
    __syncthreads();
    out[tile * TILE + tid] = exclusive + (warp ? warp_sums[0] : 0) + value;
}

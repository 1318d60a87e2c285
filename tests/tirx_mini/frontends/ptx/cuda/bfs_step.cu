// One step of a breadth-first search: a thread for each vertex of the frontier, a queue for the next one.
__global__ void expand(const int *frontier, int size, const int *first, const int *edges, int *distance, int *next,
                       int *next_size, int level)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    const int v = frontier[i];
    for (int e = first[v]; e < first[v + 1]; ++e) {
        const int w = edges[e];
        if (atomicCAS(&distance[w], -1, level) == -1) {  //- if (distance[w] == -1 && (distance[w] = level)) {
            const int at = atomicAdd(next_size, 1);
            next[at] = w;
        }
    }
}

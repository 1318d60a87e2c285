// Counts random points inside of the quarter circle; each thread has a generator of its own.
__device__ unsigned next_random(unsigned &state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__global__ void inside(unsigned seed, int samples, unsigned long long *hits, int threads)
{
    __shared__ unsigned int counts[128];
    const int tid = threadIdx.x;
    const int id = blockIdx.x * blockDim.x + tid;
    unsigned state = seed + 0x9e3779b9u * (id + 1);
    unsigned mine = 0;
    for (int i = 0; i < samples; ++i) {
        const float x = next_random(state) * 2.3283064e-10f;
        const float y = next_random(state) * 2.3283064e-10f;
        mine += x * x + y * y < 1.0f;
    }
    counts[tid] = id < threads ? mine : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();  //@
        if (tid < half)  //- if (tid >= half) break;
            counts[tid] += counts[tid + half];
    }
    if (tid == 0)
        atomicAdd(hits, (unsigned long long)counts[0]);
}

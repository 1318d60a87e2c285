// A bitonic sort of one block's keys in shared memory.
__global__ void sort(int *keys)
{
    extern __shared__ int s[];
    const unsigned tid = threadIdx.x;
    s[tid] = keys[tid];
    __syncthreads();
    for (unsigned k = 2; k <= blockDim.x; k <<= 1) {
        for (unsigned j = k >> 1; j > 0; j >>= 1) {
            const unsigned other = tid ^ j;
            if (other > tid) {
                const bool up = (tid & k) == 0;
                const int a = s[tid], b = s[other];  //@
                if ((a > b) == up) {
                    s[tid] = b;    //@
                    s[other] = a;  //@
                }
            }
            __syncthreads();  //-
        }
    }
    keys[tid] = s[tid];  //@
}

// Exclusive prefix sums of 2 * blockDim.x numbers, after Blelloch: a sweep up, a sweep down.
#define N 128

__global__ void exclusive_scan(const int *in, int *out)
{
    __shared__ int tree[N];
    const int tid = threadIdx.x;
    tree[2 * tid] = in[2 * tid];
    tree[2 * tid + 1] = in[2 * tid + 1];
    int offset = 1;
    for (int d = N >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            const int left = offset * (2 * tid + 1) - 1;
            const int right = offset * (2 * tid + 2) - 1;  //- const int right = offset * (2 * tid + 2);
            tree[right] += tree[left];                     //@
        }
        offset *= 2;
    }
    if (tid == 0)
        tree[N - 1] = 0;
    for (int d = 1; d < N; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            const int left = offset * (2 * tid + 1) - 1;
            const int right = offset * (2 * tid + 2) - 1;
            const int sum = tree[left];
            tree[left] = tree[right];
            tree[right] += sum;
        }
    }
    __syncthreads();
    out[2 * tid] = tree[2 * tid];
    out[2 * tid + 1] = tree[2 * tid + 1];
}

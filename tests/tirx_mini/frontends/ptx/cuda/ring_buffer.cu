// Block 0 sends numbers to block 1 through a ring in global memory with a head and a tail.
#define CAPACITY 4

__global__ void channel(const int *in, int *out, int *ring, volatile int *head, volatile int *tail, int n)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < n; ++i) {
            while (i - *tail >= CAPACITY) {}  //- while (i - *tail > CAPACITY) {}
            __threadfence();
            ring[i % CAPACITY] = in[i];  //@
            __threadfence();
            *head = i + 1;
        }
    } else {
        for (int i = 0; i < n; ++i) {
            while (*head <= i) {}
            __threadfence();
            out[i] = 2 * ring[i % CAPACITY];  //@
            __threadfence();
            *tail = i + 1;
        }
    }
}

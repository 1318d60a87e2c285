// A moving sum over batches that memcpy_async brings to shared memory, two ahead.
#include <cuda/pipeline>
constexpr int STAGES = 2;

__global__ void batches(const float *in, float *out, int count)
{
    __shared__ float stage[STAGES][64];
    auto pipe = cuda::make_pipeline();
    const int tid = threadIdx.x, width = blockDim.x;
    float sum = 0.0f;
    for (int compute = 0, fetch = 0; compute < count; ++compute) {
        for (; fetch < count && fetch < compute + STAGES; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[fetch % STAGES][tid], &in[fetch * width + tid], sizeof(float), pipe);  //@
            pipe.producer_commit();
        }
        pipe.consumer_wait();  //-
        __syncthreads();
        sum += stage[compute % STAGES][tid] + stage[compute % STAGES][(tid + 1) % width];  //@
        __syncthreads();
        pipe.consumer_release();
    }
    out[tid] = sum;
}

// A transpose through a tile whose columns are permuted by XOR, so that no bank is used twice.
constexpr int TILE = 16;

template <typename T>
__global__ void transpose(const T *in, T *out, int n)
{
    __shared__ T tile[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y][x ^ y] = in[(blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x];  //@
    __syncthreads();  //-
    out[(blockIdx.x * TILE + y) * n + blockIdx.y * TILE + x] = tile[x][x ^ y];  //@
}

template __global__ void transpose<float>(const float *, float *, int);

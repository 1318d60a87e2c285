// D = A B of one warp: 16 x 8 x 16, fragments loaded with ldmatrix.
#include <cuda_fp16.h>

__global__ void mma(const half *A, const half *B, float *D)
{
    __shared__ alignas(16) half a[16][16];
    __shared__ alignas(16) half b[16][8];
    const int lane = threadIdx.x;
    *reinterpret_cast<int4 *>(&a[lane / 2][lane % 2 * 8]) = reinterpret_cast<const int4 *>(A)[lane];  //@
    if (lane < 16)
        *reinterpret_cast<int4 *>(&b[lane][0]) = reinterpret_cast<const int4 *>(B)[lane];             //@
    __syncwarp();  //-
    unsigned ra[4], rb[2];
    const unsigned pa = __cvta_generic_to_shared(&a[lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"    //@
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));      //@
    const unsigned pb = __cvta_generic_to_shared(&b[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"      //@
                 : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));                                //@
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    const int row = lane / 4, col = lane % 4 * 2;
    *reinterpret_cast<float2 *>(&D[row * 8 + col]) = make_float2(d[0], d[1]);
    *reinterpret_cast<float2 *>(&D[(row + 8) * 8 + col]) = make_float2(d[2], d[3]);
}

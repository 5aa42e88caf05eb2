// Multiplication and accumulation: f64, f16, integer dot products, matrices through LDS and through WMMA.
#include "work_items.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// c = a * b of 16 x 16 in tiles of 8 x 8: a group computes one tile of each of its two passes, both through LDS.
kernel void tiled_matmul(global const float* a, global const float* b, global float* out) {
    local float left[8][8], right[8][8];
    int row = ITEM / 8, column = ITEM % 8;
    for (int half_row = 0; half_row < 2; ++half_row) {
        int y = half_row * 8 + row, x = GROUP * 8 + column;
        float sum = 0;
        for (int k = 0; k < 16; k += 8) {
            left[row][column] = a[y * 16 + k + column];
            right[row][column] = b[(k + row) * 16 + x];
            BARRIER
            for (int i = 0; i < 8; ++i) sum = __builtin_fmaf(left[row][i], right[i][column], sum);
            BARRIER
        }
        out[y * 16 + x] = sum;
    }
}

kernel void saxpy_half(global const half* a, global const half* b, global half* out) {
    int i = GLOBAL_ID;
    out[i] = __builtin_fmaf16(a[0], a[i], b[i]);
}

// Reciprocals by Newton's iteration, then a dot product of each group in a fixed order. out: reciprocals, sums.
kernel void newton_dot(global const double* a, global const double* b, global double* out) {
    local double products[64];
    int i = GLOBAL_ID, l = ITEM;
    double x = 1.0f / (float)a[i];
    for (int k = 0; k < 4; ++k) x = __builtin_fma(x, __builtin_fma(-a[i], x, 1.0), x);
    out[i] = x;
    products[l] = x * b[i];
    BARRIER
    if (l != 0) return;
    double sum = 0;
    for (int k = 0; k < 64; ++k) sum += products[k];
    out[128 + GROUP] = sum;
}

kernel void dot4(global const int* a, global const int* b, global int* out) {
    int i = GLOBAL_ID, c = i * 1000 - 5;
#if defined(__gfx1030__)
    int both_signed = __builtin_amdgcn_sdot4(a[i], b[i], c, false);
#else
    int both_signed = __builtin_amdgcn_sudot4(true, a[i], true, b[i], c, false);
#endif
    out[i] = both_signed ^ (int)__builtin_amdgcn_udot4(b[i], a[i], c, false);
}

#if !defined(__gfx1030__)

typedef half half16_t __attribute__((ext_vector_type(16)));
typedef half half8_t __attribute__((ext_vector_type(8)));
typedef half half4_t __attribute__((ext_vector_type(4)));
#define WAVE __AMDGCN_WAVEFRONT_SIZE__
#define WMMA_NAME_(operation, suffix) __builtin_amdgcn_wmma_##operation##suffix
#define WMMA_NAME(operation, suffix) WMMA_NAME_(operation, suffix)

// How a wave holds 16 x 16 matrices: DEPTH values of K in each lane from FIRST_K on, and ROW(r) of register r.
#if defined(__gfx1100__)
#define DEPTH 16
#define FIRST_K(h) 0
#define ROW(r, h) ((r) * (WAVE / 16) + (h))
#if WAVE == 32
#define SUFFIX _w32
#else
#define SUFFIX _w64
#endif
typedef half16_t Halves;
typedef int4 Bytes;
#elif WAVE == 32
#define DEPTH 8
#define FIRST_K(h) (8 * (h))
#define ROW(r, h) ((r) + 8 * (h))
#define SUFFIX _w32_gfx12
typedef half8_t Halves;
typedef int2 Bytes;
#else
#define DEPTH 4
#define FIRST_K(h) (4 * (h))
#define ROW(r, h) ((r) + 8 * ((h) & 1) + 4 * ((h) >> 1))
#define SUFFIX _w64_gfx12
typedef half4_t Halves;
typedef int Bytes;
#endif
#if WAVE == 32
typedef float8 Floats;
typedef int8 Ints;
#else
typedef float4 Floats;
typedef int4 Ints;
#endif

// Four products of 16 x 16 matrices shared out among the waves; the second operand lies column after column.
#define FOR_EACH_TILE \
    for (int tile = __builtin_amdgcn_readfirstlane(GLOBAL_ID / WAVE); tile < 4; tile += 128 / WAVE)

kernel void wmma_half(global const half* a, global const half* b, global float* out) {
    int n = ITEM % 16, h = ITEM % WAVE / 16;
    FOR_EACH_TILE {
        Halves x, y;
        for (int i = 0; i < DEPTH; ++i) {
            x[i] = a[tile * 256 + n * 16 + FIRST_K(h) + i];
            y[i] = b[tile * 256 + n * 16 + FIRST_K(h) + i];
        }
        Floats sum;
        for (int r = 0; r < 256 / WAVE; ++r) sum[r] = (float)(ROW(r, h) - n);
        sum = WMMA_NAME(f32_16x16x16_f16, SUFFIX)(x, y, sum);
        for (int r = 0; r < 256 / WAVE; ++r) out[tile * 256 + ROW(r, h) * 16 + n] = sum[r];
    }
}

kernel void wmma_bytes(global const char* a, global const uchar* b, global int* out) {
    int n = ITEM % 16, h = ITEM % WAVE / 16;
    FOR_EACH_TILE {
        Bytes x = *(global const Bytes*)(a + tile * 256 + n * 16 + FIRST_K(h));
        Bytes y = *(global const Bytes*)(b + tile * 256 + n * 16 + FIRST_K(h));
        Ints sum;
        for (int r = 0; r < 256 / WAVE; ++r) sum[r] = ROW(r, h) - n;
        sum = WMMA_NAME(i32_16x16x16_iu8, SUFFIX)(true, x, false, y, sum, false);
        for (int r = 0; r < 256 / WAVE; ++r) out[tile * 256 + ROW(r, h) * 16 + n] = sum[r];
    }
}

#endif

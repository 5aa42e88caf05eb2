// Arithmetic, control flow, LDS, atomics and private arrays, one kernel each.
#include "work_items.h"

kernel void add(global const float* a, global const float* b, global float* out) {
    int i = GLOBAL_ID;
    out[i] = a[i] + b[i];
}

kernel void divide(global const float* a, global const float* b, global double* out) {
    int i = GLOBAL_ID;
    out[i] = (double)a[i] / (double)b[i] + (double)(a[i] / b[i]);
}

kernel void reduce(global const uint* a, global const uint* b, global uint* out) {
    local uint sums[64];
    int l = ITEM;
    sums[l] = a[GLOBAL_ID] ^ b[GLOBAL_ID];
    for (int k = 32; k > 0; k >>= 1) {
        BARRIER
        if (l < k) sums[l] += sums[l + k];
    }
    BARRIER
    if (l == 0) out[GROUP] = sums[0];
}

kernel void scan(global const uint* a, global const uint* b, global uint* out) {
    local uint parts[2][64];
    int l = ITEM, p = 0;
    parts[0][l] = a[GLOBAL_ID];
    BARRIER
    for (int d = 1; d < 64; d <<= 1) {
        parts[1 - p][l] = l >= d ? parts[p][l] + parts[p][l - d] : parts[p][l];
        p = 1 - p;
        BARRIER
    }
    out[GLOBAL_ID] = parts[p][l];
}

kernel void diverge(global const uint* a, global const uint* b, global uint* out) {
    int i = GLOBAL_ID;
    uint x = a[i], r = 0;
    switch (x & 7) {
        case 0: r = x * 3; break;
        case 1:
            for (uint k = 0; k < (x & 31); ++k) {
                if (k == 7) continue;
                r += k * x;
                if (r > 100000) break;
            }
            break;
        case 2: r = x / 7; break;
        case 3: r = x % 13; break;
        case 4: r = __builtin_popcount(x); break;
        case 5: r = __builtin_clz(x | 1); break;
        case 6: r = x << (x & 15); break;
        default: r = ~x;
    }
    while (r > 1000) r = (r >> 1) ^ (r & 5);
    out[i] = r;
}

kernel void wide(global const ulong* a, global const ulong* b, global ulong* out) {
    int i = GLOBAL_ID;
    ulong x = a[i];
    out[i] = x * x + x / (ulong)(i + 3) + x % 1000003 + (b[i] >> (x & 63));
}

struct Padded { char c; int x; short s; double d; };
kernel void pad(global const struct Padded* a, global const struct Padded* b, global struct Padded* out) {
    int i = GLOBAL_ID;
    struct Padded s = a[i];
    s.x += s.c;
    if (i & 1) s.d = b[i].d * 2;
    out[i] = s;
}

kernel void histogram(global const uint* a, global const uint* b, global uint* out) {
    local uint bins[32];
    int l = ITEM;
    if (l < 32) bins[l] = 0;
    BARRIER
    __opencl_atomic_fetch_add((local atomic_uint*)&bins[a[GLOBAL_ID] & 31], 1, __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_WORK_GROUP);
    BARRIER
    if (l < 32)
        __opencl_atomic_fetch_add((global atomic_uint*)&out[l], bins[l], __ATOMIC_RELAXED,
                                  __OPENCL_MEMORY_SCOPE_DEVICE);
}

kernel void spill(global const uint* a, global const uint* b, global uint* out) {
    int i = GLOBAL_ID;
    uint table[16];
    for (int k = 0; k < 16; ++k) table[k] = a[i] + k * k;
    out[i] = table[a[i] & 15] + table[b[i] & 15];
}

kernel void bytes(global const uchar4* a, global const uchar4* b, global uchar4* out) {
    int i = GLOBAL_ID;
    uchar4 x = a[i], y = b[i];
    out[i] = (uchar4)((x.x + y.x) / 2, x.y ^ y.z, x.w - y.w, x.z);
}

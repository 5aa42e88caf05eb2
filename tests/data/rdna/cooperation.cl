// Items, waves and groups that work together: locks, flags, atomics, barriers, lane exchange, generic pointers.
#include "work_items.h"

#define DEVICE memory_scope_device

// The last group to finish adds up what the others left in memory. out: total, count of groups, a sum per group.
kernel void last_block(global const uint* a, global const uint* b, global uint* out) {
    local uint sums[64];
    local uint last;
    int l = ITEM;
    sums[l] = a[GLOBAL_ID];
    BARRIER
    for (int d = 32; d > 0; d >>= 1) {
        if (l < d) sums[l] += sums[l + d];
        BARRIER
    }
    uint groups = b[0];
    if (l == 0) {
        out[2 + GROUP] = sums[0];
        last = __opencl_atomic_fetch_add((global atomic_uint*)&out[1], 1, memory_order_acq_rel, DEVICE) == groups - 1;
    }
    BARRIER
    if (last && l == 0) {
        uint total = 0;
        for (uint i = 0; i < groups; ++i) total += out[2 + i];
        out[0] = total;
    }
}

// out: the lock, the sum it guards, how often it was held.
kernel void spin_lock(global const uint* a, global const uint* b, global uint* out) {
    if (ITEM != 0) return;
    while (__opencl_atomic_exchange((global atomic_uint*)out, 1u, memory_order_acquire, DEVICE))
        __builtin_amdgcn_s_sleep(1);
    out[1] += a[GROUP];
    out[2]++;
    __opencl_atomic_store((global atomic_uint*)out, 0u, memory_order_release, DEVICE);
}

// Each group waits for the flag of the one before. out: a running sum per group, then (at 64) a flag per group.
kernel void flag_ring(global const uint* a, global const uint* b, global uint* out) {
    if (ITEM != 0) return;
    uint before = 0;
    if (GROUP > 0) {
        while (!__opencl_atomic_load((global atomic_uint*)&out[64 + GROUP - 1], memory_order_acquire, DEVICE))
            __builtin_amdgcn_s_sleep(1);
        before = out[GROUP - 1];
    }
    out[GROUP] = before + a[GROUP];
    __opencl_atomic_store((global atomic_uint*)&out[64 + GROUP], 1u, memory_order_release, DEVICE);
}

kernel void exchange_in_memory(global const uint* a, global const uint* b, global uint* out) {
    int first = GROUP * 64, l = ITEM;
    out[first + l] = a[first + l];
    BARRIER
    uint x = out[first + (l ^ 33)];
    BARRIER
    out[first + l] = x + 1;
}

__attribute__((noinline)) uint weighted_sum(uint* p, uint n) {
    uint sum = 0;
    for (uint i = 0; i < n; ++i) sum += p[i] * (i + 1);
    return sum;
}

// One function that is handed private, LDS and global memory.
kernel void generic_pointers(global const uint* a, global const uint* b, global uint* out) {
    local uint shared[64 * 5];
    uint own[5];
    int l = ITEM;
    for (int i = 0; i < 5; ++i) {
        own[i] = a[l + i];
        shared[l * 5 + i] = a[l + 2 * i];
    }
    uint n = b[GLOBAL_ID] & 3;
    out[GLOBAL_ID] = weighted_sum(own, n) + weighted_sum(shared + l * 5, n) + weighted_sum((global uint*)a + l, n);
}

// Private memory behind an index known only at run time.
kernel void rotate_private(global const uint* a, global const uint* b, global uint* out) {
    uint table[16];
    int l = ITEM;
    for (int i = 0; i < 16; ++i) table[i] = a[l + i];
    uint step = b[0], sum = 0;
    for (int i = 0; i < 16; ++i) sum += table[(i * step + l) & 15] * (i + 1);
    out[GLOBAL_ID] = sum;
}

kernel void narrow_lds(global const uint* a, global const uint* b, global uint* out) {
    local uchar bytes[128];
    local ushort shorts[64];
    int l = ITEM;
    bytes[l] = a[GLOBAL_ID];
    bytes[l + 64] = b[GLOBAL_ID];
    shorts[l] = a[GLOBAL_ID] + b[GLOBAL_ID];
    BARRIER
    out[GLOBAL_ID] = bytes[l ^ 1] + (bytes[64 + (l ^ 2)] << 8) + (shorts[63 - l] << 16);
}

kernel void vectors_in_lds(global const uint4* a, global const uint4* b, global uint4* out) {
    local uint4 rows[64];
    int l = ITEM;
    rows[l] = a[GLOBAL_ID] ^ b[GLOBAL_ID].wzyx;
    BARRIER
    out[GLOBAL_ID] = rows[63 - l].yxwz;
}

// out: a 64-bit sum by compare and exchange, then a 32-bit maximum, minimum (of complements), exclusive-or and or.
kernel void atomics(global const uint* a, global const uint* b, global uint* out) {
    global atomic_ulong* sum = (global atomic_ulong*)out;
    uint x = a[GLOBAL_ID];
    ulong seen = __opencl_atomic_load(sum, memory_order_relaxed, DEVICE);
    while (!__opencl_atomic_compare_exchange_strong(sum, &seen, seen + ((ulong)x << 20), memory_order_relaxed,
                                                    memory_order_relaxed, DEVICE)) {
    }
    __opencl_atomic_fetch_max((global atomic_uint*)&out[2], x, memory_order_relaxed, DEVICE);
    __opencl_atomic_fetch_min((global atomic_int*)&out[3], -(int)(x & 0xFFFF), memory_order_relaxed, DEVICE);
    __opencl_atomic_fetch_xor((global atomic_uint*)&out[4], x, memory_order_relaxed, DEVICE);
    __opencl_atomic_fetch_or((global atomic_uint*)&out[5], x & b[GLOBAL_ID], memory_order_relaxed, DEVICE);
}

// Inclusive scan of 32 lanes without LDS: lanes hand their sums up by ds_bpermute.
kernel void lane_scan(global const uint* a, global const uint* b, global uint* out) {
    int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) & 31;
    int base = ITEM & 32 & (__AMDGCN_WAVEFRONT_SIZE__ - 1);
    uint sum = a[GLOBAL_ID];
    for (int d = 1; d < 32; d <<= 1) {
        uint below = __builtin_amdgcn_ds_bpermute((base + ((lane - d) & 31)) * 4, sum);
        if (lane >= d) sum += below;
    }
    out[GLOBAL_ID] = sum;
}

// Steps until the sequence reaches 1: every lane leaves the loop at its own time.
kernel void collatz(global const uint* a, global const uint* b, global uint* out) {
    uint x = a[GLOBAL_ID] % 1000 + 1, steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        ++steps;
    }
    out[GLOBAL_ID] = steps;
}

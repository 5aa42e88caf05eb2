// A function that kernels call, and a table that they read: what an object holds beside its kernels' code.
#include "work_items.h"

__constant uint kTable[70] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 69};

__attribute__((noinline)) static uint mix(uint a, uint b) { return a * 2654435761u ^ kTable[b % 70]; }

__kernel void calls(__global const uint* a, __global const uint* b, __global uint* out) {
    const int i = GLOBAL_ID;
    out[i] = mix(a[i], b[i]) + mix(b[i], a[i]);
}

__kernel void looks_up(__global const uint* a, __global const uint* b, __global uint* out) {
    const int i = GLOBAL_ID;
    out[i] = kTable[a[i] % 70] + b[i];
}

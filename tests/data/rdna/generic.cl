// Pointers to any address space: loads through FLAT, several in flight.
#include "work_items.h"

__attribute__((noinline)) static uint sum(const uint* p, const uint* q) { return (*p * 3 ^ *p >> 5) + *q; }

__kernel void adds_up(__global const uint* a, __global const uint* b, __global uint* out) {
    __local uint copies[64];
    const int i = GLOBAL_ID;
    copies[ITEM] = b[i];
    out[i] = sum(a + i, copies + ITEM) + sum(copies + ITEM, copies + ITEM) - b[i];
}

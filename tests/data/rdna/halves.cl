// 16-bit arithmetic: where the compiler knows halves of registers, values share one.
#include "work_items.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

// Three results per item: a float, an integer, and one that a condition chooses.
kernel void half_arithmetic(global const ushort* a, global const ushort* b, global ushort* out) {
    const uint i = GLOBAL_ID;
    const half x = as_half(a[i]), y = as_half(b[i]);
    const half sum = x + y, product = x * y, difference = sum - product;
    const half larger = difference > sum ? product : __builtin_fmaf16(x, y, sum);
    out[3 * i] = as_ushort(difference * larger);
    const short bits = (short)(a[i] ^ b[i]);
    const short shifted = (short)(bits << (i & 7)) + (short)(bits >> 3);
    out[3 * i + 1] = (ushort)(shifted * 5 > bits ? shifted : bits - shifted);
    out[3 * i + 2] = x < y ? (ushort)(short)x : (ushort)(uint)(float)(y < 0 ? -y : y);
}

// A loop that keeps several values of 16 bits, and stores them beside one another.
kernel void half_recurrence(global const ushort* a, global const ushort* b, global ushort* out) {
    const uint i = GLOBAL_ID;
    half p = as_half(a[i]), q = as_half(b[i]), r = (half)0.5f;
    ushort count = 0, mask = a[i];
    for (uint k = 0; k < 5 + (i & 3); ++k) {
        const half next = p * r - q;
        p = q * (half)0.25f;
        q = next;
        r = next < p ? r * (half)0.5f : -r;
        count += (ushort)(next > (half)1.0f) + (mask & 1);
        mask = (ushort)(mask >> 1) | (ushort)(mask << 15);
    }
    global ushort* to = out + 5 * i;
    to[0] = as_ushort(p);
    to[1] = as_ushort(q);
    to[2] = as_ushort(r);
    to[3] = count;
    to[4] = mask;
}

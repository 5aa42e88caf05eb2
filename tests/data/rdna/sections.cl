// A second section of code, and data that kernels change.
#include "work_items.h"

global uint counter = 40;
global uint squares[4] = {0, 1, 4, 9};

kernel void count(global uint* out) {
    if (ITEM == 0) {
        counter += 2;
        squares[3] += counter;
        out[0] = counter;
        out[1] = squares[3];
    }
}

__attribute__((section("side"))) kernel void look(global uint* out) {
    if (ITEM == 0) {
        out[0] = counter;
        out[1] = squares[2];
    }
}

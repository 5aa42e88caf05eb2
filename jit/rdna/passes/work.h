// What the passes before allocation look at, counted for tests of how it grows with a kernel: lines, accesses, blocks
// and sets of lanes in liveness, ranks and dependences in scheduling, hardware registers in allocation.
#pragma once

#include <cstdint>

namespace riftjit::rdna {

struct Work {
    uint64_t liveness = 0, scheduling = 0, allocation = 0;
};

}  // namespace riftjit::rdna

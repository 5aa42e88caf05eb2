// A resident workgroup: its waves, barriers and LDS.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {

struct GroupMemory;  // memory's own part: LDS, its undefined bits and clocks

// Barrier 0 is the workgroup's (named -1 in the code), 1 to 16 the named ones of gfx12, 17 the trap handler's (-2).
inline constexpr unsigned kBarriers = 18;

struct Barrier {
    uint32_t members = 0;  // waves that must signal
    uint32_t signalled = 0;
    uint64_t phase = 0;  // completed so far
};

struct Group {
    uint32_t number = 0;  // linear
    std::array<uint32_t, 3> id{};
    std::vector<WaveState*> waves;
    uint32_t waves_ended = 0;
    std::array<Barrier, kBarriers> barriers{};
    GroupMemory* memory = nullptr;  // owned by MemorySystem
};

}  // namespace riftjit::rdna::emulator

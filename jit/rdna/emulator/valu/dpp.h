// Data-parallel primitives: which lane the first source comes from.
#pragma once

#include <array>
#include <cstdint>

#include "host/result.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

struct LaneRouting {
    static constexpr int8_t kInvalid = -1;  // beyond the row
    std::array<int8_t, 64> from{};
    uint64_t enabled = 0;         // lanes that row and bank masks let through
    bool fetch_inactive = false;  // lanes switched off count as valid
    bool zero_invalid = false;    // an invalid source reads 0; otherwise its lane is not written
};

// Unsupported for a control that no document lists.
Result<LaneRouting> dpp16_routing(const Dpp& dpp);
LaneRouting dpp8_routing(const Dpp& dpp);

// The lanes that an instruction writes, of those in `exec`; `values` are replaced by what each lane fetches.
uint64_t route(const LaneRouting& routing, unsigned lanes, uint64_t exec, uint64_t* values);
// The same from one place to another.
uint64_t route(const LaneRouting& routing, unsigned lanes, uint64_t exec, const uint32_t* from, uint32_t* to);

}  // namespace riftjit::rdna::emulator

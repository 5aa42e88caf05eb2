// Buffer resources: four scalar registers that say where a buffer lies and how it is addressed.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator::memory {

struct BufferResource {
    uint64_t base = 0;
    uint32_t stride = 0;
    uint32_t records = 0;
    bool swizzled = false;
    bool adds_lane = false;     // the lane's number is part of the index
    uint32_t index_stride = 8;  // swizzled: how many elements lie interleaved
    uint8_t out_of_bounds = 0;  // how `records` is understood: OOB_SELECT

    static constexpr uint8_t kStructured = 0, kIndexOnly = 1, kOnlyEmpty = 2, kRaw = 3;

    bool is_null() const { return base == 0; }
    // How many of `bytes` from `offset` of element `index` are inside. `scalar_offset` counts for raw buffers only.
    uint32_t in_range(uint32_t index, uint32_t offset, uint32_t scalar_offset, uint32_t bytes) const;
    // Address of a byte, without the scalar offset. 4-byte units of neighbouring elements lie side by side if swizzled.
    uint64_t address(uint32_t index, uint32_t offset) const;
};

BufferResource buffer_resource(const uint32_t* words, Generation generation);

// Describes one wave's scratch, so that lane and offset give what SCRATCH instructions address.
std::array<uint32_t, 4> scratch_resource(uint64_t base, unsigned lanes);

}  // namespace riftjit::rdna::emulator::memory

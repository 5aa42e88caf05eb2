#include "jit/rdna/emulator/memory/buffer_resource.h"

#include <algorithm>

namespace riftjit::rdna::emulator::memory {

// RDNA ISA guides, "Buffer Resource Descriptor".
BufferResource buffer_resource(const uint32_t* words, Generation generation) {
    BufferResource resource;
    resource.base = words[0] | static_cast<uint64_t>(words[1] & 0xFFFF) << 32;
    resource.stride = words[1] >> 16 & 0x3FFF;
    // gfx10 has one bit; later the field gives the element size, and RDNA knows 4 bytes only.
    resource.swizzled = generation == Generation::gfx10 ? (words[1] >> 31) != 0 : (words[1] >> 30) != 0;
    resource.records = words[2];
    resource.index_stride = 8u << (words[3] >> 21 & 3);
    resource.adds_lane = (words[3] >> 23 & 1) != 0;
    resource.out_of_bounds = words[3] >> 28 & 3;
    return resource;
}

uint32_t BufferResource::in_range(uint32_t index, uint32_t offset, uint32_t scalar_offset, uint32_t bytes) const {
    const auto below = [&](uint64_t limit, uint64_t at) {
        return static_cast<uint32_t>(at >= limit ? 0 : std::min<uint64_t>(bytes, limit - at));
    };
    switch (out_of_bounds) {
        case kStructured:
            return index >= records ? 0 : stride == 0 ? bytes : below(stride, offset);
        case kIndexOnly:
            return index >= records ? 0 : bytes;
        case kOnlyEmpty:
            return records == 0 ? 0 : bytes;
        default: {
            const uint64_t at = uint64_t{stride} * index + offset + (swizzled ? 0 : scalar_offset);
            return below(records, at);
        }
    }
}

uint64_t BufferResource::address(uint32_t index, uint32_t offset) const {
    if (!swizzled) return base + uint64_t{index} * stride + offset;
    constexpr uint32_t kElementBytes = 4;
    const uint32_t group = index / index_stride, within = index % index_stride;
    return base + uint64_t{group} * stride * index_stride +
           uint64_t{offset / kElementBytes} * kElementBytes * index_stride + within * kElementBytes +
           offset % kElementBytes;
}

std::array<uint32_t, 4> scratch_resource(uint64_t base, unsigned lanes) {
    constexpr uint32_t kSwizzle = 1u << 31, kAddLane = 1u << 23, kRaw = 3u << 28, kFormat32Float = 22u << 12;
    const uint32_t index_stride = (lanes == 64 ? 3u : 2u) << 21;
    return {static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32) | kSwizzle, ~0u,
            kAddLane | kRaw | kFormat32Float | index_stride};
}

}  // namespace riftjit::rdna::emulator::memory

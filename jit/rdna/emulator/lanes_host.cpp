#include "jit/rdna/emulator/lanes_host.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "jit/rdna/emulator/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr uint32_t kAllLanes = ~0u;
constexpr uint32_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kMinNormal = 0x00800000, kInfinity = 0x7F800000;

using Results = std::array<uint32_t, kLanes>;

struct Sources {
    const uint32_t *a, *b = nullptr, *c = nullptr;
    uint32_t condition = 0;
};

// The lanes of `exec`; those of `odd` by the function of one lane, in the default modes, which may set a bit of the
// mask that is returned.
uint32_t write(uint32_t* d, const Sources& sources, Results& results, uint32_t exec, uint32_t odd, Opcode opcode) {
    uint32_t mask = 0;
    for (uint32_t left = odd & exec; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        LaneData data;
        data.source[0] = sources.a[lane];
        if (sources.b != nullptr) data.source[1] = sources.b[lane];
        if (sources.c != nullptr) data.source[2] = sources.c[lane];
        data.condition = (sources.condition >> lane & 1) != 0;
        lane_semantics(opcode)->function(LaneContext{}, data);
        results[lane] = static_cast<uint32_t>(data.result);
        mask |= static_cast<uint32_t>(data.bit) << lane;
    }
    if (exec == kAllLanes) {
        std::copy(results.begin(), results.end(), d);
        return mask;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if ((exec >> lane & 1) != 0) d[lane] = results[lane];
    return mask;
}

uint32_t gathered(const std::array<uint32_t, kLanes>& bits) {
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) mask |= bits[lane] << lane;
    return mask;
}

int exponent(uint32_t bits) { return static_cast<int>(bits >> 23 & 0xFF); }

// The steps of division as valu_division.cpp has them: only what ordinary operands need, where nothing is scaled.
// Far from the ends of the range that is the value itself.
uint64_t scale_for_division(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint64_t lanes) {
    constexpr int kLeastNumerator = 24, kMostDenominator = 252, kFarApart = 96;
    Results results;
    std::array<uint32_t, kLanes> is_odd;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const int below = exponent(b[lane]), above = exponent(c[lane]), apart = above - below;
        results[lane] = a[lane];
        is_odd[lane] = below < 1 || below > kMostDenominator || above < kLeastNumerator || apart >= kFarApart ||
                       apart <= -kFarApart;
    }
    return write(d, {a, b, c}, results, static_cast<uint32_t>(lanes), gathered(is_odd), Opcode::v_div_scale_f32);
}

// Lanes that scale nothing back are fused multiply-adds, emitted ones.
uint64_t fma_scaled_back(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint64_t lanes) {
    static const auto fused = lane_kernel(host_lane_isa(), Opcode::v_fma_f32, 0, kLanes);
    if (!fused) return kLaneKernelDeclined;
    const auto exec = static_cast<uint32_t>(lanes), condition = static_cast<uint32_t>(lanes >> 32);
    Results results;
    if (fused->function(results.data(), a, b, c, exec & ~condition) == kLaneKernelDeclined) return kLaneKernelDeclined;
    write(d, {a, b, c, condition}, results, exec, condition, Opcode::v_div_fmas_f32);
    return 0;
}

uint64_t fix_quotient(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint64_t lanes) {
    constexpr int kLargest = 254, kVanishes = -150;
    Results results;
    std::array<uint32_t, kLanes> is_odd;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const int below = exponent(b[lane]), above = exponent(c[lane]);
        const uint32_t magnitude = a[lane] & kMagnitude;
        results[lane] = magnitude | ((b[lane] ^ c[lane]) & kSign);
        is_odd[lane] = below < 1 || below > kLargest || above < 1 || above > kLargest || above - below < kVanishes ||
                       magnitude > kInfinity;
    }
    write(d, {a, b, c}, results, static_cast<uint32_t>(lanes), gathered(is_odd), Opcode::v_div_fixup_f32);
    return 0;
}

constexpr LaneKernelResult kWords = LaneKernelResult::words, kBoth = LaneKernelResult::words_and_mask;

constexpr HostLaneFunction kFunctions[] = {
    {Opcode::v_div_scale_f32, scale_for_division, kBoth, 3},
    {Opcode::v_div_fmas_f32, fma_scaled_back, kWords, 3},
    {Opcode::v_div_fixup_f32, fix_quotient, kWords, 3},
};

}  // namespace

std::span<const HostLaneFunction> host_lane_functions() { return kFunctions; }

}  // namespace riftjit::rdna::emulator

// What one lane of a vector instruction computes: plain functions over bit patterns that know nothing of the wave.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "jit/rdna/emulator/valu/valu_float.h"
#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna::emulator {

// The float part of the MODE register.
struct FloatMode {
    Rounding round_f32 = Rounding::nearest_even, round_f16_f64 = Rounding::nearest_even;
    uint8_t denormals_f32 = 3, denormals_f16_f64 = 3;  // bit 0: of sources are kept, bit 1: of results
    bool clamp_nan_to_zero = true;                     // DX10_CLAMP; gfx12 always
    bool ieee = true;                                  // IEEE; gfx12 has no such bit
    bool saturate_f16 = false;                         // FP16_OVFL, gfx11 and gfx12

    bool operator==(const FloatMode&) const = default;
};
FloatMode float_mode(uint32_t mode_register, Generation generation);

// What is the same for every lane of one instruction.
struct LaneContext {
    Generation generation = Generation::gfx11;
    WaveSize wave_size = WaveSize::wave32;
    FloatControl f16, f32, f64;
    bool ieee = true, clamp_nan_to_zero = true;
    bool clamp = false;
    uint8_t omod = 0;                                     // as encoded; 0 where the mode disables it
    uint8_t neg = 0, abs = 0, op_sel = 0, op_sel_hi = 0;  // for those that read them in their own way
};

inline constexpr unsigned kMaxWaveLanes = 64, kMaxLaneSources = 3;

// Sources come with selects, abs and neg applied; a 16-bit source in the low half, two packed halves already in order.
struct LaneData {
    std::array<uint64_t, kMaxLaneSources> source{};
    uint64_t source2_high = 0;  // upper half of a 128-bit third source
    uint64_t previous = 0;      // the destination before the instruction
    uint32_t lane = 0;
    bool condition = false;  // this lane's bit of the mask that the instruction reads
    uint64_t result = 0, result_high = 0;
    bool bit = false;  // this lane's bit of the mask that it writes
};

using LaneFunction = void (*)(const LaneContext&, LaneData&);

// The lanes of a wave, an array for each member of LaneData.
struct LaneArrays {
    using Values = std::array<uint64_t, kMaxWaveLanes>;
    std::array<Values, kMaxLaneSources> source;
    Values source2_high, previous, result, result_high;
    uint64_t conditions = 0, bits = 0;  // a bit per lane
};
using LanesFunction = void (*)(const LaneContext&, LaneArrays&, uint64_t lanes);

// F for the lanes of a mask. A loop of its own for each F, for the compiler to take F in and leave out what F neither
// reads nor writes: a call per lane costs more than what most instructions compute.
template <LaneFunction F>
void each_lane(const LaneContext& context, LaneArrays& arrays, uint64_t lanes) {
    uint64_t bits = 0;
    const auto one = [&](unsigned lane) {
        LaneData data;
        for (unsigned i = 0; i < kMaxLaneSources; ++i) data.source[i] = arrays.source[i][lane];
        data.source2_high = arrays.source2_high[lane];
        data.previous = arrays.previous[lane];
        data.lane = lane;
        data.condition = (arrays.conditions >> lane & 1) != 0;
        F(context, data);
        arrays.result[lane] = data.result;
        arrays.result_high[lane] = data.result_high;
        bits |= static_cast<uint64_t>(data.bit) << lane;
    };
    if (const uint64_t after = lanes + 1; std::has_single_bit(after) || after == 0) {
        const unsigned count = after == 0 ? kMaxWaveLanes : static_cast<unsigned>(std::countr_zero(after));
        for (unsigned lane = 0; lane < count; ++lane) one(lane);
    } else {
        for (; lanes != 0; lanes &= lanes - 1) one(static_cast<unsigned>(std::countr_zero(lanes)));
    }
    arrays.bits = bits;
}

enum class ResultKind : uint8_t {
    words,  // what the table says: 32, 64 or 128 bits, a mask, or both
    half,   // 16 bits; the other half of the destination stays
    f16,    // half, with output modifier and clamp
    f32,
    f64,
    f16x2,  // two halves, clamp only
};

struct LaneSemantics {
    Opcode opcode;
    LaneFunction function;
    LanesFunction all;  // the same of many lanes
    ResultKind result;
};
template <LaneFunction F>
constexpr LaneSemantics lanewise(Opcode opcode, ResultKind result = ResultKind::words) {
    return {opcode, F, each_lane<F>, result};
}

// One span per file of semantics; lane_semantics() finds the row of an opcode among them.
std::span<const LaneSemantics> integer_semantics();
std::span<const LaneSemantics> integer16_semantics();
std::span<const LaneSemantics> bit_semantics();
std::span<const LaneSemantics> float_semantics();
std::span<const LaneSemantics> minmax_semantics();
std::span<const LaneSemantics> transcendental_semantics();
std::span<const LaneSemantics> division_semantics();
std::span<const LaneSemantics> conversion_semantics();
std::span<const LaneSemantics> float8_semantics();
std::span<const LaneSemantics> compare_semantics();
std::span<const LaneSemantics> packed_semantics();
std::span<const LaneSemantics> dot_semantics();
const LaneSemantics* lane_semantics(Opcode opcode);  // null: not a lane-wise operation

LaneContext lane_context(Generation generation, WaveSize wave_size, const FloatMode& mode, ResultKind result,
                         uint8_t omod, bool clamp);

// The output modifier, then clamp, on a finished result.
uint64_t finish_float(const FloatFormat& format, const FloatControl& control, const LaneContext& context,
                      uint64_t bits);

constexpr const FloatControl& control_of(const LaneContext& context, const FloatFormat& format) {
    return format.width() == 16 ? context.f16 : format.width() == 32 ? context.f32 : context.f64;
}

// Adapters: F takes the sources as the type in the name.
template <auto F>
void words1(const LaneContext&, LaneData& lane) {
    lane.result = F(static_cast<uint32_t>(lane.source[0]));
}
template <auto F>
void words2(const LaneContext&, LaneData& lane) {
    lane.result = F(static_cast<uint32_t>(lane.source[0]), static_cast<uint32_t>(lane.source[1]));
}
template <auto F>
void words3(const LaneContext&, LaneData& lane) {
    lane.result = F(static_cast<uint32_t>(lane.source[0]), static_cast<uint32_t>(lane.source[1]),
                    static_cast<uint32_t>(lane.source[2]));
}

constexpr uint32_t low_half(uint64_t word) { return static_cast<uint32_t>(word) & 0xFFFF; }
constexpr uint32_t high_half(uint64_t word) { return static_cast<uint32_t>(word) >> 16; }
constexpr uint32_t pack_halves(uint64_t low, uint64_t high) {
    return low_half(low) | static_cast<uint32_t>(high) << 16;
}
constexpr int64_t sign_extend(uint64_t value, unsigned bits) {
    return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}
// An exact integer result: saturated where clamp asks for it, wrapped otherwise.
constexpr uint64_t saturate_or_wrap(const LaneContext& context, __int128 exact, __int128 lowest, __int128 highest) {
    if (context.clamp) exact = exact < lowest ? lowest : exact > highest ? highest : exact;
    return static_cast<uint64_t>(exact);
}

}  // namespace riftjit::rdna::emulator

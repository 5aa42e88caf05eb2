#include "jit/formats/weight_format.h"

#include <algorithm>

#include "jit/formats/weight_formats.h"

namespace riftjit {

namespace {
constexpr auto kFormats = [] {
    std::array<WeightFormat, std::size(kWeightTypes)> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = formats::make_format(kWeightTypes[i]);
    return all;
}();
}  // namespace

std::span<const WeightFormat> weight_formats() { return kFormats; }

const WeightFormat& weight_format(DType type) {
    const auto found = std::ranges::find(kFormats, type, &WeightFormat::type);
    check(found != std::end(kFormats), "a type that holds weights has a format");
    return *found;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

namespace {
constexpr std::array<int8_t, 64> ternary_powers() {
    constexpr std::array<int8_t, 5> kPowersOf3 = {1, 3, 9, 27, 81};
    std::array<int8_t, 64> powers{};
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t e = 4 * i;
        powers[i] = kPowersOf3[e < 160 ? e / 32 : e < 240 ? (e - 160) / 16 : (e - 240) / 4];
    }
    return powers;
}
constexpr auto kTernaryPowers = ternary_powers();
}  // namespace

std::span<const int8_t> lane_table(LaneTable table) {
    switch (table) {
        case LaneTable::iq2xxs:
            return grid_bytes(QuantGrid::iq2xxs);
        case LaneTable::iq2xs:
            return grid_bytes(QuantGrid::iq2xs);
        case LaneTable::iq2s:
            return grid_bytes(QuantGrid::iq2s);
        case LaneTable::iq3xxs:
            return grid_bytes(QuantGrid::iq3xxs);
        case LaneTable::iq3s:
            return grid_bytes(QuantGrid::iq3s);
        case LaneTable::iq1s:
            return grid_bytes(QuantGrid::iq1s);
        case LaneTable::nonlinear:
            return kNonlinearCodebook;
        case LaneTable::fp4:
            return kFp4Codebook;
        case LaneTable::ternary_powers:
            return kTernaryPowers;
    }
    return {};
}

// ---- reading fields -------------------------------------------------------------------------------------------------

namespace {

// Bits [bit, bit + bits) of the block.
uint32_t read_bits(const uint8_t* block, uint32_t bit, uint32_t bits) {
    const uint32_t shift = bit % 8;
    uint64_t word = 0;
    for (uint32_t i = 0; 8 * i < shift + bits; ++i) word |= uint64_t(block[bit / 8 + i]) << 8 * i;
    return static_cast<uint32_t>(word >> shift & ((uint64_t(1) << bits) - 1));
}

}  // namespace

uint32_t read_value(const BitField& field, const std::byte* block, uint32_t index) {
    uint32_t value = 0;
    for (const BitPlane& plane : field.planes)
        if (index - plane.first_value < plane.values())
            value |= read_bits(reinterpret_cast<const uint8_t*>(block), plane.bit_of(index), plane.bits)
                     << plane.to_bit;
    return value;
}

}  // namespace riftjit

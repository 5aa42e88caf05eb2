#include "jit/formats/weight_format.h"

#include <algorithm>
#include <cstring>

#include "host/result.h"

namespace riftjit {

const BitField& WeightFormat::field(FieldRole role) const {
    const auto found = std::ranges::find(fields, role, &BitField::role);
    check(found != fields.end(), "a field that the format has");
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

uint32_t get_u32(const uint8_t* from) {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

// Bits [bit, bit + bits) of the block.
uint32_t read_bits(const uint8_t* block, uint32_t bit, uint32_t bits) {
    const uint32_t shift = bit % 8;
    uint64_t word = 0;
    for (uint32_t i = 0; 8 * i < shift + bits; ++i) word |= uint64_t(block[bit / 8 + i]) << 8 * i;
    return static_cast<uint32_t>(word >> shift & ((uint64_t(1) << bits) - 1));
}

// The same of at most 25 bits, in one load of four bytes of the block, which end where the bits do if there are as
// many.
uint32_t read_few_bits(const uint8_t* block, uint32_t bit, uint32_t mask, uint32_t bits) {
    const uint32_t last = (bit + bits - 1) / 8, first = last < 3 ? 0 : last - 3;
    return get_u32(block + first) >> (bit - 8 * first) & mask;
}

enum class Merge : uint8_t { assign, combine };

template <Merge merge, class T>
void put(T& value, uint32_t bits) {
    value = static_cast<T>(merge == Merge::assign ? bits : value | bits);
}

// Along an axis from byte to byte: eight values at once while they are bytes, too.
template <Merge merge, class T>
void read_bytes(const uint8_t* from, uint32_t count, uint32_t shift, uint32_t mask, uint32_t to_bit, T* values) {
    uint32_t i = 0;
    if constexpr (sizeof(T) == 1) {
        const uint64_t masks = mask * 0x0101010101010101;
        for (; i + 8 <= count; i += 8) {
            uint64_t bytes, merged = 0;
            std::memcpy(&bytes, from + i, 8);
            if (merge == Merge::combine) std::memcpy(&merged, values + i, 8);
            merged |= (bytes >> shift & masks) << to_bit;
            std::memcpy(values + i, &merged, 8);
        }
    }
    for (; i < count; ++i) put<merge>(values[i], (from[i] >> shift & mask) << to_bit);
}

template <Merge merge, class T>
void read_run(const BitPlane& plane, const uint8_t* block, uint32_t bit, uint32_t to_bit, T* values) {
    const Axis& axis = plane.axes[0];
    const uint32_t mask = (1u << plane.bits) - 1;
    if (axis.stride == 8 && bit % 8 + plane.bits <= 8)
        return read_bytes<merge>(block + bit / 8, axis.extent, bit % 8, mask, to_bit, values);
    for (uint32_t i = 0; i < axis.extent; ++i)
        put<merge>(values[i], read_few_bits(block, bit + i * axis.stride, mask, plane.bits) << to_bit);
}

template <Merge merge, class T>
void read_runs(const BitPlane& plane, const std::byte* block, uint32_t to_bit, T* values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(block);
    const Axis &second = plane.axes[1], &third = plane.axes[2], &fourth = plane.axes[3];  // extent 1 where absent
    for (uint32_t l = 0; l < fourth.extent; ++l)
        for (uint32_t k = 0; k < third.extent; ++k)
            for (uint32_t j = 0; j < second.extent; ++j, values += plane.axes[0].extent)
                read_run<merge>(plane, bytes,
                                plane.first_bit + j * second.stride + k * third.stride + l * fourth.stride, to_bit,
                                values);
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

template <class T>
void read_plane(const BitPlane& plane, const std::byte* block, T* bits) {
    read_runs<Merge::assign>(plane, block, 0, bits);
}
template void read_plane(const BitPlane&, const std::byte*, uint8_t*);
template void read_plane(const BitPlane&, const std::byte*, uint16_t*);

template <class T>
void read_values(const BitField& field, const std::byte* block, T* values) {
    for (const BitPlane& plane : field.planes) {
        if (plane.to_bit == 0)
            read_runs<Merge::assign>(plane, block, 0, values + plane.first_value);
        else
            read_runs<Merge::combine>(plane, block, plane.to_bit, values + plane.first_value);
    }
}
template void read_values(const BitField&, const std::byte*, uint8_t*);
template void read_values(const BitField&, const std::byte*, uint16_t*);

}  // namespace riftjit

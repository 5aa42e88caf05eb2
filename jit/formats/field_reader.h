// Reads the fields of a block at the speed of loading a file: the compiler knows every offset and shift.
#pragma once

#include <cstring>
#include <numeric>
#include <utility>

#include "jit/formats/weight_formats.h"

namespace riftjit {

template <DType type, FieldRole role>
inline constexpr const BitField& kField = kWeightFormat<type>.field(role);

// The byte that the field's plane begins in.
template <DType type, FieldRole role, size_t plane = 0>
const std::byte* start_of(const std::byte* block) {
    return block + kField<type, role>.planes[plane].first_bit / 8;
}

// merge(values[i], bits) for the values along a plane's first axis. Bits that may lie in two bytes come from a load of
// the four bytes of the block that end where they do, or the first four.
template <DType type, FieldRole role, size_t plane, size_t run, class T>
void merge_run(const uint8_t* block, T* values, auto merge) {
    constexpr const BitPlane& kPlane = kField<type, role>.planes[plane];
    constexpr Axis kAxis = kPlane.axes.size() == 0 ? Axis{} : kPlane.axes[0];
    constexpr uint32_t kFirst = kPlane.bit_of(kPlane.first_value + run * kAxis.extent);
    constexpr uint32_t kMask = (1u << kPlane.bits) - 1;
    constexpr uint32_t kSlot = std::gcd(8u, uint32_t{kAxis.stride});  // bytes are whole slots
    constexpr bool kIsInOneByte = kFirst % kSlot + kPlane.bits <= kSlot;
    for (uint32_t i = 0; i < kAxis.extent; ++i) {
        const uint32_t bit = kFirst + i * kAxis.stride;
        T& value = values[run * kAxis.extent + i];
        if constexpr (kIsInOneByte && kAxis.stride == 8) {  // vectorised
            merge(value, block[kFirst / 8 + i] >> kFirst % 8 & kMask);
        } else if constexpr (kIsInOneByte) {
            merge(value, block[bit / 8] >> bit % 8 & kMask);
        } else {
            const uint32_t last = (bit + kPlane.bits - 1) / 8, start = last < 3 ? 0 : last - 3;
            uint32_t word;
            std::memcpy(&word, block + start, sizeof word);
            merge(value, word >> (bit - 8 * start) & kMask);
        }
    }
}

template <DType type, FieldRole role, size_t plane, class T>
void merge_plane(const std::byte* block, T* values, auto merge) {
    constexpr const BitPlane& kPlane = kField<type, role>.planes[plane];
    constexpr uint32_t kExtent = kPlane.axes.size() == 0 ? 1 : kPlane.axes[0].extent;
    const auto* bytes = reinterpret_cast<const uint8_t*>(block);
    [&]<size_t... run>(std::index_sequence<run...>) {
        (merge_run<type, role, plane, run>(bytes, values, merge), ...);
    }(std::make_index_sequence<kPlane.values() / kExtent>());
}

// The bits of one of a field's planes, at most 16, in order of its values. The block is one of several elements.
template <DType type, FieldRole role, size_t plane = 0, class T>
void read_plane(const std::byte* block, T* bits) {
    merge_plane<type, role, plane>(block, bits, [](T& value, uint32_t read) { value = static_cast<T>(read); });
}

// The values of a field, of at most 16 bits, without sign extension.
template <DType type, FieldRole role, class T>
void read_values(const std::byte* block, T* values) {
    const auto read_one = [&]<size_t plane>() {
        constexpr uint32_t kToBit = kField<type, role>.planes[plane].to_bit;
        const auto merge = [](T& value, uint32_t read) {
            value = static_cast<T>(kToBit == 0 ? read : value | read << kToBit);
        };
        merge_plane<type, role, plane>(block, values + kField<type, role>.planes[plane].first_value, merge);
    };
    [&]<size_t... plane>(std::index_sequence<plane...>) {
        (read_one.template operator()<plane>(), ...);
    }(std::make_index_sequence<kField<type, role>.planes.size()>());
}

}  // namespace riftjit

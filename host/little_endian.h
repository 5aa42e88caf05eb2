// Integers in little-endian byte order at an offset, for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace riftjit {

template <class Integer>
void put_little_endian(std::span<std::byte> bytes, size_t offset, Integer value) {
    for (size_t i = 0; i < sizeof(Integer); ++i) bytes[offset + i] = std::byte(static_cast<uint8_t>(value >> (8 * i)));
}

template <class Integer>
Integer get_little_endian(std::span<const std::byte> bytes, size_t offset) {
    Integer value = 0;
    for (size_t i = 0; i < sizeof(Integer); ++i)
        value |= Integer(std::to_integer<uint8_t>(bytes[offset + i])) << (8 * i);
    return value;
}

}  // namespace riftjit

// Bytes as text of 64 characters (RFC 4648, section 4).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace riftjit {

inline std::string base64(std::span<const std::byte> bytes) {
    static constexpr char kCharacters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t at = 0; at < bytes.size(); at += 3) {
        const auto byte = [&](size_t i) { return at + i < bytes.size() ? unsigned(bytes[at + i]) : 0u; };
        const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (size_t i = 0; i < 4; ++i) text += at + i > bytes.size() ? '=' : kCharacters[bits >> (18 - 6 * i) & 63];
    }
    return text;
}

}  // namespace riftjit

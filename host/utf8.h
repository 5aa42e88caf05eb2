// UTF-8 that trusts nothing: code points with invalid bytes kept apart, and streams cut at any byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace riftjit {

// What an invalid byte decodes to: one code point of its own, outside Unicode, so that it can reach the byte level.
inline constexpr char32_t kInvalidByte = 0x110000;

struct CodePoint {
    char32_t value;
    uint8_t length_bytes;  // 1 for an invalid byte
};

CodePoint decode_multibyte(const char* begin, const char* end);

// The code point at `begin`, which lies before `end`. Over-long forms, surrogates, values beyond U+10FFFF and cut
// sequences are invalid, byte by byte (Unicode standard, table 3-7).
inline CodePoint decode_code_point(const char* begin, const char* end) {
    const auto first = static_cast<unsigned char>(*begin);
    if (first < 0x80) return {first, 1};
    return decode_multibyte(begin, end);
}

void append_utf8(std::string& text, char32_t value);

// The length of the longest valid prefix.
size_t valid_utf8_prefix(std::string_view text);

// Valid UTF-8: each longest run of bytes that begins a code point and does not end it, and any other invalid byte,
// becomes U+FFFD (Unicode standard, section 3.9, "U+FFFD Substitution of Maximal Subparts").
std::string replace_invalid(std::string_view text);

// For messages: bytes that are no UTF-8 and control characters, but for ends of lines, as \xNN, so that a name cannot
// act on a terminal.
std::string escape_unprintable(std::string_view text);

// Holds back an incomplete UTF-8 tail until it completes: what comes out joins to what went in, byte for byte.
class Utf8Stream {
public:
    std::string push(std::string_view bytes);  // what may be printed now
    std::string finish();                      // the raw tail

private:
    std::string tail_;
};

}  // namespace riftjit

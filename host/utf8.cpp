#include "host/utf8.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace riftjit {

namespace {

// The bytes that may follow a lead byte: how many, and the range of the first of them (Unicode standard, table 3-7).
struct LeadByte {
    uint8_t length_bytes;  // of the whole sequence; 0: never a lead byte
    uint8_t second_low, second_high;
};

LeadByte classify_lead(unsigned char lead) {
    if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
    if (lead == 0xE0) return {3, 0xA0, 0xBF};  // below: over-long
    if (lead == 0xED) return {3, 0x80, 0x9F};  // above: surrogates
    if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
    if (lead == 0xF0) return {4, 0x90, 0xBF};  // below: over-long
    if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
    if (lead == 0xF4) return {4, 0x80, 0x8F};  // above: beyond U+10FFFF
    return {0, 0, 0};
}

// How many bytes from `begin` agree with the sequence that its lead byte announces.
size_t matching_bytes(const char* begin, const char* end, LeadByte lead) {
    const size_t available = std::min<size_t>(lead.length_bytes, end - begin);
    if (available < 2) return available;
    const auto second = static_cast<unsigned char>(begin[1]);
    if (second < lead.second_low || second > lead.second_high) return 1;
    size_t matched = 2;
    while (matched < available && (static_cast<unsigned char>(begin[matched]) & 0xC0) == 0x80) ++matched;
    return matched;
}

// The bytes at the end of `text` that may still become a code point: a lead byte and what follows it, all in agreement.
size_t incomplete_tail(std::string_view text) {
    const char* end = text.data() + text.size();
    for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
        const char* begin = end - length;
        const LeadByte lead = classify_lead(static_cast<unsigned char>(*begin));
        if (lead.length_bytes > length && matching_bytes(begin, end, lead) == length) return length;
    }
    return 0;
}

}  // namespace

CodePoint decode_multibyte(const char* begin, const char* end) {
    const auto first = static_cast<unsigned char>(*begin);
    const LeadByte lead = classify_lead(first);
    if (lead.length_bytes == 0 || matching_bytes(begin, end, lead) < lead.length_bytes) return {kInvalidByte, 1};
    char32_t value = first & (0x7F >> lead.length_bytes);
    for (size_t i = 1; i < lead.length_bytes; ++i) value = value << 6 | (static_cast<unsigned char>(begin[i]) & 0x3F);
    return {value, lead.length_bytes};
}

void append_utf8(std::string& text, char32_t value) {
    if (value < 0x80) {
        text += static_cast<char>(value);
    } else if (value < 0x800) {
        text += static_cast<char>(0xC0 | value >> 6);
        text += static_cast<char>(0x80 | (value & 0x3F));
    } else if (value < 0x10000) {
        text += static_cast<char>(0xE0 | value >> 12);
        text += static_cast<char>(0x80 | (value >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (value & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | value >> 18);
        text += static_cast<char>(0x80 | (value >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (value >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (value & 0x3F));
    }
}

std::string escape_unprintable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string shown;
    const char* end = text.data() + text.size();
    for (const char* position = text.data(); position < end;) {
        const CodePoint code_point = decode_code_point(position, end);
        const bool is_control = (code_point.value < 0x20 && code_point.value != '\n') || code_point.value == 0x7F;
        if (is_control || code_point.value == kInvalidByte) {
            const auto byte = static_cast<unsigned char>(*position);
            shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        } else {
            shown.append(position, code_point.length_bytes);
        }
        position += code_point.length_bytes;
    }
    return shown;
}

size_t valid_utf8_prefix(std::string_view text) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const char* position = begin;
    while (position < end) {
        uint64_t eight = 0;
        if (end - position >= 8) {
            std::memcpy(&eight, position, sizeof eight);
            if ((eight & 0x8080808080808080) == 0) {
                position += 8;
                continue;
            }
        }
        const CodePoint code_point = decode_code_point(position, end);
        if (code_point.value == kInvalidByte) break;
        position += code_point.length_bytes;
    }
    return position - begin;
}

std::string replace_invalid(std::string_view text) {
    constexpr char32_t kReplacement = 0xFFFD;
    std::string valid;
    for (size_t good = valid_utf8_prefix(text); good < text.size(); good = valid_utf8_prefix(text)) {
        valid += text.substr(0, good);
        append_utf8(valid, kReplacement);
        const char* begin = text.data() + good;
        const LeadByte lead = classify_lead(static_cast<unsigned char>(*begin));
        text.remove_prefix(good + std::max<size_t>(1, matching_bytes(begin, text.data() + text.size(), lead)));
    }
    return valid += text;
}

std::string Utf8Stream::push(std::string_view bytes) {
    std::string text = std::exchange(tail_, {});
    text += bytes;
    const size_t held = incomplete_tail(text);
    tail_ = text.substr(text.size() - held);
    text.resize(text.size() - held);
    return text;
}

std::string Utf8Stream::finish() { return std::exchange(tail_, {}); }

}  // namespace riftjit

#include "models/tokenizer/tokenizer_nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "host/result.h"
#include "host/utf8.h"

namespace riftjit::models {

namespace {

constexpr char32_t kFirstUnstable = 0x300;  // all below have NFC_Quick_Check "yes" and combining class 0

bool is_hangul_vowel_or_tail(char32_t value) {
    return (value >= 0x1161 && value <= 0x1175) || (value >= 0x11A8 && value <= 0x11C2);
}

// Canonical decomposition, into four code points at most; the code point itself where there is none.
using Decomposition = std::array<utf8proc_int32_t, 8>;
size_t decompose(char32_t value, Decomposition& parts) {
    int last_boundary_class = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(value), parts.data(), parts.size(),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &last_boundary_class);
    check(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()), "a code point decomposes");
    return static_cast<size_t>(count);
}

// Joins ordered, decomposed code points in place; the number that remains.
size_t compose(std::span<utf8proc_int32_t> code_points) {
    const utf8proc_ssize_t count =
        utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    check(count >= 0, "composing decomposed text cannot fail");
    return static_cast<size_t>(count);
}

// Whether form C keeps a composed character. It replaces second names (U+212B is the letter U+00C5) and what is
// excluded from composition.
bool recomposes(char32_t value, const utf8proc_property_t& property) {
    const bool has_parts = property.decomp_seqindex != UINT16_MAX && property.decomp_type == 0;
    if (!has_parts) return true;
    Decomposition parts;
    const size_t count = compose(std::span(parts).first(decompose(value, parts)));
    return count == 1 && parts[0] == static_cast<utf8proc_int32_t>(value);
}

// Stable: form C keeps this code point, and it never composes with what stands before it. So text made of stable
// code points is normalised, and text may be cut in front of each (UAX #15, section 9).
bool is_stable(char32_t value) {
    if (value < kFirstUnstable || value == kInvalidByte) return true;
    if (is_hangul_vowel_or_tail(value)) return false;
    const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(value));
    const bool composes_backwards = property.comb_index != UINT16_MAX && property.comb_index >= 0x8000;
    return property.combining_class == 0 && !composes_backwards && recomposes(value, property);
}

// utf8proc orders combining marks by insertion, which is quadratic in their number; its three steps are therefore
// taken one by one, with a sort of our own.
class Normalizer {
public:
    void append_normalized(std::string_view text, std::string& result) {
        decompose(text);
        order_marks();
        const size_t length = compose(code_points_);
        for (size_t i = 0; i < length; ++i) append_utf8(result, static_cast<char32_t>(code_points_[i]));
    }

private:
    void decompose(std::string_view text) {
        code_points_.clear();
        const char* end = text.data() + text.size();
        for (const char* position = text.data(); position < end;) {
            const CodePoint code_point = decode_code_point(position, end);
            position += code_point.length_bytes;
            Decomposition parts;
            const size_t count = models::decompose(code_point.value, parts);
            code_points_.insert(code_points_.end(), parts.begin(), parts.begin() + count);
        }
    }

    void order_marks() {
        const auto combining_class = [](utf8proc_int32_t value) {
            return utf8proc_get_property(value)->combining_class;
        };
        // The class goes into the bits above a code point for as long as the marks are sorted: it is looked up once.
        constexpr int kCodePointBits = 21;
        for (utf8proc_int32_t& value : code_points_) value |= combining_class(value) << kCodePointBits;
        const auto class_of = [](utf8proc_int32_t value) { return value >> kCodePointBits; };
        const auto is_starter = [&](utf8proc_int32_t value) { return class_of(value) == 0; };
        auto position = code_points_.begin();
        while (position != code_points_.end()) {
            const auto marks = std::find_if_not(position, code_points_.end(), is_starter);
            const auto marks_end = std::find_if(marks, code_points_.end(), is_starter);
            if (!std::ranges::is_sorted(marks, marks_end, {}, class_of))
                std::ranges::stable_sort(marks, marks_end, {}, class_of);
            position = marks_end;
        }
        for (utf8proc_int32_t& value : code_points_) value &= (1 << kCodePointBits) - 1;
    }

    std::vector<utf8proc_int32_t> code_points_;
};

// Skips stable code points; *last becomes the start of the last one skipped, or the end of an invalid byte.
const char* skip_stable(const char* position, const char* end, const char** last) {
    while (position < end) {
        if (end - position >= 8) {
            uint64_t eight = 0;
            std::memcpy(&eight, position, sizeof eight);
            if ((eight & 0x8080808080808080) == 0) {
                *last = position + 7;
                position += 8;
                continue;
            }
        }
        const CodePoint code_point = decode_code_point(position, end);
        if (!is_stable(code_point.value)) break;
        *last = code_point.value == kInvalidByte ? position + 1 : position;
        position += code_point.length_bytes;
    }
    return position;
}

const char* skip_unstable(const char* position, const char* end) {
    while (position < end) {
        const CodePoint code_point = decode_code_point(position, end);
        if (is_stable(code_point.value)) break;
        position += code_point.length_bytes;
    }
    return position;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const char* slice = begin;
    const char* unstable = skip_stable(begin, end, &slice);
    if (unstable == end) return text;
    storage.assign(begin, slice);
    Normalizer normalizer;
    while (unstable < end) {  // a slice: the stable code point before unstable ones, and these
        const char* slice_end = skip_unstable(unstable, end);
        normalizer.append_normalized({slice, slice_end}, storage);
        slice = slice_end;
        unstable = skip_stable(slice_end, end, &slice);
        storage.append(slice_end, slice);
    }
    storage.append(slice, end);
    return storage;
}

}  // namespace riftjit::models

#include "models/gguf/gguf_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "models/gguf/gguf.h"

namespace riftjit::models {

namespace {

// Length of the printable character at the front of `text`, 0 if its first byte has to be escaped: not UTF-8, a control
// (C0, C1), an invisible format character (they reorder a terminal's line), or unassigned.
size_t printable_length(std::string_view text) {
    utf8proc_int32_t code_point = -1;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (length <= 0) return 0;
    static constexpr auto kUnprintable = std::to_array<utf8proc_category_t>(
        {UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CS, UTF8PROC_CATEGORY_CO, UTF8PROC_CATEGORY_CN,
         UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP});
    const bool is_printable = std::ranges::find(kUnprintable, utf8proc_category(code_point)) == kUnprintable.end();
    return is_printable ? static_cast<size_t>(length) : 0;
}

std::string escaped_up_to(std::string_view text, size_t max_characters) {
    std::string result;
    for (size_t characters = 0; !text.empty(); ++characters) {
        if (characters == max_characters) return result + "...";
        if (const size_t length = printable_length(text); length > 0) {
            result += text.substr(0, length);
            text.remove_prefix(length);
        } else {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
            text.remove_prefix(1);
        }
    }
    return result;
}

constexpr size_t kMaxNameCharacters = 64;

}  // namespace

std::string printable(std::string_view text) { return escaped_up_to(text, kMaxNameCharacters); }

std::string escaped(std::string_view text) { return escaped_up_to(text, std::string_view::npos); }

std::string printable_path(const std::filesystem::path& path) { return escaped(path.native()); }

}  // namespace riftjit::models

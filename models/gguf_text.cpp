#include "models/gguf_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include "models/gguf.h"

namespace riftjit::models {

namespace {

// Length of the printable character at the front of `text`, 0 if its first byte has to be escaped: not UTF-8, a control
// (C0, C1), an invisible format character (they reorder a terminal's line), or unassigned.
size_t printable_length(std::string_view text) {
    utf8proc_int32_t code_point = -1;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (length <= 0) return 0;
    switch (utf8proc_category(code_point)) {
        case UTF8PROC_CATEGORY_CC: case UTF8PROC_CATEGORY_CF: case UTF8PROC_CATEGORY_CS: case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN: case UTF8PROC_CATEGORY_ZL: case UTF8PROC_CATEGORY_ZP: return 0;
        default: return static_cast<size_t>(length);
    }
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

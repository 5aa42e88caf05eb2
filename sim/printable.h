// What files say, in messages of one line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace riftjit::sim {

// The text with control characters but tabs written out ("\\x1b"), so that what a file says cannot steer a terminal.
inline std::string printable(std::string_view text) {
    std::string shown;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // In UTF-8 the control characters above 127 are c2 80 to c2 9f.
        const bool begins_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if ((byte >= ' ' && byte != 0x7f && !begins_c1) || byte == '\t') {
            shown += text[i];
        } else {
            shown += fmt::format("\\x{:02x}", byte);
            if (begins_c1) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
        }
    }
    return shown;
}

}  // namespace riftjit::sim

#include "tools/cli/escapes.h"

#include <charconv>

namespace riftjit::tools {

std::string process_escapes(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        const char code = text[++i];
        unsigned byte = 0;
        if (code == 'x' && i + 2 < text.size() &&
            std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2) {
            result += static_cast<char>(byte);
            i += 2;
            continue;
        }
        switch (code) {
            case 'n':
                result += '\n';
                break;
            case 'r':
                result += '\r';
                break;
            case 't':
                result += '\t';
                break;
            case '\'':
                result += '\'';
                break;
            case '"':
                result += '"';
                break;
            case '\\':
                result += '\\';
                break;
            default:
                (result += '\\') += code;
        }
    }
    return result;
}

}  // namespace riftjit::tools

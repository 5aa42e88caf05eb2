#include "sim/network/key_scan.h"

namespace riftjit::sim {

namespace {

// Past the string that begins at `begin`. One of a single line ends with the line, where it is an error of syntax.
size_t end_of_string(std::string_view text, size_t begin) {
    const char quote = text[begin];
    const std::string_view three = text.substr(begin, 3);
    const bool is_long = three.size() == 3 && three[1] == quote && three[2] == quote;
    for (size_t at = begin + (is_long ? 3 : 1); at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (is_long && text.substr(at, 3) == three) {
            return at + 3;
        } else if (!is_long && (text[at] == quote || text[at] == '\n')) {
            return at + 1;
        }
    }
    return text.size();
}

}  // namespace

std::optional<size_t> find_long_key(std::string_view text, size_t most) {
    size_t dots = 0;  // since the last character that no key has
    for (size_t at = 0; at < text.size();) {
        switch (text[at]) {
            case '"':
            case '\'':
                at = end_of_string(text, at);
                continue;
            case '#':
                at = text.find('\n', at);
                if (at == std::string_view::npos) return std::nullopt;
                continue;
            case '.':
                if (++dots == most) return at;
                break;
            case '=':
            case ',':
            case '[':
            case ']':
            case '{':
            case '}':
            case '\n':
                dots = 0;
                break;
            default:
                break;
        }
        ++at;
    }
    return std::nullopt;
}

}  // namespace riftjit::sim

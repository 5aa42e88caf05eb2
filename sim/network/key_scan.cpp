#include "sim/network/key_scan.h"

#include <algorithm>

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

KeyScan scan_keys(std::string_view text, size_t most_parts) {
    KeyScan scan;
    size_t dots = 0;        // since the last character that no key has
    bool in_value = false;  // behind a key's '=', up to the end of its line or list
    size_t lists = 0;       // that are open there
    for (size_t at = 0; at < text.size(); ++at) {
        switch (text[at]) {
            case '"':
            case '\'':
                at = end_of_string(text, at) - 1;
                continue;
            case '#':
                at = std::min(text.find('\n', at), text.size()) - 1;
                continue;
            case '.':
                if (++dots < most_parts) continue;
                scan.long_key = at;
                return scan;
            case '=':
                scan.parts += dots + 1;
                in_value = true;
                break;
            case '[':
                ++(in_value ? lists : scan.parts);
                break;
            case ']':
                if (!in_value)
                    scan.parts += dots;
                else if (lists > 0)
                    --lists;
                break;
            case '\n':
                in_value = in_value && lists > 0;
                break;
            case ',':
            case '{':
            case '}':
                break;
            default:
                continue;
        }
        dots = 0;
    }
    return scan;
}

}  // namespace riftjit::sim

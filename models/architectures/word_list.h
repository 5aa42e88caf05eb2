// Lists of names as one text: "context_length block_count ...".
#pragma once

#include <string_view>

namespace riftjit::models {

constexpr bool lists(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const size_t length = words.find(' ');
        if (words.substr(0, length) == word) return true;
        words.remove_prefix(length == std::string_view::npos ? words.size() : length + 1);
    }
    return false;
}
static_assert(lists("one two", "two") && !lists("one two", "tw") && !lists("one two", "one two"));

}  // namespace riftjit::models

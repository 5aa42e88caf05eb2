#include "tools/sim/sim_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/cli/reporter.h"

namespace riftjit::tools {

std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
    return digits;
}

namespace {

constexpr size_t kMostWordBytes = 256, kMostMessageBytes = 1000;

// The first `most` bytes, or fewer: whole characters of UTF-8.
std::string_view head(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    const auto continues = [&](size_t place) { return (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80; };
    while (most != 0 && continues(most)) --most;
    return text.substr(0, most);
}
std::string_view tail(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    return text.substr(head(text, text.size() - most).size());
}

}  // namespace

std::string shortened(std::string_view message) {
    std::string text;
    while (!message.empty()) {
        const std::string_view word = message.substr(0, message.find(' '));
        if (word.size() <= kMostWordBytes)
            text += word;
        else
            text += fmt::format("{}...{}", head(word, kMostWordBytes / 2), tail(word, kMostWordBytes / 4));
        message.remove_prefix(word.size());
        const size_t blanks = std::min(message.find_first_not_of(' '), message.size());
        text += message.substr(0, blanks);
        message.remove_prefix(blanks);
    }
    return text.size() <= kMostMessageBytes ? text : std::string(head(text, kMostMessageBytes)) + "...";
}

int report_shortened(const Error& error) { return report(Error{error.kind, shortened(error.message)}); }

std::string thread_text(uint32_t threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

void print_row(std::string_view label, const std::string& text) { fmt::print("{:<12} {}\n", label, text); }

}  // namespace riftjit::tools

#include "tools/sim_text.h"

#include <fmt/format.h>

namespace riftjit::tools {

std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
    return digits;
}

std::string thread_text(uint32_t threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

void print_row(std::string_view label, const std::string& text) { fmt::print("{:<12} {}\n", label, text); }

}  // namespace riftjit::tools

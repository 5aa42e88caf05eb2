// Numbers and rows as the reports of `riftjit sim` write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace riftjit::tools {

enum class SimPrints : uint8_t { table, json, hashes };  // of what was run

std::string grouped(uint64_t value);        // 1985575928 -> "1,985,575,928"
std::string thread_text(uint32_t threads);  // "1 thread", "2 threads"
void print_row(std::string_view label, const std::string& text);

}  // namespace riftjit::tools

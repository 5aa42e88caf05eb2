// Numbers and rows as the reports of `riftjit sim` write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit::tools {

enum class SimPrints : uint8_t { table, json, hashes };  // of what was run

std::string grouped(uint64_t value);        // 1985575928 -> "1,985,575,928"
std::string thread_text(uint32_t threads);  // "1 thread", "2 threads"
// A message with its long words cut in their middle, and all of it after some 1,000 bytes: files may give names of any
// length, and texts that do not end.
std::string shortened(std::string_view message);
int report_shortened(const Error& error);  // as report()
void print_row(std::string_view label, const std::string& text);

}  // namespace riftjit::tools

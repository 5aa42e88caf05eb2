// Immediates that assembly spells by name: sendmsg(...), hwreg(...), wait counts, s_delay_alu, ds_swizzle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

std::string print_message(Generation generation, uint16_t message);
std::string print_hardware_register(Generation generation, uint16_t field);
std::string print_wait_counts(Generation generation, uint16_t counts);
std::string print_dependency_counters(uint16_t counters);
std::string print_delay(uint16_t delay);
std::string print_version(uint16_t version);
std::string print_swizzle(uint16_t pattern);

// Each reads the whole of `text` and answers nothing if it is not of that kind; an error says what inside is wrong.
// A plain number is the caller's affair.
Result<uint16_t> parse_message(Generation generation, std::string_view text);
Result<uint16_t> parse_hardware_register(Generation generation, std::string_view text);
Result<uint16_t> parse_wait_counts(Generation generation, std::string_view text);
Result<uint16_t> parse_dependency_counters(std::string_view text);
Result<uint16_t> parse_delay(std::string_view text);
Result<uint16_t> parse_version(std::string_view text);
Result<uint16_t> parse_swizzle(std::string_view text);

// A decimal, hexadecimal (0x), octal (0) or binary (0b) integer with an optional sign.
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace riftjit::rdna

// Files that the command line names, and standard input, read whole and as far as they may go.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/result.h"
#include "models/tokenizer/tokenizer.h"

namespace riftjit::tools {

inline constexpr size_t kMostOfFile = size_t{1} << 30;  // of code: far more than any holds
inline constexpr size_t kMostOfText = models::kMostTextBytes;

// Devices, FIFOs and sockets, which may have no end, are refused by what they are; but not what the process was given:
// /dev/stdin, and the /dev/fd/N that a shell puts in the place of <(...). More than `most` bytes are refused.
Result<std::string> read_text_bytes(const std::string& path, size_t most = kMostOfText);
// "-": standard input.
Result<std::vector<std::byte>> read_bytes(const std::string& path, size_t most = kMostOfFile);

// Through stdin, whose buffer std::cin shares. An error if it cannot be read or has more than kMostOfText bytes.
Result<std::string> read_stdin_bytes();
// As std::getline; false at the end. Of a line of more than `most` bytes only `most` + 1 are taken.
bool read_stdin_line(std::string& line, size_t most);
// std::cin does not tell its errors from an end.
Result<void> check_standard_input();

}  // namespace riftjit::tools

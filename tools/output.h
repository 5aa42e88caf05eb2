// Standard output, whose failures are seen: a reader that left ends the program quietly, a full disk is an error.
#pragma once

#include <string_view>

namespace riftjit::tools {

// Writes and flushes; false when that failed, now or before.
bool write_output(std::string_view text);

// Last thing before the program ends: the exit code, which a lost part of the output changes.
int finish_output(int exit_code);

// Opens /dev/null for standard descriptors that were closed, so that no file takes their number.
void ensure_standard_descriptors();

}  // namespace riftjit::tools

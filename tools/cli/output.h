// Standard output, whose failures are seen: a reader that left ends the program quietly, a full disk is an error.
// Standard error, whose failures are not: what cannot be said there changes neither the answer nor the exit code.
// And how the process ends.
#pragma once

#include <string>
#include <string_view>

namespace riftjit::tools {

// Writes and flushes; false when that failed, now or before.
bool write_output(std::string_view text);

// What somebody else's write to stdout failed with.
void note_write_error(int error);

// What went wrong when nobody could answer for it any more: prints the line now.
void note_late_error(const std::string& line);

// Last thing before the program ends: the exit code, which a lost part of the output and a late error change.
int finish_output(int exit_code);

void write_diagnostic(std::string_view text);

// Of the terminal behind a descriptor; 80 where there is none or it does not say.
unsigned terminal_columns(int descriptor);

// First thing: opens /dev/null for standard descriptors that were closed, so that no file takes their number (writing
// to a standard output that was closed fails), turns the signals of writes that cannot succeed (no reader, a file above
// its limit) into errors of these writes, and has a broken invariant (check()) print what stdout still holds and its
// line, and end the process with kExitInternal. So does an exception that leaves a thread, but for memory that ended,
// which is an error like others.
void prepare_process();

}  // namespace riftjit::tools

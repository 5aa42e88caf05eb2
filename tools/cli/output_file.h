// Files that are written: what would be wrong with them shows before a long run, and an old one stays until the new one
// is whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "host/result.h"

namespace riftjit::tools {

// Whether there may be a file of that name: its folder exists, and it is none, or a file that --force allows to
// replace.
Result<void> check_output_file(const std::string& flag, const std::string& path, bool is_forced);
// Whether a file, that beside the one in which it is written at first, can be created.
Result<void> try_to_create(const std::string& flag, const std::string& path);

// Written under a temporary name beside it, which finish() exchanges for its own: the file, or the one that a symbolic
// link leads to, is whole or as it was. A device or a pipe is written to as it is.
class ReplacedFile {
public:
    // Errors of all three are the system's words alone: the caller knows what the file is for.
    static Result<ReplacedFile> create(const std::string& path);
    Result<void> append(std::span<const std::byte> bytes);
    Result<void> finish();

private:
    struct State;
    explicit ReplacedFile(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;  // the last one to let go of it removes what was not finished
};

// The whole file at once. "-": standard output, unless it is a terminal, which bytes would garble.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
// The same refusal before any work, and that of a folder and of a file in one that does not exist or is not to be
// written.
Result<void> check_output(const std::string& path);
// Whether both are names of one regular file, which need not exist yet.
bool is_same_file(const std::string& a, const std::string& b);
// "-" for another name of what standard output goes to (/dev/stdout), so that it is written through one descriptor;
// every other path as it is.
std::string dash_for_standard_output(const std::string& path);

}  // namespace riftjit::tools

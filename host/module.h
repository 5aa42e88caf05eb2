// Shared libraries that are opened only when they are needed: beside the file that this code was loaded from (the
// program, or a library that holds it), or in ../lib/riftjit from there.
#pragma once

#include <filesystem>
#include <string>

#include "host/result.h"

namespace riftjit {

// A module exports this as extern "C" riftjit_module: it returns the object behind its interface, or null for an
// interface other than the one it was built with. Its own copy of what checks invariants ends the process by `handler`.
using ModuleFactory = const void* (*)(const char* interface, InternalErrorHandler handler);

// An error for what dlopen() would wait for (a FIFO) or touch behind its end, which is SIGBUS (a truncated library).
Result<void> require_whole_library(const std::filesystem::path& path);

// Stays loaded.
Result<const void*> load_module(const std::string& name);

// The file that the code or data at `address` was loaded from; empty if it cannot be told.
std::filesystem::path image_of(const void* address);

}  // namespace riftjit

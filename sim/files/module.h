// Shared libraries that the program opens only when it needs them: beside itself, or in ../lib/riftjit.
#pragma once

#include "host/result.h"

namespace riftjit::sim {

// A module exports `extern "C" const void* riftjit_module(const char* interface)`, which returns the object behind its
// interface, or null for an interface other than the one it was built with. Stays loaded.
Result<const void*> load_module(const std::string& name);

}  // namespace riftjit::sim

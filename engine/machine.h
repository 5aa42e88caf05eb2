// What this machine gives a model or a network: the level to compile for, and a cache of kernels.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/result.h"
#include "jit/backend.h"
#include "jit/cache/kernel_cache.h"

namespace riftjit::engine {

// Takes one line without a prefix. What it warns of is no reason to stop.
using Warn = std::function<void(const std::string&)>;

// The level to use under a limit and RIFTJIT_ISA; both only lower it.
Result<Isa> select_isa(std::optional<Isa> max_isa);
// RIFTJIT_ISA, checked; nullopt when unset.
Result<std::optional<Isa>> isa_from_environment();

// RIFTJIT_TUNE, on (also where it is unset) or off: whether levels of equal bits are tried (engine/level_choice.h).
Result<bool> tunes_by_environment();

// Code for any target that this program can generate for.
Result<CodeObject> compile(const KernelSpec& spec, Target target);

// Of any such target; lives as long as the program.
const Backend& backend(Target target);

// directory: empty for the usual one. `warn` may be called from other threads, as long as the cache lives.
std::unique_ptr<KernelCache> open_kernel_cache(const std::string& directory, CacheMode mode, Warn warn);

}  // namespace riftjit::engine

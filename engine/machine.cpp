#include "engine/machine.h"

#include <cstdlib>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"

namespace riftjit::engine {

Result<std::optional<Isa>> isa_from_environment() {
    const char* text = std::getenv("RIFTJIT_ISA");
    if (text == nullptr || *text == '\0') return std::nullopt;
    const auto isa = isa_from_name(text);
    if (!isa) return fail(ErrorKind::Usage, "RIFTJIT_ISA: unknown level \"{}\", expected one of {}", text, isa_names());
    return isa;
}

Result<Isa> select_isa(std::optional<Isa> max_isa) {
    RIFTJIT_TRY(environment, isa_from_environment());
    std::optional<Isa> limit = max_isa;
    if (environment && (!limit || *environment < *limit)) limit = environment;
    return x86::choose_isa(x86::detect(), limit);
}

std::unique_ptr<KernelCache> open_kernel_cache(const std::string& directory, CacheMode mode, Warn warn) {
    return std::make_unique<KernelCache>(x86::compile, DiskCache::open(directory, mode, std::move(warn)));
}

}  // namespace riftjit::engine

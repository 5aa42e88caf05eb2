#include "engine/machine.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "runtime/rdna/rdna_backend.h"

namespace riftjit::engine {

Result<std::optional<Isa>> isa_from_environment() {
    const char* text = std::getenv("RIFTJIT_ISA");
    if (text == nullptr || *text == '\0') return std::nullopt;
    const auto isa = isa_from_name(text);
    if (!isa) return fail(ErrorKind::Usage, "RIFTJIT_ISA: unknown level \"{}\", expected one of {}", text, isa_names());
    return isa;
}

Result<bool> tunes_by_environment() {
    const char* text = std::getenv("RIFTJIT_TUNE");
    const std::string_view word = text == nullptr ? "" : text;
    if (!word.empty() && word != "on" && word != "off")
        return fail(ErrorKind::Usage, "RIFTJIT_TUNE: \"{}\" is not known, expected on or off", word);
    return word != "off";
}

Result<Isa> select_isa(std::optional<Isa> max_isa) {
    RIFTJIT_TRY(environment, isa_from_environment());
    std::optional<Isa> limit = max_isa;
    if (environment && (!limit || *environment < *limit)) limit = environment;
    return x86::choose_isa(x86::detect(), limit);
}

Result<CodeObject> compile(const KernelSpec& spec, Target target) {
    return target.architecture == Architecture::rdna ? runtime::compile_rdna(spec, target) : x86::compile(spec, target);
}

const Backend& backend(Target target) {
    if (target.architecture == Architecture::x86_64) return x86::backend(isa_of(target));
    static const std::vector<runtime::RdnaBackend> kChips = [] {
        std::vector<runtime::RdnaBackend> chips;
        for (const rdna::TargetInfo& chip : rdna::all_targets()) chips.emplace_back(chip.target);
        return chips;
    }();
    const auto found = std::ranges::find(kChips, target, &runtime::RdnaBackend::target);
    check(found != kChips.end(), "an RDNA target is a chip of the table");
    return *found;
}

std::unique_ptr<KernelCache> open_kernel_cache(const std::string& directory, CacheMode mode, Warn warn) {
    return std::make_unique<KernelCache>(compile, DiskCache::open(directory, mode, std::move(warn)));
}

}  // namespace riftjit::engine

#include "jit/target.h"

#include <charconv>

namespace riftjit {

std::string name(Target target) {
    if (target.architecture == Architecture::rdna) return fmt::format("gfx{:x}", target.level);
    return fmt::format("x86_64-{}", name(isa_of(target)));
}

std::optional<Target> target_from_name(std::string_view text) {
    for (const Isa isa : all_isas())
        if (text == name(Target(isa))) return isa;
    if (!text.starts_with("gfx")) return std::nullopt;
    uint16_t digits = 0;
    std::from_chars(text.data() + 3, text.data() + text.size(), digits, 16);
    const Target target(Architecture::rdna, digits);
    return name(target) == text ? std::optional(target) : std::nullopt;
}

}  // namespace riftjit

// For what processor code is generated: a value, part of every kernel's key.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/isa.h"

namespace riftjit {

enum class Architecture : uint8_t { x86_64, rdna };

struct Target {
    Architecture architecture;
    uint16_t level;  // x86_64: an Isa; rdna: the digits of the gfx id, 0x1100 for gfx1100

    constexpr Target(Architecture of, uint16_t at) : architecture(of), level(at) {}
    constexpr Target(Isa isa) : Target(Architecture::x86_64, uint16_t(isa)) {}  // an x86 level is a target
    auto operator<=>(const Target&) const = default;
};

std::string name(Target target);  // "x86_64-avx512_vnni", "gfx1100"
std::optional<Target> target_from_name(std::string_view name);

// The level of an x86 target.
inline Isa isa_of(Target target) {
    check(target.architecture == Architecture::x86_64, "only x86 targets have a level");
    return Isa(target.level);
}

}  // namespace riftjit

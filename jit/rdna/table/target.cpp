#include "jit/rdna/table/target.h"

#include <algorithm>
#include <array>

#include "host/result.h"

namespace riftjit::rdna {
namespace {

// Register files: LLVM's AMDGPUBaseInfo for the same chips, checked against the occupancy that llc prints.
constexpr TargetInfo gfx103x(Target target, std::string_view name, uint8_t mach) {
    return {target, name, Generation::gfx10, mach, 1024, 16, false, false, false, false};
}
constexpr TargetInfo gfx110x(Target target, std::string_view name, uint8_t mach, uint16_t file, bool id_in_s15) {
    return {target, name, Generation::gfx11, mach, file, static_cast<uint8_t>(file / 64), false, id_in_s15, true, true};
}
constexpr TargetInfo gfx115x(Target target, std::string_view name, uint8_t mach, uint16_t file) {
    return {target, name, Generation::gfx11, mach, file, static_cast<uint8_t>(file / 64), true, false, false, false};
}
constexpr TargetInfo gfx120x(Target target, std::string_view name, uint8_t mach) {
    return {target, name, Generation::gfx12, mach, 1536, 24, true, false, false, false};
}

constexpr std::array kTargets = {
    gfx103x(Target::gfx1030, "gfx1030", 0x36),
    gfx103x(Target::gfx1031, "gfx1031", 0x37),
    gfx103x(Target::gfx1032, "gfx1032", 0x38),
    gfx103x(Target::gfx1033, "gfx1033", 0x39),
    gfx103x(Target::gfx1034, "gfx1034", 0x3E),
    gfx103x(Target::gfx1035, "gfx1035", 0x3D),
    gfx103x(Target::gfx1036, "gfx1036", 0x45),
    gfx110x(Target::gfx1100, "gfx1100", 0x41, 1536, true),
    gfx110x(Target::gfx1101, "gfx1101", 0x46, 1536, false),
    gfx110x(Target::gfx1102, "gfx1102", 0x47, 1024, true),
    gfx110x(Target::gfx1103, "gfx1103", 0x44, 1024, false),
    gfx115x(Target::gfx1150, "gfx1150", 0x43, 1024),
    gfx115x(Target::gfx1151, "gfx1151", 0x4A, 1536),
    gfx115x(Target::gfx1152, "gfx1152", 0x55, 1024),
    gfx115x(Target::gfx1153, "gfx1153", 0x58, 1024),
    gfx120x(Target::gfx1200, "gfx1200", 0x48),
    gfx120x(Target::gfx1201, "gfx1201", 0x4E),
};

}  // namespace

std::span<const TargetInfo> all_targets() { return kTargets; }

const TargetInfo& info(Target target) {
    const auto index = static_cast<size_t>(target);
    check(index < kTargets.size() && kTargets[index].target == target, "targets are listed in the order of their enum");
    return kTargets[index];
}

std::string_view name(Target target) { return info(target).name; }

std::optional<Target> target_from_name(std::string_view name) {
    const auto found = std::ranges::find(kTargets, name, &TargetInfo::name);
    return found == kTargets.end() ? std::nullopt : std::optional(found->target);
}

std::optional<Target> target_from_mach(uint8_t mach) {
    const auto found = std::ranges::find(kTargets, mach, &TargetInfo::mach);
    return found == kTargets.end() ? std::nullopt : std::optional(found->target);
}

std::string target_names() {
    std::string names;
    for (const TargetInfo& target : kTargets) names += (names.empty() ? "" : ", ") + std::string(target.name);
    return names;
}

std::string_view name(Generation generation) {
    constexpr std::array<std::string_view, 3> kNames = {"gfx10", "gfx11", "gfx12"};
    return kNames[static_cast<size_t>(generation)];
}

bool has(Target target, Feature feature) { return feature == Feature::none || info(target).salu_float; }

}  // namespace riftjit::rdna

// The AMD GPUs that code is generated for: one row per gfx id, and what its generation can do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace riftjit::rdna {

// Encodings differ between generations, never within one. gfx10 means gfx10.3 (RDNA 2), gfx11 RDNA 3 and 3.5, gfx12
// RDNA 4.
enum class Generation : uint8_t { gfx10, gfx11, gfx12 };

enum class Target : uint8_t {
    gfx1030,
    gfx1031,
    gfx1032,
    gfx1033,
    gfx1034,
    gfx1035,
    gfx1036,
    gfx1100,
    gfx1101,
    gfx1102,
    gfx1103,
    gfx1150,
    gfx1151,
    gfx1152,
    gfx1153,
    gfx1200,
    gfx1201,
};

enum class WaveSize : uint8_t { wave32 = 32, wave64 = 64 };

// What some members of a family have and others lack; an instruction row may ask for one (instructions.def).
enum class Feature : uint8_t {
    none,
    salu_float,     // s_add_f32 and its kin: gfx115x and gfx12
    dpp_src1_sgpr,  // a scalar as src1 of a VOP3 with DPP: gfx115x and gfx12
};

struct TargetInfo {
    Target target;
    std::string_view name;  // "gfx1100"
    Generation generation;
    uint8_t mach;              // e_flags of a code object (LLVM AMDGPU usage guide, "EF_AMDGPU_MACH")
    uint16_t vgpr_file;        // registers of 32 lanes per SIMD: 1536 or 1024
    uint8_t vgpr_granule;      // allocation step in wave32: 24 or 16
    bool salu_float;           // also stands for dpp_src1_sgpr: the same chips have both
    bool workgroup_id_in_s15;  // user + system SGPRs must reach 16 in wave32, or their first values are wrong (gfx1100,
                               // gfx1102)
    bool trans_use_hazard;     // VALUTransUse (gfx1100-1103)
    bool mad_u64_overlap;      // v_mad_u64_u32's destination must not overlap a source (gfx1100-1103)
};

std::span<const TargetInfo> all_targets();
const TargetInfo& info(Target target);
std::string_view name(Target target);
std::optional<Target> target_from_name(std::string_view name);
std::optional<Target> target_from_mach(uint8_t mach);
std::string target_names();  // "gfx1030, gfx1031, ...", for messages
std::string_view name(Generation generation);

inline Generation generation(Target target) { return info(target).generation; }
bool has(Target target, Feature feature);
constexpr unsigned lanes(WaveSize size) { return static_cast<unsigned>(size); }

}  // namespace riftjit::rdna

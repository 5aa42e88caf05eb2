// The bit fields inside the symbolic immediates.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

// A counter of s_waitcnt: its bits, the low ones first; `high_shift` of gfx10's vmcnt holds two more.
struct WaitCounter {
    std::string_view name;
    uint8_t shift, width, high_shift, high_width;

    unsigned limit() const { return (1u << (width + high_width)) - 1; }
    unsigned get(uint16_t counts) const {
        const unsigned low = counts >> shift & ((1u << width) - 1);
        return low | (counts >> high_shift & ((1u << high_width) - 1)) << width;
    }
    uint16_t put(unsigned value) const {
        return static_cast<uint16_t>((value & ((1u << width) - 1)) << shift | value >> width << high_shift);
    }
};

inline std::span<const WaitCounter> wait_counters(Generation generation) {
    static constexpr std::array<WaitCounter, 3> kGfx10 = {
        {{"vmcnt", 0, 4, 14, 2}, {"expcnt", 4, 3, 0, 0}, {"lgkmcnt", 8, 6, 0, 0}}};
    static constexpr std::array<WaitCounter, 3> kGfx11 = {
        {{"vmcnt", 10, 6, 0, 0}, {"expcnt", 0, 3, 0, 0}, {"lgkmcnt", 4, 6, 0, 0}}};
    return generation == Generation::gfx10 ? kGfx10 : kGfx11;
}

// In the order of LLVM's text.
struct DependencyCounter {
    std::string_view name;
    uint8_t shift, width;

    uint16_t mask() const { return static_cast<uint16_t>(((1u << width) - 1) << shift); }
};

inline std::span<const DependencyCounter> dependency_counters() {
    static constexpr std::array<DependencyCounter, 7> kCounters = {{{"depctr_hold_cnt", 7, 1},
                                                                    {"depctr_sa_sdst", 0, 1},
                                                                    {"depctr_va_vdst", 12, 4},
                                                                    {"depctr_va_sdst", 9, 3},
                                                                    {"depctr_va_ssrc", 8, 1},
                                                                    {"depctr_va_vcc", 1, 1},
                                                                    {"depctr_vm_vsrc", 2, 3}}};
    return kCounters;
}

inline std::span<const std::string_view> delay_names() {
    static constexpr std::array<std::string_view, 12> kNames = {
        "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
        "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
    return kNames;
}

inline std::span<const std::string_view> delay_skip_names() {
    static constexpr std::array<std::string_view, 6> kNames = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
    return kNames;
}

inline std::string_view version_name(unsigned number) {
    switch (number) {
        case 0:
            return "UC_VERSION_GFX7";
        case 4:
            return "UC_VERSION_GFX10";
        case 6:
            return "UC_VERSION_GFX11";
        case 9:
            return "UC_VERSION_GFX12";
        default:
            return "";
    }
}

struct VersionFlag {
    std::string_view name;
    uint16_t bit;
};
inline std::span<const VersionFlag> version_flags() {
    static constexpr std::array<VersionFlag, 3> kFlags = {
        {{"UC_VERSION_W64_BIT", 0x2000}, {"UC_VERSION_W32_BIT", 0x4000}, {"UC_VERSION_MDP_BIT", 0x8000}}};
    return kFlags;
}

// Operations belong to gfx10's messages MSG_GS (2) and MSG_GS_DONE (3), and to MSG_SYSMSG (15).
inline bool message_takes_operation(Generation generation, unsigned id) {
    return id == 15 || (generation == Generation::gfx10 && (id == 2 || id == 3));
}
inline bool message_takes_stream(unsigned id, unsigned operation) { return (id == 2 || id == 3) && operation != 0; }
inline std::string_view message_operation_name(unsigned id, unsigned operation) {
    constexpr std::array<std::string_view, 4> kGeometry = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    constexpr std::array<std::string_view, 5> kSystem = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                                         "SYSMSG_OP_TTRACE_PC"};
    if ((id == 2 && operation >= 1 && operation <= 3) || (id == 3 && operation <= 3)) return kGeometry[operation];
    if (id == 15 && operation < kSystem.size()) return kSystem[operation];
    return "";
}

}  // namespace riftjit::rdna

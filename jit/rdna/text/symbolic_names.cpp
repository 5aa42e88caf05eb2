#include "jit/rdna/text/symbolic_names.h"

namespace riftjit::rdna {
namespace {

using enum Generation;

constexpr NamedNumber kMessages[] = {
    {"MSG_INTERRUPT", 1, gfx10, gfx12},           {"MSG_GS", 2, gfx10, gfx10},
    {"MSG_HS_TESSFACTOR", 2, gfx11, gfx12},       {"MSG_GS_DONE", 3, gfx10, gfx10},
    {"MSG_DEALLOC_VGPRS", 3, gfx11, gfx12},       {"MSG_SAVEWAVE", 4, gfx10, gfx10},
    {"MSG_STALL_WAVE_GEN", 5, gfx10, gfx11},      {"MSG_HALT_WAVES", 6, gfx10, gfx11},
    {"MSG_ORDERED_PS_DONE", 7, gfx10, gfx10},     {"MSG_EARLY_PRIM_DEALLOC", 8, gfx10, gfx10},
    {"MSG_GS_ALLOC_REQ", 9, gfx10, gfx12},        {"MSG_GET_DOORBELL", 10, gfx10, gfx10},
    {"MSG_GET_DDID", 11, gfx10, gfx10},           {"MSG_SYSMSG", 15, gfx10, gfx10},
    {"MSG_SYSMSG", 15, gfx11, gfx12, true},       {"MSG_RTN_GET_DOORBELL", 128, gfx11, gfx12},
    {"MSG_RTN_GET_DDID", 129, gfx11, gfx12},      {"MSG_RTN_GET_TMA", 130, gfx11, gfx12},
    {"MSG_RTN_GET_REALTIME", 131, gfx11, gfx12},  {"MSG_RTN_SAVE_WAVE", 132, gfx11, gfx12},
    {"MSG_RTN_GET_TBA", 133, gfx11, gfx12},       {"MSG_RTN_GET_TBA_TO_PC", 134, gfx11, gfx12},
    {"MSG_RTN_GET_SE_AID_ID", 135, gfx12, gfx12},
};

constexpr NamedNumber kHardwareRegisters[] = {
    {"HW_REG_MODE", 1, gfx10, gfx12},
    {"HW_REG_STATUS", 2, gfx10, gfx12},
    {"HW_REG_TRAPSTS", 3, gfx10, gfx11},
    {"HW_REG_STATE_PRIV", 4, gfx12, gfx12},
    {"HW_REG_GPR_ALLOC", 5, gfx10, gfx12},
    {"HW_REG_LDS_ALLOC", 6, gfx10, gfx12},
    {"HW_REG_IB_STS", 7, gfx10, gfx12},
    {"HW_REG_PERF_SNAPSHOT_DATA", 10, gfx12, gfx12},
    {"HW_REG_PERF_SNAPSHOT_PC_LO", 11, gfx12, gfx12},
    {"HW_REG_PERF_SNAPSHOT_PC_HI", 12, gfx12, gfx12},
    {"HW_REG_SH_MEM_BASES", 15, gfx10, gfx11},
    {"HW_REG_PERF_SNAPSHOT_DATA1", 15, gfx12, gfx12},
    {"HW_REG_TBA_LO", 16, gfx10, gfx10},
    {"HW_REG_PERF_SNAPSHOT_DATA2", 16, gfx12, gfx12},
    {"HW_REG_TBA_HI", 17, gfx10, gfx10},
    {"HW_REG_EXCP_FLAG_PRIV", 17, gfx12, gfx12},
    {"HW_REG_TMA_LO", 18, gfx10, gfx10},
    {"HW_REG_PERF_SNAPSHOT_PC_LO", 18, gfx11, gfx11},
    {"HW_REG_EXCP_FLAG_USER", 18, gfx12, gfx12},
    {"HW_REG_TMA_HI", 19, gfx10, gfx10},
    {"HW_REG_PERF_SNAPSHOT_PC_HI", 19, gfx11, gfx11},
    {"HW_REG_TRAP_CTRL", 19, gfx12, gfx12},
    {"HW_REG_FLAT_SCR_LO", 20, gfx10, gfx11},
    {"HW_REG_SCRATCH_BASE_LO", 20, gfx12, gfx12},
    {"HW_REG_FLAT_SCR_HI", 21, gfx10, gfx11},
    {"HW_REG_SCRATCH_BASE_HI", 21, gfx12, gfx12},
    {"HW_REG_HW_ID1", 23, gfx10, gfx12},
    {"HW_REG_HW_ID2", 24, gfx10, gfx12},
    {"HW_REG_POPS_PACKER", 25, gfx10, gfx10},
    {"HW_REG_PERF_SNAPSHOT_DATA", 27, gfx11, gfx11},
    {"HW_REG_SHADER_CYCLES", 29, gfx10, gfx11},
    {"HW_REG_SHADER_CYCLES_LO", 29, gfx12, gfx12},
    {"HW_REG_SHADER_CYCLES_HI", 30, gfx12, gfx12},
    {"HW_REG_DVGPR_ALLOC_LO", 31, gfx12, gfx12},
    {"HW_REG_DVGPR_ALLOC_HI", 32, gfx12, gfx12},
    {"HW_REG_HW_ID", 23, gfx10, gfx10, true},  // an older name of HW_REG_HW_ID1
    // Newer names: LLVM 22 prints them, and reads the older ones too.
    {"HW_REG_WAVE_MODE", 1, gfx12, gfx12, true},
    {"HW_REG_WAVE_STATUS", 2, gfx12, gfx12, true},
    {"HW_REG_WAVE_STATE_PRIV", 4, gfx12, gfx12, true},
    {"HW_REG_WAVE_GPR_ALLOC", 5, gfx12, gfx12, true},
    {"HW_REG_WAVE_LDS_ALLOC", 6, gfx12, gfx12, true},
    {"HW_REG_WAVE_EXCP_FLAG_PRIV", 17, gfx12, gfx12, true},
    {"HW_REG_WAVE_EXCP_FLAG_USER", 18, gfx12, gfx12, true},
    {"HW_REG_WAVE_TRAP_CTRL", 19, gfx12, gfx12, true},
    {"HW_REG_WAVE_SCRATCH_BASE_LO", 20, gfx12, gfx12, true},
    {"HW_REG_WAVE_SCRATCH_BASE_HI", 21, gfx12, gfx12, true},
    {"HW_REG_WAVE_HW_ID1", 23, gfx12, gfx12, true},
    {"HW_REG_WAVE_HW_ID2", 24, gfx12, gfx12, true},
    {"HW_REG_WAVE_SCHED_MODE", 26, gfx12, gfx12, true},
    {"HW_REG_WAVE_DVGPR_ALLOC_LO", 31, gfx12, gfx12, true},
    {"HW_REG_WAVE_DVGPR_ALLOC_HI", 32, gfx12, gfx12, true},
};

}  // namespace

std::span<const NamedNumber> message_names() { return kMessages; }
std::span<const NamedNumber> hardware_register_names() { return kHardwareRegisters; }

}  // namespace riftjit::rdna

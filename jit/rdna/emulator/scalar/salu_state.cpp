// Hardware registers, modes, the program counter.
#include <fmt/format.h>

#include "jit/rdna/emulator/checks/hazards.h"
#include "jit/rdna/emulator/scalar/salu.h"

namespace riftjit::rdna::emulator {
namespace {

// Numbers of s_getreg and s_setreg.
enum HardwareRegister : unsigned {
    kMode = 1,
    kStatus = 2,
    kFlatScratchLow = 20,
    kFlatScratchHigh = 21,
    kHardwareId1 = 23,
    kHardwareId2 = 24,
    kShaderCycles = 29,
    kShaderCyclesHigh = 30,
};
// Numbers of s_sendmsg and s_sendmsg_rtn.
enum Message : unsigned { kInterrupt = 1, kGetRealtime = 0x83 };

struct Field {
    unsigned id, offset, width;
    uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};
Field field_of(uint16_t simm) { return {simm & 63u, simm >> 6 & 31u, (simm >> 11) + 1u}; }

constexpr uint32_t kShaderCycleBits = 0xFFFFF;  // before gfx12 the counter is 20 bits wide

uint32_t read_register(const WaveState& wave, unsigned id) {
    switch (id) {
        case kMode:
            return wave.mode;
        case kStatus:
            return wave.scc | (wave.exec() == 0 ? 1u << 9 : 0) | (wave.vcc() == 0 ? 1u << 10 : 0);
        case kHardwareId1:
            return wave.index & 31;
        case kShaderCycles:
            return static_cast<uint32_t>(wave.cycle) & (wave.generation == Generation::gfx12 ? ~0u : kShaderCycleBits);
        case kShaderCyclesHigh:
            return static_cast<uint32_t>(wave.cycle >> 32);
        default:  // kHardwareId2: the first queue's first slot; others are refused (why_not_modelled)
            return 0;
    }
}

void get_register(WaveState& wave, const Op& op) {
    const Field field = field_of(op.instruction.simm16);
    write32(wave, op, read_register(wave, field.id) >> field.offset & field.mask());
}

// Only the mode can be written to any effect here; where scratch lies is decided by memory.
void set_field(WaveState& wave, const Op& op, uint32_t value) {
    const Field field = field_of(op.instruction.simm16);
    if (field.id != kMode) return;
    const uint32_t mask = field.mask() << field.offset;
    wave.mode = (wave.mode & ~mask) | (value << field.offset & mask);
}
void set_register(WaveState& wave, const Op& op) { set_field(wave, op, source32(wave, op, 1)); }

void round_mode(WaveState& wave, const Op& op) { wave.mode = (wave.mode & ~15u) | (op.instruction.simm16 & 15u); }
void denorm_mode(WaveState& wave, const Op& op) {
    constexpr uint32_t kMask = 15u << kModeF32DenormalsShift;
    wave.mode = (wave.mode & ~kMask) | ((op.instruction.simm16 & 15u) << kModeF32DenormalsShift);
}
void get_pc(WaveState& wave, const Op& op) { write64(wave, op, op.end_address()); }

void nothing(WaveState&, const Op&) {}

}  // namespace

std::string why_not_modelled(const Instruction& instruction, Generation generation) {
    const unsigned id = field_of(instruction.simm16).id;
    switch (instruction.opcode) {
        case Opcode::s_getreg_b32:
            if (id == kMode || id == kStatus || id == kHardwareId1 || id == kHardwareId2 || id == kShaderCycles)
                return {};
            if (id == kShaderCyclesHigh && generation == Generation::gfx12) return {};
            return fmt::format("hardware register {} is not modelled", id);
        case Opcode::s_setreg_b32:
        case Opcode::s_setreg_imm32_b32:
            if (id == kMode || id == kFlatScratchLow || id == kFlatScratchHigh) return {};
            return fmt::format("hardware register {} is not modelled", id);
        case Opcode::s_sendmsg: {
            const unsigned message = instruction.simm16;
            if (message == kInterrupt || (message == kMessageDeallocVgprs && generation != Generation::gfx10))
                return {};
            return fmt::format("message {} is not modelled", message);
        }
        case Opcode::s_sendmsg_rtn_b32:
        case Opcode::s_sendmsg_rtn_b64:
            if (instruction.source(0).code == kGetRealtime) return {};
            return fmt::format("message {} is not modelled", unsigned{instruction.source(0).code});
        default:
            return {};
    }
}

ScalarFunction scalar_state_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_getreg_b32:
            return get_register;
        case Opcode::s_setreg_b32:
        case Opcode::s_setreg_imm32_b32:
            return set_register;
        case Opcode::s_round_mode:
            return round_mode;
        case Opcode::s_denorm_mode:
            return denorm_mode;
        case Opcode::s_getpc_b64:
            return get_pc;
        // Hints and counters of tools: nothing that a program can see.
        case Opcode::s_nop:
        case Opcode::s_version:
        case Opcode::s_clause:
        case Opcode::s_delay_alu:
        case Opcode::s_wait_alu:
        case Opcode::s_wait_event:
        case Opcode::s_singleuse_vdst:
        case Opcode::s_setprio:
        case Opcode::s_setkill:
        case Opcode::s_set_inst_prefetch_distance:
        case Opcode::s_incperflevel:
        case Opcode::s_decperflevel:
        case Opcode::s_ttracedata:
        case Opcode::s_ttracedata_imm:
        case Opcode::s_icache_inv:
        case Opcode::s_wakeup:
        case Opcode::s_waitcnt_expcnt:
        case Opcode::s_wait_expcnt:
        case Opcode::s_wait_samplecnt:
        case Opcode::s_wait_bvhcnt:
            return nothing;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::rdna::emulator

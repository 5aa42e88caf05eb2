#include "jit/rdna/emulator/valu/lane_maps.h"

#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna::emulator {
namespace {

SourceLane dpp16_lane(unsigned control, unsigned lane) {
    const unsigned row = lane & ~(kRowLanes - 1), column = lane % kRowLanes, amount = control & 15;
    if (control < 0x100) return {true, (lane & ~3u) | (control >> lane % 4 * 2 & 3)};
    switch (control >> 4) {
        case 0x10:  // row_shl: from the right
            return {column + amount < kRowLanes, row + (column + amount) % kRowLanes};
        case 0x11:  // row_shr
            return {column >= amount, row + (column + kRowLanes - amount) % kRowLanes};
        case 0x12:  // row_ror
            return {true, row + (column + kRowLanes - amount) % kRowLanes};
        case 0x14:
            return {true, control == 0x140 ? row + (kRowLanes - 1 - column) : (lane ^ 7)};
        case 0x15:  // row_share
            return {true, row + amount};
        case 0x16:  // row_xmask
            return {true, lane ^ amount};
        default:
            return {false, 0};
    }
}

}  // namespace

SourceLane dpp_source(const Instruction& instruction, const WaveState& wave, unsigned lane) {
    const Dpp& dpp = instruction.dpp;
    SourceLane source = is_dpp8(instruction.encoding)
                            ? SourceLane{true, (lane & ~7u) | (dpp.selectors >> lane % 8 * 3 & 7)}
                            : dpp16_lane(dpp.control, lane);
    const bool active = source.valid && (wave.exec() >> source.lane & 1);
    source.valid = source.valid && (active || dpp.fetch_inactive);
    return source;
}

bool dpp_writes(const Instruction& instruction, const WaveState& wave, unsigned lane) {
    const Dpp& dpp = instruction.dpp;
    if (is_dpp8(instruction.encoding)) return true;  // an inactive source reads 0
    const bool row = dpp.row_mask >> lane / kRowLanes & 1, bank = dpp.bank_mask >> lane % kRowLanes / 4 & 1;
    if (!row || !bank) return false;
    return dpp.bound_control || dpp_source(instruction, wave, lane).valid;
}

}  // namespace riftjit::rdna::emulator

#include "jit/rdna/emulator/checks/footprint.h"

#include <algorithm>
#include <bit>
#include <span>

namespace riftjit::rdna::emulator {

RegisterSet RegisterSet::operator&(const RegisterSet& other) const {
    RegisterSet both;
    for (size_t i = 0; i < vgprs.size(); ++i) both.vgprs[i] = vgprs[i] & other.vgprs[i];
    for (size_t i = 0; i < scalars.size(); ++i) both.scalars[i] = scalars[i] & other.scalars[i];
    return both;
}

RegisterSet RegisterSet::operator|(const RegisterSet& other) const {
    RegisterSet either;
    for (size_t i = 0; i < vgprs.size(); ++i) either.vgprs[i] = vgprs[i] | other.vgprs[i];
    for (size_t i = 0; i < scalars.size(); ++i) either.scalars[i] = scalars[i] | other.scalars[i];
    return either;
}

unsigned RegisterSet::vgpr_end() const {
    for (unsigned i = 4; i-- > 0;)
        if (vgprs[i]) return i * 64 + 64 - static_cast<unsigned>(std::countl_zero(vgprs[i]));
    return 0;
}

unsigned RegisterSet::sgpr_end() const {
    const uint64_t high = scalars[1] & ((uint64_t{1} << (106 - 64)) - 1);
    if (high) return 128 - static_cast<unsigned>(std::countl_zero(high));
    return 64 - static_cast<unsigned>(std::countl_zero(scalars[0]));
}

int RegisterSet::first_vgpr() const {
    for (unsigned i = 0; i < 4; ++i)
        if (vgprs[i]) return static_cast<int>(i * 64) + std::countr_zero(vgprs[i]);
    return -1;
}

int RegisterSet::first_scalar() const {
    for (unsigned i = 0; i < 2; ++i)
        if (scalars[i]) return static_cast<int>(i * 64) + std::countr_zero(scalars[i]);
    return -1;
}

OperandRange range_of(const Operand& operand, unsigned dwords) {
    if (!operand.exists() || dwords == 0) return {};
    if (operand.is_vgpr()) return {false, static_cast<uint16_t>(operand.vgpr()), static_cast<uint8_t>(dwords)};
    if (operand.is_scalar_register()) return {true, operand.code, static_cast<uint8_t>(dwords)};
    return {};
}

OperandRange operand_range(RegisterRange range) { return range_of({range.first}, range.count); }

namespace {

void note_vgpr_source(Footprint& footprint, const OperandRange& range) {
    const auto known = std::span(footprint.vgpr_sources).first(footprint.vgpr_operands);
    const bool is_known = std::ranges::any_of(
        known, [&](const OperandRange& one) { return one.first == range.first && one.count == range.count; });
    if (range.scalar || is_known || known.size() == footprint.vgpr_sources.size()) return;
    footprint.vgpr_sources[footprint.vgpr_operands++] = range;
}

void add(Footprint& footprint, const Access& access) {
    if (access.role == AccessRole::lane_enable) return;
    if (access.range.first == Operand::kScc) {
        footprint.reads_scc |= access.reads;
        footprint.writes_scc |= access.writes;
        return;
    }
    const OperandRange range = operand_range(access.range);
    if (range.first + unsigned{range.count} > (range.scalar ? 128u : 256u)) footprint.leaves_file = true;
    if (access.writes) {
        add(footprint.writes, range);
        if (footprint.result.count == 0) footprint.result = range;
    }
    if (!access.reads) return;
    add(footprint.reads, range);
    if (access.role == AccessRole::address) add(footprint.address, range);
    if (access.role == AccessRole::lane_mask) add(footprint.lane_mask, range);
    if (access.role == AccessRole::data) note_vgpr_source(footprint, range);
}

}  // namespace

Footprint footprint(const Instruction& instruction, Target target, WaveSize wave) {
    Footprint footprint;
    footprint.literal = instruction.has_literal;
    for (const Access& access : accesses(generation(target), wave, instruction)) add(footprint, access);
    return footprint;
}

}  // namespace riftjit::rdna::emulator

#include "jit/rdna/text/print_memory.h"

#include <fmt/format.h>

#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kScopeDevice = 2, kScopeSystem = 3;

std::string atomic_hint(unsigned hint, unsigned scope) {
    const bool returns = (hint & 1) != 0, is_non_temporal = (hint & 2) != 0, cascades = (hint & 4) != 0;
    if (cascades && scope >= kScopeDevice) return is_non_temporal ? "CASCADE_NT" : "CASCADE_RT";
    if (cascades) return fmt::format("{:#x}", hint);
    if (is_non_temporal) return returns ? "NT_RETURN" : "NT";
    return "RETURN";
}

std::string access_hint(bool is_store, unsigned hint, unsigned scope) {
    static constexpr std::string_view kHints[] = {"RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    if (hint == 3) return scope == kScopeSystem ? "BYPASS" : is_store ? "RT_WB" : "LU";
    return std::string(kHints[hint & 7]);
}

std::string temporal_hint(MemoryKind memory, unsigned hint, unsigned scope) {
    if (memory == MemoryKind::atomic) return "TH_ATOMIC_" + atomic_hint(hint, scope);
    const bool is_store = memory == MemoryKind::store;
    if (!is_store && hint == 7) return "0x7";
    return (is_store ? "TH_STORE_" : "TH_LOAD_") + access_hint(is_store, hint, scope);
}

std::string cache_policy(Generation generation, MemoryKind memory, const CachePolicy& cache) {
    std::string text;
    if (generation == Generation::gfx12) {
        static constexpr std::string_view kScopes[] = {"", "SE", "DEV", "SYS"};
        if (cache.temporal_hint != 0) text += " th:" + temporal_hint(memory, cache.temporal_hint, cache.scope);
        if (cache.scope != 0) text += fmt::format(" scope:SCOPE_{}", kScopes[cache.scope & 3]);
        return text;
    }
    if (cache.glc) text += " glc";
    if (cache.slc) text += " slc";
    if (cache.dlc) text += " dlc";
    return text;
}

std::string offsets(const InstructionInfo& row, const Address& address) {
    if (row.opcode == Opcode::ds_swizzle_b32)
        return address.offset == 0 ? "" : " offset:" + print_swizzle(static_cast<uint16_t>(address.offset));
    std::string text;
    if (row.two_offsets) {
        if (address.offset != 0) text += fmt::format(" offset0:{}", address.offset);
        if (address.offset1 != 0) text += fmt::format(" offset1:{}", address.offset1);
        return text;
    }
    return address.offset == 0 ? "" : fmt::format(" offset:{}", address.offset);
}

}  // namespace

std::string memory_modifiers(Generation generation, const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    const Address& address = instruction.address;
    std::string text;
    if (address.index_enable) text += " idxen";
    if (address.offset_enable) text += " offen";
    if (row.format != Format::SMEM) text += offsets(row, address);  // SMEM's stands among the operands
    text += cache_policy(generation, row.memory, address.cache);
    if (address.gds) text += " gds";
    if (address.tfe) text += " tfe";
    if (address.lds) text += " lds";
    return text;
}

}  // namespace riftjit::rdna

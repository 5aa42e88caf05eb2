#include "jit/rdna/passes/live_ranges.h"

#include <fmt/format.h>

#include <string_view>

#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

using Bits = std::vector<bool>;

// The dwords of all registers in one row.
class DwordIndex {
public:
    explicit DwordIndex(const std::vector<VirtualRegister>& registers) {
        for (const VirtualRegister& reg : registers) {
            first_.push_back(static_cast<uint32_t>(owner_.size()));
            owner_.insert(owner_.end(), reg.dwords, static_cast<uint16_t>(first_.size() - 1));
        }
    }
    uint32_t of(RegisterPart part) const { return first_[part.id] + part.first; }
    uint16_t owner(size_t dword) const { return owner_[dword]; }
    size_t size() const { return owner_.size(); }

private:
    std::vector<uint32_t> first_;
    std::vector<uint16_t> owner_;
};

class Liveness {
public:
    Liveness(const Program& program, const std::vector<VirtualRegister>& registers)
        : program_(program), registers_(registers), dwords_(registers), blocks_(control_flow(program)) {}

    std::vector<LiveRange> run() {
        find_masked_lines();
        find_definitions();
        check_definitions();
        find_live();
        return build_ranges();
    }

private:
    template <class Function>
    void for_each_access(const Line& line, const Function& function) const {
        for (const SlotEffect& effect : slot_effects(program_.wave_size, line.instruction)) {
            const RegisterPart part = line.parts[effect.slot];
            if (part.exists()) function(part, effect);
        }
    }
    template <class Function>
    void for_each_dword(RegisterPart part, const Function& function) const {
        for (uint32_t i = 0; i < part.dwords; ++i) function(dwords_.of(part) + i);
    }

    bool writes_exec(const Line& line) const {
        return effects(program_.target, program_.wave_size, line.instruction).writes_any({Operand::kExec, 2});
    }

    // After exec has changed a vector write may leave lanes alone, so it does not end the old value's life.
    void find_masked_lines() {
        masked_.assign(program_.lines.size(), false);
        Bits at_entry(blocks_.size(), false);
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t b = 0; b < blocks_.size(); ++b) {
                bool masked = at_entry[b];
                for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
                    masked_[i] = masked;
                    masked = masked || writes_exec(program_.lines[i]);
                }
                for (const size_t next : blocks_[b].successors)
                    if (masked && !at_entry[next]) at_entry[next] = changed = true;
            }
        }
    }

    void define(const Line& line, Bits& defined) const {
        for_each_access(line, [&](RegisterPart part, const SlotEffect& effect) {
            if (effect.writes) for_each_dword(part, [&](uint32_t dword) { defined[dword] = true; });
        });
    }

    // Surely written (intersection over paths) and perhaps written (union) at the start of each block.
    void find_definitions() {
        Bits at_start(dwords_.size(), false);
        for (size_t d = 0; d < dwords_.size(); ++d) at_start[d] = registers_[dwords_.owner(d)].defined_at_start;
        surely_.assign(blocks_.size(), Bits(dwords_.size(), true));
        perhaps_.assign(blocks_.size(), Bits(dwords_.size(), false));
        surely_[0] = perhaps_[0] = at_start;
        for (bool changed = true; changed;) {
            changed = false;
            for (const Block& block : blocks_) {
                const auto b = static_cast<size_t>(&block - blocks_.data());
                Bits surely = surely_[b], perhaps = perhaps_[b];
                for (size_t i = block.begin; i < block.end; ++i) {
                    define(program_.lines[i], surely);
                    define(program_.lines[i], perhaps);
                }
                for (const size_t next : block.successors) {
                    for (size_t d = 0; d < dwords_.size(); ++d) {
                        if (surely_[next][d] && !surely[d]) surely_[next][d] = false, changed = true;
                        if (!perhaps_[next][d] && perhaps[d]) perhaps_[next][d] = changed = true;
                    }
                }
            }
        }
    }

    void check_definitions() const {
        for (size_t b = 0; b < blocks_.size(); ++b) {
            Bits defined = surely_[b];
            for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
                for_each_access(program_.lines[i], [&](RegisterPart part, const SlotEffect& effect) {
                    if (!effect.reads) return;
                    for_each_dword(part, [&](uint32_t dword) {
                        if (!defined[dword]) fail_undefined(i, part.id, dword - dwords_.of({part.id, 0, 0}));
                    });
                });
                define(program_.lines[i], defined);
            }
        }
    }

    [[noreturn]] void fail_undefined(size_t line, uint16_t id, uint32_t dword) const {
        const VirtualRegister& reg = registers_[id];
        const std::string_view path = reg.where.file_name();
        throw AssemblyError(fmt::format(
            "{}: instruction {}, {}: dword {} of the {} declared at {}:{} is read before it is written", program_.name,
            line, info(program_.lines[line].instruction.opcode).name, dword,
            reg.bank == RegisterBank::vector ? "vgpr" : "sgpr", path.substr(path.rfind('/') + 1), reg.where.line()));
    }

    // Backwards over one line; `live` goes from after it to before it.
    void step_back(size_t i, Bits& live) const {
        const Line& line = program_.lines[i];
        for_each_access(line, [&](RegisterPart part, const SlotEffect& effect) {
            if (!effect.writes) return;
            if (registers_[part.id].bank == RegisterBank::vector && masked_[i]) return;
            for_each_dword(part, [&](uint32_t dword) { live[dword] = false; });
        });
        for_each_access(line, [&](RegisterPart part, const SlotEffect& effect) {
            if (effect.reads) for_each_dword(part, [&](uint32_t dword) { live[dword] = true; });
        });
    }

    void find_live() {
        live_out_.assign(blocks_.size(), Bits(dwords_.size(), false));
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t b = blocks_.size(); b-- > 0;) {
                Bits live = live_out_[b];
                for (size_t i = blocks_[b].end; i-- > blocks_[b].begin;) step_back(i, live);
                for (const size_t before : blocks_[b].predecessors)
                    for (size_t d = 0; d < dwords_.size(); ++d)
                        if (live[d] && !live_out_[before][d]) live_out_[before][d] = changed = true;
            }
        }
    }

    std::vector<LiveRange> build_ranges() const {
        std::vector<LiveRange> ranges(registers_.size());
        for (size_t b = 0; b < blocks_.size(); ++b) {
            // A value counts from its first write on: perhaps-written before each line, live before and after it.
            std::vector<Bits> written{perhaps_[b]};
            for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
                written.push_back(written.back());
                define(program_.lines[i], written.back());
            }
            Bits live = live_out_[b];
            for (size_t i = blocks_[b].end; i-- > blocks_[b].begin;) {
                const size_t step = i - blocks_[b].begin;
                include(ranges, live, written[step + 1], 2 * i + 1);
                step_back(i, live);
                include(ranges, live, written[step], 2 * i);
                include_accesses(ranges, i);
            }
        }
        return ranges;
    }

    void include(std::vector<LiveRange>& ranges, const Bits& live, const Bits& written, size_t position) const {
        for (size_t d = 0; d < dwords_.size(); ++d)
            if (live[d] && written[d]) ranges[dwords_.owner(d)].include(static_cast<uint32_t>(position));
    }

    void include_accesses(std::vector<LiveRange>& ranges, size_t i) const {
        const Instruction& instruction = program_.lines[i].instruction;
        for_each_access(program_.lines[i], [&](RegisterPart part, const SlotEffect& effect) {
            const auto position = static_cast<uint32_t>(2 * i);
            if (effect.reads) ranges[part.id].include(position);
            if (!effect.writes) return;
            ranges[part.id].include(position + 1);
            if (writes_early(instruction)) ranges[part.id].include(position);
        });
    }

    // Destinations that may not share a register with a source that dies here: WMMA's D with A or B, and the 64-bit
    // multiply-add of gfx1100 to gfx1103.
    bool writes_early(const Instruction& instruction) const {
        if (is_wmma(instruction.opcode)) return true;
        return rdna::info(program_.target).mad_u64_overlap &&
               (instruction.opcode == Opcode::v_mad_co_u64_u32 || instruction.opcode == Opcode::v_mad_co_i64_i32);
    }

    const Program& program_;
    const std::vector<VirtualRegister>& registers_;
    const DwordIndex dwords_;
    const std::vector<Block> blocks_;
    Bits masked_;                                    // per line
    std::vector<Bits> surely_, perhaps_, live_out_;  // per block
};

}  // namespace

std::vector<LiveRange> live_ranges(const Program& program, const std::vector<VirtualRegister>& registers) {
    return Liveness(program, registers).run();
}

}  // namespace riftjit::rdna

#include "jit/rdna/passes/register_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "jit/rdna/object/code_object.h"
#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/live_ranges.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kSgprs = 106, kRegisterCodes = Operand::kFirstVgpr + kMaxVgprs;

std::string describe(const VirtualRegister& reg) {
    const std::string_view path = reg.where.file_name();
    return fmt::format("the {}({}) declared at {}:{}", reg.bank == RegisterBank::vector ? "vgpr" : "sgpr", reg.dwords,
                       path.substr(path.rfind('/') + 1), reg.where.line());
}

unsigned alignment(const VirtualRegister& reg) {
    if (reg.bank == RegisterBank::vector || reg.dwords == 1) return 1;
    return reg.dwords == 2 ? 2 : 4;
}

struct Placed {
    RegisterRange registers;
    LiveRange live;
    size_t id;
};

// Linear scan over live ranges. A kernel that needs more registers than there are is refused: nothing is spilled.
class Allocator {
public:
    Allocator(Program& program, const std::vector<VirtualRegister>& registers)
        : program_(program), registers_(registers), ranges_(live_ranges(program, registers)) {}

    void run() {
        place_fixed();
        place_others();
        for (size_t i = 0; i < program_.lines.size(); ++i) substitute(program_.lines[i]);
    }

private:
    // Among fixed registers.
    const Placed* conflict(RegisterRange registers, const LiveRange& live) const {
        for (const Placed& other : placed_)
            if (other.registers.overlaps(registers) && other.live.overlaps(live)) return &other;
        return nullptr;
    }

    void place(size_t id, uint16_t code) {
        codes_[id] = code;
        placed_.push_back({{code, registers_[id].dwords}, ranges_[id], id});
        for (unsigned dword = code; dword < code + registers_[id].dwords; ++dword) {
            if (registers_[id].fixed)
                fixed_[dword].push_back(ranges_[id]);
            else
                free_from_[dword] = ranges_[id].end + 1;
        }
    }

    // Virtual registers are placed in the order of their beginnings, so of those before only the end counts.
    bool is_free(RegisterRange registers, const LiveRange& live) const {
        for (unsigned dword = registers.first; dword < registers.first + registers.count; ++dword) {
            if (free_from_[dword] > live.begin) return false;
            if (std::ranges::any_of(fixed_[dword], [&](const LiveRange& other) { return other.overlaps(live); }))
                return false;
        }
        return true;
    }

    void place_fixed() {
        codes_.assign(registers_.size(), 0);
        for (size_t id = 0; id < registers_.size(); ++id) {
            const VirtualRegister& reg = registers_[id];
            if (!reg.fixed || ranges_[id].empty()) continue;
            LiveRange& live = ranges_[id];
            if (reg.defined_at_start) live.include(0);
            if (const Placed* other = conflict({*reg.fixed, reg.dwords}, live))
                throw AssemblyError(
                    fmt::format("{}: {} and {} are one hardware register and both are live at "
                                "instruction {}",
                                program_.name, describe(reg), describe(registers_[other->id]),
                                std::max(live.begin, other->live.begin) / 2));
            place(id, *reg.fixed);
        }
    }

    void place_others() {
        std::vector<size_t> order;
        for (size_t id = 0; id < registers_.size(); ++id)
            if (!registers_[id].fixed && !ranges_[id].empty()) order.push_back(id);
        std::ranges::sort(order, {}, [&](size_t id) { return std::pair(ranges_[id].begin, id); });
        for (const size_t id : order) place_virtual(id);
    }

    void place_virtual(size_t id) {
        const VirtualRegister& reg = registers_[id];
        const bool is_vector = reg.bank == RegisterBank::vector;
        const unsigned first = is_vector ? Operand::kFirstVgpr : 0, count = is_vector ? kMaxVgprs : kSgprs;
        for (unsigned base = 0; base + reg.dwords <= count; base += alignment(reg)) {
            const auto code = static_cast<uint16_t>(first + base);
            if (is_free({code, reg.dwords}, ranges_[id])) return place(id, code);
        }
        throw AssemblyError(fmt::format("{}: no room for {} at instruction {}: {} {}s are live there, {} exist",
                                        program_.name, describe(reg), ranges_[id].begin / 2,
                                        pressure(reg.bank, ranges_[id].begin) + reg.dwords, is_vector ? "vgpr" : "sgpr",
                                        count));
    }

    unsigned pressure(RegisterBank bank, uint32_t position) const {
        unsigned dwords = 0;
        for (const Placed& other : placed_)
            if (registers_[other.id].bank == bank && other.live.begin <= position && other.live.end >= position)
                dwords += other.registers.count;
        return dwords;
    }

    void substitute(Line& line) {
        for (unsigned slot = 0; slot < kSlotCount; ++slot) {
            const RegisterPart part = line.parts[slot];
            if (!part.exists()) continue;
            slot_operand(line.instruction, slot).code = static_cast<uint16_t>(codes_[part.id] + part.first);
        }
    }

    Program& program_;
    const std::vector<VirtualRegister>& registers_;
    std::vector<LiveRange> ranges_;
    std::vector<Placed> placed_;
    std::array<uint32_t, kRegisterCodes> free_from_{};            // by hardware dword: position
    std::array<std::vector<LiveRange>, kRegisterCodes> fixed_{};  // by hardware dword
    std::vector<uint16_t> codes_;
};

}  // namespace

void allocate_registers(Program& program, const std::vector<VirtualRegister>& registers) {
    Allocator(program, registers).run();
}

}  // namespace riftjit::rdna

#include "jit/x86/listing.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <set>
#include <vector>

namespace riftjit::x86 {

namespace {

struct Decoded {
    uint32_t offset;
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

    bool is_gather() const {
        return std::ranges::any_of(operands, [](const ZydisDecodedOperand& operand) {
            return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
        });
    }

    // Where a jump or call within the code goes.
    std::optional<uint32_t> branch_target() const {
        const ZydisDecodedOperand& operand = operands[0];
        const bool is_branch = instruction.operand_count_visible == 1 && operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                               operand.imm.is_relative;
        if (!is_branch) return std::nullopt;
        return static_cast<uint32_t>(offset + instruction.length + operand.imm.value.s);
    }
};

// Registers by number: general, vector (with the widest form seen) and mask.
class RegisterSet {
public:
    void add(ZydisRegister reg) {
        const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
        const auto id = static_cast<size_t>(std::max<ZyanI8>(ZydisRegisterGetId(reg), 0));
        switch (ZydisRegisterGetClass(reg)) {
            case ZYDIS_REGCLASS_GPR8:
            case ZYDIS_REGCLASS_GPR16:
            case ZYDIS_REGCLASS_GPR32:
            case ZYDIS_REGCLASS_GPR64:
                general_.insert(whole);
                break;
            case ZYDIS_REGCLASS_XMM:
                add_vector(id, 0);
                break;
            case ZYDIS_REGCLASS_YMM:
                add_vector(id, 1);
                break;
            case ZYDIS_REGCLASS_ZMM:
                add_vector(id, 2);
                break;
            case ZYDIS_REGCLASS_MASK:
                masks_.set(id);
                break;
            default:
                break;
        }
    }

    void count(Listing& listing) const {
        listing.general_registers = static_cast<uint32_t>(general_.size());
        listing.vector_registers = static_cast<uint32_t>(vectors_.count());
        listing.mask_registers = static_cast<uint32_t>(masks_.count());
    }

    std::string text() const {
        std::string text;
        for (const ZydisRegister reg : general_) text += std::string(ZydisRegisterGetString(reg)) + " ";
        constexpr std::string_view kWidths[] = {"xmm", "ymm", "zmm"};
        append_ranges(text, kWidths[width_], vectors_);
        append_ranges(text, "k", masks_);
        if (!text.empty()) text.pop_back();
        return text;
    }

private:
    void add_vector(size_t id, size_t width) {
        vectors_.set(id);
        width_ = std::max(width_, width);
    }

    // "zmm0-zmm7 zmm16 "
    static void append_ranges(std::string& text, std::string_view name, const std::bitset<32>& set) {
        for (size_t first = 0; first < set.size(); ++first) {
            if (!set[first]) continue;
            size_t last = first;
            while (last + 1 < set.size() && set[last + 1]) ++last;
            text += fmt::format("{}{}", name, first);
            if (last > first) text += fmt::format("-{}{}", name, last);
            text += ' ';
            first = last;
        }
    }

    std::set<ZydisRegister> general_;
    std::bitset<32> vectors_, masks_;
    size_t width_ = 0;
};

// One at a time: with all its operands an instruction takes a kilobyte, and to decode it twice is cheaper than the
// pages.
Result<void> each_instruction(std::span<const std::byte> bytes, const auto& visit) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    Decoded one{};
    for (uint32_t offset = 0; offset < bytes.size(); offset += one.instruction.length) {
        one.offset = offset;
        const ZyanStatus status = ZydisDecoderDecodeFull(&decoder, bytes.data() + offset, bytes.size() - offset,
                                                         &one.instruction, one.operands.data());
        if (!ZYAN_SUCCESS(status)) return fail(ErrorKind::Encoding, "byte {} of the code is no instruction", offset);
        visit(one);
    }
    return {};
}

// Also those that an instruction implies (DIV's rax and rdx), but neither the stack pointer of PUSH and RET nor k0, by
// which EVEX says that nothing is masked.
bool is_allocated(const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || operand.reg.value == ZYDIS_REGISTER_K0) return false;
    return operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN || operand.reg.value != ZYDIS_REGISTER_RSP;
}

void collect_registers(const Decoded& decoded, RegisterSet& registers) {
    for (size_t i = 0; i < decoded.instruction.operand_count; ++i) {
        const ZydisDecodedOperand& operand = decoded.operands[i];
        if (is_allocated(operand)) registers.add(operand.reg.value);
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
            registers.add(operand.mem.base);
            registers.add(operand.mem.index);
        }
    }
}

std::string label(std::string_view prefix, uint32_t offset) { return fmt::format("{}{:04x}", prefix, offset); }

std::string format(const ZydisFormatter& formatter, const Decoded& decoded, std::string_view label_prefix) {
    if (const auto target = decoded.branch_target()) {
        return fmt::format("{} {}", ZydisMnemonicGetString(decoded.instruction.mnemonic), label(label_prefix, *target));
    }
    char buffer[256];
    ZydisFormatterFormatInstruction(&formatter, &decoded.instruction, decoded.operands.data(),
                                    decoded.instruction.operand_count_visible, buffer, sizeof buffer, 0, nullptr);
    std::string text = buffer;
    if (decoded.is_gather()) {  // llvm-mc wants the size of all elements, Zydis names that of one
        const std::string_view elements = decoded.operands[0].size == 512   ? "zmmword"
                                          : decoded.operands[0].size == 256 ? "ymmword"
                                                                            : "xmmword";
        const size_t size_at = std::min(text.find("dword ptr"), text.find("qword ptr"));
        if (size_at != std::string::npos) text.replace(size_at, std::strlen("dword"), elements);
    }
    // Without the prefix an assembler that knows AVX512-VNNI would take that.
    if (decoded.instruction.meta.isa_set == ZYDIS_ISA_SET_AVX_VNNI) text.insert(0, "{vex} ");
    return text;
}

std::string hex_bytes(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        if (!text.empty()) text += ' ';
        text += kDigits[std::to_integer<size_t>(byte >> 4)];
        text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
    }
    return text;
}

// Constants as 32-bit words, four a line.
std::string constant_lines(const MachineCode& code) {
    std::string text;
    const uint32_t end = static_cast<uint32_t>(code.bytes.size() / 4 * 4);
    for (uint32_t offset = (code.instruction_bytes + 3) / 4 * 4; offset < end; offset += 16) {
        text += "    .long ";
        for (uint32_t word = offset; word < std::min(offset + 16, end); word += 4) {
            uint32_t value;
            std::memcpy(&value, code.bytes.data() + word, sizeof value);
            text += fmt::format("{}0x{:08x}", word == offset ? "" : ", ", value);
        }
        text += fmt::format("  # {:04x}\n", offset);
    }
    return text;
}

// Equal counts in alphabetical order.
std::vector<std::pair<std::string, uint32_t>> histogram_of(const std::map<ZydisMnemonic, uint32_t>& counts) {
    std::vector<std::pair<std::string, uint32_t>> histogram;
    for (const auto& [mnemonic, count] : counts) histogram.emplace_back(ZydisMnemonicGetString(mnemonic), count);
    std::ranges::sort(histogram);
    std::ranges::stable_sort(histogram, std::ranges::greater{}, &std::pair<std::string, uint32_t>::second);
    return histogram;
}

}  // namespace

Result<Listing> disassemble(const MachineCode& code, std::string_view label_prefix) {
    const auto instructions = std::span(code.bytes).first(code.instruction_bytes);
    std::set<uint32_t> targets;
    std::map<ZydisMnemonic, uint32_t> counts;
    Listing listing;
    RegisterSet registers;
    RIFTJIT_TRY_VOID(each_instruction(instructions, [&](const Decoded& one) {
        if (const auto target = one.branch_target()) targets.insert(*target);
        ++counts[one.instruction.mnemonic];
        ++listing.instructions;
        collect_registers(one, registers);
    }));
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    RIFTJIT_TRY_VOID(each_instruction(instructions, [&](const Decoded& one) {
        if (targets.contains(one.offset)) listing.text += label(label_prefix, one.offset) + ":\n";
        listing.text += fmt::format("    {:<56} # {:04x}: {}\n", format(formatter, one, label_prefix), one.offset,
                                    hex_bytes(instructions.subspan(one.offset, one.instruction.length)));
    }));
    listing.text += constant_lines(code);
    listing.registers = registers.text();
    registers.count(listing);
    listing.histogram = histogram_of(counts);
    return listing;
}

}  // namespace riftjit::x86

#include "jit/rdna/text/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {
namespace {

// Where a branch, a call or a loop instruction goes: from the next instruction on, in words.
std::optional<uint64_t> branch_target(const Instruction& instruction, uint64_t address) {
    if (instruction.encoding == Encoding::vopd) return std::nullopt;
    for (const OperandInfo& operand : info(instruction.opcode).source_operands())
        if (operand.type == OperandType::label)
            return address + 4 + static_cast<uint64_t>(int64_t{static_cast<int16_t>(instruction.simm16)} * 4);
    return std::nullopt;
}

bool assembles_to(Target target, WaveSize wave, std::string_view text, std::span<const uint32_t> words) {
    const Result<Parsed> parsed = parse(target, wave, text);
    if (!parsed) return false;
    const Result<EncodedInstruction> encoded = encode(target, wave, parsed->instruction);
    return encoded && std::ranges::equal(encoded->span(), words);
}

void take_apart(ListedInstruction& listed) {
    const Result<ParsedLine> line = split_line(listed.text, 1);
    if (!line) return;
    listed.mnemonic = line->mnemonic;
    for (const LinePiece& operand : line->operands) listed.operands.emplace_back(operand.text);
    for (const LineModifier& modifier : line->modifiers)
        listed.modifiers.push_back(modifier.value.empty() ? std::string(modifier.name)
                                                          : fmt::format("{}:{}", modifier.name, modifier.value));
}

class Lister {
public:
    Lister(Target target, WaveSize wave, std::span<const uint32_t> code, uint64_t address,
           std::string_view label_prefix)
        : target_(target), wave_(wave), code_(code), address_(address), label_prefix_(label_prefix) {}

    std::vector<ListedInstruction> run() {
        for (size_t at = 0; at < code_.size(); at += list(at)) {
        }
        name_targets();
        for (ListedInstruction& listed : listed_) take_apart(listed);
        return std::move(listed_);
    }

private:
    // Lists what starts at word `at`; the number of words it takes.
    size_t list(size_t at) {
        ListedInstruction listed{.address = address_ + 4 * at};
        const Decoded decoded = decode(target_, wave_, code_.subspan(at));
        const size_t count = decoded.ok ? decoded.instruction.size / 4u : 1;
        listed.words.assign(code_.begin() + static_cast<std::ptrdiff_t>(at),
                            code_.begin() + static_cast<std::ptrdiff_t>(at + count));
        if (decoded.ok) {
            listed.text = print(target_, wave_, decoded.instruction);
            listed.is_longer_form = !assembles_to(target_, wave_, listed.text, listed.words);
            targets_.push_back(branch_target(decoded.instruction, listed.address));
        } else {
            listed.is_instruction = false;
            listed.text = fmt::format(".long {:#x}", code_[at]);
            listed.comment = reason(target_, wave_, decoded);
            targets_.emplace_back();
        }
        index_[listed.address] = listed_.size();
        listed_.push_back(std::move(listed));
        return count;
    }

    void name_targets() {
        std::map<uint64_t, std::string> labels;
        for (const std::optional<uint64_t>& target : targets_)
            if (target && index_.contains(*target)) labels[*target];
        size_t number = 0;
        for (auto& [address, label] : labels) {
            label = fmt::format("{}{}", label_prefix_, number++);
            listed_[index_[address]].label = label;
        }
        for (size_t i = 0; i < listed_.size(); ++i) {
            if (!targets_[i] || !labels.contains(*targets_[i])) continue;
            std::string& text = listed_[i].text;
            text.replace(text.rfind(' ') + 1, std::string::npos, labels[*targets_[i]]);
        }
    }

    Target target_;
    WaveSize wave_;
    std::span<const uint32_t> code_;
    uint64_t address_;
    std::string_view label_prefix_;
    std::vector<ListedInstruction> listed_;
    std::vector<std::optional<uint64_t>> targets_;  // beside listed_
    std::map<uint64_t, size_t> index_;              // address -> index in listed_
};

}  // namespace

std::vector<ListedInstruction> list_instructions(Target target, WaveSize wave, std::span<const uint32_t> code,
                                                 uint64_t address, std::string_view label_prefix) {
    return Lister(target, wave, code, address, label_prefix).run();
}

std::string format_listing(std::span<const ListedInstruction> instructions) {
    std::string text;
    for (const ListedInstruction& listed : instructions) {
        if (!listed.label.empty()) text += listed.label + ":\n";
        std::string words, line = listed.is_longer_form ? "" : listed.text;
        for (const uint32_t word : listed.words) words += fmt::format(" {:08X}", word);
        if (listed.is_longer_form)
            for (const uint32_t word : listed.words)
                line += fmt::format("{}{:#010x}", line.empty() ? ".long " : ", ", word);
        const std::string& comment = listed.is_longer_form ? listed.text : listed.comment;
        text += fmt::format("    {:<60} ; {:06X}:{}{}{}\n", line, listed.address, words, comment.empty() ? "" : "  ",
                            comment);
    }
    return text;
}

}  // namespace riftjit::rdna

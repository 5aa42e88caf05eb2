// Disassembly of a stretch of code: addresses, words, and labels for branch targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

struct ListedInstruction {
    uint64_t address = 0;
    std::vector<uint32_t> words;
    std::string label;     // that stands before it: "L0"; empty where no branch goes
    std::string mnemonic;  // ".long" for a word that is no instruction
    std::vector<std::string> operands;
    std::vector<std::string> modifiers;
    std::string text;     // the whole line; branches name labels
    std::string comment;  // why a word could not be decoded
    bool is_instruction = true;
    // The assembler writes the text in other words: a literal word holds what an inline constant could say, for one.
    bool is_longer_form = false;
};

// Labels are numbered by address, behind `label_prefix`. Branches out of the stretch keep their number. Words that
// decode to nothing are listed one by one.
std::vector<ListedInstruction> list_instructions(Target target, WaveSize wave, std::span<const uint32_t> code,
                                                 uint64_t address, std::string_view label_prefix = "L");

// One line per instruction, with labels on lines of their own; assembling it again gives the same words, for which an
// instruction in a longer form is written as its words, with its text behind them.
std::string format_listing(std::span<const ListedInstruction> instructions);

}  // namespace riftjit::rdna

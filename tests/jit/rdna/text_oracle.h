// llvm-mc-19 as the oracle of text: many lines or instructions at once, in both directions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "jit/rdna/target.h"
#include "tests/jit/scratch.h"

namespace riftjit::rdna {

using InstructionWords = std::vector<uint32_t>;

class TextOracle {
public:
    TextOracle(Target target, WaveSize wave) : target_(target), wave_(wave) {}

    static bool is_present() { return std::system("llvm-mc-19 --version > /dev/null 2>&1") == 0; }

    // The words of each line, nothing where llvm-mc refuses it.
    std::vector<std::optional<InstructionWords>> assemble(const std::vector<std::string>& lines) const {
        const Output output = run(lines, "");
        std::vector<bool> is_refused(lines.size(), false);
        for (const std::string& message : output.errors) {
            size_t line = 0;
            if (std::sscanf(message.c_str(), "<stdin>:%zu:%*u: error:", &line) == 1 && line >= 1)
                is_refused[line - 1] = true;
        }
        std::vector<std::optional<InstructionWords>> words(lines.size());
        size_t next = 0;
        for (size_t i = 0; i < lines.size(); ++i)
            if (!is_refused[i] && next < output.encodings.size()) words[i] = output.encodings[next++].words;
        return words;
    }

    // The text of each instruction, empty where llvm-mc refuses it. A blank at the end is LLVM's carelessness.
    std::vector<std::string> disassemble(const std::vector<InstructionWords>& instructions) const {
        std::vector<std::string> lines;
        for (const InstructionWords& words : instructions) {
            std::string line;
            for (const uint32_t word : words)
                for (unsigned i = 0; i < 4; ++i) line += "0x" + hex(word >> 8 * i & 255) + ",";
            lines.push_back(line);
        }
        const Output output = run(lines, " -disassemble");
        std::vector<std::string> texts(instructions.size());
        size_t next = 0;
        for (size_t i = 0; i < instructions.size(); ++i) {
            // A refused instruction may leave pieces of itself behind; no longer than this.
            for (size_t skip = 0; skip < 8 && next + skip < output.encodings.size(); ++skip) {
                if (output.encodings[next + skip].words != instructions[i]) continue;
                texts[i] = output.encodings[next + skip].text;
                next += skip + 1;
                break;
            }
        }
        return texts;
    }

private:
    struct Encoded {
        std::string text;
        InstructionWords words;
    };
    struct Output {
        std::vector<Encoded> encodings;
        std::vector<std::string> errors;
    };

    static std::string hex(uint32_t byte) {
        static constexpr char kDigits[] = "0123456789abcdef";
        return {kDigits[byte >> 4], kDigits[byte & 15]};
    }

    Output run(const std::vector<std::string>& lines, const std::string& options) const {
        const Scratch scratch;
        {
            std::ofstream input(scratch.path("in.s"));
            for (const std::string& line : lines) input << line << '\n';
        }
        const std::string command =
            "llvm-mc-19 -triple=amdgcn -mcpu=" + std::string(name(target_)) + " -mattr=" +
            (wave_ == WaveSize::wave32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64") +
            " -show-encoding" + options + " < " + scratch.path("in.s") + " > " + scratch.path("out") + " 2> " +
            scratch.path("err");
        // llvm-mc fails when one line of many does; what it says of each line counts.
        [[maybe_unused]] const int status = std::system(command.c_str());
        Output output;
        std::ifstream out(scratch.path("out")), err(scratch.path("err"));
        for (std::string line; std::getline(out, line);) {
            const size_t comment = line.find("encoding: [");
            if (comment == std::string::npos) continue;
            output.encodings.push_back({text_of(line), words_of(line.substr(comment + 11))});
        }
        for (std::string line; std::getline(err, line);) output.errors.push_back(line);
        return output;
    }

    static std::string text_of(const std::string& line) {
        std::string text = line.substr(0, line.rfind("encoding: ["));
        text.erase(text.find_last_not_of("; \t/") + 1);
        return text.substr(text.find_first_not_of(" \t"));
    }

    static InstructionWords words_of(const std::string& list) {
        InstructionWords words;
        std::stringstream bytes(list);
        unsigned count = 0;
        for (std::string byte; std::getline(bytes, byte, ',');) {
            // A branch to be fixed up shows 'A' beside its bytes; no test asks for one.
            const auto value = static_cast<uint32_t>(std::strtoul(byte.c_str(), nullptr, 16));
            if (count % 4 == 0) words.push_back(0);
            words.back() |= value << 8 * (count % 4);
            ++count;
        }
        return words;
    }

    Target target_;
    WaveSize wave_;
};

}  // namespace riftjit::rdna

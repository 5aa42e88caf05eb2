// The oracle of RDNA tests: llvm-mc-19 over a batch, both directions.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/target.h"

namespace riftjit::rdna::test {

class LlvmMc {
public:
    explicit LlvmMc(std::string program = "llvm-mc-19") : program_(std::move(program)) {}

    bool available() const { return std::system(fmt::format("command -v {} >/dev/null 2>&1", program_).c_str()) == 0; }

    // What each instruction's words say; nothing where llvm-mc rejects them or reads another number of words.
    std::vector<std::optional<std::string>> disassemble(Target target, WaveSize wave,
                                                        std::span<const std::vector<uint32_t>> instructions) const {
        // A numbered s_nop behind every instruction tells whose lines are whose: rejected bytes leave none, and what
        // follows them in a line may decode.
        std::string input;
        for (size_t i = 0; i < instructions.size(); ++i) {
            for (const uint32_t word : instructions[i]) append(input, word);
            input += "\n";
            append(input, sentinel(i));
            input += "\n";
        }
        // The encoding shown is made anew from the text's operands: 0.5 as a 16-bit integer becomes a literal, one word
        // more.
        const std::vector<Line> lines = run(target, wave, "--disassemble", input);
        std::vector<std::optional<std::string>> texts(instructions.size());
        size_t next = 0;
        for (size_t i = 0; i < instructions.size(); ++i) {
            const size_t first = next;
            while (next < lines.size() && lines[next].bytes != bytes_of(sentinel(i))) ++next;
            if (next == first + 1 && lines[first].words() >= instructions[i].size()) texts[i] = lines[first].text;
            ++next;
        }
        return texts;
    }

    // The bytes of each line of assembly, as words; nothing where llvm-mc refuses the line.
    std::vector<std::optional<std::vector<uint32_t>>> assemble(Target target, WaveSize wave,
                                                               std::span<const std::string> texts) const {
        std::string input;
        for (size_t i = 0; i < texts.size(); ++i) input += texts[i] + "\n" + fmt::format("s_nop {}\n", i & 0xFFFF);
        const std::vector<Line> lines = run(target, wave, "", input);
        std::vector<std::optional<std::vector<uint32_t>>> words(texts.size());
        size_t next = 0;
        for (size_t i = 0; i < texts.size(); ++i) {
            const size_t first = next;
            while (next < lines.size() && lines[next].bytes != bytes_of(sentinel(i))) ++next;
            if (next == first + 1) words[i] = words_of(lines[first].bytes);
            ++next;
        }
        return words;
    }

private:
    struct Line {
        std::string text, bytes;  // "0x00,0x01,..."
        size_t words() const { return (bytes.size() + 1) / 20; }
    };

    static uint32_t sentinel(size_t index) { return 0xBF800000u | static_cast<uint32_t>(index & 0xFFFF); }
    static std::string bytes_of(uint32_t word) {
        return fmt::format("{:#04x},{:#04x},{:#04x},{:#04x}", word & 255, word >> 8 & 255, word >> 16 & 255,
                           word >> 24);
    }
    static void append(std::string& input, uint32_t word) { input += bytes_of(word) + " "; }
    static std::vector<uint32_t> words_of(const std::string& bytes) {
        std::vector<uint32_t> words;
        for (size_t at = 0; at + 19 <= bytes.size(); at += 20) {
            uint32_t word = 0;
            for (size_t i = 0; i < 4; ++i)
                word |= static_cast<uint32_t>(std::strtoul(bytes.c_str() + at + 5 * i, nullptr, 16)) << 8 * i;
            words.push_back(word);
        }
        return words;
    }

    static std::string trimmed(const std::string& text) {
        const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
        return first == std::string::npos ? "" : text.substr(first, last - first + 1);
    }

    std::vector<Line> run(Target target, WaveSize wave, const char* mode, const std::string& input) const {
        const std::string stem =
            (std::filesystem::temp_directory_path() / fmt::format("riftjit_llvm_mc_{}", getpid())).string();
        std::ofstream(stem + ".in") << input;
        // It exits with 1 when it rejected a line, which is an answer here.
        const std::string command = fmt::format(
            "{0} -triple=amdgcn-amd-amdhsa -mcpu={1} -mattr=+wavefrontsize{2} {3} -show-encoding {4}.in >{4}.out "
            "2>/dev/null",
            program_, name(target), lanes(wave), mode, stem);
        [[maybe_unused]] const int status = std::system(command.c_str());
        std::vector<Line> lines;
        std::ifstream output(stem + ".out");
        constexpr std::string_view kMark = "; encoding: [";
        for (std::string line; std::getline(output, line);)
            if (const size_t at = line.find(kMark); at != std::string::npos)
                lines.push_back({trimmed(line.substr(0, at)),
                                 line.substr(at + kMark.size(), line.find(']', at) - at - kMark.size())});
        for (const char* extension : {".in", ".out"}) std::filesystem::remove(stem + extension);
        return lines;
    }

    std::string program_;
};

}  // namespace riftjit::rdna::test

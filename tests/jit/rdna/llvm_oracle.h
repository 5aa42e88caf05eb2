// LLVM 19 as the oracle of RDNA tests, over a batch in both directions: llvm-mc assembles lines, llvm-objdump reads
// words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/encoding.h"
#include "jit/rdna/target.h"
#include "tests/jit/scratch.h"

namespace riftjit::rdna::test {

using InstructionWords = std::vector<uint32_t>;

class LlvmOracle {
public:
    LlvmOracle(Target target, WaveSize wave) : target_(target), wave_(wave) {}

    static bool is_present() { return has_command("llvm-mc-19") && has_command("llvm-objdump-19"); }

    struct Reading {
        std::string text;
        size_t words;
    };
    // What LLVM reads at the start of each of `samples`, nothing where it reads no instruction.
    std::vector<std::optional<Reading>> read(std::span<const InstructionWords> samples) const {
        std::vector<std::optional<Reading>> readings(samples.size());
        read(samples, readings);
        return readings;
    }

    // The text of each instruction; nothing where LLVM rejects it or reads another number of words.
    std::vector<std::optional<std::string>> disassemble(std::span<const InstructionWords> instructions) const {
        std::vector<std::optional<Reading>> readings = read(instructions);
        std::vector<std::optional<std::string>> texts(instructions.size());
        for (size_t i = 0; i < texts.size(); ++i)
            if (readings[i] && readings[i]->words == instructions[i].size()) texts[i] = std::move(readings[i]->text);
        return texts;
    }

    // The words of each line of assembly; nothing where llvm-mc refuses the line.
    std::vector<std::optional<InstructionWords>> assemble(std::span<const std::string> lines) const {
        const Scratch scratch;
        {
            // The printed labels tell whose words are whose.
            std::ofstream input(scratch.path("in.s"));
            for (size_t i = 0; i < lines.size(); ++i) input << kLabel << i << ":\n" << lines[i] << '\n';
        }
        // It exits with 1 when it refused a line, which is an answer here.
        run(fmt::format("llvm-mc-19 {0} -show-encoding {1}/in.s > {1}/out 2>/dev/null", options(),
                        scratch.directory().string()));
        std::vector<std::optional<InstructionWords>> words(lines.size());
        std::ifstream output(scratch.path("out"));
        size_t index = 0, count = 0;
        for (std::string line; std::getline(output, line);) {
            if (line.starts_with(kLabel)) index = std::strtoull(line.c_str() + kLabel.size(), nullptr, 10), count = 0;
            const size_t at = line.find(kEncoding);
            if (at == std::string::npos) continue;
            if (++count == 1) {
                words[index] = words_of_bytes(line.c_str() + at + kEncoding.size());
            } else {
                words[index].reset();  // not one instruction
            }
        }
        return words;
    }

private:
    static constexpr uint32_t kNop = 0xBF800000;
    static constexpr size_t kMaxBatch = 1 << 14;
    static constexpr size_t kStride = 2 * kMaxInstructionWords - 1;
    static constexpr std::string_view kEncoding = "encoding: [", kLabel = "riftjit_line_";

    // Some words make LLVM's printer crash: the batch is halved until they stand alone.
    void read(std::span<const InstructionWords> samples, std::span<std::optional<Reading>> readings) const {
        if (samples.size() <= kMaxBatch && read_batch(samples, readings)) return;
        std::fill(readings.begin(), readings.end(), std::nullopt);
        if (samples.size() == 1) readings[0] = read_start(samples[0]);
        if (samples.size() <= 1) return;
        const size_t half = samples.size() / 2;
        read(samples.first(half), readings.first(half));
        read(samples.subspan(half), readings.subspan(half));
    }

    // The first instruction, where one behind it may be what LLVM crashes at.
    std::optional<Reading> read_start(const InstructionWords& sample) const {
        for (size_t words = 1; words < sample.size(); ++words) {
            const InstructionWords start(sample.begin(), sample.begin() + std::ptrdiff_t(words));
            std::optional<Reading> reading;
            if (read_batch(std::span(&start, 1), std::span(&reading, 1)) && reading && reading->words <= words)
                return reading;
        }
        return std::nullopt;
    }

    bool read_batch(std::span<const InstructionWords> samples, std::span<std::optional<Reading>> readings) const {
        const Scratch scratch;
        {
            // Whatever an instruction that begins in a sample takes for its own, the next sample is reached.
            std::vector<uint32_t> image(samples.size() * kStride, kNop);
            for (size_t i = 0; i < samples.size(); ++i)
                std::copy(samples[i].begin(), samples[i].end(), image.begin() + std::ptrdiff_t(i * kStride));
            write_file(scratch.path("image"), std::as_bytes(std::span(image)));
            std::ofstream(scratch.path("in.s")) << ".incbin \"" << scratch.path("image") << "\"\n";
        }
        const std::string directory = scratch.directory().string();
        if (!run(fmt::format("llvm-mc-19 {0} -filetype=obj {1}/in.s -o {1}/in.o", options(), directory)) ||
            !run(fmt::format("llvm-objdump-19 -d -z --mcpu={0} --mattr={1} {2}/in.o > {2}/out 2>/dev/null",
                             name(target_), wave_size(), directory)))
            return false;
        std::ifstream output(scratch.path("out"));
        for (std::string line; std::getline(output, line);) take_line(line, readings);
        return true;
    }

    std::string wave_size() const { return fmt::format("+wavefrontsize{}", lanes(wave_)); }
    std::string options() const {
        return fmt::format("-triple=amdgcn-amd-amdhsa -mcpu={} -mattr={}", name(target_), wave_size());
    }
    static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

    // "\ts_nop 0      // 000000000024: BF800000"
    static void take_line(const std::string& line, std::span<std::optional<Reading>> readings) {
        const size_t comment = line.rfind("// ");
        if (comment == std::string::npos || line[0] != '\t') return;
        char* end = nullptr;
        const size_t word = std::strtoull(line.c_str() + comment + 3, &end, 16) / 4;
        if (word % kStride != 0 || *end != ':' || word / kStride >= readings.size()) return;
        size_t words = 0;
        for (const char* at = end + 1; *at == ' ' && at[1] != '\0' && at[1] != '<'; at += 9) ++words;
        const size_t last = line.find_last_not_of(" \t", comment - 1);
        std::string text = line.substr(1, last);
        if (!text.starts_with(".long") && !text.starts_with("<unknown>"))
            readings[word / kStride] = Reading{std::move(text), words};
    }

    // "0x00,0x00,0x80,0xbf]"
    static InstructionWords words_of_bytes(const char* list) {
        InstructionWords words;
        for (size_t count = 0; *list == '0'; ++count) {
            char* end = nullptr;
            const auto byte = static_cast<uint32_t>(std::strtoul(list, &end, 16));
            if (count % 4 == 0) words.push_back(0);
            words.back() |= byte << 8 * (count % 4);
            list = end + (*end == ',');
        }
        return words;
    }

    Target target_;
    WaveSize wave_;
};

}  // namespace riftjit::rdna::test

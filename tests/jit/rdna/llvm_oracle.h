// LLVM as the oracle of RDNA tests, over a batch in both directions: llvm-mc assembles lines, llvm-objdump reads words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/table/syntax.h"
#include "jit/rdna/table/target.h"
#include "tests/host/oracle.h"
#include "tests/host/scratch.h"

namespace riftjit::rdna::test {

using InstructionWords = std::vector<uint32_t>;

// 22 spells and reads the halves of registers that 16-bit operands name from gfx11 on, of which 19 knows v_mov_b16's.
enum class LlvmVersion : uint8_t { v19 = 19, v22 = 22 };

class LlvmOracle {
public:
    LlvmOracle(Target target, WaveSize wave, LlvmVersion version = LlvmVersion::v19)
        : target_(target), wave_(wave), version_(version) {}

    static bool is_present(LlvmVersion version = LlvmVersion::v19) {
        return has_command(program("llvm-mc", version)) && has_command(program("llvm-objdump", version));
    }

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
        run(fmt::format("{0} {1} -show-encoding {2}/in.s > {2}/out 2>/dev/null", program("llvm-mc", version_),
                        options(), scratch.directory().string()));
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
        bool begins_with_zeros = false;  // it would be passed over too
        {
            // Whatever an instruction that begins in a sample takes for its own, the next sample is reached. Behind the
            // word that a sample may lack are zeros, which llvm-objdump passes over in one line.
            std::vector<uint32_t> image(samples.size() * kStride);
            for (size_t i = 0; i < samples.size(); ++i) {
                const auto start = image.begin() + std::ptrdiff_t(i * kStride);
                *std::copy(samples[i].begin(), samples[i].end(), start) = kNop;
                begins_with_zeros |= samples[i].empty() || samples[i][0] == 0;
            }
            write_file(scratch.path("image"), std::as_bytes(std::span(image)));
            std::ofstream(scratch.path("in.s")) << ".incbin \"" << scratch.path("image") << "\"\n";
        }
        const std::string directory = scratch.directory().string();
        if (!run(fmt::format("{0} {1} -filetype=obj {2}/in.s -o {2}/in.o", program("llvm-mc", version_), options(),
                             directory)) ||
            !run(fmt::format("{0} -d {1} --mcpu={2} --mattr={3} {4}/in.o > {4}/out 2>/dev/null",
                             program("llvm-objdump", version_), begins_with_zeros ? "-z" : "", name(target_),
                             features(), directory)))
            return false;
        std::ifstream output(scratch.path("out"));
        for (std::string line; std::getline(output, line);) take_line(line, readings);
        return true;
    }

    static std::string program(std::string_view name, LlvmVersion version) {
        return fmt::format("{}-{}", name, static_cast<unsigned>(version));
    }
    std::string features() const {
        const bool has_halves = version_ == LlvmVersion::v22 && generation(target_) != Generation::gfx10;
        return fmt::format("+wavefrontsize{}{}", lanes(wave_), has_halves ? ",+real-true16" : "");
    }
    std::string options() const {
        return fmt::format("-triple=amdgcn-amd-amdhsa -mcpu={} -mattr={}", name(target_), features());
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
    LlvmVersion version_;
};

// Each instruction before the LLVM whose text ours is: 22 where halves of registers are spelled, 19 elsewhere.
class LlvmOracles {
public:
    LlvmOracles(Target target, WaveSize wave)
        : target_(target), wave_(wave), v19_(target, wave), v22_(target, wave, LlvmVersion::v22) {}

    static bool are_present() { return LlvmOracle::is_present() && LlvmOracle::is_present(LlvmVersion::v22); }
    // Where there is no LLVM 22, what it would be asked is left out.
    static bool judge(Target target, const Instruction& instruction) {
        static const bool has_22 = LlvmOracle::is_present(LlvmVersion::v22);
        return !spells_halves(generation(target), instruction) || may_ask(has_22, "llvm-mc-22 and llvm-objdump-22");
    }

    std::vector<std::optional<std::string>> disassemble(std::span<const InstructionWords> instructions) const {
        return ask<std::string>(
            instructions,
            [&](const InstructionWords& words) {
                const Decoded decoded = decode(target_, wave_, words);
                return decoded.ok && spells_halves(generation(target_), decoded.instruction);
            },
            [](const LlvmOracle& oracle, auto part) { return oracle.disassemble(part); });
    }
    std::vector<std::optional<InstructionWords>> assemble(std::span<const std::string> lines) const {
        return ask<InstructionWords>(lines, names_a_half,
                                     [](const LlvmOracle& oracle, auto part) { return oracle.assemble(part); });
    }

private:
    // "v7.l"
    static bool names_a_half(const std::string& line) {
        for (size_t at = line.find('.'); at != std::string::npos; at = line.find('.', at + 1))
            if (at > 0 && std::isdigit(static_cast<unsigned char>(line[at - 1])) != 0 && at + 1 < line.size() &&
                (line[at + 1] == 'l' || line[at + 1] == 'h'))
                return true;
        return false;
    }

    template <class Answer, class Item>
    std::vector<std::optional<Answer>> ask(std::span<const Item> items, const auto& is_of_22,
                                           const auto& question) const {
        std::vector<Item> parts[2];
        std::vector<size_t> places[2];
        for (size_t i = 0; i < items.size(); ++i) {
            const size_t part = is_of_22(items[i]) ? 1 : 0;
            parts[part].push_back(items[i]);
            places[part].push_back(i);
        }
        std::vector<std::optional<Answer>> answers(items.size());
        for (size_t part = 0; part < 2; ++part) {
            if (parts[part].empty()) continue;
            auto some = question(part == 0 ? v19_ : v22_, std::span<const Item>(parts[part]));
            for (size_t i = 0; i < some.size(); ++i) answers[places[part][i]] = std::move(some[i]);
        }
        return answers;
    }

    Target target_;
    WaveSize wave_;
    LlvmOracle v19_, v22_;
};

}  // namespace riftjit::rdna::test

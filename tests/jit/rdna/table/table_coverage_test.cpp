// Which opcodes and formats llvm-mc knows and the table lacks: none but those listed here, each with its reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "tests/host/oracle.h"
#include "tests/host/scratch.h"
#include "tests/jit/rdna/table/opcode_probes.h"

namespace riftjit::rdna {
namespace table_coverage_test {

using test::OpcodeKey;
using test::OpcodeProbe;
using Words = std::vector<uint32_t>;

struct Judge {
    Target target;
    std::string_view program;
};
// gfx1153 is younger than LLVM 19.
constexpr Judge kJudges[] = {{Target::gfx1030, "llvm-mc-19"},
                             {Target::gfx1100, "llvm-mc-19"},
                             {Target::gfx1150, "llvm-mc-19"},
                             {Target::gfx1201, "llvm-mc-19"},
                             {Target::gfx1153, "llvm-mc-22"}};

constexpr std::string_view kPixels = "interpolates the attributes of pixels: graphics";
constexpr std::string_view kTyped = "converts as a format says; compute code reads and writes what it means";
constexpr std::string_view kImages = "images and their samplers: graphics";
constexpr std::string_view kExports = "hands vertices and pixels on: graphics";

// Of an opcode, or of its forms with a DPP or SDWA word.
enum class Part : uint8_t { number, forms, both };

// Opcodes of the table's formats that it leaves out.
struct LeftOut {
    Generation generation;
    Layout layout;
    uint16_t first, last;
    std::string_view program, reason;
    Part part = Part::number;
};
constexpr std::string_view kLlvm19 = "llvm-mc-19", kLlvm22 = "llvm-mc-22";
constexpr std::string_view kNoDpp = "v_pk_fmac_f16 takes no DPP: LLVM 19 errs, later LLVM refuses it";
constexpr std::string_view kYounger = "younger than LLVM 19, which judges the rows";
constexpr LeftOut kLeftOut[] = {
    {Generation::gfx10, Layout::VOP3, 0x200, 0x202, kLlvm19, kPixels},
    {Generation::gfx10, Layout::VOP3, 0x342, 0x343, kLlvm19, kPixels},
    {Generation::gfx10, Layout::VOP3, 0x35a, 0x35a, kLlvm19, kPixels},
    {Generation::gfx11, Layout::MUBUF, 0x2d, 0x32, kLlvm19,
     "loads into LDS, which the manual of gfx11 and later LLVM do not have"},
    {Generation::gfx11, Layout::VOP2, 0x3c, 0x3c, kLlvm19, kNoDpp, Part::forms},
    {Generation::gfx12, Layout::VOP2, 0x3c, 0x3c, kLlvm19, kNoDpp, Part::forms},
    {Generation::gfx12, Layout::MUBUF, 0x80, 0x8f, kLlvm19, kTyped},
    {Generation::gfx11, Layout::SOPP, 0x32, 0x32, kLlvm22, kYounger},                // s_endpgm_ordered_ps_done
    {Generation::gfx11, Layout::VOP1, 0x66, 0x66, kLlvm22, kYounger},                // v_swap_b16
    {Generation::gfx11, Layout::VOP3P, 0x1a, 0x1a, kLlvm22, kYounger, Part::forms},  // v_dot2_f32_bf16
    {Generation::gfx11, Layout::VOPD, 0x0d, 0x0d, kLlvm22, kYounger},                // v_dual_dot2acc_f32_bf16
};

// What LLVM 22 has withdrawn of what LLVM 19 knew.
constexpr LeftOut kWithdrawn[] = {
    {Generation::gfx11, Layout::SOPP, 0x13, 0x13, kLlvm22, "s_singleuse_vdst: no released compiler emitted it"},
};

// Whole formats that the table leaves out, each with an instruction of it.
struct LeftOutFormat {
    Generation generation;
    std::string_view name;
    uint32_t prefix, mask;
    std::vector<uint32_t> example;
    std::string_view reason;
};
const LeftOutFormat kLeftOutFormats[] = {
    {Generation::gfx10, "MTBUF", 0xE8000000, 0xFC000000, {0xE8080000, 0x80010100}, kTyped},
    {Generation::gfx10, "MIMG", 0xF0000000, 0xFC000000, {0xF0000F08, 0x00000004}, kImages},
    {Generation::gfx10, "EXP", 0xF8000000, 0xFC000000, {0xF800000F, 0x00000000}, kExports},
    {Generation::gfx10, "VINTRP", 0xC8000000, 0xFC000000, {0xC8000001}, kPixels},
    {Generation::gfx11, "MTBUF", 0xE8000000, 0xFC000000, {0xE8080000, 0x80010100}, kTyped},
    {Generation::gfx11, "MIMG", 0xF0000000, 0xFC000000, {0xF0000F04, 0x00000004}, kImages},
    {Generation::gfx11, "EXP", 0xF8000000, 0xFC000000, {0xF800000F, 0x00000000}, kExports},
    {Generation::gfx11, "VINTERP", 0xCD000000, 0xFF000000, {0xCD000000, 0x040E0501}, kPixels},
    {Generation::gfx11, "LDSDIR", 0xCE000000, 0xFF000000, {0xCE000001}, kPixels},
    {Generation::gfx12, "VIMAGE", 0xD0000000, 0xFC000000, {0xD3C00001, 0x00000000, 0x00000504}, kImages},
    {Generation::gfx12, "VSAMPLE", 0xE4000000, 0xFC000000, {0xE7C6C001, 0x04000000, 0x00000504}, kImages},
    {Generation::gfx12, "VEXPORT", 0xF8000000, 0xFC000000, {0xF800000F, 0x00000000}, kExports},
    {Generation::gfx12, "VINTERP", 0xCD000000, 0xFF000000, {0xCD000000, 0x040E0501}, kPixels},
    {Generation::gfx12, "VDSDIR", 0xCE000000, 0xFF000000, {0xCE000001}, kPixels},
};

std::string hex_bytes(uint32_t word) {
    return fmt::format("{:#04x},{:#04x},{:#04x},{:#04x},", word & 255, word >> 8 & 255, word >> 16 & 255, word >> 24);
}
// Of "0x00,0x00,0x80,0xbf]".
Words words_of(const std::string& bytes) {
    Words words;
    for (size_t at = 0; at + 19 <= bytes.size(); at += 20) {
        words.push_back(0);
        for (size_t i = 0; i < 4; ++i)
            words.back() |= static_cast<uint32_t>(std::strtoul(bytes.c_str() + at + 5 * i, nullptr, 16)) << 8 * i;
    }
    return words;
}

// The encodings of the instructions that the disassembler finds in a heap of words. Words that it refuses leave pieces
// of themselves behind, so order says nothing; what counts is that it reads certain words as one instruction.
std::set<Words> disassembled(const Judge& judge, std::span<const Words> heap) {
    const Scratch scratch;
    constexpr uint32_t kNop = 0xBF800000;  // for an instruction that asks for a literal which its probe lacks
    std::ofstream input(scratch.path("in"));
    for (const Words& words : heap) {
        for (const uint32_t word : words) input << hex_bytes(word);
        input << hex_bytes(kNop) << '\n';
    }
    input.close();
    // It exits with 1 when it refused something, which is an answer here.
    [[maybe_unused]] const int status = std::system(
        fmt::format(
            "{} -triple=amdgcn -mcpu={} -mattr=+wavefrontsize32{} -disassemble -show-encoding {} > {} 2> /dev/null",
            judge.program, name(judge.target), generation(judge.target) == Generation::gfx10 ? "" : ",+real-true16",
            scratch.path("in"), scratch.path("out"))
            .c_str());
    std::set<Words> found;
    std::ifstream output(scratch.path("out"));
    constexpr std::string_view kMark = "; encoding: [";
    for (std::string line; std::getline(output, line);)
        if (const size_t at = line.find(kMark); at != std::string::npos)
            found.insert(words_of(line.substr(at + kMark.size())));
    return found;
}

std::vector<OpcodeProbe> accepted(const Judge& judge, std::vector<OpcodeProbe> probes) {
    std::vector<Words> heap;
    for (const OpcodeProbe& probe : probes) heap.push_back(probe.words);
    const std::set<Words> found = disassembled(judge, heap);
    std::erase_if(probes, [&](const OpcodeProbe& probe) { return !found.contains(probe.words); });
    return probes;
}

std::set<OpcodeKey> known_to_llvm(const Judge& judge) {
    test::OpcodeProbes probes(generation(judge.target));
    const std::vector<OpcodeProbe> numbers = accepted(judge, probes.numbers());
    std::set<OpcodeKey> known;
    for (const OpcodeProbe& probe : numbers) known.insert(probe.key);
    for (const OpcodeProbe& probe : accepted(judge, probes.forms(numbers))) known.insert(probe.key);
    return known;
}

std::set<OpcodeKey> in_table(Target target) {
    const Generation family = generation(target);
    std::set<OpcodeKey> keys;
    for (const InstructionInfo& row : all_instructions()) {
        if (!has(target, row.opcode)) continue;
        for (unsigned encoding = 0; encoding < static_cast<unsigned>(Encoding::vopd); ++encoding) {
            const EncodingPlan& plan = encoding_plan(family, row.opcode, static_cast<Encoding>(encoding));
            if (!plan.exists) continue;
            keys.insert({plan.base == Layout::VOP3_sdst ? Layout::VOP3 : plan.base,
                         plan.extra == Layout::SDWA_compare ? Layout::SDWA : plan.extra, plan.number});
        }
    }
    for (const DualInfo& dual : dual_instructions()) {
        if (family < dual.first || family > dual.last) continue;
        if (dual.x.exists()) keys.insert({Layout::VOPD, Layout::none, dual.x.value, 0});
        if (dual.y.exists()) keys.insert({Layout::VOPD, Layout::none, dual.y.value, 1});
    }
    return keys;
}

std::string text_of(const OpcodeKey& key) {
    static constexpr std::string_view kNames[] = {"SOP2", "SOPK",   "SOP1",    "SOPC",  "SOPP",  "SMEM", "VOP1",
                                                  "VOP2", "VOPC",   "VOP3",    "VOP3",  "VOP3P", "VOPD", "DS",
                                                  "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "DPP16", "DPP8", "SDWA"};
    std::string text = fmt::format("{} {:#x}", kNames[static_cast<size_t>(key.layout)], key.number);
    if (key.extra != Layout::none) text += fmt::format(" {}", kNames[static_cast<size_t>(key.extra)]);
    return text + (key.layout != Layout::VOPD ? "" : key.half == 0 ? " X" : " Y");
}
std::string text_of(const std::set<OpcodeKey>& keys) {
    std::string text;
    for (const OpcodeKey& key : keys) text += text_of(key) + "\n";
    return text;
}

bool is_listed(std::span<const LeftOut> list, const Judge& judge, const OpcodeKey& key) {
    return std::ranges::any_of(list, [&](const LeftOut& entry) {
        const bool is_form = key.extra != Layout::none;
        return entry.generation == generation(judge.target) && entry.program == judge.program &&
               entry.layout == key.layout && key.number >= entry.first && key.number <= entry.last &&
               (entry.part == Part::both || is_form == (entry.part == Part::forms));
    });
}

std::set<OpcodeKey> without(const std::set<OpcodeKey>& all, const std::set<OpcodeKey>& taken) {
    std::set<OpcodeKey> rest;
    std::ranges::set_difference(all, taken, std::inserter(rest, rest.end()));
    return rest;
}

class TableCoverage : public testing::TestWithParam<Judge> {
protected:
    void SetUp() override {
        if (!has_command(std::string(GetParam().program))) return lack_oracle(GetParam().program);
    }
};

TEST_P(TableCoverage, LacksNoOpcodeButThoseListed) {
    const Judge judge = GetParam();
    const std::set<OpcodeKey> known = known_to_llvm(judge), ours = in_table(judge.target);
    std::set<OpcodeKey> left_out, unknown;
    for (const OpcodeKey& key : without(known, ours))
        (is_listed(kLeftOut, judge, key) ? left_out : unknown).insert(key);
    EXPECT_EQ(text_of(unknown), "");
    // An entry that llvm-mc does not know, or that has a row by now, is out of date.
    for (const LeftOut& entry : kLeftOut) {
        if (entry.generation != generation(judge.target) || entry.program != judge.program) continue;
        EXPECT_TRUE(std::ranges::any_of(
            left_out, [&](const OpcodeKey& key) { return is_listed(std::span(&entry, 1), judge, key); }))
            << entry.reason << " " << entry.first;
    }
    // The probes are good enough to find every row.
    std::set<OpcodeKey> unfound = without(ours, known);
    std::erase_if(unfound, [&](const OpcodeKey& key) { return is_listed(kWithdrawn, judge, key); });
    EXPECT_EQ(text_of(unfound), "");

    const auto is_number = [](const OpcodeKey& key) { return key.extra == Layout::none; };
    const auto numbers = std::ranges::count_if(known, is_number), missing = std::ranges::count_if(left_out, is_number);
    EXPECT_GE((numbers - missing) * 100, numbers * 95);
    fmt::print("{}: {} knows {} opcodes and {} forms with a DPP or SDWA word; {} and {} have a row, {:.1f} %\n",
               name(judge.target), judge.program, numbers, known.size() - numbers, numbers - missing,
               known.size() - numbers - (left_out.size() - missing), 100.0 * (numbers - missing) / numbers);
}

bool is_of_known_format(Generation family, uint32_t word) {
    for (size_t i = 0; i < static_cast<size_t>(Layout::DPP16); ++i) {
        const LayoutInfo& layout = layout_info(static_cast<Layout>(i), family);
        if (layout.words != 0 && (word & layout.prefix_mask) == layout.prefix) return true;
    }
    return std::ranges::any_of(kLeftOutFormats, [&](const LeftOutFormat& format) {
        return format.generation == family && (word & format.mask) == format.prefix;
    });
}

// Random words behind each start of nine bits, which tells all formats apart, as far as no format known takes them.
TEST_P(TableCoverage, LacksNoFormatButThoseListed) {
    const Judge judge = GetParam();
    const Generation family = generation(judge.target);
    std::mt19937 random(5);
    std::vector<Words> heap;
    for (uint32_t start = 0; start < 512; ++start)
        for (int i = 0; i < 64; ++i) {
            const Words words = {
                start << 23 | static_cast<uint32_t>(random() & (i % 2 == 0 ? random() : ~0u) & 0x7FFFFF),
                static_cast<uint32_t>(i % 4 == 0 ? 0 : random()), static_cast<uint32_t>(random())};
            if (!is_of_known_format(family, words[0])) heap.push_back(words);
        }
    EXPECT_GT(heap.size(), 1000u);
    for (const LeftOutFormat& format : kLeftOutFormats)
        if (format.generation == family) heap.push_back(format.example);
    const std::set<Words> found = disassembled(judge, heap);
    for (const Words& words : found) {
        // LLVM 22 reads gfx9's words of v_fma_mix on every chip.
        const bool is_stray = judge.program == kLlvm22 && words[0] >> 18 == 0xD3A00000 >> 18;
        EXPECT_TRUE(is_stray || is_of_known_format(family, words[0])) << fmt::format("{:08X}", words[0]);
    }
    for (const LeftOutFormat& format : kLeftOutFormats) {
        if (format.generation != family) continue;
        EXPECT_TRUE(found.contains(format.example)) << format.name;
        EXPECT_FALSE(decode(judge.target, WaveSize::wave32, format.example).ok) << format.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, TableCoverage, testing::ValuesIn(kJudges),
                         [](const auto& info) { return std::string(name(info.param.target)); });

}  // namespace table_coverage_test
}  // namespace riftjit::rdna

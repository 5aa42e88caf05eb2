// Assembles a few lines, runs them in the software machine, and looks at what was reported.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/object/code_object.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna::emulator {

// One instruction (or ".long word") a line or separated by ';', "label:" on a line of its own, branches to labels.
inline std::vector<uint32_t> assemble(Target target, WaveSize wave, std::string_view text) {
    struct Fixup {
        size_t word;
        std::string label;
        Instruction instruction;
    };
    std::vector<uint32_t> code;
    std::vector<Fixup> fixups;
    std::map<std::string, size_t> labels;
    while (!text.empty()) {
        const size_t end = text.find_first_of("\n;");
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? "" : text.substr(end + 1);
        while (line.starts_with(' ')) line.remove_prefix(1);
        while (line.ends_with(' ')) line.remove_suffix(1);
        if (line.empty()) continue;
        if (line.ends_with(':')) {
            labels[std::string(line.substr(0, line.size() - 1))] = code.size();
            continue;
        }
        if (line.starts_with(".long ")) {
            code.push_back(static_cast<uint32_t>(std::stoul(std::string(line.substr(6)), nullptr, 0)));
            continue;
        }
        const Result<Parsed> parsed = parse(target, wave, line);
        if (!parsed) {
            ADD_FAILURE() << line << ": " << parsed.error().message;
            continue;
        }
        const Result<EncodedInstruction> encoded = encode(target, wave, parsed->instruction);
        if (!encoded) {
            ADD_FAILURE() << line << ": " << encoded.error().message;
            continue;
        }
        if (!parsed->label.empty()) fixups.push_back({code.size(), parsed->label, parsed->instruction});
        for (const uint32_t word : encoded->span()) code.push_back(word);
    }
    for (const Fixup& fixup : fixups) {
        if (!labels.contains(fixup.label)) {
            ADD_FAILURE() << "no label " << fixup.label;
            continue;
        }
        Instruction instruction = fixup.instruction;
        const auto distance = static_cast<int64_t>(labels[fixup.label]) - static_cast<int64_t>(fixup.word) - 1;
        instruction.simm16 = static_cast<uint16_t>(distance);
        const Result<EncodedInstruction> encoded = encode(target, wave, instruction);
        if (encoded) code[fixup.word] = encoded->words[0];
    }
    return code;
}

struct ProgramSetup {
    Target target = Target::gfx1100;
    WaveSize wave_size = WaveSize::wave32;
    Checks checks = {};
    uint32_t vgprs = 32;
    uint32_t lds_bytes = 0, scratch_bytes = 0;
    uint32_t in_words = 0;  // not 0: the address of so many words is a second argument
    Dimensions grid = {1, 1, 1}, group = {32, 1, 1};
    uint64_t seed = 1;
    LaunchOptions launch = {};
    FloatModes float_modes = {};
    WorkItemIds work_item_ids = WorkItemIds::x;
    uint32_t host_threads = 1;
};

// Where a program finds its one argument, the address of `out`, whatever the generation's layout: s[0:1] is the
// argument segment, s[2:3] is loaded with the address by the fixture's first instructions.
inline std::string load_out_pointer(Target target) {
    const Generation generation = rdna::generation(target);
    if (generation == Generation::gfx10) return "s_load_dwordx2 s[2:3], s[0:1], null; s_waitcnt lgkmcnt(0)\n";
    if (generation == Generation::gfx11) return "s_load_b64 s[2:3], s[0:1], null; s_waitcnt lgkmcnt(0)\n";
    return "s_load_b64 s[2:3], s[0:1], null; s_wait_kmcnt 0x0\n";
}

struct ProgramResult {
    RunReport report;
    std::vector<uint32_t> out;

    size_t count(FindingKind kind) const {
        size_t count = 0;
        for (const Finding& finding : report.findings) count += finding.kind == kind;
        return count;
    }
    std::string text() const {
        std::string all;
        for (const Finding& finding : report.findings) all += finding.text() + "\n";
        return all;
    }
};

inline constexpr size_t kOutWords = 4096;

// Runs `text` with s[0:1] the argument segment and, after load_out_pointer(), s[2:3] the address of 4096 words.
inline ProgramResult run_program(const ProgramSetup& setup, std::string_view text) {
    ProgramResult result;
    KernelCode kernel;
    kernel.name = "program";
    kernel.code = assemble(setup.target, setup.wave_size, text);
    kernel.wave_size = setup.wave_size;
    kernel.resources = {
        .vgprs = setup.vgprs, .sgprs = 100, .lds_bytes = setup.lds_bytes, .scratch_bytes = setup.scratch_bytes};
    kernel.kernarg_size = setup.in_words > 0 ? 16 : 8;
    for (uint32_t offset = 0; offset < kernel.kernarg_size; offset += 8)
        kernel.args.push_back({.offset = offset,
                               .size = 8,
                               .value_kind = ValueKind::global_buffer,
                               .address_space = AddressSpace::global});
    kernel.workgroup_ids = {.x = true, .y = true, .z = true};
    kernel.float_modes = setup.float_modes;
    kernel.work_item_ids = setup.work_item_ids;
    const auto object = write_code_object(setup.target, CodeObjectVersion::v5, {&kernel, 1});
    if (!object) {
        ADD_FAILURE() << object.error().message;
        return result;
    }
    Machine machine(setup.target, {.checks = setup.checks, .seed = setup.seed, .host_threads = setup.host_threads});
    if (const auto loaded = machine.load(*object); !loaded) {
        ADD_FAILURE() << loaded.error().message;
        return result;
    }
    const std::vector<std::byte> zeros(kOutWords * 4);
    const uint64_t out = machine.allocate("out", zeros);
    std::vector<std::byte> args(kernel.kernarg_size);
    std::memcpy(args.data(), &out, 8);
    if (setup.in_words > 0) {
        const uint64_t in = machine.allocate("in", std::span(zeros).first(size_t{setup.in_words} * 4));
        std::memcpy(args.data() + 8, &in, 8);
    }
    auto report = machine.launch("program", setup.grid, setup.group, args, setup.launch);
    if (!report) {
        ADD_FAILURE() << report.error().message;
        return result;
    }
    result.report = std::move(*report);
    const auto bytes = machine.read(out, kOutWords * 4);
    result.out.resize(kOutWords);
    if (bytes) std::memcpy(result.out.data(), bytes->data(), bytes->size());
    return result;
}

inline testing::AssertionResult reports_only(const ProgramResult& result, FindingKind kind) {
    if (result.count(kind) > 0 && result.count(kind) == result.report.findings.size())
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "expected only " << name(kind) << ", got:\n" << result.text();
}
inline testing::AssertionResult reports_nothing(const ProgramResult& result) {
    if (result.report.findings.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << result.text();
}

}  // namespace riftjit::rdna::emulator

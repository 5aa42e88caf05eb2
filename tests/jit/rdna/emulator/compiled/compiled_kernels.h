// Runs kernels that clang-19 compiles from tests/data/rdna in the software machine: every generation, wave size and
// schedule, at -O0 and -O2, each result equal to the host's to the bit.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/emulator/machine/machine.h"
#include "tests/host/oracle.h"

namespace riftjit::rdna::emulator {

inline constexpr uint32_t kGroups = 2, kGroupItems = 64, kItems = kGroups * kGroupItems;

// llvm22: clang-19 parses, LLVM 22 optimises the machine code and inserts what hazards need.
enum class CodeGenerator : uint8_t { llvm19, llvm22 };

struct CompilerOptions {
    Target target;
    std::string_view level;
    WaveSize wave_size;
    CodeGenerator generator = CodeGenerator::llvm19;
};

// The object of one file of tests/data/rdna, compiled once by each process. Empty where the compiler is absent.
inline const std::vector<std::byte>& compile(std::string_view source, const CompilerOptions& options) {
    const auto object = std::filesystem::temp_directory_path() / ("riftjit-kernels-" + std::to_string(getpid()));
    std::string command =
        "clang-19 -x cl -cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt -nogpulib -target amdgcn-amd-amdhsa "
        "-mcpu=";
    command.append(name(options.target)).append(" ").append(options.level);
    if (options.wave_size == WaveSize::wave64) command.append(" -mwavefrontsize64");
    command.append(" '" RIFTJIT_SOURCE_DIR "/tests/data/rdna/").append(source);
    const std::string path = "'" + object.string() + "'";
    if (options.generator == CodeGenerator::llvm19) {  // with -c it is one process; the driver of a link starts two
        command.append("' -c -o ").append(path);
    } else {
        command.append("' -c -emit-llvm -o - | llc-22 -filetype=obj -mcpu=").append(name(options.target));
        command.append(" ").append(options.level);
        // Halves of registers, which it uses on gfx11 unasked.
        if (generation(options.target) == Generation::gfx12) command.append(" -mattr=+real-true16");
        command.append(" -o ").append(path);
    }
    command.append(" && ld.lld-19 --no-undefined -shared ").append(path).append(" -o ").append(path);
    command = "( " + command + " ) 2>/dev/null";
    static std::map<std::string, std::vector<std::byte>> by_command;
    const auto [found, is_new] = by_command.try_emplace(command);
    std::vector<std::byte>& bytes = found->second;
    if (is_new && std::system(command.c_str()) == 0) {
        std::ifstream file(object, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        bytes.resize(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
    }
    std::filesystem::remove(object);
    return bytes;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

// A kernel of three arguments: `a`, `b` and what it writes, which is zeros before.
struct KernelCase {
    std::string_view name;
    std::vector<std::byte> a, b, expected;
    std::vector<size_t> ignored = {};  // bytes of `expected` that are padding
    uint32_t groups = kGroups;
    std::optional<FindingKind> broken_by_clang = {};  // a rule that clang 19 is known to break in this kernel
};

// `make(i)` for each of `count` elements.
template <class T>
std::vector<T> filled(uint32_t count, const auto& make) {
    std::vector<T> values(count);
    for (uint32_t i = 0; i < count; ++i) values[i] = static_cast<T>(make(i));
    return values;
}

template <class T>
KernelCase make_case(std::string_view name, const auto& a, const auto& b, const auto& expected) {
    const std::vector<T> first = filled<T>(kItems, a), second = filled<T>(kItems, b);
    return {name, bytes_of(first), bytes_of(second), bytes_of(expected(first, second))};
}

inline uint32_t some_number(uint32_t i) { return i * 2654435761u >> 12; }
inline uint32_t other_number(uint32_t i) { return i * 40503u; }

// What LLVM 19 is known to break: it does not know the rules of gfx12's SGPR reads and of gfx11's masks that a VALU
// writes anew, which were found after it; nor does LLVM 22 that of VOPD's sources on gfx11.
inline Checks checks_for(const CompilerOptions& options) {
    Checks checks;
    checks.sgpr_read_hazard =
        options.generator != CodeGenerator::llvm19 || generation(options.target) != Generation::gfx12;
    checks.vopd_interlock = false;
    checks.mask_rewrite = options.generator != CodeGenerator::llvm19;
    return checks;
}

struct ScheduledRun {
    Schedule schedule;
    uint64_t seed;  // of what memory and registers hold before anything is written to them, and of the random order
};
inline constexpr ScheduledRun kRuns[] = {{Schedule::lock_step, 7}, {Schedule::long_quanta, 7}, {Schedule::reversed, 7},
                                         {Schedule::random, 7},    {Schedule::random, 11},     {Schedule::random, 12},
                                         {Schedule::random, 13},   {Schedule::random, 14},     {Schedule::lock_step, 8},
                                         {Schedule::reversed, 8}};

inline void run_case(const KernelCase& kernel, const CompilerOptions& options, std::span<const std::byte> object,
                     const ScheduledRun& run) {
    Machine machine(options.target, {.checks = checks_for(options), .seed = run.seed});
    const auto loaded = machine.load(object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::vector<std::byte> zeros(kernel.expected.size());
    const uint64_t args[] = {machine.allocate("a", kernel.a), machine.allocate("b", kernel.b),
                             machine.allocate("out", zeros)};
    const auto report =
        machine.launch(kernel.name, {kernel.groups, 1, 1}, {kGroupItems, 1, 1}, std::as_bytes(std::span(args)),
                       {.schedule = run.schedule, .instruction_limit = 20'000'000});
    ASSERT_TRUE(report) << report.error().message;
    for (const Finding& finding : report->findings)
        if (finding.kind != kernel.broken_by_clang) ADD_FAILURE() << finding.text();
    EXPECT_TRUE(report->completed);
    auto out = *machine.read(args[2], kernel.expected.size());
    for (const size_t at : kernel.ignored) out[at] = kernel.expected[at];
    EXPECT_TRUE(out == kernel.expected) << kernel.name << ": wrong result";
}

inline void run_everywhere(std::string_view source, Target target, std::span<const KernelCase> cases,
                           CodeGenerator generator = CodeGenerator::llvm19) {
    for (const std::string_view level : {"-O0", "-O2"})
        for (const WaveSize wave_size : {WaveSize::wave32, WaveSize::wave64}) {
            const CompilerOptions options{target, level, wave_size, generator};
            const std::vector<std::byte>& object = compile(source, options);
            if (object.empty())
                return lack_oracle(generator == CodeGenerator::llvm22 ? "clang-19 and llc-22"
                                                                      : "a clang-19 that compiles for AMD GPUs");
            for (const KernelCase& kernel : cases)
                for (const ScheduledRun& run : kRuns) {
                    SCOPED_TRACE(testing::Message() << kernel.name << " " << level << " wave" << lanes(wave_size) << " "
                                                    << name(run.schedule) << " seed " << run.seed);
                    run_case(kernel, options, object, run);
                    if (testing::Test::HasFailure()) return;
                }
        }
}

}  // namespace riftjit::rdna::emulator

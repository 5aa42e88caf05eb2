// Millions of wave32 vector instructions per second that the software RDNA machine runs on one core: without checks,
// and with every check. Whole launches are timed, with their scalar, memory and wait instructions, by the thread's own
// processor time, the best of some runs; the vector instructions are those that the machine counted.
//
// Kernels of few instructions a wave show what it costs to start a wave, and memory; the loops show the interpreter.
//
//   rdna_machine_bench [KERNEL...]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/assembly_file.h"
#include "jit/rdna/assembly_object.h"
#include "jit/rdna/emulator/lanes_x86.h"
#include "jit/rdna/emulator/machine.h"
#include "jit/rdna/kernels/kernels.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr Target kTarget = Target::gfx1100;
constexpr uint64_t kBufferBytes = 4 << 20;
constexpr uint32_t kBufferWord = 0x3C003C00;  // a small number as f32, 1 as f16, 60 and 0 as bytes
constexpr int kRuns = 5;
constexpr double kSecondsPerRun = 0.3;

constexpr std::string_view kFloatLoop = R"(
    .globl float_loop
float_loop:
    v_mov_b32 v1, 1.0
    v_mov_b32 v2, 0.5
    v_mov_b32 v3, 2.0
    v_mov_b32 v4, 0
    s_movk_i32 s4, 1000
again:
    v_fma_f32 v4, v1, v2, v4
    v_mul_f32 v5, v2, v4
    v_add_f32 v6, v5, v3
    v_fmac_f32 v1, v2, v2
    v_max_f32 v7, v6, v1
    v_sub_f32 v8, v7, v4
    v_mul_f32 v9, s4, v8
    v_fma_f32 v2, v9, 0, v2
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 again
    s_endpgm
)";

constexpr std::string_view kIntegerLoop = R"(
    .globl integer_loop
integer_loop:
    v_mov_b32 v1, 0x12345
    v_mov_b32 v2, 7
    v_mov_b32 v3, 0
    s_movk_i32 s4, 1000
again:
    v_add_nc_u32 v3, v1, v3
    v_lshlrev_b32 v4, 3, v3
    v_xor_b32 v5, v4, v2
    v_mul_lo_u32 v6, v5, v1
    v_and_or_b32 v7, v6, v2, v0
    v_bfe_u32 v8, v7, 3, 9
    v_cmp_lt_u32 vcc_lo, v8, v3
    v_cndmask_b32 v9, v8, v7, vcc_lo
    v_lshl_add_u32 v1, v9, 1, v1
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 again
    s_endpgm
)";

struct Workload {
    std::string_view name;
    std::string_view source;  // empty: one of the project's kernels
    uint32_t groups, group_lanes;
};
// Groups of the project's kernels as their default specs say.
constexpr Workload kWorkloads[] = {
    {"float_loop", kFloatLoop, 8, 64}, {"integer_loop", kIntegerLoop, 8, 64},
    {"vector_add", "", 64, 256},       {"swiglu", "", 64, 128},
    {"rms_norm", "", 32, 128},         {"softmax", "", 32, 128},
    {"gemv_q8", "", 32, 128},          {"matmul_f16", "", 6, 128},
    {"transpose", "", 6, 256},
};

template <class T>
T must(Result<T> result) {
    if (result) return std::move(*result);
    fmt::print(stderr, "error: {}\n", result.error().message);
    std::exit(1);
}

std::vector<std::byte> object_of(const Workload& workload) {
    if (!workload.source.empty()) return must(write_code_object(must(assemble(workload.source, "loop", kTarget))));
    for (const kernels::KernelEntry& entry : kernels::all_kernels()) {
        if (entry.name != workload.name) continue;
        KernelCode kernel = must(link(must(entry.assemble({kTarget, WaveSize::wave32}, {}))));
        kernel.name = workload.name;
        return must(write_code_object(kTarget, CodeObjectVersion::v5, {&kernel, 1}));
    }
    return must<std::vector<std::byte>>(fail(ErrorKind::Usage, "there is no kernel {}", workload.name));
}

// Every pointer gets a buffer of its own; a number is the count of all work-items.
std::vector<std::byte> arguments_of(Machine& machine, const Workload& workload) {
    std::vector<std::byte> buffer(kBufferBytes), args;
    for (size_t at = 0; at < buffer.size(); at += 4) std::memcpy(&buffer[at], &kBufferWord, 4);
    for (const KernelArgument& argument : machine.find(workload.name)->metadata.args) {
        if (is_hidden(argument.value_kind)) continue;
        const bool is_pointer = argument.value_kind == ValueKind::global_buffer;
        const uint64_t value =
            is_pointer ? machine.allocate(argument.name, buffer) : uint64_t{workload.groups} * workload.group_lanes;
        args.resize(std::max<size_t>(args.size(), argument.offset + argument.size));
        std::memcpy(&args[argument.offset], &value, argument.size);
    }
    return args;
}

double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

uint64_t vector_instructions(const Counts& counts) {
    return counts[InstructionClass::valu] + counts[InstructionClass::transcendental] + counts[InstructionClass::wmma];
}

struct Measured {
    double rate = 0;      // vector instructions per second, the best run
    double per_wave = 0;  // of them, in a launch
};
Measured measure(const Workload& workload, const std::vector<std::byte>& object, const Checks& checks) {
    Machine machine(kTarget, {.checks = checks});
    if (const auto loaded = machine.load(object); !loaded) must<int>(std::unexpected(loaded.error()));
    const std::vector<std::byte> args = arguments_of(machine, workload);
    const double waves = workload.groups * workload.group_lanes / lanes(WaveSize::wave32);
    Measured best;
    for (int run = 0; run <= kRuns; ++run) {  // the first one decodes, and is not counted
        uint64_t instructions = 0, launches = 0;
        const double start = thread_seconds();
        double seconds = 0;
        do {
            const RunReport report =
                must(machine.launch(workload.name, {workload.groups}, {workload.group_lanes}, args));
            for (const Finding& finding : report.findings) must<int>(fail(ErrorKind::Usage, "{}", finding.text()));
            instructions += vector_instructions(report.counts);
            ++launches;
            seconds = thread_seconds() - start;
        } while (run > 0 && seconds < kSecondsPerRun);
        if (run > 0) best.rate = std::max(best.rate, static_cast<double>(instructions) / seconds);
        best.per_wave = static_cast<double>(instructions / launches) / waves;
    }
    return best;
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown processor";
}

std::string_view lane_isa() {
    switch (host_lane_isa()) {
        case LaneIsa::avx512:
            return "AVX-512";
        case LaneIsa::avx2:
            return "AVX2";
        case LaneIsa::none:
            break;
    }
    return "one by one";
}

std::string millions(double rate) { return fmt::format("{:.{}f}", 1e-6 * rate, rate < 1e7 ? 2 : 1); }

void print_table(std::span<char* const> wanted) {
    fmt::print("{}; lanes: {}; {}, wave32; million vector instructions per second and core\n\n", processor(),
               lane_isa(), name(kTarget));
    fmt::print("| kernel | vector instructions a wave | no checks | every check |\n|---|---:|---:|---:|\n");
    for (const Workload& workload : kWorkloads) {
        const auto is_this = [&](const char* name) { return workload.name == name; };
        if (!wanted.empty() && std::ranges::none_of(wanted, is_this)) continue;
        const std::vector<std::byte> object = object_of(workload);
        const Measured plain = measure(workload, object, Checks::none());
        const Measured checked = measure(workload, object, Checks{});
        fmt::print("| {} | {:.0f} | {} | {} |\n", workload.name, plain.per_wave, millions(plain.rate),
                   millions(checked.rate));
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace riftjit::rdna::emulator

int main(int argc, char** argv) { riftjit::rdna::emulator::print_table({argv + 1, static_cast<size_t>(argc - 1)}); }

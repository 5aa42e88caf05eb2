// How fast the software RDNA machine is on one core: without checks, and with every check. Whole launches are timed by
// the thread's own processor time, the best of some runs. Rates are of vector ALU instructions of wave32, and of all
// instructions: those of memory cost most, and are no vector ALU instructions.
//
// The loops show the interpreter, the first kernels what it costs to start a wave, the large ones what remains when
// that is spread over a long row.
//
//   rdna_machine_bench [checked | unchecked] [KERNEL...]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/machine/machine.h"
#include "tests/jit/rdna/kernels/samples/all_kernels.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr Target kTarget = Target::gfx1100;
constexpr uint64_t kBufferBytes = 8 << 20;
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
    std::string_view name;    // of the kernel
    std::string_view size;    // what its spec says, where it matters
    std::string_view source;  // empty: one of the project's kernels
    Result<KernelProgram> (*assemble)(KernelTarget target);
    uint32_t groups, group_lanes;
};

constexpr Workload kWorkloads[] = {
    {"float_loop", "1000 rounds", kFloatLoop, nullptr, 8, 64},
    {"integer_loop", "1000 rounds", kIntegerLoop, nullptr, 8, 64},
    {"vector_add", "", "", [](KernelTarget target) { return kernels::vector_add(target, {}); }, 64, 256},
    {"swiglu", "", "", [](KernelTarget target) { return kernels::kernel_program(target, kernels::swiglu_spec(256)); },
     64, 32},
    {"rms_norm", "1024", "",
     [](KernelTarget target) { return kernels::kernel_program(target, kernels::rms_norm_spec(1024)); }, 32, 128},
    {"softmax", "1024", "", [](KernelTarget target) { return kernels::softmax(target, {}); }, 32, 128},
    {"gemv_q8", "2080", "", [](KernelTarget target) { return kernels::gemv_q8(target, {}); }, 32, 128},
    {"matmul_f16", "64 x 96 x 64", "", [](KernelTarget target) { return kernels::matmul_f16(target, {}); }, 6, 128},
    {"transpose", "64 x 96", "", [](KernelTarget target) { return kernels::transpose(target, {}); }, 6, 256},
    {"rms_norm", "16384", "",
     [](KernelTarget target) { return kernels::kernel_program(target, kernels::rms_norm_spec(16384)); }, 16, 256},
    {"softmax", "2048", "", [](KernelTarget target) { return kernels::softmax(target, {.width = 2048}); }, 64, 128},
    {"gemv_q8", "16384", "", [](KernelTarget target) { return kernels::gemv_q8(target, {.columns = 16384}); }, 32, 128},
    {"matmul_f16", "64 x 96 x 1024", "", [](KernelTarget target) { return kernels::matmul_f16(target, {.k = 1024}); },
     6, 128},
    {"transpose", "512 x 512", "",
     [](KernelTarget target) { return kernels::transpose(target, {.rows = 512, .columns = 512}); }, 256, 256},
};

template <class T>
T must(Result<T> result) {
    if (result) return std::move(*result);
    fmt::print(stderr, "error: {}\n", result.error().message);
    std::exit(1);
}

std::vector<std::byte> object_of(const Workload& workload) {
    if (!workload.source.empty()) return must(write_code_object(must(assemble(workload.source, "loop", kTarget))));
    KernelCode kernel = must(link(must(workload.assemble({kTarget, WaveSize::wave32}))));
    kernel.name = workload.name;
    return must(write_code_object(kTarget, CodeObjectVersion::v5, {&kernel, 1}));
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

uint64_t bytes_moved(const Counts& counts) {
    return counts.global_bytes_loaded + counts.global_bytes_stored + counts.lds_bytes_loaded + counts.lds_bytes_stored +
           counts.scalar_bytes_loaded;
}

struct Measured {
    double vector_rate = 0, rate = 0, byte_rate = 0;  // per second, of the best run
    double vector_per_wave = 0, per_wave = 0;         // instructions in a launch
};
Measured measure(const Workload& workload, const std::vector<std::byte>& object, const Checks& checks) {
    Machine machine(kTarget, {.checks = checks});
    if (const auto loaded = machine.load(object); !loaded) must<int>(std::unexpected(loaded.error()));
    const std::vector<std::byte> args = arguments_of(machine, workload);
    const double waves = workload.groups * workload.group_lanes / lanes(WaveSize::wave32);
    Measured best;
    for (int run = 0; run <= kRuns; ++run) {  // the first one decodes, and is not counted
        Counts counts;
        uint64_t launches = 0;
        const double start = thread_seconds();
        double seconds = 0;
        do {
            const RunReport report =
                must(machine.launch(workload.name, {workload.groups}, {workload.group_lanes}, args));
            for (const Finding& finding : report.findings) must<int>(fail(ErrorKind::Usage, "{}", finding.text()));
            counts += report.counts;
            ++launches;
            seconds = thread_seconds() - start;
        } while (run > 0 && seconds < kSecondsPerRun);
        const auto instructions = static_cast<double>(counts.total_instructions());
        const auto vector = static_cast<double>(vector_instructions(counts));
        best.per_wave = instructions / static_cast<double>(launches) / waves;
        best.vector_per_wave = vector / static_cast<double>(launches) / waves;
        if (run == 0 || instructions / seconds <= best.rate) continue;
        best.rate = instructions / seconds;
        best.vector_rate = vector / seconds;
        best.byte_rate = static_cast<double>(bytes_moved(counts)) / seconds;
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
std::string cells(const Measured& measured) {
    return fmt::format("{} | {} | {:.2f}", millions(measured.vector_rate), millions(measured.rate),
                       1e-9 * measured.byte_rate);
}

void print_table(std::vector<std::string_view> wanted) {
    const auto take = [&](std::string_view word) { return std::erase(wanted, word) > 0; };
    const bool only_checked = take("checked"), only_unchecked = take("unchecked");
    fmt::print("{}; lanes: {}; {}, wave32, one core; VALU, all: million instructions per second\n\n", processor(),
               lane_isa(), name(kTarget));
    fmt::print(
        "| kernel | size | a wave: VALU | all | no checks: VALU | all | GB/s | every check: VALU | all | GB/s |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const Workload& workload : kWorkloads) {
        if (!wanted.empty() && std::ranges::find(wanted, workload.name) == wanted.end()) continue;
        const std::vector<std::byte> object = object_of(workload);
        const Measured plain = only_checked ? Measured{} : measure(workload, object, Checks::none());
        const Measured checked = only_unchecked ? Measured{} : measure(workload, object, Checks{});
        const Measured& counted = only_checked ? checked : plain;
        fmt::print("| {} | {} | {:.0f} | {:.0f} | {} | {} |\n", workload.name, workload.size, counted.vector_per_wave,
                   counted.per_wave, cells(plain), cells(checked));
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace riftjit::rdna::emulator

int main(int argc, char** argv) { riftjit::rdna::emulator::print_table({argv + 1, argv + argc}); }

// How long it takes to make a long RDNA kernel: emitting it, giving it registers, the passes, linking. The bar is 20 ms
// for 3,000 lines; the kernels of a whole model are to be made in 50 ms.
//
//   rdna_passes_bench --benchmark_filter=gfx1100
#include <benchmark/benchmark.h>

#include <string>

#include "tests/jit/rdna/passes/long_kernel.h"

namespace riftjit::rdna {
namespace {

constexpr PassOptions kAllPasses{};
constexpr PassOptions kNoPasses = PassOptions::none();

unsigned sections_of(int64_t lines) { return static_cast<unsigned>(lines) / LongKernel::kSectionLines; }

void emit(benchmark::State& state, KernelTarget target) {
    for (auto _ : state) benchmark::DoNotOptimize(LongKernel(target, sections_of(state.range(0))).lanes());
}

void finish(benchmark::State& state, KernelTarget target, PassOptions options) {
    size_t lines = 0;
    for (auto _ : state) lines = LongKernel(target, sections_of(state.range(0))).finish(options).program.lines.size();
    state.counters["lines"] = static_cast<double>(lines);
}

void make(benchmark::State& state, KernelTarget target) {
    for (auto _ : state) {
        auto code = link(LongKernel(target, sections_of(state.range(0))).finish(kAllPasses));
        if (!code) state.SkipWithError(code.error().message.c_str());
        benchmark::DoNotOptimize(code);
    }
}

void register_all() {
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
            const KernelTarget setting{target, wave};
            const std::string suffix = "/" + std::string(name(target)) + "/wave" + std::to_string(lanes(wave));
            const auto add = [&](const std::string& what, auto... arguments) {
                benchmark::RegisterBenchmark((what + suffix).c_str(), arguments...)
                    ->Arg(750)
                    ->Arg(3000)
                    ->Unit(benchmark::kMillisecond);
            };
            add("emit", emit, setting);
            add("emit_and_allocate", finish, setting, kNoPasses);
            add("emit_allocate_and_run_passes", finish, setting, kAllPasses);
            add("all_and_link", make, setting);
        }
    }
}

}  // namespace
}  // namespace riftjit::rdna

int main(int argc, char** argv) {
    riftjit::rdna::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}

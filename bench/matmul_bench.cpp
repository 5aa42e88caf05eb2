// Speed of the matrix kernels beside the limits measured in the same run, on one thread. Times are the thread's own
// processor time, the shortest of all runs, so that a busy machine disturbs them little.
//
//   vector form: one row of activations, a matrix larger than the last-level cache; GB/s of packed weights read, and
//                their share of what a plain read loop reaches
//   tile form:   512 rows by a 3072 x 1024 matrix; GOP/s (a multiply and an add each), and their share of a loop of
//                nothing but dot products in registers
//   rows:        the vector form's matrix by 1 to 32 rows of activations, in tile form; GB/s of packed weights read, of
//                what the vector form reads for one row in the same run
//
//   matmul_bench --benchmark_filter='tile/q4_k'
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>
#include <memory>
#include <new>

#include "jit/code_memory.h"
#include "jit/x86/backend.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/detect.h"
#include "jit/x86/emit/x86_kernel.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {
namespace {

constexpr uint64_t kVectorBytes = 128ull << 20;
constexpr uint32_t kVectorWidth = 2048;
constexpr uint32_t kTileTokens = 512, kTileWidth = 1024, kTileRows = 3072;
constexpr int kPeakRuns = 10;

class Executable {
public:
    explicit Executable(const MachineCode& code) {
        const auto address = memory_.add(code.bytes);
        check(address && memory_.seal(), "generated code can be mapped");
        function_ = reinterpret_cast<KernelFunction>(const_cast<std::byte*>(*address));
    }
    void operator()(const void* args, uint32_t begin, uint32_t end) const { function_(args, begin, end); }

private:
    CodeMemory memory_;
    KernelFunction function_;
};

// On huge pages, as the runtime's weights are: with 4 KiB pages address translation, not memory, limits a stream. Bytes
// of 0x2c are harmless numbers in every type: 0.065 as f16, 2e-12 as f32. No kernel's speed depends on values.
class Buffer {
public:
    explicit Buffer(uint64_t bytes)
        : bytes_(round_up(bytes, kHugePage)),
          data_(static_cast<std::byte*>(operator new(bytes_, std::align_val_t(kHugePage)))) {
        madvise(data_, bytes_, MADV_HUGEPAGE);
        std::memset(data_, 0x2c, bytes_);
    }
    ~Buffer() { operator delete(data_, std::align_val_t(kHugePage)); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* data() const { return data_; }

private:
    static constexpr uint64_t kHugePage = 2 << 20;
    uint64_t bytes_;
    std::byte* data_;
};

// void(address*, iterations, 0): reads 1 KiB an iteration.
class ReadLoop final : public X86Emitter {
public:
    using X86Emitter::X86Emitter;

private:
    void generate() override {
        Label again;
        mov(rdi, ptr[rdi]);
        L(again);
        for (int offset = 0; offset < 1024; offset += vector_bytes()) {
            if (offset % 64 == 0) prefetcht1(ptr[rdi + offset + 1024]);
            vmovaps(vector(offset / vector_bytes() % 8), ptr[rdi + offset]);
        }
        add(rdi, 1024);
        dec(esi);
        jnz(again);
        epilogue();
    }
};

// void(-, iterations, 0): 64 dot products of vectors an iteration, in chains that hide their latency.
class DotLoop final : public X86Emitter {
public:
    using X86Emitter::X86Emitter;
    static constexpr int kUnrolled = 64;

private:
    void generate() override {
        Label again;
        for (int i = 0; i < 16; ++i) vpxor(Xmm(i), Xmm(i), Xmm(i));
        L(again);
        for (int i = 0; i < kUnrolled; ++i) {
            const Xmm sum = vector(i % 8);
            if (has_vnni(isa_)) {
                vpdpwssd(sum, vector(12), vector(13), has_avx512(isa_) ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
            } else {
                vpmaddwd(vector(8 + i % 4), vector(12), vector(13));
                vpaddd(sum, sum, vector(8 + i % 4));
            }
        }
        dec(esi);
        jnz(again);
        epilogue();
    }
};

double thread_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

template <class Run>
double shortest_seconds(const Run& run) {
    double shortest = 1e9;
    for (int i = 0; i < kPeakRuns; ++i) {
        const double start = thread_seconds();
        run();
        shortest = std::min(shortest, thread_seconds() - start);
    }
    return shortest;
}

double read_bytes_per_second(Isa isa) {
    const Executable loop(ReadLoop(isa).finish());
    const Buffer memory(kVectorBytes + 4096);
    const std::byte* start = memory.data();
    const double seconds = shortest_seconds([&] { loop(&start, kVectorBytes / 1024, 0); });
    return double(kVectorBytes) / seconds;
}

double dot_operations_per_second(Isa isa) {
    constexpr uint32_t kIterations = 50000;
    const Executable loop(DotLoop(isa).finish());
    const double seconds = shortest_seconds([&] { loop(nullptr, kIterations, 0); });
    return double(kIterations) * DotLoop::kUnrolled * (has_avx512(isa) ? 16 : 8) * 4 / seconds;
}

struct Case {
    MatmulSpec spec;
    Isa isa;
    uint32_t tokens;
};

MachineCode compile_matmul(const MatmulSpec& spec, Isa isa) {
    const auto object = compile(spec, isa);
    if (!object) check_failed(object.error().message, std::source_location::current());
    return read_x86_object(object->elf)->code;
}

class Kernel {
public:
    explicit Kernel(const Case& c)
        : code_(compile_matmul(c.spec, c.isa)),
          weights_(packed_bytes(c.spec.weight, c.spec.rows, c.spec.width) + 4096),
          x_(uint64_t(activation_row_bytes(activation_format(c.spec.weight, c.spec.activations, c.isa), c.spec.width)) *
             c.tokens),
          out_(uint64_t(c.spec.out_stride) * 4 * c.tokens),
          batch_{.rows = c.tokens},
          args_{weights_.data(), nullptr, x_.data(), reinterpret_cast<float*>(out_.data()), &batch_},
          panels_(unit_count(c.spec, c.tokens)) {}
    void run() const { code_(&args_, 0, panels_); }

private:
    const Executable code_;
    const Buffer weights_, x_, out_;
    const BatchState batch_;
    const MatmulArgs args_;
    const uint32_t panels_;
};

void run_case(benchmark::State& state, const Case& benchmark_case, double per_run, double peak, const char* unit) {
    const Kernel kernel(benchmark_case);
    double shortest = 1e9;
    for (auto _ : state) {
        const double start = thread_seconds();
        kernel.run();
        const double seconds = thread_seconds() - start;
        state.SetIterationTime(seconds);
        shortest = std::min(shortest, seconds);
    }
    state.counters[unit] = per_run / shortest / 1e9;
    state.counters["peak"] = peak / 1e9;
    state.counters["percent"] = 100 * per_run / shortest / peak;
}

MatmulSpec vector_spec(DType type) {
    const uint32_t panels = static_cast<uint32_t>(kVectorBytes / packed_panel_bytes(type, kVectorWidth));
    const uint32_t rows = panels * kPanelRows;
    return {type, rows, kVectorWidth, rows, MatmulForm::vector, Epilogue::store, Presence::absent};
}

void register_vector(DType type, Isa isa) {
    const MatmulSpec spec = vector_spec(type);
    const double bytes = double(packed_bytes(type, spec.rows, kVectorWidth));
    benchmark::RegisterBenchmark(
        fmt::format("vector/{}/{}", name(type), name(isa)).c_str(),
        [=](benchmark::State& state) { run_case(state, {spec, isa, 1}, bytes, read_bytes_per_second(isa), "GB/s"); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

double vector_bytes_per_second(const MatmulSpec& spec, Isa isa, double bytes) {
    const Kernel kernel({spec, isa, 1});
    return bytes / shortest_seconds([&] { kernel.run(); });
}

void register_rows(DType type, Isa isa, uint32_t tokens) {
    const MatmulSpec spec = vector_spec(type);
    const double bytes = double(packed_bytes(type, spec.rows, kVectorWidth));
    MatmulSpec tile = spec;
    tile.form = MatmulForm::tile;
    benchmark::RegisterBenchmark(fmt::format("rows/{}/{}/{}", name(type), name(isa), tokens).c_str(),
                                 [=](benchmark::State& state) {
                                     run_case(state, {tile, isa, tokens}, bytes,
                                              vector_bytes_per_second(spec, isa, bytes), "GB/s");
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

void register_tile(DType type, Isa isa) {
    const MatmulSpec spec{type, kTileRows, kTileWidth, kTileRows, MatmulForm::tile, Epilogue::store, Presence::absent};
    const double operations = 2.0 * kTileTokens * kTileWidth * kTileRows;
    benchmark::RegisterBenchmark(fmt::format("tile/{}/{}", name(type), name(isa)).c_str(),
                                 [=](benchmark::State& state) {
                                     run_case(state, {spec, isa, kTileTokens}, operations,
                                              dot_operations_per_second(isa), "GOP/s");
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace riftjit::x86

int main(int argc, char** argv) {
    using namespace riftjit;
    benchmark::Initialize(&argc, argv);
    for (const Isa isa : x86::detect().levels) {
        for (const DTypeTraits& type : all_dtypes()) {
            if (!type.is_weight) continue;
            x86::register_vector(type.type, isa);
            x86::register_tile(type.type, isa);
            for (const uint32_t tokens : {1, 2, 3, 4, 6, 8, 12, 16, 32}) x86::register_rows(type.type, isa, tokens);
        }
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}

// Kernels that clang-19 compiled, with code, encodings and ABI that nobody here wrote: they give the right answer in
// every generation, wave size and schedule, at -O0 and -O2, and nothing is reported.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "jit/rdna/emulator/machine.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr std::string_view kSource = R"cl(
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GLOBAL_ID (GROUP * 64 + ITEM)
#define BARRIER                                             \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");  \
    __builtin_amdgcn_s_barrier();                           \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

kernel void add(global const float* a, global const float* b, global float* out) {
    int i = GLOBAL_ID;
    out[i] = a[i] + b[i];
}
kernel void divide(global const float* a, global const float* b, global double* out) {
    int i = GLOBAL_ID;
    out[i] = (double)a[i] / (double)b[i] + (double)(a[i] / b[i]);
}
kernel void reduce(global const uint* a, global const uint* b, global uint* out) {
    local uint sums[64];
    int l = ITEM;
    sums[l] = a[GLOBAL_ID] ^ b[GLOBAL_ID];
    for (int k = 32; k > 0; k >>= 1) {
        BARRIER
        if (l < k) sums[l] += sums[l + k];
    }
    BARRIER
    if (l == 0) out[GROUP] = sums[0];
}
kernel void scan(global const uint* a, global const uint* b, global uint* out) {
    local uint parts[2][64];
    int l = ITEM, p = 0;
    parts[0][l] = a[GLOBAL_ID];
    BARRIER
    for (int d = 1; d < 64; d <<= 1) {
        parts[1 - p][l] = l >= d ? parts[p][l] + parts[p][l - d] : parts[p][l];
        p = 1 - p;
        BARRIER
    }
    out[GLOBAL_ID] = parts[p][l];
}
kernel void diverge(global const uint* a, global const uint* b, global uint* out) {
    int i = GLOBAL_ID;
    uint x = a[i], r = 0;
    switch (x & 7) {
        case 0: r = x * 3; break;
        case 1:
            for (uint k = 0; k < (x & 31); ++k) {
                if (k == 7) continue;
                r += k * x;
                if (r > 100000) break;
            }
            break;
        case 2: r = x / 7; break;
        case 3: r = x % 13; break;
        case 4: r = __builtin_popcount(x); break;
        case 5: r = __builtin_clz(x | 1); break;
        case 6: r = x << (x & 15); break;
        default: r = ~x;
    }
    while (r > 1000) r = (r >> 1) ^ (r & 5);
    out[i] = r;
}
kernel void wide(global const ulong* a, global const ulong* b, global ulong* out) {
    int i = GLOBAL_ID;
    ulong x = a[i];
    out[i] = x * x + x / (ulong)(i + 3) + x % 1000003 + (b[i] >> (x & 63));
}
struct Padded { char c; int x; short s; double d; };
kernel void pad(global const struct Padded* a, global const struct Padded* b, global struct Padded* out) {
    int i = GLOBAL_ID;
    struct Padded s = a[i];
    s.x += s.c;
    if (i & 1) s.d = b[i].d * 2;
    out[i] = s;
}
kernel void histogram(global const uint* a, global const uint* b, global uint* out) {
    local uint bins[32];
    int l = ITEM;
    if (l < 32) bins[l] = 0;
    BARRIER
    __opencl_atomic_fetch_add((local atomic_uint*)&bins[a[GLOBAL_ID] & 31], 1, __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_WORK_GROUP);
    BARRIER
    if (l < 32)
        __opencl_atomic_fetch_add((global atomic_uint*)&out[l], bins[l], __ATOMIC_RELAXED,
                                  __OPENCL_MEMORY_SCOPE_DEVICE);
}
kernel void spill(global const uint* a, global const uint* b, global uint* out) {
    int i = GLOBAL_ID;
    uint table[16];
    for (int k = 0; k < 16; ++k) table[k] = a[i] + k * k;
    out[i] = table[a[i] & 15] + table[b[i] & 15];
}
kernel void bytes(global const uchar4* a, global const uchar4* b, global uchar4* out) {
    int i = GLOBAL_ID;
    uchar4 x = a[i], y = b[i];
    out[i] = (uchar4)((x.x + y.x) / 2, x.y ^ y.z, x.w - y.w, x.z);
}
)cl";

constexpr uint32_t kGroups = 2, kItems = 128;

struct CompilerOptions {
    Target target;
    std::string_view level;
    WaveSize wave_size;
};

// Empty where clang-19 is absent.
std::vector<std::byte> compile(const CompilerOptions& options) {
    static std::map<std::string, std::vector<std::byte>> compiled;
    const std::string flags = "-mcpu=" + std::string(name(options.target)) + " " + std::string(options.level) +
                              (options.wave_size == WaveSize::wave64 ? " -mwavefrontsize64" : "");
    if (const auto known = compiled.find(flags); known != compiled.end()) return known->second;
    const auto folder = std::filesystem::temp_directory_path() / ("riftjit-kernels-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const auto source = folder / "kernels.cl", object = folder / "kernels.co";
    std::ofstream(source) << kSource;
    const std::string command =
        "clang-19 -x cl -cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt -nogpulib "
        "-target amdgcn-amd-amdhsa " +
        flags + " " + source.string() + " -o " + object.string() + " 2>/dev/null";
    std::vector<std::byte> bytes;
    if (std::system(command.c_str()) == 0) {
        std::ifstream file(object, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        bytes.resize(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
    }
    std::filesystem::remove_all(folder);
    return compiled[flags] = bytes;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

struct KernelCase {
    std::string_view name;
    std::vector<std::byte> a, b, expected;
    std::vector<size_t> ignored = {};  // bytes of `expected` that are padding
};

template <class T>
KernelCase make_case(std::string_view name, const std::function<T(uint32_t)>& a, const std::function<T(uint32_t)>& b,
                     const auto& expected) {
    std::vector<T> first(kItems), second(kItems);
    for (uint32_t i = 0; i < kItems; ++i) first[i] = a(i), second[i] = b(i);
    return {name, bytes_of(first), bytes_of(second), bytes_of(expected(first, second))};
}

std::vector<uint32_t> reduced(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    std::vector<uint32_t> sums(kGroups);
    for (uint32_t i = 0; i < kItems; ++i) sums[i / 64] += a[i] ^ b[i];
    return sums;
}
std::vector<uint32_t> scanned(const std::vector<uint32_t>& a, const std::vector<uint32_t>&) {
    std::vector<uint32_t> sums(a);
    for (uint32_t i = 0; i < kItems; ++i)
        if (i % 64) sums[i] += sums[i - 1];
    return sums;
}
std::vector<uint32_t> counted(const std::vector<uint32_t>& a, const std::vector<uint32_t>&) {
    std::vector<uint32_t> bins(32);
    for (const uint32_t value : a) ++bins[value & 31];
    return bins;
}
uint32_t diverged(uint32_t x) {
    uint32_t r = 0;
    switch (x & 7) {
        case 0:
            r = x * 3;
            break;
        case 1:
            for (uint32_t k = 0; k < (x & 31); ++k) {
                if (k == 7) continue;
                r += k * x;
                if (r > 100000) break;
            }
            break;
        case 2:
            r = x / 7;
            break;
        case 3:
            r = x % 13;
            break;
        case 4:
            r = static_cast<uint32_t>(std::popcount(x));
            break;
        case 5:
            r = static_cast<uint32_t>(std::countl_zero(x | 1));
            break;
        case 6:
            r = x << (x & 15);
            break;
        default:
            r = ~x;
    }
    while (r > 1000) r = (r >> 1) ^ (r & 5);
    return r;
}

struct Padded {
    int8_t c;
    int32_t x;
    int16_t s;
    double d;
};

KernelCase padded_case() {
    std::vector<Padded> a(kItems), b(kItems), expected(kItems);
    KernelCase result{"pad", {}, {}, {}};
    for (int32_t i = 0; i < static_cast<int32_t>(kItems); ++i) {
        a[i] = {static_cast<int8_t>(i - 64), i * 1000, static_cast<int16_t>(-i), i * 0.5};
        b[i] = {0, 0, 0, i * 0.25};
        expected[i] = a[i];
        expected[i].x += a[i].c;
        if (i & 1) expected[i].d = b[i].d * 2;
        for (const size_t at : {1, 2, 3, 10, 11, 12, 13, 14, 15})
            result.ignored.push_back(static_cast<size_t>(i) * sizeof(Padded) + at);
    }
    result.a = bytes_of(a), result.b = bytes_of(b), result.expected = bytes_of(expected);
    return result;
}

KernelCase wide_case() {
    return make_case<uint64_t>(
        "wide", [](uint32_t i) { return (i + 1) * 0x9E3779B97F4A7C15; }, [](uint32_t i) { return ~uint64_t{i}; },
        [](const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
            std::vector<uint64_t> out(kItems);
            for (uint32_t i = 0; i < kItems; ++i)
                out[i] = a[i] * a[i] + a[i] / (i + 3) + a[i] % 1000003 + (b[i] >> (a[i] & 63));
            return out;
        });
}

KernelCase bytes_case() {
    return make_case<uint32_t>(
        "bytes", [](uint32_t i) { return i * 0x01030507; }, [](uint32_t i) { return i * 0x0B0D1113; },
        [](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
            std::vector<uint32_t> out(kItems);
            const auto byte = [](uint32_t word, unsigned n) { return word >> 8 * n & 0xFF; };
            for (uint32_t i = 0; i < kItems; ++i)
                out[i] = (byte(a[i], 0) + byte(b[i], 0)) / 2 | (byte(a[i], 1) ^ byte(b[i], 2)) << 8 |
                         ((byte(a[i], 3) - byte(b[i], 3)) & 0xFF) << 16 | byte(a[i], 2) << 24;
            return out;
        });
}

std::vector<KernelCase> integer_cases() {
    const auto number = [](uint32_t i) { return i * 2654435761u >> 12; };
    const auto other = [](uint32_t i) { return i * 40503u; };
    std::vector<KernelCase> cases;
    cases.push_back(make_case<uint32_t>("reduce", number, other, reduced));
    cases.push_back(make_case<uint32_t>("scan", number, other, scanned));
    cases.push_back(make_case<uint32_t>("histogram", number, other, counted));
    cases.push_back(make_case<uint32_t>("diverge", number, other, [](const auto& a, const auto&) {
        std::vector<uint32_t> out;
        for (const uint32_t x : a) out.push_back(diverged(x));
        return out;
    }));
    cases.push_back(make_case<uint32_t>("spill", number, other, [](const auto& a, const auto& b) {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < kItems; ++i) {
            const uint32_t first = a[i] & 15, second = b[i] & 15;
            out.push_back(2 * a[i] + first * first + second * second);
        }
        return out;
    }));
    return cases;
}

std::vector<KernelCase> all_cases() {
    std::vector<KernelCase> cases = integer_cases();
    const auto a = [](uint32_t i) { return static_cast<float>(i) * 1.5f - 20.0f; };
    const auto b = [](uint32_t i) { return static_cast<float>(i) * -0.37f - 1.0f; };
    cases.push_back(make_case<float>("add", a, b, [](const auto& x, const auto& y) {
        std::vector<float> out;
        for (uint32_t i = 0; i < kItems; ++i) out.push_back(x[i] + y[i]);
        return out;
    }));
    cases.push_back(make_case<float>("divide", a, b, [](const auto& x, const auto& y) {
        std::vector<double> out;
        for (uint32_t i = 0; i < kItems; ++i)
            out.push_back(static_cast<double>(x[i]) / static_cast<double>(y[i]) + static_cast<double>(x[i] / y[i]));
        return out;
    }));
    cases.push_back(wide_case());
    cases.push_back(bytes_case());
    cases.push_back(padded_case());
    return cases;
}

Checks checks_for_compilers() {
    Checks checks;
    // What clang 19 is known to break: gfx12's rule was found after it, the overlap is no rule of its tables, and its
    // search for partial forwarding visits each block once, so it misses a loop that is left in its middle.
    checks.sgpr_read_hazard = false;
    checks.overlap = false;
    checks.partial_forwarding = false;
    return checks;
}

void run_case(const KernelCase& kernel, Target target, std::span<const std::byte> object, Schedule schedule) {
    Machine machine(target, {.checks = checks_for_compilers(), .seed = 7});
    const auto loaded = machine.load(object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::vector<std::byte> zeros(kernel.expected.size());
    const uint64_t args[] = {machine.allocate("a", kernel.a), machine.allocate("b", kernel.b),
                             machine.allocate("out", zeros)};
    const auto report = machine.launch(kernel.name, {kGroups, 1, 1}, {64, 1, 1}, std::as_bytes(std::span(args)),
                                       {.schedule = schedule, .instruction_limit = 20'000'000});
    ASSERT_TRUE(report) << report.error().message;
    for (const Finding& finding : report->findings) ADD_FAILURE() << finding.text();
    EXPECT_TRUE(report->completed);
    auto out = *machine.read(args[2], kernel.expected.size());
    for (const size_t at : kernel.ignored) out[at] = kernel.expected[at];
    EXPECT_TRUE(out == kernel.expected) << kernel.name << ": wrong result";
}

}  // namespace

class CompilerKernels : public testing::TestWithParam<Target> {};

TEST_P(CompilerKernels, RunRightUnderEverySchedule) {
    const std::vector<KernelCase> cases = all_cases();
    for (const std::string_view level : {"-O0", "-O2"})
        for (const WaveSize wave_size : {WaveSize::wave32, WaveSize::wave64}) {
            const std::vector<std::byte> object = compile({GetParam(), level, wave_size});
            if (object.empty()) GTEST_SKIP() << "clang-19 is not installed, or cannot compile for AMD GPUs";
            for (const KernelCase& kernel : cases)
                for (const Schedule schedule :
                     {Schedule::lock_step, Schedule::long_quanta, Schedule::random, Schedule::reversed}) {
                    SCOPED_TRACE(testing::Message() << kernel.name << " " << level << " wave" << lanes(wave_size) << " "
                                                    << name(schedule));
                    run_case(kernel, GetParam(), object, schedule);
                    if (HasFailure()) return;
                }
        }
}

INSTANTIATE_TEST_SUITE_P(Targets, CompilerKernels, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace riftjit::rdna::emulator

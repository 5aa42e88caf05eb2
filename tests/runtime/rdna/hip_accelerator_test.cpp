// HIP's way against the stand-in of tests/hip_stand_in, which is found by dlopen as a driver's library is.
#include "runtime/rdna/hip_accelerator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "runtime/rdna/rdna_device.h"

namespace riftjit::runtime {
namespace hip_accelerator_test {

const std::string kLibrary = RIFTJIT_HIP_STAND_IN "/whole/libamdhip64.so.7";

void tell(const std::string& what) { setenv("RIFTJIT_STAND_IN", what.c_str(), 1); }

// What the stand-in says of itself.
template <class Function>
Function* stand_in(const char* name) {
    return reinterpret_cast<Function*>(dlsym(dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_NOLOAD), name));
}

constexpr uint32_t kWidth = 96, kStride = 96;

// swiglu of rows into others, twice.
graph::Plan two_steps() {
    graph::Plan plan;
    plan.max_tokens = 3;
    using graph::Place;
    const auto row = [](uint64_t number) { return Place{Place::Kind::arena, number * 3 * kStride * 4, 0}; };
    const SwigluSpec swiglu{kWidth, kStride, RowFormat::f32};
    plan.steps.push_back({"one", swiglu, {row(0), row(1), row(2)}});
    plan.steps.push_back({"two", swiglu, {row(2), row(1), row(3)}});
    return plan;
}

std::vector<float> input() {
    std::vector<float> values(2 * 3 * kStride);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * float(i % 97) - 0.4f;
    return values;
}

Result<std::vector<float>> run_on(Device& device) {
    const graph::Plan plan = two_steps();
    RIFTJIT_TRY(arena, device.allocate(4 * 3 * kStride * 4, MemoryUse::random, "the arena"));
    const std::vector<float> values = input();
    RIFTJIT_TRY_VOID(device.write(arena, std::as_bytes(std::span(values))));
    RIFTJIT_TRY(bound, device.bind(plan, {.arena = arena}));
    RIFTJIT_TRY_VOID(device.make_ready());
    for (int i = 0; i < 2; ++i) RIFTJIT_TRY_VOID(bound->run({.rows = 3}));
    RIFTJIT_TRY_VOID(device.copy(arena, arena + 3 * 3 * kStride * 4, 16));
    std::vector<float> out(3 * kStride);
    RIFTJIT_TRY_VOID(device.read(std::as_writable_bytes(std::span(out)), arena + 3 * 3 * kStride * 4));
    return out;
}

Result<std::unique_ptr<HipAccelerator>> open_hip(std::optional<uint32_t> index = {}, const HipOptions& options = {}) {
    RIFTJIT_TRY(hip, HipLibrary::open(kLibrary));
    RIFTJIT_TRY(devices, list_hip_devices(*hip));
    RIFTJIT_TRY(device, choose_hip_device(devices, index));
    return HipAccelerator::create(hip, device, options);
}

std::string unreleased;

Result<std::vector<float>> run_on_hip() {
    unreleased.clear();
    RIFTJIT_TRY(accelerator, open_hip({}, {.stuck = [](const std::string&) {},
                                           .unreleased = [](const std::string& line) { unreleased += line; }}));
    RIFTJIT_TRY_VOID(accelerator->memory());
    KernelCache cache(compile_rdna, DiskCache::disabled());
    RdnaDevice device(std::move(accelerator), cache);
    return run_on(device);
}

TEST(HipAccelerator, ComputesWhatTheSoftwareMachineDoes) {
    for (const rdna::Target chip : {rdna::Target::gfx1030, rdna::Target::gfx1100, rdna::Target::gfx1201}) {
        tell(fmt::format("devices={},checks=all", rdna::name(chip)));
        KernelCache cache(compile_rdna, DiskCache::disabled());
        RdnaDevice emulated(chip, cache);
        const auto found = run_on_hip(), expected = run_on(emulated);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(*found, expected.value());
        EXPECT_EQ(stand_in<int64_t()>("stand_in_left")(), 0);
    }
}

// Every call failing once in turn: an error that names it, nothing left behind, and the next run is as good as ever.
TEST(HipAccelerator, TellsOfEveryCallThatFails) {
    tell("");
    ASSERT_TRUE(run_on_hip());
    const uint64_t calls = stand_in<uint64_t()>("stand_in_calls")();
    ASSERT_GT(calls, 30u);
    std::set<std::string> ended, told;
    for (uint64_t call = 1; call <= calls; ++call) {
        tell(fmt::format("fail={}", call));
        const auto outcome = run_on_hip();
        const std::string failed = stand_in<const char*()>("stand_in_failed")();
        EXPECT_EQ(stand_in<int64_t()>("stand_in_left")(), 0) << failed;
        (outcome ? ended : told).insert(failed);
        EXPECT_EQ(outcome.has_value(), !unreleased.empty()) << failed;
        const std::string line = outcome ? unreleased : outcome.error().message;
        EXPECT_TRUE(line.contains(": HIP: " + failed + ": unknown error (hipErrorUnknown, 999)")) << line;
    }
    EXPECT_EQ(ended, (std::set<std::string>{"hipEventDestroy", "hipFree", "hipModuleUnload"}));
    for (const char* call : {"hipInit", "hipGetDeviceCount", "hipMalloc", "hipMemset", "hipMemcpyHtoD", "hipMemcpyDtoH",
                             "hipMemcpyDtoD", "hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel",
                             "hipStreamSynchronize", "hipEventCreateWithFlags", "hipEventRecord"})
        EXPECT_TRUE(told.contains(call)) << call;
    tell("");
    EXPECT_TRUE(run_on_hip());
}

TEST(HipAccelerator, SaysWhyThereIsNoLibrary) {
    const auto message = [](const std::string& path) { return HipLibrary::open(path).error().message; };
    EXPECT_EQ(message("/nowhere/libamdhip64.so"),
              "HIP: /nowhere/libamdhip64.so: cannot open shared object file: No such file or directory");
    EXPECT_EQ(message(RIFTJIT_HIP_STAND_IN "/lacking/libamdhip64.so.7"),
              "HIP: " RIFTJIT_HIP_STAND_IN "/lacking/libamdhip64.so.7 lacks hipEventCreateWithFlags");
    EXPECT_TRUE(message("libm.so.6").starts_with("HIP: libm.so.6 lacks hipInit, hipRuntimeGetVersion, "));
}

TEST(HipAccelerator, TakesADeviceThatItKnows) {
    const auto chosen = [](const std::string& devices, std::optional<uint32_t> index) {
        tell("devices=" + devices);
        const auto opened = open_hip(index);
        return opened ? (*opened)->name() : opened.error().message;
    };
    EXPECT_EQ(chosen("gfx1100", {}), "hip:0 (Software machine, gfx1100)");
    EXPECT_EQ(chosen("gfx906+gfx1201", {}), "hip:1 (Software machine, gfx1201)");
    EXPECT_EQ(chosen("gfx1100+gfx1201+gfx1036", {}), "hip:1 (Software machine, gfx1201)");  // its memory is faster
    EXPECT_EQ(chosen("gfx1100+gfx1036", 1), "hip:1 (Software machine, gfx1036)");
    EXPECT_EQ(chosen("gfx906+gfx1201", 0),
              "hip:0 (Software machine, gfx906): no code is generated for gfx906, see riftjit targets");
    EXPECT_EQ(chosen("gfx1100", 3),
              "--device hip:3: there is no such device; there are hip:0 (Software machine, gfx1100)");
    EXPECT_EQ(chosen("gfx906+gfx1036", {}),
              "--device hip: no device that can be used: hip:0 (Software machine, gfx906): no code is generated for "
              "gfx906, see riftjit targets; hip:1 (Software machine, gfx1036): integrated, and so taken only as "
              "--device hip:1");
    EXPECT_EQ(chosen("", {}), "beginning with " + kLibrary +
                                  ": HIP: hipInit: no ROCm-capable device is detected (hipErrorUnknown, 100)");
}

TEST(HipAccelerator, NamesTheObjectAndTheMemoryThatAreRefused) {
    tell("");
    const auto gpu = open_hip().value();
    EXPECT_EQ(gpu->memory()->total, uint64_t{8} << 30);
    EXPECT_EQ(gpu->allocate(uint64_t{9} << 30, "the model's weights").error().message,
              "hip:0 (Software machine, gfx1100): the model's weights, 9663676416 bytes where 8589934592 of 8589934592 "
              "are free: HIP: hipMalloc: out of memory (hipErrorOutOfMemory, 2)");
    const auto code = RdnaBackend(rdna::Target::gfx1030).compile(two_steps().steps[0].spec).value();
    EXPECT_EQ(gpu->load(code).error().message, "hip:0 (Software machine, gfx1100): loading " + code.name +
                                                   ": HIP: hipModuleLoadData: device kernel image is invalid "
                                                   "(hipErrorUnknown, 200)");
    auto misnamed = RdnaBackend(rdna::Target::gfx1100).compile(two_steps().steps[0].spec).value();
    misnamed.name = "another";
    EXPECT_TRUE(gpu->load(misnamed).error().message.contains("another: HIP: hipModuleGetFunction: named symbol"));
}

TEST(HipAccelerator, KeepsTimesOfSteps) {
    tell("");
    KernelCache cache(compile_rdna, DiskCache::disabled());
    RdnaDevice device(open_hip().value(), cache);
    const graph::Plan plan = two_steps();
    const Address arena = device.allocate(4 * 3 * kStride * 4, MemoryUse::random, "the arena").value();
    const auto bound = device.bind(plan, {.arena = arena}).value();
    ASSERT_TRUE(bound->run({.rows = 3}));
    EXPECT_TRUE(bound->times().empty());
    bound->set_timed(true);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(bound->run({.rows = 3}));
    ASSERT_EQ(bound->times().size(), 1u);
    EXPECT_EQ(bound->times()[0].working.size(), 2u);
    EXPECT_GT(bound->times()[0].working[1], 0);
}

// HIP's wait has no end either: the thread that waits stays behind, as the process would.
TEST(HipAccelerator, NamesTheKernelThatHasNoEnd) {
    tell("hang=3");
    static std::atomic<bool> is_told = false;
    static std::string line;
    std::thread([] {
        KernelCache cache(compile_rdna, DiskCache::disabled());
        RdnaDevice device(open_hip({}, {.patience_seconds = 1,
                                        .stuck =
                                            [](const std::string& text) {
                                                line = text;
                                                is_told = true;
                                            }})
                              .value(),
                          cache);
        run_on(device).value();
    }).detach();
    for (int i = 0; i < 2000 && !is_told; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(is_told);
    EXPECT_EQ(line,
              "hip:0 (Software machine, gfx1100): one of 2 launches from rj_swiglu_w96_s96_f32 to "
              "rj_swiglu_w96_s96_f32 has not ended within 1 seconds (RIFTJIT_HIP_PATIENCE)");
}

}  // namespace hip_accelerator_test
}  // namespace riftjit::runtime

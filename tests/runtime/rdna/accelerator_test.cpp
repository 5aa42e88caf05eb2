#include <gtest/gtest.h>

#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/rdna/rdna_device.h"

namespace riftjit::runtime {
namespace accelerator_test {

constexpr uint32_t kWidth = 64;

graph::Plan one_step() {
    graph::Plan plan;
    plan.max_tokens = 2;
    using graph::Place;
    plan.steps.push_back(
        {"swiglu",
         SwigluSpec{kWidth, kWidth, RowFormat::f32},
         {Place{Place::Kind::arena, 0, 0}, Place{Place::Kind::arena, 512, 0}, Place{Place::Kind::arena, 1024, 0}}});
    return plan;
}

TEST(Accelerator, TellsWhatAKernelDidWrong) {
    KernelCache cache(compile_rdna, DiskCache::disabled());
    for (const MachineChecks checks : {MachineChecks::all, MachineChecks::none}) {
        RdnaDevice gpu(std::make_unique<EmulatedAccelerator>(rdna::Target::gfx1100, checks, 2), cache);
        const graph::Plan plan = one_step();
        Addresses addresses;
        addresses.arena = gpu.allocate(512, MemoryUse::random, "a third of the arena").value();
        const auto bound = gpu.bind(plan, addresses);
        ASSERT_TRUE(bound);
        const auto done = (*bound)->run({.rows = 2});
        ASSERT_FALSE(done);
        EXPECT_TRUE(done.error().message.starts_with("emulate:gfx1100: rj_swiglu_")) << done.error().message;
        EXPECT_TRUE(done.error().message.ends_with("an error of the kernel, please report this line"));
        EXPECT_EQ((*bound)->first_not_finite(), nullptr);
    }
}

TEST(Accelerator, RefusesAnObjectOfAnotherChip) {
    const auto code = RdnaBackend(rdna::Target::gfx1030).compile(one_step().steps[0].spec).value();
    EmulatedAccelerator gpu(rdna::Target::gfx1100, MachineChecks::all);
    for (int i = 0; i < 2; ++i) {
        const auto loaded = gpu.load(code);
        ASSERT_FALSE(loaded);
        EXPECT_TRUE(loaded.error().message.starts_with("emulate:gfx1100: " + code.name)) << loaded.error().message;
    }
}

TEST(Accelerator, HandsOutZeros) {
    EmulatedAccelerator gpu(rdna::Target::gfx1201, MachineChecks::all);
    const uint64_t from = gpu.allocate(1000, "some").value(), to = gpu.allocate(1000, "more").value();
    std::vector<std::byte> bytes(1000, std::byte{7});
    ASSERT_TRUE(gpu.read(bytes, from));
    EXPECT_EQ(bytes, std::vector<std::byte>(1000));
    bytes.assign(1000, std::byte{7});
    ASSERT_TRUE(gpu.write(from, bytes));
    ASSERT_TRUE(gpu.copy(to, from, 999));
    ASSERT_TRUE(gpu.read(bytes, to));
    EXPECT_EQ(bytes[998], std::byte{7});
    EXPECT_EQ(bytes[999], std::byte{0});
}

}  // namespace accelerator_test
}  // namespace riftjit::runtime

// Weights are packed piece by piece, memory of the software machine costs what is written to it, and grids are no
// larger than kernels count on.
#include <gtest/gtest.h>

#include <cstring>

#include "host/available_memory.h"
#include "jit/rdna/kernels/packed.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/rdna/rdna_device.h"
#include "tests/jit/x86/ops/random_weights.h"

namespace riftjit::runtime {
namespace device_memory_test {

RdnaDevice some_device(KernelCache& kernels) {
    return {std::make_unique<EmulatedAccelerator>(rdna::Target::gfx1100, MachineChecks::none), kernels};
}

struct Tensor {
    DType type;
    uint32_t rows, width;
};

// Of more than one piece, whose last panel lacks rows: blocks, blocks that look up a grid, floats whose rows end early.
TEST(RdnaDeviceMemory, HoldsWhatIsPackedInPieces) {
    KernelCache kernels(compile_rdna, DiskCache::disabled());
    RdnaDevice device = some_device(kernels);
    for (const auto& [type, rows, width] :
         {Tensor{DType::Q8_0, 2083, 4096}, {DType::IQ2_XXS, 8321, 4096}, {DType::F16, 2049, 2051}}) {
        const std::vector<std::byte> file = x86::random_weights(type, rows, width, 1);
        std::vector<std::byte> expected(rdna::kernels::packed_bytes(type, rows, width)), found(expected.size());
        rdna::kernels::pack_grid(type, expected.data());
        rdna::kernels::pack_panels(type, rows, width, file.data(), expected.data(), 0, (rows + 31) / 32);
        const Address memory = device.allocate(expected.size(), MemoryUse::stream, "a tensor").value();
        std::vector<uint64_t> released;
        ASSERT_TRUE(device.pack({type, rows, width, file.data()}, memory, [&](std::span<const std::byte> part) {
            EXPECT_GE(part.data(), file.data());
            EXPECT_LE(part.data() + part.size(), file.data() + file.size());
            released.push_back(part.size());
        }));
        ASSERT_TRUE(device.read(found, memory));
        EXPECT_TRUE(found == expected) << name(type);
        ASSERT_GE(released.size(), 3u) << name(type);  // two pieces at least, and the whole
        EXPECT_EQ(released.back(), file.size());
    }
}

TEST(RdnaDeviceMemory, OfTheSoftwareMachineIsTouchedAsFarAsItIsUsed) {
    constexpr uint64_t kBytes = uint64_t{3} << 30;
    if (memory_below(2 * kBytes)) GTEST_SKIP() << "fewer than 6 GiB are available";
    EmulatedAccelerator machine(rdna::Target::gfx1100, MachineChecks::all);
    const uint64_t before = peak_rss_bytes();
    const uint64_t address = machine.allocate(kBytes, "a cache").value();
    std::vector<std::byte> bytes(64, std::byte{1});
    ASSERT_TRUE(machine.write(address + kBytes - bytes.size(), bytes));
    ASSERT_TRUE(machine.read(bytes, address + kBytes / 2));
    EXPECT_EQ(bytes, std::vector<std::byte>(64));
    EXPECT_LT(peak_rss_bytes() - before, kBytes / 8);
}

TEST(RdnaDeviceMemory, IsNotAskedForGridsBeyond32Bits) {
    graph::Plan plan;
    plan.max_tokens = 1u << 27;
    plan.steps.push_back({"swiglu", SwigluSpec{64, 64, RowFormat::f32}, {}});
    KernelCache kernels(compile_rdna, DiskCache::disabled());
    RdnaDevice device = some_device(kernels);
    const auto bound = device.bind(plan, {});
    ASSERT_FALSE(bound);
    EXPECT_TRUE(
        bound.error().message.starts_with("emulate:gfx1100: swiglu 64, to f32: 134217728 rows at once are a grid of "))
        << bound.error().message;
    EXPECT_TRUE(bound.error().message.ends_with(" lanes, not below 2^32")) << bound.error().message;
}

}  // namespace device_memory_test
}  // namespace riftjit::runtime

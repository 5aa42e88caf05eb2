#include "runtime/rdna/rdna_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "runtime/cpu/cpu_device.h"

namespace riftjit::runtime {
namespace rdna_device_test {

constexpr uint32_t kWidth = 192, kTokens = 3, kRowBytes = kWidth * sizeof(float);

// out = swiglu(rms_norm(x), x): the ops that both back ends have kernels for.
graph::Plan two_steps() {
    using graph::Place;
    const auto row = [](uint64_t buffer) { return Place{Place::Kind::arena, buffer * kTokens * kRowBytes, 0}; };
    graph::Plan plan;
    plan.max_tokens = kTokens;
    plan.arena_bytes = 3 * kTokens * kRowBytes;
    plan.steps.push_back({"norm",
                          RmsNormSpec{kWidth, 1e-5f, Presence::present, Addend::none, RowFormat::f32},
                          {row(0), Place{}, Place{Place::Kind::weight, 0, 0}, row(1)}});
    plan.steps.push_back({"swiglu", SwigluSpec{kWidth, kWidth, RowFormat::f32}, {row(1), row(0), row(2)}});
    return plan;
}

std::vector<float> random_floats(size_t count, uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

struct Outcome {
    std::vector<float> out = std::vector<float>(kTokens * kWidth);
    const graph::Step* not_finite = nullptr;
};

Outcome run(const graph::Plan& plan, Device& device, std::span<const float> x) {
    const std::vector<float> gain = random_floats(kWidth, 2);
    Addresses addresses;
    addresses.arena = device.allocate(plan.arena_bytes, MemoryUse::random, "the activations").value();
    addresses.weights = {device.allocate(kRowBytes, MemoryUse::stream, "the gain").value()};
    device.write(addresses.weights[0], std::as_bytes(std::span(gain)));
    device.write(addresses.arena, std::as_bytes(x));
    const auto bound = device.bind(plan, addresses);
    EXPECT_TRUE(bound) << bound.error().message;
    EXPECT_TRUE(device.make_ready());
    (*bound)->run(BatchState{.rows = kTokens});
    Outcome result;
    device.read(std::as_writable_bytes(std::span(result.out)), addresses.arena + 2 * kTokens * kRowBytes);
    result.not_finite = (*bound)->first_not_finite();
    return result;
}

TEST(RdnaDevice, RunsThePlanThatTheProcessorRuns) {
    const graph::Plan plan = two_steps();
    const std::vector<float> x = random_floats(kTokens * kWidth, 1);
    KernelCache cache(x86::compile, DiskCache::disabled());
    const auto cpu = CpuDevice::create(x86::detect().levels.back(), 2, Helpers::always, cache).value();
    const Outcome expected = run(plan, *cpu, x);
    KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
    for (const rdna::Target chip : {rdna::Target::gfx1030, rdna::Target::gfx1100, rdna::Target::gfx1201}) {
        RdnaDevice gpu(chip, gpu_cache);
        const Outcome found = run(plan, gpu, x);
        for (size_t i = 0; i < found.out.size(); ++i)
            ASSERT_EQ(found.out[i], expected.out[i]) << rdna::name(chip) << " element " << i;
        EXPECT_EQ(found.not_finite, nullptr);
    }
    EXPECT_EQ(gpu_cache.kernels().size(), 3 * plan.steps.size());
    EXPECT_EQ(gpu_cache.statistics().misses, 3 * plan.steps.size());
}

// One product and one fused sum of each side are rounded.
TEST(RdnaDevice, RotatesAsTheProcessorDoes) {
    constexpr uint32_t kHeads = 3, kHeadDim = kWidth / kHeads, kHalf = kHeadDim / 2;
    using graph::Place;
    graph::Plan plan;
    plan.max_tokens = kTokens;
    plan.arena_bytes = kTokens * kRowBytes;
    const RopeSpec rope{kHeads, kHeadDim, kHeadDim, kWidth, RopePairing::half, Presence::absent, 0, std::nullopt};
    plan.steps.push_back(
        {"rope", rope, {Place{Place::Kind::arena, 0, 0}, Place{}, Place{Place::Kind::rope_table, 0, 0}, Place{}}});
    const std::vector<float> x = random_floats(kTokens * kWidth, 1), table = random_floats(kTokens * kHeadDim, 2);
    const auto rotate = [&](Device& device) {
        Addresses addresses;
        addresses.arena = device.allocate(plan.arena_bytes, MemoryUse::random, "the activations").value();
        addresses.rope_tables = {device.allocate(table.size() * sizeof(float), MemoryUse::random, "angles").value()};
        device.write(addresses.arena, std::as_bytes(std::span(x)));
        device.write(addresses.rope_tables[0], std::as_bytes(std::span(table)));
        const auto bound = device.bind(plan, addresses);
        EXPECT_TRUE(bound) << bound.error().message;
        EXPECT_TRUE(device.make_ready());
        (*bound)->run(BatchState{.rows = kTokens});
        std::vector<float> out(x.size());
        device.read(std::as_writable_bytes(std::span(out)), addresses.arena);
        return out;
    };
    KernelCache cache(x86::compile, DiskCache::disabled());
    KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
    RdnaDevice gpu(rdna::Target::gfx1100, gpu_cache);
    const std::vector<float> found = rotate(gpu);
    const std::vector<float> expected =
        rotate(*CpuDevice::create(x86::detect().levels.back(), 2, Helpers::always, cache).value());
    for (size_t i = 0; i < x.size(); ++i) {
        const size_t pair = i / kHeadDim * kHeadDim + i % kHalf, row = i / kWidth;
        const float *angle = &table[row * kHeadDim + 2 * (i % kHalf)],
                    scale = std::fabs(angle[0]) + std::fabs(angle[1]);
        const float bound = 4 * 0x1p-24f * scale * (std::fabs(x[pair]) + std::fabs(x[pair + kHalf]));
        ASSERT_NEAR(found[i], expected[i], bound) << "element " << i;
    }
    EXPECT_NE(found, x);
}

TEST(RdnaDevice, FindsTheStepWhoseRowsAreNoNumbers) {
    const graph::Plan plan = two_steps();
    std::vector<float> x = random_floats(kTokens * kWidth, 1);
    x[kWidth + 5] = INFINITY;
    KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
    RdnaDevice gpu(rdna::Target::gfx1100, gpu_cache);
    EXPECT_EQ(run(plan, gpu, x).not_finite, &plan.steps[0]);
}

TEST(RdnaDevice, RefusesAPlanThatItHasNoKernelFor) {
    graph::Plan plan;
    plan.max_tokens = 1;
    const AttentionSpec attention{1, 1, 2048, 2048, 2048, DType::F16, DType::F16, 0.25f, MatmulForm::vector};
    plan.steps.push_back({"attn", attention, {}});
    KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
    RdnaDevice gpu(rdna::Target::gfx1100, gpu_cache);
    const auto bound = gpu.bind(plan, {});
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().message, "gfx1100: attention: no kernel for heads of 2048, more than 1024");
}

TEST(RdnaDevice, SaysWhatOfAnOpItsKernelDoesNotDo) {
    const RdnaBackend backend(rdna::Target::gfx1100);
    RmsNormSpec norm{kWidth, 1e-5f, Presence::present, Addend::none, RowFormat::f32};
    EXPECT_TRUE(backend.supports(norm));
    norm.output = RowFormat::bf16;
    const auto refused = backend.supports(norm);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "gfx1100: rms_norm: no kernel for rows that are neither f32 nor i16");
    EXPECT_EQ(backend.compile(norm).error().message, refused.error().message);
}

}  // namespace rdna_device_test
}  // namespace riftjit::runtime

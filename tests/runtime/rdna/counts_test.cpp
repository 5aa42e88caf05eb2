// What kernels load, as the software machine counts it: weights and caches once, and what else there is, by name.
#include <gtest/gtest.h>

#include <iostream>

#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/packed.h"
#include "jit/rdna/object/occupancy.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "tests/jit/formats/random_blocks.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace counts_test {

using namespace same_bits;
using rdna::emulator::Counts;
using rdna::emulator::InstructionClass;

Counts counts_of(const Case& test, rdna::Target chip) {
    KernelCache cache(compile_rdna, DiskCache::disabled());
    auto accelerator = std::make_unique<EmulatedAccelerator>(chip, MachineChecks::none);
    const EmulatedAccelerator& machine = *accelerator;
    RdnaDevice device(std::move(accelerator), cache);
    run(test, device);
    return machine.counts();
}

Case product_case(DType type, uint32_t rows, uint32_t width, MatmulForm form, uint32_t tokens) {
    const auto stride = uint32_t(round_up(rows, 16));
    Case test{fmt::format("{} {}x{}", name(type), rows, width), {}, 2};
    test.steps = {graph::Step{"op",
                              MatmulSpec{type, rows, width, stride, form, Epilogue::store, Presence::absent},
                              {weight(0), no_place(), buffer(0), buffer(1)}}};
    test.weights = {{type, rows, width, x86::random_weights(type, rows, width, 11), false}};
    Run run{positions(0, tokens)};
    run.codes_width = width;
    run.codes = {{0, {}}};
    for (uint32_t token = 0; token < tokens; ++token) run.codes[0].second.push_back(random_codes(width, token));
    test.runs = {run};
    return test;
}

// Vector loads read the weights and nothing else, each byte once. The row comes through scalar loads, which every
// workgroup does: of a launch it is one row that they read, from caches all but once.
TEST(CountsOnRdna, AProductWithOneRowReadsItsWeightsAndTheRowOnce) {
    for (const DType type : {DType::Q8_0, DType::Q4_K, DType::Q6_K})
        for (const uint32_t rows : {1024u, 4096u})
            for (const rdna::Target chip : chips()) {
                const Counts counts = counts_of(product_case(type, rows, 1024, MatmulForm::vector, 1), chip);
                const auto weights = double(rdna::kernels::packed_bytes(type, rows, 1024));
                const double row = rdna::kernels::I16Row{1024}.bytes(), groups = rows / 32.0;
                const auto global = double(counts.global_bytes_loaded), scalar = double(counts.scalar_bytes_loaded);
                const std::string where = fmt::format("{} {}x1024 on {}", name(type), rows, rdna::name(chip));
                EXPECT_EQ(global, weights) << where;
                EXPECT_NEAR((global + scalar / groups) / (weights + row), 1, 0.03) << where;
                EXPECT_EQ(counts.scratch_bytes_loaded + counts.scratch_bytes_stored, 0u) << where;
                std::cout << fmt::format("{}: {:.4f} of weights, {:.3f} rows in each workgroup\n", where,
                                         global / weights, scalar / groups / row);
            }
}

// A single row over three segments of cache.
TEST(CountsOnRdna, AttentionReadsItsCacheOnce) {
    constexpr uint32_t kKvHeads = 2, kHeadDim = 128, kPositions = 3 * kKvPage;
    for (const DType type : {DType::F16, DType::F32, DType::Q8_0})
        for (const uint32_t group : {1u, 4u})
            for (const rdna::Target chip : chips()) {
                const uint32_t width = kKvHeads * group * kHeadDim;
                Case test{fmt::format("attention to {}", name(type)), {}, 2};
                test.steps = {{"attention",
                               AttentionSpec{kKvHeads * group, kKvHeads, kHeadDim, width, width, type, type, 0.1f,
                                             MatmulForm::vector},
                               {buffer(0), keys(), values(), buffer(1)}}};
                test.key_type = test.value_type = type;
                test.kv_heads = kKvHeads;
                test.head_dim = kHeadDim;
                test.pages = test.pages_per_sequence = 3;
                test.runs = {{positions(kPositions - 1, 1), {}, {{0, random_floats(width, 1)}}}};
                const Counts counts = counts_of(test, chip);
                const auto cache = double(3 * kKvHeads) * double(rdna::kernels::key_head_bytes(type, kHeadDim) +
                                                                 rdna::kernels::value_head_bytes(type, kHeadDim));
                const auto global = double(counts.global_bytes_loaded);
                const std::string where = fmt::format("{}, groups of {}, on {}", test.name, group, rdna::name(chip));
                // Beside the cache: outputs of segments, which the last one to end reads again, and queries, which lie
                // in caches but for the first time. Each of four waves reads them, to either half of its lanes.
                const double segments = 3.0 * kKvHeads, queries = 4 * 2 * group * kHeadDim * sizeof(float);
                const double parts =
                    segments * double(rdna::kernels::launch_shape({chip}, test.steps[0].spec).value().part_bytes);
                // Scales of values are scalars.
                const double scales = segments * rdna::kernels::cache_scale_blocks(type, kHeadDim) * kKvPage *
                                      rdna::kernels::kCacheScaleBytes;
                EXPECT_GE(double(counts.scalar_bytes_loaded), scales) << where;
                EXPECT_NEAR(global / (cache - scales + parts + segments * queries), 1, 0.001) << where;
                EXPECT_EQ(counts.scratch_bytes_loaded + counts.scratch_bytes_stored, 0u) << where;
                std::cout << fmt::format("{}: {:.4f} of the cache, scalars {:.4f}, parts {:.4f}, queries {:.4f}\n",
                                         where, global / cache, double(counts.scalar_bytes_loaded) / cache,
                                         parts / cache, segments * queries / cache);
            }
}

TEST(CountsOnRdna, TilesOfProductsMeetAtMostTwoInABankOfLds) {
    for (const DType type : {DType::Q8_0, DType::Q4_K, DType::Q6_K})
        for (const rdna::Target chip : chips()) {
            const Counts counts = counts_of(product_case(type, 128, 512, MatmulForm::tile, 32), chip);
            // LDS gives 128 bytes in a cycle, to as many lanes as have that many of them; two in a bank take one more.
            const uint64_t cycles = (counts.lds_bytes_loaded + counts.lds_bytes_stored) / 128;
            EXPECT_GT(cycles, 0u);
            EXPECT_LE(counts.lds_bank_conflicts, cycles) << name(type) << " on " << rdna::name(chip);
            std::cout << fmt::format("{} on {}: {} further cycles to {}, of {} instructions\n", name(type),
                                     rdna::name(chip), counts.lds_bank_conflicts, cycles,
                                     counts[InstructionClass::lds]);
        }
}

TEST(CountsOnRdna, ProductsWithOneRowLeaveRoomForEightWaves) {
    for (const DType type : weight_types())
        for (const rdna::Target chip : chips()) {
            const MatmulSpec product{type, 1024, 1024, 1024, MatmulForm::vector, Epilogue::store, Presence::absent};
            std::vector<KernelSpec> specs = {product};
            if (!rdna::kernels::is_float(type))
                for (const Gating gating : {Gating::none, Gating::silu})
                    specs.emplace_back(FusedMatmulSpec{product, RowSource::rms_norm, 1e-5f, Presence::present, gating});
            for (const KernelSpec& spec : specs) {
                const auto program = rdna::kernels::kernel_program({chip}, spec);
                ASSERT_TRUE(program) << program.error().message;
                const auto code = rdna::link(*program);
                ASSERT_TRUE(code) << code.error().message;
                EXPECT_GE(rdna::waves_per_simd(chip, rdna::WaveSize::wave32, code->resources.vgprs), 8u)
                    << describe(spec) << " on " << rdna::name(chip);
                EXPECT_EQ(code->resources.scratch_bytes, 0u);
            }
        }
}

}  // namespace counts_test
}  // namespace riftjit::runtime

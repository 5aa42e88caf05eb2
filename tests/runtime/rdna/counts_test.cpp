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
    std::vector<EmulatedLaunch> launches;
    accelerator->note_launches(&launches);
    const EmulatedAccelerator& machine = *accelerator;
    RdnaDevice device(std::move(accelerator), cache);
    run(test, device);
    return machine.counts();
}

// What memory must give at least once, however good the caches: lines that are loaded and not the launch's own.
double fetched(const Counts& counts) {
    return double(rdna::emulator::kCountedLineBytes * (counts.lines_loaded - counts.lines_loaded_of_own));
}
double written(const Counts& counts) { return double(rdna::emulator::kCountedLineBytes * counts.lines_stored); }

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

struct Shape {
    uint32_t rows, width;
};
constexpr Shape kQuery{2048, 1024}, kKey{1024, 1024}, kOutput{1024, 2048}, kUp{3072, 1024}, kDown{1024, 3072};

// As a decode plan launches it: the row is normed or quantised within.
Case fused_case(DType type, const Shape& shape, RowSource source, Gating gating) {
    Case test{fmt::format("{} {}x{}{}{}", name(type), shape.rows, shape.width,
                          source == RowSource::rms_norm ? ", normed" : "", gating == Gating::silu ? ", gated" : ""),
              {},
              2};
    const MatmulSpec product{
        type, shape.rows, shape.width, shape.rows, MatmulForm::vector, Epilogue::store, Presence::absent};
    const bool gated = gating == Gating::silu, normed = source == RowSource::rms_norm;
    const Presence gain = normed ? Presence::present : Presence::absent;
    if (rdna::kernels::is_float(type) && !normed)  // rows of f32, which need no quantising
        test.steps = {graph::Step{"op", product, {weight(0), no_place(), buffer(0), buffer(1)}}};
    else
        test.steps = {graph::Step{"op",
                                  FusedMatmulSpec{product, source, normed ? 1e-6f : 0, gain, gating},
                                  {weight(0), gated ? weight(1) : no_place(), no_place(), buffer(0),
                                   normed ? weight(2) : no_place(), buffer(1)}}};
    for (uint32_t i = 0; i < 2; ++i)
        test.weights.push_back(
            {type, shape.rows, shape.width, x86::random_weights(type, shape.rows, shape.width, 11 + i), false});
    test.weights.push_back(vector_weight(std::vector<float>(shape.width, 1)));
    test.runs = {{positions(0, 1), {}, {{0, random_floats(shape.width, 3)}}}};
    return test;
}

// Whatever workgroups ask for again comes from a cache; what memory gives and takes is weights, the row with its gain,
// and the results; of types with a grid, that table too. Of all that a decode plan of Qwen3-0.6B's shapes multiplies,
// within 3 %: what is more are arguments, the batch and what a last line has beyond the end of what is in it.
TEST(CountsOnRdna, LinesOfProductsWithOneRowAreWeightsAndActivations) {
    const auto expect_least = [](DType type, const Shape& shape, RowSource source, Gating gating, rdna::Target chip) {
        const Case test = fused_case(type, shape, source, gating);
        const Counts counts = counts_of(test, chip);
        const double matrices = gating == Gating::silu ? 2 : 1;
        const double weights = matrices * (double(shape.rows * row_bytes(type, shape.width)) +
                                           double(rdna::kernels::panels_offset_bytes(type)));
        const double rows = shape.width * sizeof(float) * (source == RowSource::rms_norm ? 2.0 : 1.0);
        const double results = shape.rows * sizeof(float);
        const double lines = (fetched(counts) + written(counts)) / (weights + rows + results);
        const double asked =
            double(counts.global_bytes_loaded + counts.global_bytes_stored + counts.scalar_bytes_loaded) /
            (weights + rows + results);
        EXPECT_GE(lines, 1) << test.name << " on " << rdna::name(chip);
        EXPECT_LE(lines, 1.03) << test.name << " on " << rdna::name(chip);
        EXPECT_EQ(written(counts), results) << test.name << " on " << rdna::name(chip);
        std::cout << fmt::format("{} on {}: {:.4f} in lines, {:.3f} asked for\n", test.name, rdna::name(chip), lines,
                                 asked);
    };
    for (size_t number = 0; const DType type : weight_types())  // the chips in turn
        expect_least(type, kKey, RowSource::quantize, Gating::none, chips()[number++ % chips().size()]);
    for (const rdna::Target chip : chips()) {
        for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_K, DType::Q6_K}) {
            expect_least(type, kQuery, RowSource::rms_norm, Gating::none, chip);
            expect_least(type, kOutput, RowSource::quantize, Gating::none, chip);
            expect_least(type, kUp, RowSource::rms_norm, Gating::silu, chip);
            expect_least(type, kDown, RowSource::quantize, Gating::none, chip);
        }
    }
}

// What one row's attention must move beside its cache, of one KV head: each segment needs the queries, all segments but
// the last to end leave a part that is written and read (here, where one workgroup runs after the other; on a card two
// that end at once both leave theirs), and there are outputs. So much for each segment, whose cache it is compared
// with: only the group and the cache's type matter, not how long the text is.
struct AttentionBytes {
    double cache, queries, parts, outputs;
    double beside() const { return queries + parts + outputs; }
};
AttentionBytes least_attention_bytes(const AttentionSpec& spec, uint32_t position) {
    const double head = spec.head_dim * sizeof(float), heads = spec.heads / spec.kv_heads;
    const double segments = segment_count(position);
    const double page = double(rdna::kernels::key_head_bytes(spec.key_type, spec.head_dim) +
                               rdna::kernels::value_head_bytes(spec.value_type, spec.head_dim));
    // Of a part: outputs, 16 sums, a maximum.
    return {page / kKvPage * (position + 1), segments * heads * head, 2 * (segments - 1) * heads * (head + 16 * 4 + 4),
            heads * head};
}

Counts attention_counts(const AttentionSpec& spec, uint32_t position, rdna::Target chip) {
    Case test{"attention", {}, 2};
    test.steps = {{"attention", spec, {buffer(0), keys(), values(), buffer(1)}}};
    test.key_type = spec.key_type;
    test.value_type = spec.value_type;
    test.kv_heads = spec.kv_heads;
    test.head_dim = spec.head_dim;
    test.pages = test.pages_per_sequence = segment_count(position);
    test.runs = {{positions(position, 1), {}, {{0, random_floats(spec.q_stride, 1)}}}};
    return counts_of(test, chip);
}

// Queries come to LDS once for a workgroup, and of parts each number is written by one lane once and read by one, but
// for the maxima, which every wave has in both halves. Behind a whole number of segments nothing else is read.
TEST(CountsOnRdna, AttentionReadsItsCacheOnceAndWhatItMustBeside) {
    constexpr uint32_t kKvHeads = 2;
    for (const DType type : {DType::F16, DType::F32, DType::Q8_0})
        for (const uint32_t head_dim : {64u, 128u})
            for (const uint32_t group : {1u, 2u, 4u, 8u})
                for (const uint32_t position : {255u, 300u, 1023u, 4095u}) {
                    const uint32_t width = kKvHeads * group * head_dim;
                    const AttentionSpec spec{kKvHeads * group,  kKvHeads, head_dim, width, width, type, type, 0.1f,
                                             MatmulForm::vector};
                    const auto [cache, queries, parts, outputs] = least_attention_bytes(spec, position);
                    for (const rdna::Target chip : chips()) {
                        const Counts counts = attention_counts(spec, position, chip);
                        const std::string where = fmt::format("{} heads of {} to {}, {} positions, on {}", group,
                                                              head_dim, name(type), position + 1, rdna::name(chip));
                        // Values' scales are scalars, and so are arguments and the batch: some 200 bytes a wave.
                        const double vector =
                            double(counts.global_bytes_loaded + counts.global_bytes_stored) / kKvHeads;
                        const double scalar = double(counts.scalar_bytes_loaded) / kKvHeads;
                        const double scales = rdna::kernels::cache_scale_blocks(type, head_dim) *
                                              rdna::kernels::kCacheScaleBytes * (position + 1.0);
                        const double segments = segment_count(position);
                        const double maxima = (segments - 1) * group * 4 * (2 * std::min(4u, head_dim / 32) - 1);
                        const double must = cache - scales + queries + parts + maxima + outputs;
                        if ((position + 1) % kKvPage == 0)
                            EXPECT_NEAR(vector / must, 1, 0.0005) << where;
                        else  // keys of whole blocks, values by 16, scales of keys two to a dword
                            EXPECT_LE(vector / must, 1.05) << where;
                        EXPECT_LE(scalar, scales + segments * 4 * 250) << where;
                        const double beside = (vector + scalar) / cache - 1;
                        // The rest, maxima, arguments and the batch, is 0.3 % of 128 elements in f16. Where queries,
                        // parts and outputs alone come near 5 % of the cache, which is then narrow for so many heads,
                        // no way of asking helps.
                        if (position >= 1023 && (queries + parts + outputs) / cache < 0.0462)
                            EXPECT_LE(beside, 0.05) << where;
                        EXPECT_EQ(counts.scratch_bytes_loaded + counts.scratch_bytes_stored, 0u) << where;
                        // Memory gives the cache and the queries, once for all segments: parts that are read are the
                        // launch's own, and were just written.
                        const double least = kKvHeads * (cache + queries / segments);
                        EXPECT_GE(fetched(counts), least) << where;
                        if (position >= 1023) EXPECT_LE(fetched(counts) / least, 1.05) << where;
                        if (chip == chips().back())
                            std::cout << fmt::format(
                                "{}: {:.2f} % asked for beside the cache, of which {:.2f} must be; lines loaded {:.2f} "
                                "% beyond cache and queries, stored {:.2f} %\n",
                                where, 100 * beside, 100 * (queries + parts + outputs) / cache,
                                100 * (fetched(counts) / least - 1), 100 * written(counts) / least);
                    }
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

// Steps at many shapes under many schedules of the software machine: nothing is found, and the bits are the
// processor's.
#include <gtest/gtest.h>

#include "jit/rdna/kernels/packed.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace shapes_test {

using namespace same_bits;
using rdna::emulator::Schedule;

const std::vector<MachineOrder>& orders() {
    static const std::vector<MachineOrder> kOrders = {
        {Schedule::long_quanta, 1}, {Schedule::lock_step, 2}, {Schedule::reversed, 3}, {Schedule::random, 4},
        {Schedule::random, 5},      {Schedule::random, 6},    {Schedule::random, 7},   {Schedule::random, 8},
    };
    return kOrders;
}

// A finding fails the launch.
void expect_same_bits_in_every_order(const Case& test) {
    KernelCache cpu_cache(x86::compile, DiskCache::disabled());
    const std::vector<Result> expected =
        run(test, *CpuDevice::create(Isa::avx2, 1, Helpers::always, cpu_cache).value());
    for (const rdna::Target chip : chips()) {
        KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
        for (const MachineOrder& order : orders()) {
            RdnaDevice gpu(std::make_unique<EmulatedAccelerator>(chip, MachineChecks::all, 1, order), gpu_cache);
            EXPECT_EQ(difference(expected, run(test, gpu)), "")
                << test.name << " on " << rdna::name(chip) << ", " << rdna::emulator::name(order.schedule) << ", seed "
                << order.seed;
        }
    }
}

// A norm, two products, a gate, and a product that is added to the rows.
struct FeedForward {
    DType type;
    uint32_t width, inner, rows;
};

Case feed_forward_case(const FeedForward& shape) {
    const auto [type, width, inner, rows] = shape;
    const RowFormat format = rdna::kernels::is_float(type) ? RowFormat::f32 : RowFormat::i16;
    const MatmulForm form = rows == 1 ? MatmulForm::vector : MatmulForm::tile;
    const auto inner_stride = uint32_t(round_up(inner, 16)), stride = uint32_t(round_up(width, 16));
    const auto matrix = [&](uint32_t matrix_rows, uint32_t matrix_width, uint32_t seed) {
        return Weight{type, matrix_rows, matrix_width, x86::random_weights(type, matrix_rows, matrix_width, seed),
                      false};
    };
    const MatmulSpec up{type, inner, width, inner_stride, form, Epilogue::store, Presence::absent};
    const MatmulSpec down{type, width, inner, stride, form, Epilogue::accumulate, Presence::absent};
    Case test{fmt::format("{} {} to {}, {} rows", name(type), width, inner, rows), {}, 5};
    test.steps = {{"norm",
                   RmsNormSpec{width, 1e-5f, Presence::present, Addend::none, format},
                   {buffer(0), no_place(), weight(0), buffer(1)}},
                  {"gate", up, {weight(1), no_place(), buffer(1), buffer(2)}},
                  {"up", up, {weight(2), no_place(), buffer(1), buffer(3)}},
                  {"swiglu", SwigluSpec{inner, inner_stride, format}, {buffer(2), buffer(3), buffer(4)}},
                  {"down", down, {weight(3), no_place(), buffer(4), buffer(0)}}};
    test.weights = {vector_weight(random_floats(width, 1)), matrix(inner, width, 2), matrix(inner, width, 3),
                    matrix(width, inner, 4)};
    test.runs = {{positions(0, rows), {}, {{0, random_floats(size_t(rows) * stride, 5)}}}};
    test.results = {{0, width}};
    return test;
}

TEST(ShapesOnRdna, HaveTheProcessorsBitsInEveryOrderThroughAFeedForwardBlock) {
    for (const FeedForward& shape : {FeedForward{DType::Q8_0, 32, 96, 1},
                                     {DType::Q8_0, 288, 32, 1},
                                     {DType::Q8_0, 64, 96, 17},
                                     {DType::Q4_0, 96, 160, 3},
                                     {DType::Q4_0, 160, 32, 33},
                                     {DType::Q5_1, 32, 64, 2},
                                     {DType::Q4_K, 256, 256, 1},
                                     {DType::Q4_K, 256, 256, 5},
                                     {DType::Q6_K, 256, 256, 1},
                                     {DType::Q6_K, 256, 256, 16},
                                     {DType::IQ4_NL, 96, 64, 8},
                                     {DType::F16, 71, 37, 1},
                                     {DType::F16, 33, 90, 9},
                                     {DType::BF16, 45, 61, 7},
                                     {DType::F32, 39, 50, 2}})
        expect_same_bits_in_every_order(feed_forward_case(shape));
}

// Keys and values of `before` positions are stored; then of `rows` more of each sequence, which attend.
struct Attending {
    uint32_t kv_heads, group, head_dim, sequences, before, rows;
    DType key_type = DType::F16, value_type = DType::F16;
};

Case attending_case(const Attending& shape) {
    const auto [kv_heads, group, head_dim, sequences, before, rows, key_type, value_type] = shape;
    const uint32_t width = kv_heads * head_dim;
    Case test{fmt::format("{} times {} heads of {}, {} sequences, {} rows behind {}", kv_heads, group, head_dim,
                          sequences, rows, before),
              {},
              4};
    const auto out_stride = uint32_t(round_up(width * group, 16));
    const RopeSpec key_spec = {kv_heads, head_dim, head_dim, width, RopePairing::half, Presence::absent, 0, key_type};
    AttentionSpec spec = {kv_heads * group, kv_heads,   head_dim, width * group,     out_stride,
                          key_type,         value_type, 0.1f,     MatmulForm::vector};
    test.steps = {{"keys", key_spec, {buffer(1), no_place(), rope_table(), keys()}},
                  {"values", ValueStoreSpec{kv_heads, head_dim, width, value_type}, {buffer(2), values()}},
                  {"vector", spec, {buffer(0), keys(), values(), buffer(3)}}};
    spec.form = MatmulForm::tile;
    test.steps.push_back({"tile", spec, {buffer(0), keys(), values(), buffer(3)}});
    test.opening_steps = 2;
    test.key_type = key_type;
    test.value_type = value_type;
    test.kv_heads = kv_heads;
    test.head_dim = head_dim;
    test.sequences = test.pages = sequences;
    const auto add_run = [&](uint32_t first, uint32_t count, bool is_opening) {
        if (count == 0) return;
        const auto seed = uint32_t(10 * test.runs.size());
        Run run;
        for (uint32_t sequence = 0; sequence < sequences; ++sequence)
            for (const BatchRow& row : positions(first, count, sequence)) run.rows.push_back(row);
        run.inputs = {{0, random_floats(run.rows.size() * width * group, seed + 1)},
                      {1, random_floats(run.rows.size() * width, seed + 2)},
                      {2, random_floats(run.rows.size() * width, seed + 3)}};
        for (const BatchRow& row : run.rows)
            for (uint32_t i = 0; i < head_dim / 2; ++i) {
                run.table.push_back(float(std::cos(row.position + 0.1 * i)));
                run.table.push_back(float(std::sin(row.position + 0.1 * i)));
            }
        run.is_opening = is_opening;
        test.runs.push_back(run);
    };
    add_run(0, before, true);
    add_run(before, rows, false);
    test.results = {{3, width * group, RowFormat::f32, out_stride * uint32_t(sizeof(float))}};
    return test;
}

TEST(ShapesOnRdna, HaveTheProcessorsBitsInEveryOrderThroughAttention) {
    for (const Attending& shape : {Attending{1, 1, 32, 1, 0, 1},
                                   {1, 1, 40, 1, 69, 1},
                                   {2, 2, 32, 1, 63, 1},
                                   {1, 3, 66, 1, 12, 1},
                                   {1, 4, 64, 1, 64, 1, DType::Q8_0, DType::Q8_0},
                                   {1, 5, 32, 1, 31, 1},
                                   {1, 6, 30, 2, 17, 1, DType::F32, DType::F32},
                                   {1, 7, 32, 3, 5, 1},
                                   {1, 8, 48, 1, 40, 1},
                                   {2, 1, 32, 5, 9, 1, DType::F16, DType::Q8_0},
                                   {1, 2, 40, 1, 0, 33},
                                   {1, 3, 32, 1, 37, 8},
                                   {1, 4, 32, 2, 60, 5, DType::Q8_0, DType::F16},
                                   {1, 8, 32, 1, 67, 3},
                                   {2, 1, 66, 3, 2, 2}})
        expect_same_bits_in_every_order(attending_case(shape));
}

}  // namespace shapes_test
}  // namespace riftjit::runtime

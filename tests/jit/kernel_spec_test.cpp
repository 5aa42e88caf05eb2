#include "jit/kernel_spec.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/host/scratch.h"
#include "tests/jit/spec_table.h"

namespace riftjit {
namespace kernel_spec_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(KernelSpec, SerialisesEverySpecOfTheTableToItsOwnBytes) {
    std::set<std::string> seen;
    for (const KernelSpec& spec : distinct_specs()) {
        const std::vector<std::byte> bytes = serialize(spec);
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        EXPECT_TRUE(seen.insert(text).second) << describe(spec);
    }
}

TEST(KernelSpec, SerialisesFieldsLittleEndianAfterTheVariantIndex) {
    const std::vector<std::byte> expected = {std::byte{2}, std::byte{0x34}, std::byte{0x12},
                                             std::byte{0}, std::byte{0},    std::byte{1}};
    EXPECT_EQ(serialize(QuantizeSpec{0x1234, RowFormat::i16}), expected);
}

TEST(KernelSpec, SerialisesFloatsByTheirBits) {
    const auto with_epsilon = [](float value) {
        return serialize(with(kRmsNorm, [&](auto& s) { s.epsilon = value; }));
    };
    EXPECT_NE(with_epsilon(0.0f), with_epsilon(-0.0f));
    EXPECT_EQ(with_epsilon(kNaN), with_epsilon(kNaN));
}

TEST(KernelSpec, SeparatesListsOfDifferentLengths) {
    const ElementwiseStep step{ElementwiseOp::add, 0, 0, 0.0f};
    EXPECT_NE(serialize(ElementwiseSpec{16, 16, {{0}, {0}}, {step}}),
              serialize(ElementwiseSpec{16, 16, {{0}}, {step, step}}));
}

TEST(KernelSpec, NamesEverySpecOfTheTableDifferently) {
    std::set<std::string> seen;
    for (const KernelSpec& spec : distinct_specs()) {
        const std::string kernel = kernel_name(spec);
        EXPECT_TRUE(seen.insert(kernel).second) << kernel;
        EXPECT_TRUE(matches(kernel, "^rj_[a-z0-9_]+$"));
        EXPECT_LT(kernel.size(), 100u) << kernel;
    }
}

TEST(KernelSpec, NamesSayWhatTheKernelDoes) {
    EXPECT_EQ(kernel_name(kMatmul), "rj_matmul_vector_q4_k_n4096_k4096");
    EXPECT_EQ(
        kernel_name(MatmulSpec{DType::BF16, 100, 64, 128, MatmulForm::tile, Epilogue::accumulate, Presence::present}),
        "rj_matmul_tile_bf16_n100_k64_s128_accumulate_bias");
    EXPECT_EQ(kernel_name(kEmbed), "rj_embed_q4_k_w1024");
    EXPECT_EQ(kernel_name(kReduce), "rj_reduce_argmax_w151936");
}

TEST(KernelSpec, DescribesEveryOpInOneLine) {
    EXPECT_EQ(describe(kMatmul), "matmul q4_k 4096x4096, vector form");
    EXPECT_EQ(describe(kRope), "rope 16 heads of 128, 128 rotary dims in half pairs, to the f16 key cache");
    EXPECT_EQ(describe(kElementwise), "elementwise 1024, 2 inputs: add(v0, v1), scale(v2, 2)");
    for (const KernelSpec& spec : distinct_specs()) {
        EXPECT_FALSE(describe(spec).empty());
        EXPECT_EQ(describe(spec).find('\n'), std::string::npos);
    }
}

TEST(KernelSpec, SplitsEveryActivationCodeInTwoBytes) {
    for (int code = -kI16Max; code <= kI16Max; ++code) {
        ASSERT_EQ(128 * high_byte(code) + low_byte(code), code);
        ASSERT_GE(low_byte(code), 0);
        ASSERT_LE(std::abs(high_byte(code)), 32);
    }
}

// Small integers add up exactly in any order; ones beside 2^24 count only where they meet each other first.
TEST(KOrder, VisitsEveryTermOnceInTheOrderItNames) {
    for (const KOrder order : {KOrder::sequence, KOrder::lanes64})
        for (const uint32_t count : {1u, 15u, 64u, 65u, 1000u})
            EXPECT_EQ(sum_in_order<double>(order, count, [](double sum, uint32_t k) { return sum + k; }),
                      count * (count - 1) / 2.0);
    const auto beside_2_24 = [](KOrder order) {
        return sum_in_order<float>(order, 10, [](float sum, uint32_t k) {
            return sum + (k == 0 ? 0x1p24f : k == 1 || k == 9 ? 1.0f : 0.0f);
        });
    };
    EXPECT_EQ(beside_2_24(KOrder::sequence), 0x1p24f);
    EXPECT_EQ(beside_2_24(KOrder::lanes64), 0x1p24f + 2);
}

TEST(KernelSpec, CountsUnitsOfWork) {
    EXPECT_EQ(unit_count(kEmbed, 7), 7u);
    EXPECT_EQ(unit_count(kRmsNorm, 7), 7u);
    EXPECT_EQ(unit_count(kGatherRows, 7), 7u);
    EXPECT_EQ(unit_count(kMatmul, 7), 256u);
    EXPECT_EQ(unit_count(with(kMatmul, [](auto& s) { s.rows = 33; }), 1), 3u);
    EXPECT_EQ(unit_count(kRope, 7), 7u * 16);
    EXPECT_EQ(unit_count(kValueStore, 7), 7u);
    EXPECT_EQ(unit_count(kAttention, 7), 7u * 8) << "of seven tiles";
    EXPECT_EQ(unit_count(kReduce, 1), 1u);
    EXPECT_EQ(unit_count(kHighestLogits, 7), 7u);
}

TEST(KernelSpec, CountsMatmulWorkAndTheWeightsOfTheFile) {
    const KernelCost plain = cost(kMatmul);
    EXPECT_EQ(plain.flops, 2u * 4096 * 4096);
    EXPECT_EQ(plain.weight_bytes, 4096u * 4096 / 256 * 144);  // a q4_k block is 144 bytes
    const KernelCost biased = cost(with(kMatmul, [](auto& s) { s.bias = Presence::present; }));
    EXPECT_EQ(biased.flops - plain.flops, 4096u);
    EXPECT_EQ(biased.weight_bytes - plain.weight_bytes, 4096u * 4);
    EXPECT_EQ(cost(kValueStore).flops, 0u);
}

TEST(KernelSpec, AcceptsTheTableOfValidSpecs) {
    for (const KernelSpec& spec : valid_specs()) {
        const auto valid = validate(spec);
        EXPECT_TRUE(valid) << valid.error().message;
    }
}

TEST(KernelSpec, AcceptsEveryWeightTypeAtItsBlock) {
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight) continue;
        const uint32_t width = type.block_elements;
        EXPECT_TRUE(
            validate(MatmulSpec{type.type, 1, width, 16, MatmulForm::vector, Epilogue::store, Presence::absent}))
            << type.name;
        EXPECT_TRUE(validate(EmbedSpec{type.type, width})) << type.name;
    }
}

struct Refusal {
    KernelSpec spec;
    std::string message;
};

template <class Spec, class Change>
Refusal refusal(const Spec& base, Change change, std::string message) {
    return {with(base, change), std::move(message)};
}

TEST(KernelSpec, RefusesWithTheOpTheFieldAndTheValue) {
    const std::vector<Refusal> refusals = {
        refusal(
            kEmbed, [](auto& s) { s.width = 0; }, "embed: width 0"),
        refusal(
            kEmbed, [](auto& s) { s.width = 1000; }, "embed: width 1000 is not a multiple of 256, the block of q4_k"),
        refusal(
            kEmbed, [](auto& s) { s.weight = DType::I32; }, "embed: weight type i32 has no kernels"),

        refusal(
            kRmsNorm, [](auto& s) { s.width = 0; }, "rms_norm: width 0"),
        refusal(
            kRmsNorm, [](auto& s) { s.width = UINT32_MAX; }, "rms_norm: width 4294967295 is above 268435456"),
        refusal(
            kRmsNorm, [](auto& s) { s.epsilon = kInfinity; }, "rms_norm: epsilon is inf, not a finite number"),
        refusal(
            kRmsNorm, [](auto& s) { s.epsilon = -1.0f; }, "rms_norm: epsilon -1 is negative"),

        refusal(
            kQuantize, [](auto& s) { s.width = 0; }, "quantize: width 0"),
        refusal(
            kQuantize, [](auto& s) { s.output = RowFormat::f32; }, "quantize: output f32 is what the input already is"),

        refusal(
            kMatmul, [](auto& s) { s.rows = 0; }, "matmul: rows 0"),
        refusal(
            kMatmul, [](auto& s) { s.width = 0; }, "matmul: width 0"),
        refusal(
            kMatmul, [](auto& s) { s.weight = DType::Q8_K; }, "matmul: weight type q8_k has no kernels"),
        refusal(
            kMatmul, [](auto& s) { s.width = 4128; }, "matmul: width 4128 is not a multiple of 256, the block of q4_k"),
        refusal(
            kMatmul, [](auto& s) { s.out_stride = 4095; },
            "matmul: out_stride 4095 is below rows rounded up to 16, which is 4096"),
        refusal(
            kMatmul, [](auto& s) { s.out_stride = UINT32_MAX; }, "matmul: out_stride 4294967295 is above 268435456"),

        refusal(
            kRope, [](auto& s) { s.heads = 0; }, "rope: heads 0"),
        refusal(
            kRope, [](auto& s) { s.heads = 65537; }, "rope: heads 65537 is above 65536"),
        refusal(
            kRope, [](auto& s) { s.head_dim = 4098; }, "rope: head_dim 4098 is above 4096"),
        refusal(
            kRope, [](auto& s) { s.head_dim = 0; }, "rope: head_dim 0"),
        refusal(
            kRope, [](auto& s) { s.head_dim = 127; }, "rope: head_dim 127 is not a multiple of 2, a rotary pair"),
        refusal(
            kRope, [](auto& s) { s.rotary_dims = 63; }, "rope: rotary_dims 63 is not a multiple of 2, a rotary pair"),
        refusal(
            kRope, [](auto& s) { s.rotary_dims = 130; }, "rope: rotary_dims 130 is above head_dim 128"),
        refusal(
            kRope, [](auto& s) { s.row_stride = 2047; },
            "rope: row_stride 2047 is below heads times head_dim, which is 2048"),
        refusal(
            kRope, [](auto& s) { s.epsilon = kNaN; }, "rope: epsilon is nan, not a finite number"),
        refusal(
            kRope, [](auto& s) { s.key_cache = DType::Q4_K; },
            "rope: key_cache q4_k is none of f16, f32, q8_0, bf16, q4_0, q4_1, q5_0, q5_1, iq4_nl, rq4"),
        refusal(
            kRope, [](auto& s) { s.key_cache = DType::Q8_0, s.head_dim = s.rotary_dims = 80; },
            "rope: head_dim 80 is not a multiple of 32, the block of q8_0"),

        refusal(
            kValueStore, [](auto& s) { s.kv_heads = 0; }, "value_store: kv_heads 0"),
        refusal(
            kValueStore, [](auto& s) { s.head_dim = 0; }, "value_store: head_dim 0"),
        refusal(
            kValueStore, [](auto& s) { s.row_stride = 8; },
            "value_store: row_stride 8 is below kv_heads times head_dim, which is 1024"),
        refusal(
            kValueStore, [](auto& s) { s.cache_type = DType::I8; },
            "value_store: cache_type i8 is none of f16, f32, q8_0, bf16, q4_0, q4_1, q5_0, q5_1, iq4_nl, rq4"),

        refusal(
            kAttention, [](auto& s) { s.heads = 0; }, "attention: heads 0"),
        refusal(
            kAttention, [](auto& s) { s.kv_heads = 0; }, "attention: kv_heads 0"),
        refusal(
            kAttention, [](auto& s) { s.kv_heads = 3; },
            "attention: heads 16 is not a multiple of 3, the number of kv_heads"),
        refusal(
            kAttention, [](auto& s) { s.head_dim = 65; },
            "attention: head_dim 65 is not a multiple of 2, a rotary pair"),
        refusal(
            kAttention, [](auto& s) { s.q_stride = 1; },
            "attention: q_stride 1 is below heads times head_dim, which is 2048"),
        refusal(
            kAttention, [](auto& s) { s.out_stride = 1; },
            "attention: out_stride 1 is below heads times head_dim rounded up to 16, which is 2048"),
        refusal(
            kAttention, [](auto& s) { s.key_type = DType::Q8_1; },
            "attention: key_type q8_1 is none of f16, f32, q8_0, bf16, q4_0, q4_1, q5_0, q5_1, iq4_nl, rq4"),
        refusal(
            kAttention, [](auto& s) { s.value_type = DType::Q4_1, s.head_dim = 80; },
            "attention: head_dim 80 is not a multiple of 32, the block of q4_1"),
        refusal(
            kAttention, [](auto& s) { s.scale = kInfinity; }, "attention: scale is inf, not a finite number"),

        refusal(
            kSwiglu, [](auto& s) { s.width = 0; }, "swiglu: width 0"),
        refusal(
            kSwiglu, [](auto& s) { s.in_stride = 3071; }, "swiglu: in_stride 3071 is below width, which is 3072"),

        refusal(
            kElementwise, [](auto& s) { s.width = 0; }, "elementwise: width 0"),
        refusal(
            kElementwise, [](auto& s) { s.out_stride = 1023; },
            "elementwise: out_stride 1023 is below width rounded up to 16, which is 1024"),
        refusal(
            kElementwise, [](auto& s) { s.inputs.clear(); }, "elementwise: 0 inputs, not 1 to 6"),
        refusal(
            kElementwise, [](auto& s) { s.inputs.assign(7, {0}); }, "elementwise: 7 inputs, not 1 to 6"),
        refusal(
            kElementwise, [](auto& s) { s.steps.clear(); }, "elementwise: 0 steps, not 1 to 32"),
        refusal(
            kElementwise, [](auto& s) { s.steps.assign(33, s.steps[0]); }, "elementwise: 33 steps, not 1 to 32"),
        refusal(
            kElementwise, [](auto& s) { s.inputs[0].row_stride = 1023; },
            "elementwise: row_stride of input 0 1023 is below width, which is 1024"),
        refusal(
            kElementwise, [](auto& s) { s.steps[0].left = 2; },
            "elementwise: step 0 reads value 2 as left, of 2 so far"),
        refusal(
            kElementwise, [](auto& s) { s.steps[0].right = 9; },
            "elementwise: step 0 reads value 9 as right, of 2 so far"),
        refusal(
            kElementwise, [](auto& s) { s.steps[1].left = 3; },
            "elementwise: step 1 reads value 3 as left, of 3 so far"),
        refusal(
            kElementwise, [](auto& s) { s.steps[1].constant = kNaN; },
            "elementwise: constant of step 1 is nan, not a finite number"),

        refusal(
            kReduce, [](auto& s) { s.width = 0; }, "reduce: width 0"),

        refusal(
            kColumnProgram, [](auto& s) { s.columns.clear(); }, "column_program: 0 columns, not 1 to 64"),
        refusal(
            kColumnProgram, [](auto& s) { s.columns.assign(65, ColumnType::f64); },
            "column_program: 65 columns, not 1 to 64"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps.clear(); }, "column_program: 0 steps, not 1 to 4096"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps.assign(4097, s.steps[0]); },
            "column_program: 4097 steps, not 1 to 4096"),
        refusal(
            kColumnProgram, [](auto& s) { s.scalars = 4097; }, "column_program: 4097 scalars, more than 4096"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[0].op = ColumnOp(kColumnOps); },
            "column_program: step 0 has op 34, of 34"),
        refusal(
            HadamardSpec{192, 64}, [](auto& s) { s.size = 48; }, "hadamard: size 48 is no power of two from 16 to 512"),
        refusal(
            HadamardSpec{192, 64}, [](auto& s) { s.size = 128; }, "hadamard: width 192 is not a multiple of size 128"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[0].index = 2; },
            "column_program: step 0 (load) names column 2, of 2"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[6].index = 9; },
            "column_program: step 6 (store) names column 9, of 2"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[2].index = 2; },
            "column_program: step 2 (scalar) names scalar 2, of 2"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[4].number = kNaN; }, "column_program: the number of step 4 is NaN"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[3].b = 3; },
            "column_program: step 3 (fused_multiply_add) reads value 3, of 3 so far"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[6].a = 5; },
            "column_program: step 6 (store) reads value 5 as a number, which is a truth"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[7].a = 3; },
            "column_program: step 7 (fire) reads value 3 as a truth, which is a number"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps[7].a = 6; },
            "column_program: step 7 (fire) reads value 6 as a truth, which is nothing"),
        refusal(
            kColumnProgram, [](auto& s) { s.steps.push_back(s.steps[7]); },
            "column_program: it fires in more than one step"),
    };
    for (const auto& [spec, message] : refusals) {
        const auto valid = validate(spec);
        ASSERT_FALSE(valid) << message;
        EXPECT_EQ(valid.error().message, message);
        EXPECT_EQ(valid.error().kind, ErrorKind::Unsupported);
    }
}

TEST(KernelSpec, AcceptsARopeThatOnlyNormsOrStores) {
    EXPECT_TRUE(validate(with(kRope, [](auto& s) { s.rotary_dims = 0; })));
}

TEST(KernelSpec, IgnoresTheRightOperandOfUnarySteps) {
    EXPECT_TRUE(validate(with(kElementwise, [](auto& s) { s.steps[1].right = 200; })));
}

// What a plan binds and orders by: every pointer of an Args struct, each once.
TEST(KernelSpec, DescribesEveryPointerOfALaunch) {
    for (const KernelSpec& spec : valid_specs()) {
        const auto [bytes, arguments] = signature(spec);
        if (arguments.empty()) continue;
        std::set<uint32_t> offsets;
        bool writes_any = false;
        for (const Argument& argument : arguments) {
            EXPECT_TRUE(offsets.insert(argument.offset_bytes).second) << kernel_name(spec) << " " << argument.name;
            EXPECT_LE(argument.offset_bytes + sizeof(void*), bytes);
            EXPECT_EQ(argument.offset_bytes % sizeof(void*), 0u);
            const bool is_measured =
                argument.role == Role::rows || argument.role == Role::vector || argument.role == Role::state;
            EXPECT_EQ(argument.width != 0, is_measured) << kernel_name(spec) << " " << argument.name;
            writes_any |= writes(argument.access) && argument.presence == Presence::present;
        }
        EXPECT_TRUE(writes_any) << kernel_name(spec);
        EXPECT_EQ(arguments.back().role, Role::batch);
        const size_t pointers = bytes / sizeof(void*);
        const bool has_spare_inputs = std::holds_alternative<ElementwiseSpec>(spec);
        EXPECT_TRUE(has_spare_inputs || offsets.size() == pointers) << kernel_name(spec);
    }
}

TEST(KernelSpec, SaysHowManyUnitsAreBestTakenTogether) {
    EXPECT_EQ(unit_grain(with(kMatmul, [](auto& s) { s.form = MatmulForm::tile; })), 2u);
    EXPECT_EQ(unit_grain(with(kMatmul, [](auto& s) { s.form = MatmulForm::vector; })), 1u);
    EXPECT_EQ(unit_grain(kRmsNorm), 1u);
}

TEST(KernelSpec, SaysWhichArgumentsAreReadAndWritten) {
    const auto access = [](const KernelSpec& spec, std::string_view name) {
        for (const Argument& argument : signature(spec).arguments)
            if (argument.name == name && argument.presence == Presence::present) return int(argument.access);
        return -1;
    };
    const auto accumulating = with(kMatmul, [](auto& s) { s.epilogue = Epilogue::accumulate; });
    EXPECT_EQ(access(kMatmul, "out"), int(Access::write));
    EXPECT_EQ(access(accumulating, "out"), int(Access::update));
    EXPECT_EQ(access(kMatmul, "bias"), -1) << "absent";
    EXPECT_EQ(access(kRmsNorm, "x"), int(Access::read));
    EXPECT_EQ(access(with(kRmsNorm, [](auto& s) { s.addend = Addend::residual; }), "x"), int(Access::update));
    EXPECT_EQ(access(kRope, "cache"), int(Access::write));
    EXPECT_EQ(access(with(kRope, [](auto& s) { s.key_cache.reset(); }), "cache"), -1);
    EXPECT_EQ(access(with(kRope, [](auto& s) { s.key_cache.reset(); }), "x"), int(Access::update));
}

}  // namespace kernel_spec_test
}  // namespace riftjit

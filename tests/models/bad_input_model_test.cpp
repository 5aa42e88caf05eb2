// Keys and tensors that contradict each other or ask for what is not implemented (rows B14 to B20 and B26 of the
// project's list of bad input): the message names key, value and the relation that is broken.
#include <gtest/gtest.h>

#include <limits>

#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace bad_input_model_test {

using namespace test;

// The tiny llama with one key replaced.
std::string with(std::string_view suffix, const Value& value) {
    GgufBuilder builder = tiny_model();
    builder.set("llama." + std::string(suffix), value);
    return load_message(builder);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(BadInputModel, TheModelThatTheCasesStartFromLoads) {
    for (const char* architecture : {"llama", "qwen2", "qwen3"}) EXPECT_EQ(load_message(tiny_model(architecture)), "");
}

TEST(BadInputModel, B14RefusesCountsOfZero) {
    for (const char* suffix : {"attention.head_count", "attention.head_count_kv", "block_count", "embedding_length",
                               "feed_forward_length", "context_length"})
        EXPECT_TRUE(
            says(with(suffix, u32(0)), {std::string("key 'llama.") + suffix + "' (at byte", "is 0; allowed are 1 to"}));
}

TEST(BadInputModel, B14RefusesHeadsThatDoNotDivide) {
    EXPECT_TRUE(
        says(with("attention.head_count_kv", u32(3)),
             {"key 'llama.attention.head_count_kv'", "is 3, which does not divide llama.attention.head_count = 2"}));
    EXPECT_TRUE(
        says(with("attention.head_count", u32(3)), {"does not divide llama.attention.head_count = 3"}) ||
        says(with("attention.head_count", u32(3)), {"is 3, which does not divide llama.embedding_length = 32"}));
}

TEST(BadInputModel, B14RefusesPerLayerArraysOfTheWrongLength) {
    for (const char* suffix : {"attention.head_count", "attention.head_count_kv", "feed_forward_length"}) {
        for (const std::vector<int32_t>& values : {std::vector<int32_t>{}, {2}, {2, 2, 2}})
            EXPECT_TRUE(says(with(suffix, i32_array(values)),
                             {std::string("key llama.") + suffix + " has wrong array length; expected 2, got " +
                              std::to_string(values.size())}));
    }
    EXPECT_EQ(with("attention.head_count", i32_array({2, 2})), "");
    EXPECT_TRUE(
        says(with("attention.head_count_kv", i32_array({1, 2})), {"element 1 is 2 but element 0 is 1", "unsupported"}));
    EXPECT_TRUE(says(with("attention.head_count", i32_array({2, -1})), {"element 1 is -1; allowed are 1 to"}));
}

TEST(BadInputModel, B14RefusesHugeCounts) {
    for (const char* suffix : {"attention.head_count", "block_count", "embedding_length", "feed_forward_length"})
        for (const Value& value : {u32(0xffffffffu), u64(UINT64_MAX), i32(-1)})
            EXPECT_TRUE(says(with(suffix, value), {std::string("key 'llama.") + suffix + "'", "allowed are 1 to"}));
}

TEST(BadInputModel, B15RefusesNumbersThatNoRotationOrNormCanUse) {
    for (const float value : {0.0f, -1.0f, kNan, kInfinity, -kInfinity}) {
        for (const char* suffix :
             {"rope.freq_base", "attention.layer_norm_rms_epsilon", "rope.scaling.factor", "rope.scale_linear"})
            EXPECT_TRUE(says(with(suffix, f32(value)), {std::string("key 'llama.") + suffix + "'",
                                                        "is " + fmt::to_string(value), "allowed are numbers above 0"}));
    }
    EXPECT_TRUE(says(with("rope.freq_base", f64(1e300)), {"is 1e+300", "allowed are numbers above 0"}));  // no float
    EXPECT_TRUE(says(with("attention.layer_norm_rms_epsilon", f32(2.0f)), {"is 2", "up to 1"}));
}

TEST(BadInputModel, B16RefusesHeadSizesAndRotations) {
    for (const uint32_t size : {1u, 7u, 9u, 12u, 20u})
        EXPECT_TRUE(
            says(with("attention.key_length", u32(size)),
                 {"key 'llama.attention.key_length'", "head size of " + std::to_string(size), "a multiple of 8"}));
    for (const uint32_t dims : {17u, 32u, 15u, 8u, 0u})
        EXPECT_TRUE(
            says(with("rope.dimension_count", u32(dims)),
                 {"key 'llama.rope.dimension_count'", "invalid n_rot: " + std::to_string(dims) + ", expected 16"}));
    EXPECT_TRUE(says(with("attention.value_length", u32(24)),
                     {"key 'llama.attention.value_length'", "is 24", "head size of 16"}));
    // 32 / 16 heads = 2
    EXPECT_TRUE(says(with("attention.head_count", u32(16)),
                     {"head size of 2 (llama.embedding_length / llama.attention.head_count)", "a multiple of 8"}));
}

TEST(BadInputModel, B17RefusesHugeHeadSizes) {
    for (const uint32_t size : {1025u, 1u << 20, 1u << 31, 0xffffffffu})
        for (const char* suffix : {"attention.key_length", "attention.value_length"})
            EXPECT_TRUE(says(with(suffix, u32(size)), {std::string("key 'llama.") + suffix + "'",
                                                       "is " + std::to_string(size) + "; allowed are 1 to 1024"}));
    GgufBuilder builder = tiny_model();
    builder.set("llama.embedding_length", u32(1 << 20)).set("llama.attention.head_count", u32(2));
    EXPECT_TRUE(says(load_message(builder), {"head size of 524288", "at most 1024"}));
}

TEST(BadInputModel, B18RefusesExpertCountsThatContradictEachOther) {
    GgufBuilder builder = tiny_model();
    builder.set("llama.expert_count", u32(8)).set("llama.expert_used_count", u32(9));
    EXPECT_TRUE(
        says(load_message(builder), {"key 'llama.expert_count'", "is 8 but llama.expert_used_count is 9", "1 to 8"}));
    builder.set("llama.expert_used_count", u32(0));
    EXPECT_TRUE(says(load_message(builder), {"is 8 but llama.expert_used_count is 0"}));
    builder.erase("llama.expert_used_count");
    EXPECT_TRUE(says(load_message(builder), {"is 8 but llama.expert_used_count is 0"}));
    builder.set("llama.expert_used_count", u32(2));
    builder.add_f32("blk.0.ffn_gate_exps.weight", {4, 2, 3}, std::vector<float>(24, 1.0f));
    EXPECT_TRUE(says(load_message(builder),
                     {"tensor 'blk.0.ffn_gate_exps.weight' has wrong shape; expected [*, *, 8]", "got [4, 2, 3]"}));
    builder.erase_tensor("blk.0.ffn_gate_exps.weight");
    EXPECT_TRUE(says(load_message(builder), {"missing tensor 'blk.0.ffn_gate_inp.weight'"}));
}

TEST(BadInputModel, B20RefusesMoreTokensThanRows) {
    GgufBuilder builder = tiny_model();
    std::vector<std::string> tokens = tiny_vocabulary();
    tokens.emplace_back("one too many");
    builder.set("tokenizer.ggml.tokens", string_array(tokens));
    EXPECT_TRUE(says(load_message(builder), {"key 'tokenizer.ggml.tokens'", "has 65 tokens", "only 64 rows"}));
    tokens.resize(63);
    builder.set("tokenizer.ggml.tokens", string_array(tokens));
    EXPECT_EQ(load_message(builder), "");  // one row of padding
    EXPECT_TRUE(says(with("vocab_size", u32(65)), {"key 'llama.vocab_size'", "is 65", "only 64 rows"}));
}

TEST(BadInputModel, B26NamesTheArchitecturesItKnows) {
    GgufBuilder builder = tiny_model();
    for (const char* name : {"qwen99", "Llama", "LLAMA", "", "llama "}) {
        builder.set("general.architecture", string(name));
        EXPECT_TRUE(says(load_message(builder),
                         {"key 'general.architecture' (at byte 24)",
                          std::string("unknown model architecture: '") + name + "'", "known are llama, qwen2, qwen3"}));
    }
    builder.set("general.architecture", string("llada"));
    EXPECT_TRUE(says(load_message(builder),
                     {"key 'general.architecture' (at byte 24)", "is 'llada', a diffusion model", "are unsupported"}));
    builder.set("general.architecture", u32(3));
    EXPECT_TRUE(says(load_message(builder), {"key general.architecture has wrong type u32 but expected type string"}));
    builder.erase("general.architecture");
    EXPECT_TRUE(says(load_message(builder), {"missing key general.architecture"}));
}

TEST(BadInputModel, NamesEveryMissingKey) {
    for (const char* suffix : {"context_length", "embedding_length", "block_count", "feed_forward_length",
                               "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
        GgufBuilder builder = tiny_model();
        builder.erase(std::string("llama.") + suffix);
        EXPECT_TRUE(says(load_message(builder), {std::string("key not found in model: llama.") + suffix}));
    }
}

TEST(BadInputModel, NamesWrongTypes) {
    EXPECT_TRUE(says(with("block_count", string("2")),
                     {"key llama.block_count has wrong type string but expected type integer"}));
    EXPECT_TRUE(says(with("rope.freq_base", string("1e4")), {"key llama.rope.freq_base has wrong type string"}));
    EXPECT_TRUE(says(with("embedding_length", i32_array({32, 32})),
                     {"expected scalar, found array for key: llama.embedding_length"}));
    EXPECT_TRUE(says(with("rope.scaling.type", u32(1)), {"key llama.rope.scaling.type has wrong type u32"}));
}

// ---- well-formed, but not implemented: never ignored ----

TEST(BadInputModel, RefusesKeysWhoseEffectIsNotImplemented) {
    struct Case {
        const char* suffix;
        Value value, neutral;
    };
    for (const Case& c : {
             Case{"attention.max_alibi_bias", f32(8), f32(0)},
             Case{"attention.clamp_kqv", f32(6), f32(0)},
             Case{"attention.scale", f32(0.125f), f32(0)},
             Case{"attention.causal", boolean(0), boolean(1)},
             Case{"attention.temperature_scale", f32(0.1f), f32(0)},
             Case{"attn_logit_softcapping", f32(50), f32(0)},
             Case{"final_logit_softcapping", f32(30), f32(0)},
             Case{"logit_scale", f32(16), f32(1)},
             Case{"residual_scale", f32(0.5f), f32(1)},
             Case{"embedding_scale", f32(12), f32(1)},
             Case{"expert_shared_count", u32(1), u32(0)},
             Case{"expert_used_count", u32(2), u32(0)},
             Case{"rope.scaling.alpha", f32(1000), f32(0)},
             Case{"rope.dimension_sections", i32_array({0, 8, 8, 0}), i32_array({0, 0, 0, 0})},
             Case{"use_parallel_residual", boolean(1), boolean(0)},
         }) {
        EXPECT_TRUE(says(with(c.suffix, c.value), {std::string("key 'llama.") + c.suffix + "' (at byte", "is ",
                                                   "unsupported for architecture llama"}));
        EXPECT_EQ(with(c.suffix, c.neutral), "") << c.suffix;
    }
    EXPECT_TRUE(says(with("logit_scale", string("1")), {"key 'llama.logit_scale'", "is no number", "unsupported"}));
}

// Of relatives each follows keys of its own.
TEST(BadInputModel, RefusesKeysThatOnlyARelativeFollows) {
    for (const char* suffix : {"attn_logit_softcapping", "final_logit_softcapping"}) {
        GgufBuilder builder = tiny_model("gemma");
        EXPECT_EQ(load_message(builder), "");
        builder.set(std::string("gemma.") + suffix, f32(50));
        EXPECT_TRUE(says(load_message(builder),
                         {std::string("key 'gemma.") + suffix + "'", "is 50", "unsupported for architecture gemma"}));
    }
}

TEST(BadInputModel, RefusesRopeScalingThatIsNotImplemented) {
    EXPECT_TRUE(says(with("rope.scaling.type", string("longrope")),
                     {"llama.rope.scaling.type is 'longrope', but tensors 'rope_factors_short.weight'"}));
    EXPECT_EQ(with("rope.scaling.type", string("yarn")), "");
    EXPECT_TRUE(says(with("rope.scaling.type", string("cubic")),
                     {"is 'cubic'; allowed are 'none', 'linear', 'yarn' and 'longrope'"}));
}

TEST(BadInputModel, RefusesFilesThatAreNoModels) {
    GgufBuilder builder = tiny_model();
    builder.set("general.type", string("adapter"));
    EXPECT_TRUE(says(load_message(builder), {"key 'general.type'", "is 'adapter'"}));
    builder.set("general.type", string("model"));
    EXPECT_EQ(load_message(builder), "");
    builder.tensors.clear();
    EXPECT_TRUE(says(load_message(builder), {"the file holds no tensors"}));
}

// ---- tensors ----

TEST(BadInputModel, U29TellsAMissingTensorFromAShortFile) {
    for (const TestTensor& tensor : tiny_model("qwen3").tensors) {
        GgufBuilder builder = tiny_model("qwen3");
        builder.erase_tensor(tensor.name);
        EXPECT_TRUE(
            says(load_message(builder), {"missing tensor '" + tensor.name + "'", "architecture qwen3 needs it"}));
    }
    Bytes bytes = tiny_model("qwen3").bytes();
    bytes.pop_back();
    EXPECT_TRUE(says(load_message(bytes), {"tensor 'output_norm.weight'", "data is not within the file bounds"}));
}

TEST(BadInputModel, NamesExpectedAndFoundShapes) {
    for (const TestTensor& original : tiny_model("qwen3").tensors) {
        if (original.name == "token_embd.weight") continue;  // its rows are the vocabulary
        GgufBuilder builder = tiny_model("qwen3");
        TestTensor& tensor = builder.tensor(original.name);
        const std::string expected = fmt::format("{}", fmt::join(original.ne, ", "));
        tensor.ne.back() += 1;
        tensor.type = 0;
        tensor.data.assign(4 * tensor.ne[0] * (tensor.ne.size() > 1 ? tensor.ne[1] : 1), '\0');
        EXPECT_TRUE(
            says(load_message(builder), {"tensor '" + original.name + "' has wrong shape; expected [" + expected +
                                         "], got [" + fmt::format("{}", fmt::join(tensor.ne, ", ")) + "]"}));
    }
}

TEST(BadInputModel, RefusesATableOfTheWrongWidthOrWithoutRows) {
    GgufBuilder builder = tiny_model();
    TestTensor& table = builder.tensor("token_embd.weight");
    table.ne = {64, 32};
    EXPECT_TRUE(says(load_message(builder), {"has 64 tokens, but token_embd.weight has only 32 rows"}));
    builder.erase("tokenizer.ggml.tokens");
    EXPECT_TRUE(
        says(load_message(builder), {"tensor 'token_embd.weight' has wrong shape; expected [32, 32], got [64, 32]"}));
    table.ne = {32, 0};
    table.data.clear();
    EXPECT_TRUE(says(load_message(builder), {"tensor 'token_embd.weight'", "0 rows"}));
}

TEST(BadInputModel, RefusesTypesThatHaveNoKernels) {
    GgufBuilder builder = tiny_model();
    TestTensor& weight = builder.tensor("blk.0.attn_q.weight");
    weight.type = 26;  // i32
    weight.data.assign(32 * 32 * 4, '\1');
    EXPECT_TRUE(says(load_message(builder), {"tensor 'blk.0.attn_q.weight'", "type i32 is unsupported for a weight"}));
    builder = tiny_model();
    TestTensor& gain = builder.tensor("blk.0.attn_norm.weight");
    gain.type = 8;  // q8_0
    gain.data.assign(34, '\1');
    EXPECT_TRUE(says(load_message(builder),
                     {"tensor 'blk.0.attn_norm.weight'", "type q8_0 is unsupported for a norm or a bias"}));
}

TEST(BadInputModel, RefusesTensorsWhoseAbsenceWouldChangeTheOutput) {
    for (const char* name :
         {"blk.1.attn_sinks.weight", "blk.0.attn_norm.bias", "output_norm.bias", "position_embd.weight",
          "blk.0.ffn_gate_inp.weight", "blk.0.attn_q_norm.weight", "rope_factors_long.weight"}) {
        GgufBuilder builder = tiny_model();
        builder.add_f32(name, {16}, std::vector<float>(16, 1.0f));
        EXPECT_TRUE(says(load_message(builder), {std::string("tensor '") + name + "' (info at byte",
                                                 "unsupported for architecture llama", "would change the output"}));
    }
}

TEST(BadInputModel, RefusesRopeFactorsThatCannotDivide) {
    for (const float factor : {0.0f, -1.0f, kNan, kInfinity}) {
        GgufBuilder builder = tiny_model();
        std::vector<float> factors(8, 1.0f);
        factors[5] = factor;
        builder.add_f32("rope_freqs.weight", {8}, factors);
        EXPECT_TRUE(
            says(load_message(builder), {"tensor 'rope_freqs.weight'", "element 5 is " + fmt::to_string(factor)}));
    }
    GgufBuilder builder = tiny_model();
    builder.add_f32("rope_freqs.weight", {16}, std::vector<float>(16, 1.0f));
    EXPECT_TRUE(says(load_message(builder), {"tensor 'rope_freqs.weight' has wrong shape; expected [8], got [16]"}));
}

}  // namespace bad_input_model_test
}  // namespace riftjit::models

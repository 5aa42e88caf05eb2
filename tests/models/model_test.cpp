#include "models/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/dequantize.h"
#include "graph/reference.h"
#include "tests/models/expect_message.h"
#include "tests/safetensors.h"

namespace riftjit::models {
namespace model_test {

using namespace test;

Model load_or_die(const std::filesystem::path& path) {
    auto model = load_model(path);
    check(model.has_value(), model ? "" : model.error().message);
    return std::move(*model);
}

std::vector<double> logits_of(const Model& model, std::span<const int32_t> ids) {
    const auto graph = model.build();
    check(graph.has_value(), graph ? "" : graph.error().message);
    auto result = graph::Reference(*graph).run(ids);
    check(result.has_value(), result ? "" : result.error().message);
    return std::move(*result);
}

std::vector<double> tiny_logits(const GgufBuilder& builder) {
    const MemoryFile file(builder.bytes());
    const std::vector<int32_t> ids = {3, 14, 15, 9, 26, 5};
    return logits_of(load_or_die(file.path()), ids);
}

double largest_difference(const std::vector<double>& left, const std::vector<double>& right) {
    check(left.size() == right.size(), "as many logits on both sides");
    double largest = 0;
    for (size_t i = 0; i < left.size(); ++i) largest = std::max(largest, std::abs(left[i] - right[i]));
    return largest;
}

// ---- against transformers ----

struct GoldenModel {
    const char *golden, *model;
};

class ModelGolden : public ::testing::TestWithParam<GoldenModel> {};

// Same weights, both in double: what remains is the order of sums and the frequencies of the rotation, which
// transformers rounds to f32 (2^-24). At position 64 that turns a pair by up to 64 * 2^-24 = 4e-6, and scores and
// logits by about as much of their spread. A wrong pairing, bias, norm or factor is off by a large part of the spread.
TEST_P(ModelGolden, LogitsAgreeInDouble) {
    const std::string root = RIFTJIT_SOURCE_DIR;
    const Safetensors golden(root + "/tests/data/goldens/" + GetParam().golden + ".safetensors");
    const std::vector<int32_t> prompt = golden.i32("prompt_ids"), positions = golden.i32("positions");
    const std::vector<double> expected = golden.real("logits");
    const size_t vocabulary = golden.shape("logits")[1];

    const Model model = load_or_die(root + "/" + GetParam().model);
    ASSERT_EQ(model.hyperparameters.vocabulary, vocabulary);
    EXPECT_TRUE(model.ignored_tensors.empty());
    EXPECT_TRUE(model.warnings.empty());
    const std::vector<double> logits = logits_of(model, prompt);
    ASSERT_EQ(logits.size(), prompt.size() * vocabulary);

    double mean = 0, square = 0;
    for (const double value : expected) mean += value / expected.size();
    for (const double value : expected) square += (value - mean) * (value - mean) / expected.size();
    double largest = 0;
    for (size_t i = 0; i < positions.size(); ++i)
        for (size_t token = 0; token < vocabulary; ++token)
            largest = std::max(largest,
                               std::abs(logits[positions[i] * vocabulary + token] - expected[i * vocabulary + token]));
    EXPECT_LT(largest / std::sqrt(square), 1e-5);
    RecordProperty("largest_difference_in_deviations", std::to_string(largest / std::sqrt(square)));
}

INSTANTIATE_TEST_SUITE_P(
    , ModelGolden,
    ::testing::Values(GoldenModel{"family-llama", "tests/data/families/llama.gguf"},
                      GoldenModel{"family-llama_llama3rope", "tests/data/families/llama_llama3rope.gguf"},
                      GoldenModel{"family-llama_untied_bias", "tests/data/families/llama_untied_bias.gguf"},
                      GoldenModel{"family-qwen2", "tests/data/families/qwen2.gguf"},
                      GoldenModel{"nano-f32", "tests/data/nano/nano-f32.gguf"},
                      GoldenModel{"nano-q4_k", "tests/data/nano/nano-q4_k.gguf"},
                      GoldenModel{"storyteller-9m-q8_0.fox", "share/models/storyteller/storyteller-9m-q8_0.gguf"}),
    [](const auto& info) {
        std::string name = info.param.golden;
        std::ranges::replace_if(name, [](char letter) { return !std::isalnum(letter); }, '_');
        return name;
    });

TEST(Model, EveryTestModelLoadsWithoutRemarks) {
    for (const auto& entry : std::filesystem::directory_iterator(RIFTJIT_SOURCE_DIR "/tests/data/nano")) {
        const Model model = load_or_die(entry.path());
        EXPECT_TRUE(model.ignored_tensors.empty() && model.warnings.empty()) << entry.path();
        EXPECT_EQ(model.hyperparameters.architecture, "qwen3");
    }
}

// ---- hyperparameters ----

TEST(Model, ReadsHyperparameters) {
    const Model model = load_or_die(RIFTJIT_SOURCE_DIR "/share/models/storyteller/storyteller-9m-q8_0.gguf");
    const Hyperparameters& hyper = model.hyperparameters;
    EXPECT_EQ(hyper.architecture, "qwen3");
    EXPECT_EQ(hyper.name, "riftjit storyteller 9M");
    EXPECT_EQ(hyper.context_length, 2048u);
    EXPECT_EQ(hyper.width, 256u);
    EXPECT_EQ(hyper.layers, 8u);
    EXPECT_EQ(hyper.ffn_width, 768u);
    EXPECT_EQ(hyper.heads, 4u);
    EXPECT_EQ(hyper.kv_heads, 2u);
    EXPECT_EQ(hyper.head_dim, 128u);  // not 256 / 4
    EXPECT_EQ(hyper.rope.rotary_dims, 128u);
    EXPECT_EQ(hyper.vocabulary, 4096u);
    EXPECT_EQ(hyper.norm_epsilon, 1e-6f);
    EXPECT_EQ(hyper.rope.base, 1e6f);
    EXPECT_EQ(hyper.rope.scale, 1.0f);
    EXPECT_EQ(hyper.pairing, RopePairing::half);
    EXPECT_TRUE(hyper.tied_output);
    const auto graph = model.build();
    ASSERT_TRUE(graph);
    ASSERT_EQ(graph->slots.size(), 8u);
    for (const graph::StateSlot& slot : graph->slots) {
        EXPECT_EQ(std::get<graph::KvSlot>(slot.shape).heads, 2u) << slot.name;
        EXPECT_EQ(std::get<graph::KvSlot>(slot.shape).head_dim, 128u) << slot.name;
    }
}

TEST(Model, PairsAsTheArchitectureDoes) {
    const auto pairing = [](const char* architecture) {
        const MemoryFile file(tiny_model(architecture).bytes());
        return load_or_die(file.path()).hyperparameters.pairing;
    };
    EXPECT_EQ(pairing("llama"), RopePairing::adjacent);
    EXPECT_EQ(pairing("qwen2"), RopePairing::half);
    EXPECT_EQ(pairing("qwen3"), RopePairing::half);
}

Hyperparameters tiny_hyperparameters(const GgufBuilder& builder) {
    const MemoryFile file(builder.bytes());
    return load_or_die(file.path()).hyperparameters;
}

TEST(Model, DefaultsWhatTheFileLeavesOut) {
    GgufBuilder builder = tiny_model();
    builder.erase("llama.rope.freq_base").erase("llama.attention.head_count_kv");
    for (const char* block : {"blk.0.", "blk.1."})
        for (const char* name : {"attn_k.weight", "attn_v.weight"}) {
            TestTensor& tensor = builder.tensor(std::string(block) + name);
            tensor.ne[1] *= 2;
            tensor.data += tensor.data;
        }
    const Hyperparameters hyper = tiny_hyperparameters(builder);
    EXPECT_EQ(hyper.rope.base, 10000.0f);
    EXPECT_EQ(hyper.kv_heads, hyper.heads);
    EXPECT_EQ(hyper.head_dim, 16u);
}

TEST(Model, ScalesRotationsLinearlyByTheInverseFactor) {
    GgufBuilder builder = tiny_model();
    builder.set("llama.rope.scale_linear", f32(2));
    EXPECT_EQ(tiny_hyperparameters(builder).rope.scale, 0.5f);  // the older name
    builder.set("llama.rope.scaling.factor", f32(4));
    EXPECT_EQ(tiny_hyperparameters(builder).rope.scale, 0.25f);
    builder.set("llama.rope.scaling.type", string("linear"));
    EXPECT_EQ(tiny_hyperparameters(builder).rope.scale, 0.25f);
    builder.set("llama.rope.scaling.type", string("none"));
    EXPECT_EQ(tiny_hyperparameters(builder).rope.scale, 1.0f);
}

TEST(Model, TakesAnyIntegerTypeAndPerLayerArrays) {
    GgufBuilder builder = tiny_model();
    const std::vector<double> expected = tiny_logits(builder);
    builder.set("llama.block_count", u64(2))
        .set("llama.embedding_length", i32(32))
        .set("llama.context_length", i64(128));
    builder.set("llama.attention.head_count_kv", i32_array({1, 1}))
        .set("llama.feed_forward_length", i32_array({64, 64}));
    builder.set("llama.rope.freq_base", f64(10000));
    EXPECT_EQ(tiny_logits(builder), expected);
}

TEST(Model, LeavesDraftBlocksOut) {
    GgufBuilder builder = tiny_model();
    const std::vector<double> expected = tiny_logits(builder);
    builder.set("llama.block_count", u32(3)).set("llama.nextn_predict_layers", u32(1));
    builder.add_f32("blk.2.attn_norm.weight", {32}, std::vector<float>(32, 1))
        .add_f32("blk.2.nextn.eh_proj.weight", {1}, {1});
    const MemoryFile file(builder.bytes());
    const Model model = load_or_die(file.path());
    EXPECT_EQ(model.hyperparameters.layers, 2u);
    EXPECT_EQ(model.ignored_tensors,
              (std::vector<std::string>{"blk.2.attn_norm.weight", "blk.2.nextn.eh_proj.weight"}));
    EXPECT_EQ(tiny_logits(builder), expected);
}

// ---- the graph ----

TEST(Model, GathersRowsBeforeTheOutputNorm) {
    const MemoryFile file(tiny_model().bytes());
    const auto graph = load_or_die(file.path()).build();
    ASSERT_TRUE(graph);
    const size_t count = graph->nodes.size();
    EXPECT_TRUE(std::holds_alternative<graph::GatherRowsOp>(graph->nodes[count - 3].op));
    EXPECT_TRUE(std::holds_alternative<graph::RmsNormOp>(graph->nodes[count - 2].op));
    EXPECT_TRUE(std::holds_alternative<graph::MatmulOp>(graph->nodes[count - 1].op));
}

TEST(Model, WeightsPointIntoTheFile) {
    const MemoryFile file(tiny_model().bytes());
    const Model model = load_or_die(file.path());
    const auto graph = model.build();
    ASSERT_TRUE(graph);
    size_t weights = 0;
    for (const graph::Tensor& tensor : graph->tensors) {
        if (tensor.kind != graph::TensorKind::weight) continue;
        EXPECT_EQ(tensor.data, model.file.find_tensor(tensor.name)->data.data()) << tensor.name;
        ++weights;
    }
    EXPECT_EQ(weights, model.file.tensors().size());
}

TEST(Model, UntiedOutputIsItsOwnTable) {
    GgufBuilder builder = tiny_model();
    const std::vector<double> tied = tiny_logits(builder);
    builder.tensors.push_back(builder.tensor("token_embd.weight"));
    builder.tensors.back().name = "output.weight";
    EXPECT_FALSE(tiny_hyperparameters(builder).tied_output);
    EXPECT_EQ(tiny_logits(builder), tied);
    std::ranges::fill(builder.tensor("output.weight").data, '\0');
    EXPECT_EQ(tiny_logits(builder), std::vector<double>(tied.size(), 0.0));
}

TEST(Model, AddsTheBiasOfTheOutput) {
    GgufBuilder builder = tiny_model("qwen2");
    std::vector<double> expected = tiny_logits(builder);
    std::vector<float> bias(kTinyTokens);
    for (uint32_t i = 0; i < kTinyTokens; ++i) bias[i] = static_cast<float>(i);
    builder.add_f32("output.bias", {kTinyTokens}, bias);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % kTinyTokens];
    EXPECT_LT(largest_difference(tiny_logits(builder), expected), 1e-12);
}

// Moves Q, K and V of every block, weights and biases, into one tensor each.
void fuse_qkv(GgufBuilder& builder) {
    for (const std::string block : {"blk.0.", "blk.1."}) {
        for (const std::string suffix : {".weight", ".bias"}) {
            TestTensor fused = builder.tensor(block + "attn_q" + suffix);
            fused.name = block + "attn_qkv" + suffix;
            for (const std::string part : {"attn_k", "attn_v"}) {
                fused.data += builder.tensor(block + part + suffix).data;
                fused.ne.back() += builder.tensor(block + part + suffix).ne.back();
            }
            for (const std::string part : {"attn_q", "attn_k", "attn_v"}) builder.erase_tensor(block + part + suffix);
            builder.tensors.push_back(fused);
        }
    }
}

TEST(Model, SplitsFusedQkv) {
    GgufBuilder builder = tiny_model("qwen2");
    TinyWeights weights;
    for (const std::string block : {"blk.0.", "blk.1."})
        for (const auto& [part, rows] : {std::pair{"attn_q", 32u}, {"attn_k", 16u}, {"attn_v", 16u}})
            builder.add_f32(block + part + ".bias", {rows}, weights.values(rows, 0.0f, 0.5f));
    const std::vector<double> separate = tiny_logits(builder);
    GgufBuilder fused = builder;
    fuse_qkv(fused);
    EXPECT_EQ(tiny_logits(fused), separate);

    // Fused weights with separate biases.
    for (const std::string block : {"blk.0.", "blk.1."}) {
        fused.erase_tensor(block + "attn_qkv.bias");
        for (const std::string part : {"attn_q", "attn_k", "attn_v"})
            fused.tensors.push_back(builder.tensor(block + part + ".bias"));
    }
    EXPECT_EQ(tiny_logits(fused), separate);
}

TEST(Model, ConvertsNormsAndBiasesOfHalfPrecision) {
    for (const DType type : {DType::F16, DType::BF16}) {
        GgufBuilder half = tiny_model("qwen3"), single = half;
        for (TestTensor& tensor : half.tensors) {
            if (tensor.ne.size() != 1) continue;
            Bytes data;
            for (size_t i = 0; i < tensor.ne[0]; ++i)  // 1.0 to 1.24 in steps that both types hold
                data += raw(static_cast<uint16_t>((type == DType::F16 ? 0x3c00 + 8 * (i % 32) : 0x3f80 + i % 32)));
            tensor.data = data;
            tensor.type = static_cast<uint32_t>(type);
            std::vector<float> values(tensor.ne[0]);
            graph::dequantize_row(type, reinterpret_cast<const std::byte*>(data.data()),
                                  static_cast<uint32_t>(values.size()), values.data());
            single.tensor(tensor.name).data.assign(reinterpret_cast<const char*>(values.data()), values.size() * 4);
        }
        EXPECT_EQ(tiny_logits(half), tiny_logits(single));
    }
}

TEST(Model, MultipliesProductsByTheirScale) {
    GgufBuilder builder = tiny_model();
    const std::vector<double> plain = tiny_logits(builder);
    builder.add_f32("output.scale", {1}, {0.5f});
    std::vector<double> halves = plain;
    for (double& logit : halves) logit *= 0.5;
    EXPECT_LT(largest_difference(tiny_logits(builder), halves), 1e-12);
    builder.add_f32("blk.0.ffn_up.scale", {1}, {1.0f}).add_f32("blk.0.ffn_up.input_scale", {1}, {3.0f});
    EXPECT_LT(largest_difference(tiny_logits(builder), halves), 1e-12);
    builder.add_f32("blk.0.ffn_up.bias", {64}, std::vector<float>(64, 0.0f));
    EXPECT_TRUE(
        says(load_message(builder), {"tensor 'blk.0.ffn_up.scale'", "a scale together with a bias is unsupported"}));
}

// ---- odd, but accepted ----

TEST(Model, ListsUnknownTensorsAndWarnsOfUnknownKeys) {
    GgufBuilder builder = tiny_model();
    const std::vector<double> expected = tiny_logits(builder);
    builder.add_f32("v.patch_embd.weight", {4}, {1, 2, 3, 4}).add_f32("cls.output.weight", {1}, {1});
    builder.set("llama.mystery", u32(1)).set("custom.note", string("hello")).set("llama.pooling_type", u32(3));
    builder.set("some.flag", boolean(9));
    const MemoryFile file(builder.bytes());
    const Model model = load_or_die(file.path());
    EXPECT_EQ(model.ignored_tensors, (std::vector<std::string>{"v.patch_embd.weight", "cls.output.weight"}));
    ASSERT_EQ(model.warnings.size(), 3u);
    EXPECT_TRUE(says(model.warnings[0], {"key 'some.flag'", "bool is stored as 9"}));
    EXPECT_TRUE(says(model.warnings[1], {"key 'llama.mystery' (at byte", "unknown to this build and ignored"}));
    EXPECT_TRUE(says(model.warnings[2], {"key 'llama.pooling_type'", "embeddings or ranking"}));
    EXPECT_EQ(logits_of(model, std::vector<int32_t>{3, 14, 15, 9, 26, 5}), expected);
}

TEST(Model, AcceptsGapsReorderingAndLargeAlignments) {
    const std::vector<double> expected = tiny_logits(tiny_model());
    GgufBuilder builder = tiny_model();
    std::ranges::reverse(builder.tensors);
    EXPECT_EQ(tiny_logits(builder), expected);
    for (const uint32_t alignment : {8u, 64u, 4096u}) {
        GgufBuilder aligned = tiny_model();
        EXPECT_EQ(tiny_logits(aligned.set_alignment(alignment)), expected);
    }
    uint64_t offset = 1 << 16;
    for (TestTensor& tensor : builder.tensors) {
        tensor.offset = offset;
        offset += (tensor.data.size() + 63) / 32 * 32 + 64;
    }
    EXPECT_EQ(tiny_logits(builder), expected);
}

TEST(Model, AcceptsEmptyTensorsThatItDoesNotUse) {
    GgufBuilder builder = tiny_model();
    builder.tensors.push_back({"blk.0.attn_sinks.weight", {0}, 0, ""});
    EXPECT_EQ(load_message(builder), "");
}

TEST(Model, AcceptsAFileTypeThatDoesNotMatchItsTensors) {
    GgufBuilder builder = tiny_model();
    builder.set("general.file_type", u32(1024 + 15));
    EXPECT_EQ(load_message(builder), "");
}

TEST(Architectures, AreListedOnce) {
    std::set<std::string_view> names;
    for (const Architecture* architecture : architectures()) EXPECT_TRUE(names.insert(architecture->name).second);
    EXPECT_TRUE(names.contains("llama"));
}

}  // namespace model_test
}  // namespace riftjit::models

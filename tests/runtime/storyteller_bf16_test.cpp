// The storyteller in bf16, as it was trained: the published safetensors file, made a GGUF file by the tables below.
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace storyteller_bf16_test {

std::string published_name(std::string name) {
    static const std::map<std::string, std::string> kNames = {
        {"token_embd.weight", "model.embed_tokens.weight"}, {"output_norm.weight", "model.norm.weight"},
        {"attn_norm.weight", "input_layernorm.weight"},     {"attn_q.weight", "self_attn.q_proj.weight"},
        {"attn_k.weight", "self_attn.k_proj.weight"},       {"attn_v.weight", "self_attn.v_proj.weight"},
        {"attn_output.weight", "self_attn.o_proj.weight"},  {"attn_q_norm.weight", "self_attn.q_norm.weight"},
        {"attn_k_norm.weight", "self_attn.k_norm.weight"},  {"ffn_norm.weight", "post_attention_layernorm.weight"},
        {"ffn_gate.weight", "mlp.gate_proj.weight"},        {"ffn_up.weight", "mlp.up_proj.weight"},
        {"ffn_down.weight", "mlp.down_proj.weight"},
    };
    if (!name.starts_with("blk.")) return kNames.at(name);
    const size_t dot = name.find('.', 4);
    return "model.layers." + name.substr(4, dot - 4) + "." + kNames.at(name.substr(dot + 1));
}

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Header and metadata of the Q8_0 file, its tensors from the safetensors file in bf16.
std::string make_bf16_model() {
    const auto quantised = models::Gguf::open(source_path("share/models/storyteller/storyteller-9m-q8_0.gguf"));
    const Safetensors published(source_path("share/models/storyteller/model.safetensors"));
    std::ifstream source(quantised->path(), std::ios::binary);
    std::string index(quantised->tensors().front().info_offset_bytes, '\0'), data;
    source.read(index.data(), static_cast<std::streamsize>(index.size()));
    for (const models::GgufTensor& tensor : quantised->tensors()) {
        append(index, uint64_t{tensor.name.size()});
        index += tensor.name;
        append(index, static_cast<uint32_t>(tensor.ne.size()));
        for (const uint64_t extent : tensor.ne) append(index, extent);
        append(index, static_cast<uint32_t>(DType::BF16));
        append(index, uint64_t{data.size()});
        data += published.bytes(published_name(std::string(tensor.name)));
        data.resize(round_up(data.size(), 32));
    }
    index.resize(round_up(index.size(), 32));
    const std::string path =
        std::filesystem::temp_directory_path() / ("storyteller-bf16-" + std::to_string(getpid()) + ".gguf");
    std::ofstream(path, std::ios::binary) << index << data;
    return path;
}

class StorytellerBf16 : public testing::TestWithParam<const char*> {
protected:
    ~StorytellerBf16() override { std::filesystem::remove(path_); }
    const std::string path_ = make_bf16_model();
    const Golden golden_{std::string("storyteller-9m-bf16.") + GetParam()};
};

TEST_P(StorytellerBf16, AgreesWithTransformersAtEveryLevelAndThreadCount) {
    for (const Isa isa : x86::detect().levels) {
        // As in session_golden_test.cpp: f32 rounding below avx512_bf16. There activations are rounded to 8 bits,
        // 2^-9 / sqrt(3) of themselves, before each of the 57 matmuls on a logit's way: 0.0011 * sqrt(57) = 0.0085
        // deviations, and four to five times that for the largest of thousands of logits.
        const double bound = has_bf16(isa) ? 0.04 : 5e-5;
        TestModel model(path_, isa);
        std::string hash;
        for (const uint32_t threads : {1u, 2u, 3u, 7u}) {
            const Outcome outcome = run_golden(model.session(threads), golden_);
            EXPECT_LE(outcome.max_error, bound) << name(isa);
            for (const double gap : outcome.unequal_gaps) EXPECT_LE(gap, 2 * bound) << name(isa);
            if (hash.empty()) hash = outcome.hash;
            EXPECT_EQ(outcome.hash, hash) << name(isa) << ", " << threads << " threads";
            RecordProperty("max_error_" + std::string(name(isa)), std::to_string(outcome.max_error));
        }
    }
}

TEST_P(StorytellerBf16, RunsFromTheFolderThatItWasPublishedIn) {
    for (const Isa isa : x86::detect().levels) {
        TestModel file(path_, isa), folder("share/models/storyteller", isa);
        EXPECT_EQ(run_golden(folder.session(2), golden_).hash, run_golden(file.session(2), golden_).hash) << name(isa);
    }
}

INSTANTIATE_TEST_SUITE_P(Prompts, StorytellerBf16, testing::Values("fox", "robot"));

}  // namespace storyteller_bf16_test
}  // namespace riftjit::runtime

// Adapters that do not fit: what is said. That those that fit do as transformers does is what the goldens show
// (tests/runtime/session_golden_test.cpp).
#include "models/lora.h"

#include <gtest/gtest.h>

#include "models/model.h"
#include "tests/models/expect_message.h"
#include "tests/models/gguf/gguf_builder.h"

namespace riftjit::models::test {
namespace lora_test {

std::filesystem::path base_file() {
    return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/families/llama_yarn.gguf";
}

GgufBuilder adapter(uint64_t rank = 2, uint64_t width = 64, uint64_t rows = 64) {
    GgufBuilder builder;
    builder.set("general.type", string("adapter")).set("adapter.type", string("lora"));
    builder.set("general.architecture", string("llama")).set("adapter.lora.alpha", f32(4));
    builder.add_f32("blk.0.attn_output.weight.lora_a", {width, rank}, std::vector<float>(width * rank, 0.5f));
    builder.add_f32("blk.0.attn_output.weight.lora_b", {rank, rows}, std::vector<float>(rank * rows, 0.5f));
    return builder;
}

std::string message(const GgufBuilder& builder, float scale = 1) {
    const std::string bytes = builder.bytes();
    const MemoryFile file(bytes);
    auto model = load_model(base_file());
    if (!model) return "the base: " + model.error().message;
    const auto added = add_lora(*model, {file.path(), scale});
    return added ? "" : added.error().message;
}

TEST(Lora, IsAppliedWhereItFits) {
    EXPECT_EQ(message(adapter(2, 128, 64)), "");
    EXPECT_EQ(message(adapter(7, 128, 64), -0.5f), "");
}

TEST(Lora, SaysWhatDoesNotFit) {
    const GgufBuilder fits = adapter(2, 128, 64);
    const auto with = [&](std::string_view key, Value value) {
        GgufBuilder builder = fits;
        builder.set(key, std::move(value));
        return message(builder);
    };
    EXPECT_TRUE(says(with("general.type", string("model")), {"is 'model'; expected 'adapter'"}));
    EXPECT_TRUE(says(with("adapter.type", string("control")), {"is 'control'; expected 'lora'"}));
    EXPECT_TRUE(says(with("general.architecture", string("qwen2")), {"is 'qwen2'; expected 'llama'"}));
    EXPECT_TRUE(says(with("adapter.lora.alpha", string("4")), {"adapter.lora.alpha", "wrong type"}));
    EXPECT_TRUE(says(message(fits, 1e30f), {"a scale of"}));
    EXPECT_TRUE(says(message(adapter(2, 64, 64)), {"A has width 64 and B 64 rows; the model's tensor has 128 and 64"}));

    GgufBuilder builder = fits;
    builder.erase_tensor("blk.0.attn_output.weight.lora_b");
    EXPECT_TRUE(says(message(builder), {"'blk.0.attn_output.weight.lora_b' is missing"}));
    builder.add_f32("blk.0.attn_output.weight.lora_b", {3, 64}, std::vector<float>(192, 1.0f));
    EXPECT_TRUE(says(message(builder), {"has rank 2", "has rank 3"}));

    builder = fits;
    builder.add_f32("blk.0.attn_output.weight.norm", {2}, {1, 2});
    EXPECT_TRUE(says(message(builder), {"an adapter's tensors end in .lora_a or .lora_b"}));
    builder = fits;
    builder.add_f32("blk.7.attn_output.weight.lora_a", {128, 1}, std::vector<float>(128, 1.0f));
    builder.add_f32("blk.7.attn_output.weight.lora_b", {1, 64}, std::vector<float>(64, 1.0f));
    EXPECT_TRUE(says(message(builder), {"'blk.7.attn_output.weight.lora_a'", "the model has no product"}));
    builder = fits;
    builder.erase_tensor("blk.0.attn_output.weight.lora_a").erase_tensor("blk.0.attn_output.weight.lora_b");
    EXPECT_TRUE(says(message(builder), {"the adapter has no tensors"}));
}

}  // namespace lora_test
}  // namespace riftjit::models::test

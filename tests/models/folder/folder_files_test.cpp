// What is wrong with a folder is said in one line that names file and value; files cut in parts are one model.
#include "tests/models/folder/tiny_folder.h"

namespace riftjit::models::test {
namespace folder_files_test {

using Json = TinyFolder::Json;

std::string weights_message(const std::function<void(SafetensorsParts&)>& change) {
    TinyFolder folder;
    SafetensorsParts parts(folder.get("model.safetensors"));
    change(parts);
    return folder.set("model.safetensors", parts.bytes()).message();
}
std::string entry_message(const std::string& key, const Json& value) {
    return weights_message([&](SafetensorsParts& parts) { parts.header["model.norm.weight"][key] = value; });
}
std::string config_message(const std::string& key, const Json& value) {
    return TinyFolder().edit("config.json", [&](Json& config) { config[key] = value; }).message();
}
std::string raw_message(std::string_view bytes) { return TinyFolder().set("model.safetensors", bytes).message(); }

// The weights in `count` files, by turns, with their index.
void split(TinyFolder& folder, size_t count, const std::function<void(Json& map)>& change = {}) {
    const SafetensorsParts whole(folder.get("model.safetensors"));
    Json index = {{"metadata", {{"total_size", whole.data.size()}}}, {"weight_map", Json::object()}};
    for (size_t i = 0; i < count; ++i) {
        const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, count);
        const SafetensorsParts part = whole.only([&](size_t number) { return number % count == i; });
        for (const auto& [tensor, entry] : part.header.items()) index["weight_map"][tensor] = name;
        folder.set(name, part.bytes());
    }
    if (change) change(index["weight_map"]);
    folder.remove("model.safetensors").set("model.safetensors.index.json", index.dump());
}

TEST(FolderFiles, OfSeveralPartsAreTheSameModel) {
    const TinyFolder whole;
    TinyFolder parts;
    split(parts, 3);
    const auto one = open_model_file(whole.path()), many = open_model_file(parts.path());
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_TRUE(many) << many.error().message;
    EXPECT_EQ(one->tensors().size(), many->tensors().size());
    for (const GgufTensor& tensor : one->tensors()) {
        const GgufTensor* const other = many->find_tensor(tensor.name);
        ASSERT_NE(other, nullptr) << tensor.name;
        EXPECT_TRUE(std::ranges::equal(other->data, tensor.data)) << tensor.name;
    }
    EXPECT_EQ(many->paths().size(), 4u);  // the folder, and its files
}

TEST(FolderFiles, AnIndexNamesFilesOfItsFolderOnly) {
    for (const std::string name :
         {"../model-00001-of-00002.safetensors", "/etc/passwd", "/x.safetensors", "a/b.safetensors", "model.bin", ""}) {
        TinyFolder folder;
        split(folder, 2, [&](Json& map) { map["model.norm.weight"] = name; });
        EXPECT_TRUE(says(folder.message(), {"model.safetensors.index.json", "'model.norm.weight'", "same folder"}))
            << name;
    }
}

TEST(FolderFiles, AnIndexAndItsFilesTellTheSame) {
    TinyFolder folder;
    split(folder, 2, [](Json& map) { map.erase("model.norm.weight"); });
    EXPECT_TRUE(says(folder.message(), {"'model.norm.weight'", "does not say"}));
    TinyFolder missing;
    split(missing, 2, [](Json& map) { map["x"] = map["model.norm.weight"]; });
    EXPECT_TRUE(says(missing.message(), {"'x' does not lie in model-0000"}));
    TinyFolder absent;
    split(absent, 2);
    EXPECT_TRUE(says(absent.remove("model-00002-of-00002.safetensors").message(),
                     {"model-00002-of-00002.safetensors: cannot open"}));
    TinyFolder twice;  // what the first file holds, in another one, too
    split(twice, 2);
    SafetensorsParts second(twice.get("model-00002-of-00002.safetensors"));
    const SafetensorsParts first(twice.get("model-00001-of-00002.safetensors"));
    const std::string name = first.header.begin().key();
    const Json entry = first.header.begin().value();
    const std::array<uint64_t, 2> place = entry.at("data_offsets");
    second.header[name] = entry;
    second.header[name]["data_offsets"] = {second.data.size(), second.data.size() + place[1] - place[0]};
    second.data += first.data.substr(place[0], place[1] - place[0]);
    twice.set("model-00002-of-00002.safetensors", second.bytes());
    EXPECT_TRUE(says(twice.message(), {"model-00002-of-00002.safetensors", "does not say that it lies there"}));
    EXPECT_TRUE(says(TinyFolder().remove("model.safetensors").set("model.safetensors.index.json", "{}").message(),
                     {"'weight_map' is absent"}));
}

TEST(FolderFiles, HeadersThatTellWrong) {
    EXPECT_TRUE(says(entry_message("dtype", "F33"), {"'model.norm.weight'", "dtype \"F33\" is unknown"}));
    EXPECT_TRUE(says(entry_message("dtype", "I16"), {"dtype I16 is unsupported for a weight"}));
    EXPECT_TRUE(says(entry_message("dtype", 3), {"dtype 3"}));
    EXPECT_TRUE(says(entry_message("shape", {33}), {"do not hold [33] of F16, which takes 66 bytes"}));
    EXPECT_TRUE(says(entry_message("shape", {0}), {"shape has 0"}));
    EXPECT_TRUE(says(entry_message("shape", {-32}), {"shape has -32"}));
    EXPECT_TRUE(says(entry_message("shape", {4294967296, 4294967296, 32}), {"shape has 4294967296"}));
    EXPECT_TRUE(says(entry_message("shape", Json::array({1, 1, 1, 1, 1, 1, 1, 1, 32})), {"up to 8 lengths"}));
    EXPECT_TRUE(says(entry_message("shape", Json::array({1, 1, 1, 1, 32})), {"more than 4 dimensions"}));
    EXPECT_TRUE(says(entry_message("shape", "32"), {"shape is \"32\""}));
    EXPECT_TRUE(says(entry_message("data_offsets", {64, 0}), {"data_offsets 64 to 0"}));
    EXPECT_TRUE(says(entry_message("data_offsets", {1}), {"expected are two offsets"}));
    EXPECT_TRUE(says(entry_message("data_offsets", {1ull << 62, (1ull << 62) + 64}), {"lie outside the"}));
    EXPECT_TRUE(says(entry_message("more", 1), {"expected are dtype, shape and data_offsets"}));
    // Its data moved onto another's, and by one byte away from its neighbour.
    EXPECT_TRUE(says(entry_message("data_offsets", {0, 64}), {"is where the one before ends"}));
    EXPECT_TRUE(says(weights_message([](SafetensorsParts& parts) { parts.data += "x"; }), {"header and tensors take"}));
    EXPECT_TRUE(says(weights_message([](SafetensorsParts& parts) { parts.data.pop_back(); }), {"lie outside the"}));
    EXPECT_TRUE(says(weights_message([](SafetensorsParts& parts) { parts.header.erase("model.norm.weight"); }),
                     {"model.safetensors"}));
    EXPECT_TRUE(says(weights_message([](SafetensorsParts& parts) {
                         parts.header["model.norm.wait"] = parts.header["model.norm.weight"];
                         parts.header.erase("model.norm.weight");
                     }),
                     {"'model.norm.wait'", "Qwen3ForCausalLM of 2 layers has no such tensor"}));
    EXPECT_TRUE(says(weights_message([](SafetensorsParts& parts) {
                         const std::string text = parts.header.dump();
                         parts.header = nlohmann::ordered_json::parse(
                             std::string(text).replace(text.find("layers.1."), 9, "layers.7."));
                     }),
                     {"layers.7.", "of 2 layers has no such tensor"}));
}

TEST(FolderFiles, ThatAreNoSafetensors) {
    EXPECT_TRUE(says(raw_message(""), {"model.safetensors: the file has 0 bytes"}));
    EXPECT_TRUE(says(raw_message("1234567"), {"the file has 7 bytes"}));
    EXPECT_TRUE(says(raw_message(raw(uint64_t{100'000'001})), {"is 100000001; allowed are at most 100000000"}));
    EXPECT_TRUE(says(raw_message(raw(~uint64_t{0})), {"allowed are at most"}));
    EXPECT_TRUE(says(raw_message(raw(uint64_t{100})), {"file ends at byte 8 inside its header of 100 bytes"}));
    EXPECT_TRUE(says(raw_message("version https://git-lfs.github.com/spec/v1\n"), {"Git-LFS pointer"}));
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined("{", "")), {"header: not JSON: at byte"}));
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined("[]", "")), {"header: holds array, no object"}));
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined("{\"\xff\": 1}", "")), {"not JSON: at byte"}));
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined("{}", "")), {"the file holds no tensors"}));
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined(R"({"a": {}, "a": {}})", "")), {"key 'a' stands twice"}));
    const std::string deep = "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
    EXPECT_TRUE(says(raw_message(SafetensorsParts::joined(deep, "")), {"nests deeper than 1000"}));
}

TEST(FolderFiles, ConfigurationsThatTellWrong) {
    EXPECT_TRUE(says(config_message("architectures", {"NoSuchForCausalLM"}),
                     {"config.json: key 'architectures' is 'NoSuchForCausalLM'", "known are LlamaForCausalLM"}));
    EXPECT_TRUE(says(config_message("architectures", "x"), {"expected is a list"}));
    EXPECT_TRUE(says(config_message("num_hidden_layers", 3), {"missing tensor 'blk.2."}));
    EXPECT_TRUE(says(config_message("num_hidden_layers", -1), {"'num_hidden_layers' is -1"}));
    EXPECT_TRUE(says(config_message("num_hidden_layers", 1e9), {"'num_hidden_layers' is 1000000000.0"}));
    EXPECT_TRUE(says(config_message("hidden_size", 1u << 30), {"'hidden_size' is 1073741824"}));
    EXPECT_TRUE(says(config_message("hidden_size", 40), {"has wrong shape"}));
    EXPECT_TRUE(says(config_message("num_attention_heads", 0), {"'num_attention_heads' is 0"}));
    EXPECT_TRUE(says(config_message("num_key_value_heads", 3), {"config.json: key 'num_key_value_heads'"}));
    EXPECT_TRUE(says(config_message("rms_norm_eps", nullptr), {"missing key qwen3.attention.layer_norm_rms_epsilon"}));
    EXPECT_TRUE(says(config_message("hidden_act", "gelu"), {"'hidden_act' is \"gelu\"", "supported is \"silu\""}));
    EXPECT_TRUE(says(config_message("rope_parameters", {{"rope_type", "spiral"}}), {"rope_type \"spiral\""}));
    EXPECT_TRUE(says(config_message("rope_parameters", {{"rope_type", "linear"}}), {"but no factor"}));
    EXPECT_TRUE(says(config_message("rope_parameters", {{"rope_theta", "x"}}), {"rope_theta is \"x\""}));
    EXPECT_TRUE(says(config_message("vocab_size", 289), {"'vocab_size' is 289; allowed are integers from 1 to 288"}));
    EXPECT_TRUE(says(config_message("tie_word_embeddings", false), {"there is no tensor 'lm_head.weight'"}));
    EXPECT_TRUE(says(config_message("quantization_config", {{"quant_method", "bitsandbytes"}}),
                     {"quant_method \"bitsandbytes\"", "supported are fp8"}));
    EXPECT_TRUE(says(TinyFolder().remove("config.json").message(), {"a folder without config.json"}));
    EXPECT_TRUE(says(TinyFolder().remove("tokenizer.json").message(), {"no tokenizer.json"}));
    EXPECT_TRUE(says(TinyFolder().remove("model.safetensors").set("pytorch_model.bin", "x").message(),
                     {"neither model.safetensors nor", "Python pickle"}));
    EXPECT_TRUE(says(TinyFolder().set("config.json", "<html>").message(), {"config.json: not JSON", "HTML"}));
}

// Of a family's folder whose weights and configuration are changed.
std::string family_message(const char* folder, const std::function<void(SafetensorsParts&)>& weights,
                           const std::function<void(Json&)>& config = {}) {
    TinyFolder tiny(folder);
    if (config) tiny.edit("config.json", config);
    SafetensorsParts parts(tiny.get("model.safetensors"));
    if (weights) weights(parts);
    return tiny.set("model.safetensors", parts.bytes()).message();
}

TEST(FolderFiles, ExpertsThatMakeNoStackAreRefused) {
    const auto without = [](const std::string& name) {
        return [name](SafetensorsParts& parts) {
            size_t number = 0, left_out = 0;
            for (const auto& [key, entry] : parts.header.items()) {
                if (key == "__metadata__") continue;
                if (key == name) left_out = number;
                ++number;
            }
            parts = parts.only([&](size_t each) { return each != left_out; });
        };
    };
    EXPECT_TRUE(says(family_message("qwen3moe", without("model.layers.1.mlp.experts.2.up_proj.weight")),
                     {"'model.layers.1.mlp.experts.0.up_proj.weight'", "3 experts have such a tensor", "expert 3"}));
    EXPECT_TRUE(says(family_message("qwen3moe", without("model.layers.1.mlp.experts.3.up_proj.weight")),
                     {"'blk.1.ffn_up_exps.weight' has wrong shape"}));
    const auto reshaped = [](SafetensorsParts& parts) {
        Json& shape = parts.header["model.layers.0.mlp.experts.1.up_proj.weight"]["shape"];
        std::swap(shape[0], shape[1]);
    };
    EXPECT_TRUE(says(family_message("qwen3moe", reshaped), {"experts.1.up_proj.weight'", "as of expert 0"}));
    EXPECT_TRUE(says(family_message("gptoss_mxfp4", without("model.layers.0.mlp.experts.down_proj_scales")),
                     {"'model.layers.0.mlp.experts.down_proj_blocks'", "no scales beside it"}));
}

TEST(FolderFiles, WhatAMixtureWouldNotComputeIsRefused) {
    const auto with = [](const char* folder, const char* key, Json value) {
        return family_message(folder, {}, [&](Json& config) { config[key] = std::move(value); });
    };
    EXPECT_TRUE(says(with("qwen3moe", "norm_topk_prob", false), {"'norm_topk_prob' is false", "supported is true"}));
    EXPECT_TRUE(says(with("qwen2moe", "norm_topk_prob", true), {"'norm_topk_prob' is true", "supported is false"}));
    EXPECT_TRUE(says(with("gptoss", "swiglu_limit", 3.0), {"'swiglu_limit' is 3.0", "supported is 7"}));
    EXPECT_TRUE(says(with("gptoss", "layer_types", {"full_attention", "full_attention"}), {"layer 0 sees everything"}));
    EXPECT_TRUE(says(with("deepseek_v3", "scoring_func", "tanh"), {"'scoring_func' is \"tanh\""}));
    EXPECT_TRUE(says(with("deepseek_v3", "v_head_dim", 20), {"kv_b_proj.weight'", "4 heads of 8 and 20"}));
    EXPECT_TRUE(says(with("falcon_h1", "ssm_multipliers", {1, 2}), {"'ssm_multipliers'", "expected are 5 numbers"}));
    EXPECT_TRUE(says(with("lfm2", "layer_types", {"conv"}), {"'layer_types'", "each of 3 layers"}));
    EXPECT_TRUE(says(with("mamba", "intermediate_size", 48), {"'intermediate_size' is 48", "twice the width"}));
    EXPECT_TRUE(says(with("qwen3next", "linear_num_key_heads", 3),
                     {"'linear_num_key_heads' is 3", "does not divide 4 value heads"}));
}

TEST(FolderFiles, AWindowThatQwenWouldNotSeeIsRefused) {
    const auto message = [](Json window) {
        return TinyFolder("qwen2")
            .edit("config.json",
                  [&](Json& config) {
                      config["use_sliding_window"] = true;
                      config["sliding_window"] = window;
                  })
            .message();
    };
    EXPECT_TRUE(says(message(8), {"'sliding_window'", "is 8: unsupported for architecture qwen2"}));
    EXPECT_EQ(message(512), "");
}

}  // namespace folder_files_test
}  // namespace riftjit::models::test

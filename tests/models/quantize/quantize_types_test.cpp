// Which type each tensor gets: what llama-quantize's --dry-run said of shapes of several architectures
// (tests/data/make/make_quantize_types.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/quantize/file_type.h"
#include "tests/host/scratch.h"

namespace riftjit::models {
namespace quantize_types_test {

using nlohmann::json;

using Shapes = std::vector<std::pair<std::string, std::vector<uint64_t>>>;

// A file of zeros.
void write_model(const std::string& path, const std::string& architecture, const json& keys, const Shapes& shapes) {
    GgufWriter writer;
    writer.set_string("general.architecture", architecture);
    for (const auto& [key, value] : keys.items())
        value.is_number_float() ? writer.set_f32(architecture + "." + key, value.get<float>())
                                : writer.set_u32(architecture + "." + key, value.get<uint32_t>());
    for (const auto& [name, ne] : shapes) {
        uint64_t elements = 1;
        for (const uint64_t n : ne) elements *= n;
        const DType type = ne.size() == 1 ? DType::F32 : DType::F16;
        writer.add_tensor(name, type, ne, elements * traits(type).block_bytes);
    }
    const GgufIndex index = writer.finish();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(index.header.data()), std::streamsize(index.header.size()));
    file << std::string(index.file_bytes - index.header.size(), '\0');
}

Shapes shapes_of(const json& model) {
    Shapes shapes;
    for (const auto& [name, ne] : model["others"].items()) shapes.emplace_back(name, ne.get<std::vector<uint64_t>>());
    for (uint32_t layer = 0; layer < model["layers"]; ++layer)
        for (const auto& [name, ne] : model["blocks"].items())
            shapes.emplace_back(fmt::format("blk.{}.{}", layer, name), ne.get<std::vector<uint64_t>>());
    return shapes;
}

// "q6_k*4 q4_k": the type in a layer.
std::string type_in_layer(const std::string& text, uint32_t layer) {
    std::istringstream runs(text);
    for (std::string run; runs >> run;) {
        const size_t star = run.find('*');
        const uint32_t count = star == run.npos ? 1 : uint32_t(std::stoul(run.substr(star + 1)));
        if (layer < count) return run.substr(0, star);
        layer -= count;
    }
    return "none";
}

std::string expected_type(const json& types, const GgufTensor& tensor) {
    const auto layer = layer_of(tensor.name);
    const std::string name(layer ? tensor.name.substr(tensor.name.find('.', 4) + 1) : tensor.name);
    if (!types.contains(name)) return tensor.ne.size() == 1 ? "f32" : "f16";
    return layer ? type_in_layer(types[name], *layer) : types[name].get<std::string>();
}

class QuantizeTypes : public testing::Test {
protected:
    Gguf open(const json& model) {
        write_model(scratch_.path("model.gguf"), model["architecture"], model["keys"], shapes_of(model));
        auto file = Gguf::open(scratch_.path("model.gguf"));
        EXPECT_TRUE(file) << (file ? "" : file.error().message);
        return *file;
    }
    static json recorded() {
        std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/data/quantize/types.json");
        return json::parse(file);
    }
    // Names of the types, by tensor.
    static std::map<std::string, std::string> types(const Gguf& file, const TypeOptions& options) {
        const auto tensors = tensors_in_order(file);
        const auto chosen = choose_types(file, tensors, options);
        EXPECT_TRUE(chosen) << (chosen ? "" : chosen.error().message);
        std::map<std::string, std::string> names;
        for (size_t i = 0; chosen && i < tensors.size(); ++i)
            names[std::string(tensors[i]->name)] = name((*chosen)[i].type);
        return names;
    }
    Scratch scratch_;
};

TEST_F(QuantizeTypes, AreThoseOfThePeer) {
    size_t compared = 0;
    const json models = recorded();
    for (const auto& [title, model] : models.items()) {
        const Gguf file = open(model);
        for (const auto& [kind, expected] : model["types"].items()) {
            const auto type = find_file_type(kind);
            ASSERT_TRUE(type) << kind;
            const auto found = types(file, {.file_type = *type});
            for (const GgufTensor& tensor : file.tensors()) {
                EXPECT_EQ(found.at(std::string(tensor.name)), expected_type(expected, tensor))
                    << title << ": " << kind << ": " << tensor.name;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 40'000u);
}

TEST_F(QuantizeTypes, FollowFlags) {
    const json model = recorded()["llama, 32 layers, 4 queries to a key"];
    const Gguf file = open(model);
    const FileType kind = *find_file_type("q4_k_m");  // names have no case
    EXPECT_EQ(find_file_type("15")->name, "Q4_K");
    EXPECT_FALSE(find_file_type("Q4_K_X"));
    EXPECT_FALSE(find_file_type("4"));  // removed
    EXPECT_FALSE(find_file_type("15x"));
    auto found = types(file, {.file_type = kind, .pure = true});
    EXPECT_EQ(found["output.weight"], "q4_k");
    EXPECT_EQ(found["blk.0.attn_v.weight"], "q4_k");
    EXPECT_EQ(found["blk.0.attn_norm.weight"], "f32");
    found = types(file, {.file_type = kind, .quantizes_output = false});
    EXPECT_EQ(found["output.weight"], "f16");
    found = types(file, {.file_type = kind, .output_type = DType::Q8_0, .embedding_type = DType::Q5_1});
    EXPECT_EQ(found["output.weight"], "q8_0");
    EXPECT_EQ(found["token_embd.weight"], "q5_1");
    found =
        types(file, {.file_type = kind, .rules = {{"blk\\.1[0-9]\\.ffn_up", DType::Q6_K}, {"ffn_up", DType::Q5_K}}});
    EXPECT_EQ(found["blk.12.ffn_up.weight"], "q6_k");
    EXPECT_EQ(found["blk.2.ffn_up.weight"], "q5_k");
    EXPECT_EQ(found["blk.2.ffn_gate.weight"], "q4_k");
    // With importance, of which the first layers need no more bits.
    EXPECT_EQ(types(file, {.file_type = *find_file_type("IQ4_XS")})["blk.0.ffn_down.weight"], "q5_k");
    EXPECT_EQ(types(file, {.file_type = *find_file_type("IQ4_XS"), .has_importance = true})["blk.0.ffn_down.weight"],
              "iq4_xs");
    EXPECT_EQ(types(file, {.file_type = *find_file_type("Q4_0"), .has_importance = true})["blk.0.ffn_down.weight"],
              "q4_1");
    const auto tensors = tensors_in_order(file);
    const auto refused = choose_types(file, tensors, {.file_type = kind, .rules = {{"blk.(", DType::Q8_0}}});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("--tensor-type blk.(: is no regular expression"));
}

TEST_F(QuantizeTypes, SayWhatNeedsImportance) {
    const Gguf file = open(recorded()["llama, 32 layers, 4 queries to a key"]);
    const auto tensors = tensors_in_order(file);
    const auto any = [&](const char* kind) {
        const auto chosen = choose_types(file, tensors, {.file_type = *find_file_type(kind)});
        return std::ranges::any_of(*chosen, &ChosenType::needs_importance);
    };
    for (const char* kind : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "Q2_K_S", "IQ3_XS"})
        EXPECT_TRUE(any(kind)) << kind;
    for (const char* kind : {"Q2_K", "IQ3_S", "IQ3_M", "Q3_K_M", "IQ4_XS", "Q8_0", "TQ1_0"})
        EXPECT_FALSE(any(kind)) << kind;
}

}  // namespace quantize_types_test
}  // namespace riftjit::models

// Quantised folders against what their codes stand for in float64 (tests/data/make/make_quantised_folders.py).
#include "graph/dequantize.h"
#include "tests/models/folder/tiny_folder.h"
#include "tests/safetensors.h"

namespace riftjit::models::test {
namespace folder_quantised_test {

std::filesystem::path quantised(const std::string& name) {
    return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/quantised" / name;
}

class FolderQuantised : public testing::TestWithParam<const char*> {};

TEST_P(FolderQuantised, StandsForItsGolden) {
    const auto model = load_model(quantised(GetParam()));
    ASSERT_TRUE(model) << model.error().message;
    const Safetensors golden((quantised(GetParam()) / "golden.safetensors").string());
    for (const std::string part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
        const std::string name = "blk.0." + part + ".weight";
        const GgufTensor* const tensor = model->file.find_tensor(name);
        ASSERT_NE(tensor, nullptr) << name;
        const auto shape = golden.shape(name);
        ASSERT_EQ(tensor->ne, (std::vector<uint64_t>{shape[1], shape[0]})) << name;
        const std::vector<double> expected = golden.real(name);
        std::vector<float> found(expected.size());
        const auto width = static_cast<uint32_t>(shape[1]);
        for (uint64_t row = 0; row < shape[0]; ++row)
            graph::dequantize_row(tensor->type, tensor->data.data() + row * row_bytes(tensor->type, width), width,
                                  found.data() + row * width);
        // Computed in f32 and rounded to 11 or 8 binary digits: half of the last digit, and 2^-23 of the largest
        // summand, which is at most 8 here, for f32's own rounding.
        const double digit = tensor->type == DType::F16 ? 0x1p-11 : 0x1p-8;
        for (size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(found[i], expected[i], digit * std::abs(expected[i]) + 0x1p-20) << name << ", element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Schemes, FolderQuantised,
                         testing::Values("fp8_blocks", "fp8_whole", "gptq_4", "gptq_4_ordered", "gptq_8_v2", "awq_4",
                                         "mlx_4", "mlx_6", "mlx_8"),
                         [](const auto& info) { return std::string(info.param); });

TEST(FolderQuantised, SaysWhatIsMissingOrDoesNotFit) {
    const auto message = [](const std::string& name, const std::string& tensor, const std::string& key,
                            const nlohmann::ordered_json& value) {
        const TemporaryDirectory folder;
        for (const auto& entry : std::filesystem::directory_iterator(quantised(name)))
            folder.write(entry.path().filename(), whole_file(entry.path()));
        SafetensorsParts parts(whole_file(quantised(name) / "model.safetensors"));
        auto& entry = parts.header[tensor];
        if (key == "name") {
            parts.header[value.get<std::string>()] = entry;
            parts.header.erase(tensor);
        } else {
            entry[key] = value;
        }
        folder.write("model.safetensors", parts.bytes());
        const auto model = load_model(folder.path());
        return model ? "" : model.error().message;
    };
    const std::string down = "model.layers.0.mlp.down_proj";
    EXPECT_TRUE(
        says(message("gptq_4", down + ".qzeros", "name", "x"), {down + ".qweight", "no '" + down + ".qzeros'"}));
    EXPECT_TRUE(
        says(message("gptq_4", down + ".scales", "shape", {1, 64}), {".scales", "shape [1, 64] does not go with"}));
    EXPECT_TRUE(says(message("gptq_4_ordered", down + ".g_idx", "name", "model.x"), {"model.x", "has no such tensor"}));
    EXPECT_TRUE(says(message("awq_4", down + ".qzeros", "dtype", "F32"), {".qzeros", "dtype F32 is unsupported"}));
    EXPECT_TRUE(says(message("mlx_4", down + ".biases", "name", "x"), {"no '" + down + ".biases'"}));
    EXPECT_TRUE(says(message("fp8_blocks", down + ".weight_scale_inv", "shape", {3, 2}), {"does not go with"}));
}

}  // namespace folder_quantised_test
}  // namespace riftjit::models::test

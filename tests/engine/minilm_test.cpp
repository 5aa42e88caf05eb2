// all-MiniLM-L6-v2, as its folder is published, against transformers in float64.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/embedder.h"
#include "jit/x86/detect.h"
#include "tests/engine/nano_engine.h"
#include "tests/host/oracle.h"

namespace riftjit::engine {
namespace minilm_test {

// Weights of the folder are f32: what is left is f32 rounding, 5e-5 of the values' deviation (EncoderGolden), which is
// that of 384 numbers whose squares add up to 1.
const double kBound = 5e-5 / std::sqrt(384.0);

TEST(MiniLm, GivesTheVectorsOfTransformers) {
    const char* const folder = std::getenv("RIFTJIT_MINILM");
    if (folder == nullptr) return lack_oracle("RIFTJIT_MINILM, a model: tests/peer/fetch.sh prints where it lies");
    std::ifstream file(std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/goldens/all-minilm-l6-v2.json");
    const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
    ASSERT_EQ(cases.size(), 5u);
    for (const Isa isa : x86::detect().levels) {
        EngineOptions options{
            .model = folder, .purpose = {.embeds = true}, .max_isa = isa, .cache_mode = CacheMode::off};
        options.key_type = options.value_type = DType::F32;
        const auto engine = open_engine(options, expect_no_warning);
        ASSERT_TRUE(engine) << engine.error().message;
        const auto embedder = Embedder::create(*engine).value();
        EXPECT_EQ(embedder->pooling(), models::Pooling::mean);
        std::vector<std::vector<int32_t>> texts;
        for (const auto& each : cases) {
            texts.push_back(embedder->tokens_of(each.at("text").get<std::string>()).value());
            EXPECT_EQ(texts.back(), each.at("ids").get<std::vector<int32_t>>()) << each.at("text");
        }
        auto found = embedder->embed(texts).value();
        double largest = 0;
        for (size_t i = 0; i < found.size(); ++i) {
            normalize(found[i].values, 2);
            const auto expected = cases[i].at("vector").get<std::vector<double>>();
            ASSERT_EQ(found[i].values.size(), expected.size());
            for (size_t d = 0; d < expected.size(); ++d)
                largest = std::max(largest, std::fabs(found[i].values[d] - expected[d]));
        }
        EXPECT_LE(largest, kBound) << name(isa);
        RecordProperty("error_" + std::string(name(isa)), std::to_string(largest * 1e6) + "e-6");
    }
}

}  // namespace minilm_test
}  // namespace riftjit::engine

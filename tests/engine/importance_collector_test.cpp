// Sums of squares of what matrices are multiplied by: those of the reference interpreter's rows.
#include "engine/importance_collector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace importance_collector_test {

models::ImportanceMatrix measured(const std::string& model, uint32_t threads, uint32_t batch,
                                  OutputMatrix output = OutputMatrix::left_out, std::optional<Isa> isa = std::nullopt) {
    EngineOptions options{.model = model,
                          .max_isa = isa,
                          .threads = threads,
                          .context = 64,
                          .batch = batch,
                          .cache_mode = CacheMode::off,
                          .passes = "none",
                          .outputs = batch};
    Engine engine = open_nano(options);
    const auto graph = engine.model.build();
    EXPECT_TRUE(graph);
    ImportanceCollector collector(*graph, output);
    EXPECT_TRUE(engine.session->observe(collector.observer()));
    std::vector<int32_t> ids(40);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i * 37 % 500);
    for (size_t at = 0; at < ids.size(); at += batch)
        EXPECT_TRUE(engine.session->step(std::span(ids).subspan(at, std::min<size_t>(batch, ids.size() - at))));
    return collector.matrix();
}

std::string family(const std::string& name) {
    return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/families/" + name + ".gguf";
}

void expect_near(const models::ImportanceMatrix& a, const models::ImportanceMatrix& b, double share) {
    ASSERT_EQ(a.entries.size(), b.entries.size());
    for (const auto& [name, entry] : a.entries) {
        ASSERT_TRUE(b.entries.contains(name)) << name;
        const models::ImportanceEntry& other = b.entries.at(name);
        EXPECT_EQ(entry.counts, other.counts) << name;
        ASSERT_EQ(entry.sums.size(), other.sums.size()) << name;
        const float largest = std::ranges::max(entry.sums);
        for (size_t i = 0; i < entry.sums.size(); ++i)
            ASSERT_NEAR(entry.sums[i], other.sums[i], share * largest) << name << " " << i;
    }
}

TEST(ImportanceCollector, CountsEveryMatrixOfALayer) {
    const models::ImportanceMatrix matrix = measured(nano_path("q8_0"), 1, 40);
    EXPECT_EQ(matrix.entries.size(), 14u);  // seven of each of two layers
    for (const auto& [name, entry] : matrix.entries) {
        EXPECT_EQ(entry.counts, std::vector<float>{40}) << name;
        for (const float sum : entry.sums) EXPECT_GT(sum, 0);
    }
    EXPECT_EQ(matrix.entries.at("blk.0.ffn_down.weight").sums.size(), 512u);
    // Products of the same rows.
    EXPECT_EQ(matrix.entries.at("blk.1.attn_q.weight").sums, matrix.entries.at("blk.1.attn_v.weight").sums);
    EXPECT_EQ(measured(family("qwen2"), 1, 40, OutputMatrix::counted).entries.contains("output.weight"),
              measured(family("qwen2"), 1, 40).entries.size() !=
                  measured(family("qwen2"), 1, 40, OutputMatrix::counted).entries.size());
}

TEST(ImportanceCollector, SumsDependNeitherOnThreadsNorOnSteps) {
    for (const std::string& model : {nano_path("q8_0"), family("qwen3moe"), family("mamba2")}) {
        const models::ImportanceMatrix whole = measured(model, 1, 40);
        expect_near(whole, measured(model, 2, 40), 0);
        expect_near(whole, measured(model, 1, 7), 1e-6);   // in another order; the last step has five rows
        expect_near(whole, measured(model, 1, 13), 1e-6);  // and here one, of the other plan
    }
}

TEST(ImportanceCollector, RowsOfCodesAreThoseOfFloats) {
    const models::ImportanceMatrix floats = measured(nano_path("f32"), 1, 40);
    expect_near(floats, measured(nano_path("bf16"), 1, 40), 0.01);
    expect_near(floats, measured(nano_path("f16"), 1, 40, OutputMatrix::left_out, Isa::avx2), 0.01);
    expect_near(floats, measured(nano_path("q8_0"), 1, 40), 0.05);  // of other weights
}

TEST(ImportanceCollector, ExpertsHaveTheirOwnCounts) {
    const models::ImportanceMatrix matrix = measured(family("qwen3moe"), 2, 40);
    size_t stacks = 0;
    for (const auto& [name, entry] : matrix.entries) {
        if (name.find("_exps") == std::string::npos) continue;
        ++stacks;
        ASSERT_GT(entry.counts.size(), 1u) << name;
        float rows = 0;
        for (const float count : entry.counts) rows += count;
        EXPECT_EQ(std::fmod(rows, 40.f), 0.f) << name;  // as many experts of every token
        EXPECT_GT(rows, 40.f) << name;
        for (size_t expert = 0; expert < entry.counts.size(); ++expert) {
            const auto sums = std::span(entry.sums).subspan(expert * entry.width(), entry.width());
            EXPECT_EQ(std::ranges::max(sums) > 0, entry.counts[expert] > 0) << name << expert;
        }
    }
    EXPECT_GE(stacks, 6u);
    // Latent attention's products of heads count each token once, and a matrix is one where its parts go different
    // ways.
    const models::ImportanceMatrix latent = measured(family("deepseek_v2"), 1, 40);
    EXPECT_TRUE(latent.entries.contains("blk.0.attn_kv_a_mqa.weight"));
    for (const auto& [name, entry] : latent.entries) {
        EXPECT_EQ(name.find('['), name.npos) << name;
        if (name.find("attn_") != std::string::npos) {
            EXPECT_EQ(entry.counts, std::vector<float>{40}) << name;
        }
    }
}

}  // namespace importance_collector_test
}  // namespace riftjit::engine

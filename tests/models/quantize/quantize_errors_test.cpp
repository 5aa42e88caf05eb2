// How far quantised values are from what they were: as far as llama-quantize's, for every type that is made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/dequantize.h"
#include "graph/quantize/encode_row.h"
#include "models/gguf/gguf.h"

namespace riftjit::models {
namespace quantize_errors_test {

const std::string kNano = RIFTJIT_SOURCE_DIR "/tests/data/nano/nano-";

std::vector<float> values_of(DType type, std::span<const std::byte> data, uint64_t width) {
    std::vector<float> values(data.size() / traits(type).block_bytes * traits(type).block_elements);
    for (uint64_t at = 0; at < values.size(); at += width)
        graph::dequantize_row(type, data.data() + row_bytes(type, at), uint32_t(width), values.data() + at);
    return values;
}

std::vector<float> requantized(DType type, std::span<const float> values, uint64_t width,
                               std::span<const float> importance = {}) {
    std::vector<std::byte> bytes(row_bytes(type, values.size()));
    for (uint64_t at = 0; at < values.size(); at += width)
        graph::encode_row(type, values.subspan(at, width), importance, bytes.data() + row_bytes(type, at));
    return values_of(type, bytes, width);
}

double error_of(std::span<const float> values, std::span<const float> read, std::span<const float> importance = {}) {
    double squares = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        const double difference = double(values[i]) - double(read[i]);
        squares += difference * difference * (importance.empty() ? 1.0 : double(importance[i % importance.size()]));
    }
    return std::sqrt(squares / double(values.size()));
}

std::vector<DType> made_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

// Without an importance matrix llama-quantize makes none of them.
constexpr DType kMadeByImportance[] = {DType::IQ1_S,  DType::IQ1_M, DType::IQ2_XXS,
                                       DType::IQ2_XS, DType::IQ2_S, DType::IQ3_XXS};

// A few large values among many small ones, as weights have.
std::vector<float> random_row(size_t width, uint32_t seed) {
    std::mt19937 random(seed);
    std::student_t_distribution<float> distribution(4);
    std::vector<float> row(width);
    for (float& value : row) value = 0.02f * distribution(random);
    return row;
}

TEST(QuantizeErrors, AreThePeersForEveryType) {
    const auto file = Gguf::open(RIFTJIT_SOURCE_DIR "/tests/data/quantize/blocks.gguf");
    ASSERT_TRUE(file) << file.error().message;
    const GgufTensor* source = file->find_tensor("values");
    const uint64_t width = source->width();
    const std::vector<float> values = values_of(DType::F32, source->data, width);
    const std::vector<float> importance = values_of(DType::F32, file->find_tensor("importance")->data, width);
    size_t types = 0;
    for (const DType type : made_types()) {
        if (type == DType::F32) continue;
        ++types;
        for (const bool has_importance : {false, true}) {
            const std::string tensor_name = std::string(name(type)) + (has_importance ? ".importance" : "");
            const GgufTensor* peer = file->find_tensor(tensor_name);
            if (!has_importance && std::ranges::find(kMadeByImportance, type) != std::end(kMadeByImportance)) {
                EXPECT_EQ(peer, nullptr) << "llama-quantize refuses " << tensor_name;
                continue;
            }
            ASSERT_NE(peer, nullptr) << tensor_name;
            ASSERT_EQ(peer->type, type);
            const std::span<const float> weights = has_importance ? std::span(importance) : std::span<const float>();
            std::vector<std::byte> made(peer->data.size());
            for (uint64_t at = 0; at < values.size(); at += width)
                graph::encode_row(type, std::span(values).subspan(at, width), weights,
                                  made.data() + row_bytes(type, at));
            // Row by row, of which some are of another size.
            size_t differing = 0, compared = 0;
            for (uint64_t at = 0; at < values.size(); at += width) {
                const auto row = std::span(values).subspan(at, width);
                const auto part = [&](std::span<const std::byte> bytes) {
                    return bytes.subspan(row_bytes(type, at), row_bytes(type, width));
                };
                const auto own = part(made), theirs = part(peer->data);
                const double error = error_of(row, values_of(type, own, width), weights);
                const double peers = error_of(row, values_of(type, theirs, width), weights);
                EXPECT_LE(error, 1.02 * peers) << tensor_name << " " << at / width;
                if (error < 0.98 * peers) continue;  // found better codes
                compared += own.size();
                for (size_t i = 0; i < own.size(); ++i) differing += own[i] != theirs[i];
            }
            // Compilers that fuse products and sums round otherwise: now and then another scale wins.
            EXPECT_LE(differing, compared / 20) << tensor_name;
            EXPECT_GE(compared, made.size() * 5 / 6) << tensor_name;
        }
    }
    EXPECT_EQ(types, 27u);  // all weight types but f32
}

TEST(QuantizeErrors, AreLessWhereImportanceSays) {
    constexpr size_t kWidth = 512, kRows = 16;
    std::mt19937 random(3);
    std::vector<float> importance(kWidth), values;
    for (float& each : importance) each = std::exp(3 * std::normal_distribution<float>()(random));
    for (uint32_t row = 0; row < kRows; ++row) {
        const auto more = random_row(kWidth, row);
        values.insert(values.end(), more.begin(), more.end());
    }
    for (const DType type : {DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q2_K, DType::Q3_K, DType::Q4_K,
                             DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS, DType::IQ2_XXS, DType::IQ2_XS,
                             DType::IQ2_S, DType::IQ3_XXS, DType::IQ3_S, DType::IQ1_S, DType::IQ1_M}) {
        const double without = error_of(values, requantized(type, values, kWidth), importance);
        const double with = error_of(values, requantized(type, values, kWidth, importance), importance);
        EXPECT_LT(with, 0.95 * without) << name(type);
    }
    for (const DType type : {DType::Q8_0, DType::MXFP4, DType::NVFP4, DType::F16})  // know nothing of it
        EXPECT_EQ(requantized(type, values, kWidth, importance), requantized(type, values, kWidth)) << name(type);
}

TEST(QuantizeErrors, AreBoundedForRowsThatAreNoWeights) {
    constexpr size_t kWidth = 512;
    std::vector<std::vector<float>> rows = {std::vector<float>(kWidth, 0),      std::vector<float>(kWidth, 1.5f),
                                            std::vector<float>(kWidth, -3),     std::vector<float>(kWidth, 1e-30f),
                                            std::vector<float>(kWidth, 1e-42f), random_row(kWidth, 1)};
    rows.emplace_back(kWidth, 0)[77] = 5;
    rows.emplace_back(random_row(kWidth, 2))[300] = -900;
    for (size_t i = 0; i < kWidth; ++i) rows[1][i] *= i % 2 == 0 ? 1.f : -1.f;
    std::vector<float> importance(kWidth, 0);  // that says nothing
    for (const DType type : made_types())
        for (const std::vector<float>& row : rows)
            for (const std::span<const float> each : {std::span<const float>(), std::span<const float>(importance)}) {
                const float largest =
                    std::fabs(*std::ranges::max_element(row, {}, [](float x) { return std::fabs(x); }));
                for (const float value : requantized(type, row, kWidth, each)) {
                    ASSERT_TRUE(std::isfinite(value)) << name(type);
                    ASSERT_LE(std::fabs(value), 2.2f * largest + 1e-30f) << name(type);
                }
            }
}

TEST(QuantizeErrors, VanishForWhatATypeHolds) {
    // Values that were read from blocks are found again where no search chooses among scales.
    for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::MXFP4, DType::Q1_0}) {
        const auto file = Gguf::open(kNano + std::string(name(type)) + ".gguf");
        ASSERT_TRUE(file);
        const GgufTensor* tensor = file->find_tensor("blk.0.ffn_up.weight");
        ASSERT_NE(tensor, nullptr);
        const std::vector<float> values = values_of(type, tensor->data, tensor->width());
        EXPECT_LE(error_of(values, requantized(type, values, tensor->width())), type == DType::Q8_0 ? 1e-6 : 0.0)
            << name(type);
    }
}

}  // namespace quantize_errors_test
}  // namespace riftjit::models

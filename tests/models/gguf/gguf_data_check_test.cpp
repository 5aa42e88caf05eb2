#include "models/gguf/gguf_data_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/dequantize.h"
#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace gguf_data_check_test {

using namespace test;

bool decodes_to_numbers(const DTypeTraits& type, const Bytes& block) {
    std::vector<float> values(type.block_elements);
    graph::dequantize_row(type.type, reinterpret_cast<const std::byte*>(block.data()), type.block_elements,
                          values.data());
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// The decoder says which blocks are bad: a scale that is no number makes every product with it none, 0 included. Random
// bytes make one f16 in 32 such a scale. Left out: MXFP4, whose reserved exponent decodes to numbers for some codes.
TEST(CheckTensors, ReportsExactlyTheBlocksThatDoNotDecodeToNumbers) {
    std::mt19937 random(7);
    uint64_t bad_blocks = 0, types = 0;
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight || type.type == DType::MXFP4) continue;
        ++types;
        constexpr uint64_t kBlocks = 1000;
        Bytes data;
        uint64_t expected = 0;
        for (uint64_t i = 0; i < kBlocks; ++i) {
            Bytes block;
            while (block.size() < type.block_bytes) block += static_cast<char>(random());
            expected += decodes_to_numbers(type, block) ? 0 : 1;
            data += block;
        }
        GgufBuilder builder;
        builder.tensors.push_back({"w", {type.block_elements * kBlocks}, static_cast<uint32_t>(type.type), data});
        const MemoryFile file(builder.bytes());
        const auto gguf = Gguf::open(file.path());
        ASSERT_TRUE(gguf) << gguf.error().message;
        const std::vector<Finding> findings = check_tensors(*gguf);
        const auto error = std::ranges::find(findings, FindingLevel::error, &Finding::level);
        ASSERT_EQ(error != findings.end(), expected > 0) << type.name;
        if (expected > 0) {
            EXPECT_TRUE(says(error->message, {std::to_string(expected) + " of 1000 blocks"})) << type.name;
        }
        bad_blocks += expected;
    }
    EXPECT_EQ(types, 27u);
    EXPECT_GT(bad_blocks, 27u * 5);  // the comparison was about something
}

TEST(CheckTensors, FindsNothingWrongWithTheTestModels) {
    for (const auto& entry : std::filesystem::directory_iterator(RIFTJIT_SOURCE_DIR "/tests/data/nano")) {
        const auto gguf = Gguf::open(entry.path());
        ASSERT_TRUE(gguf) << gguf.error().message;
        for (const Finding& finding : check_tensors(*gguf))
            EXPECT_EQ(finding.level, FindingLevel::note) << finding.message;
    }
}

}  // namespace gguf_data_check_test
}  // namespace riftjit::models

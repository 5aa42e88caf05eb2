#include "graph/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace riftjit::graph {
namespace {

// Blocks and their values as an independent decoder gives them: tests/graph/make_dequantize_goldens.py.
struct Golden {
    DType type;
    std::vector<std::byte> blocks;
    std::vector<float> values;
};

std::vector<Golden> read_goldens() {
    std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/graph/data/dequantize.bin", std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<Golden> goldens;
    size_t at = 0;
    const auto take = [&](void* to, size_t size) {
        ASSERT_LE(at + size, bytes.size());
        std::memcpy(to, bytes.data() + at, size);
        at += size;
    };
    while (at < bytes.size() && !testing::Test::HasFatalFailure()) {
        uint32_t header[2] = {};
        take(header, sizeof header);
        Golden golden{dtype_from_id(header[0]).value(), {}, std::vector<float>(header[1])};
        golden.blocks.resize(row_bytes(golden.type, header[1]));
        take(golden.blocks.data(), golden.blocks.size());
        take(golden.values.data(), golden.values.size() * 4);
        goldens.push_back(std::move(golden));
    }
    return goldens;
}

TEST(Dequantize, GivesTheBitsOfTheReferenceDecoderForEveryWeightType) {
    std::set<DType> seen;
    for (const Golden& golden : read_goldens()) {
        seen.insert(golden.type);
        std::vector<float> out(golden.values.size(), -1.0f);
        dequantize_row(golden.type, golden.blocks.data(), static_cast<uint32_t>(out.size()), out.data());
        for (size_t e = 0; e < out.size(); ++e) {
            ASSERT_EQ(std::bit_cast<uint32_t>(out[e]), std::bit_cast<uint32_t>(golden.values[e]))
                << name(golden.type) << " element " << e << ": " << out[e] << " is not " << golden.values[e];
        }
    }
    for (const DTypeTraits& type : all_dtypes()) EXPECT_EQ(seen.contains(type.type), type.is_weight) << type.name;
}

TEST(DequantizeDeathTest, RefusesAPartialBlock) {
    const std::vector<std::byte> row(18);
    std::vector<float> out(32);
    EXPECT_EXIT(dequantize_row(DType::Q4_0, row.data(), 31, out.data()), testing::ExitedWithCode(2), "whole blocks");
}

}  // namespace
}  // namespace riftjit::graph

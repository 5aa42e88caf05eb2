// Blocks and their values as an independent decoder gives them: tests/graph/make_dequantize_goldens.py.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "jit/formats/dtype.h"

namespace riftjit::graph {

struct DequantizeGolden {
    DType type;
    std::vector<std::byte> blocks;
    std::vector<float> values;
};

inline std::vector<DequantizeGolden> read_dequantize_goldens() {
    std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/graph/data/dequantize.bin", std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<DequantizeGolden> goldens;
    size_t at = 0;
    const auto take = [&](void* to, size_t size) {
        ASSERT_LE(at + size, bytes.size());
        std::memcpy(to, bytes.data() + at, size);
        at += size;
    };
    while (at < bytes.size() && !testing::Test::HasFatalFailure()) {
        uint32_t header[2] = {};
        take(header, sizeof header);
        DequantizeGolden golden{dtype_from_id(header[0]).value(), {}, std::vector<float>(header[1])};
        golden.blocks.resize(row_bytes(golden.type, header[1]));
        take(golden.blocks.data(), golden.blocks.size());
        take(golden.values.data(), golden.values.size() * 4);
        goldens.push_back(std::move(golden));
    }
    return goldens;
}

}  // namespace riftjit::graph

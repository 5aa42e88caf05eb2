// Rows of random blocks of a weight type, made by its encoder from values of a normal distribution.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "graph/quantize/encode_row.h"
#include "tests/runtime/families/wide_file.h"

namespace riftjit::runtime {

// Encoders search, and would take longer than all the rest: rows are put together from a store of pieces of 256
// elements, of which there is one for each type and each power of two near the deviation wanted.
class TypeBlocks {
public:
    // `row`: whole blocks, and pieces but for the last.
    void fill(DType type, double deviation, std::span<std::byte> row, std::mt19937& random) {
        const std::vector<std::byte>& store = pieces(type, int(std::lround(std::log2(deviation))));
        const size_t piece_bytes = row_bytes(type, kWidestBlock);
        for (size_t at = 0; at < row.size(); at += piece_bytes) {
            const std::byte* const piece = store.data() + random() % kPieces * piece_bytes;
            std::copy_n(piece, std::min(piece_bytes, row.size() - at), row.data() + at);
        }
    }

private:
    static constexpr size_t kPieces = 192;

    const std::vector<std::byte>& pieces(DType type, int log2_deviation) {
        std::vector<std::byte>& store = stores_[{type, log2_deviation}];
        if (!store.empty()) return store;
        const size_t piece_bytes = row_bytes(type, kWidestBlock);
        store.resize(kPieces * piece_bytes);
        std::mt19937 random(uint32_t(type) + 1);
        std::normal_distribution<float> values(0.0f, std::ldexp(1.0f, log2_deviation));
        std::vector<float> piece(kWidestBlock);
        for (size_t i = 0; i < kPieces; ++i) {
            std::ranges::generate(piece, [&] { return values(random); });
            graph::encode_row(type, piece, {}, store.data() + i * piece_bytes);
        }
        return store;
    }

    std::map<std::pair<DType, int>, std::vector<std::byte>> stores_;
};

}  // namespace riftjit::runtime

#include "graph/quantize/code_grid.h"

#include <limits>

#include "host/result.h"

namespace riftjit::graph::blocks {

CodeGrid::CodeGrid(QuantGrid grid, int distances) {
    const PackedGrid& packed = packed_grid(grid);
    columns_ = packed.columns;
    bits_ = packed.bits;
    levels_ = int(packed.values.size());
    const auto columns = size_t(columns_);
    const uint32_t mask = (1u << bits_) - 1;
    const auto code_at = [&](uint32_t word, size_t column) { return uint8_t(word >> (size_t(bits_) * column) & mask); };
    for (const uint16_t word : packed.rows)
        for (size_t i = 0; i < columns; ++i) codes_.push_back(code_at(word, i));

    constexpr int32_t kUnknown = std::numeric_limits<int32_t>::max();
    const uint32_t points = 1u << (bits_ * columns_);
    starts_.assign(points, kUnknown);
    for (size_t row = 0; row < packed.rows.size(); ++row) starts_[packed.rows[row]] = -1 - int32_t(row);

    std::array<uint8_t, 8> codes;
    std::vector<uint8_t> distance(packed.rows.size());
    for (uint32_t point = 0; point < points; ++point) {
        bool is_reachable = starts_[point] == kUnknown;
        for (size_t i = 0; i < columns; ++i) {
            codes[i] = code_at(point, i);
            is_reachable &= int(codes[i]) < levels_;
        }
        if (!is_reachable) continue;
        std::array<bool, 256> is_taken{};  // squared distances: at most 4 x 49
        for (size_t row = 0; row < packed.rows.size(); ++row) {
            int sum = 0;
            for (size_t i = 0; i < columns; ++i) {
                const int difference = int(codes_[row * columns + i]) - int(codes[i]);
                sum += difference * difference;
            }
            distance[row] = uint8_t(sum);
            is_taken[size_t(sum)] = true;
        }
        starts_[point] = int32_t(neighbours_.size());
        neighbours_.push_back(0);
        int left = distances;
        for (size_t each = 0; each < is_taken.size() && left > 0; ++each) {
            if (!is_taken[each]) continue;
            --left;
            for (size_t row = 0; row < packed.rows.size(); ++row)
                if (distance[row] == each) neighbours_.push_back(uint16_t(row));
        }
        const auto start = size_t(starts_[point]);
        neighbours_[start] = uint16_t(neighbours_.size() - start - 1);
    }
}

uint16_t CodeGrid::nearest_row(uint32_t point, const float* x, const float* weights,
                               std::span<const float> value_of) const {
    const int32_t start = starts_[point];
    if (start < 0) return uint16_t(-1 - start);
    const auto count = neighbours_[size_t(start)];
    uint16_t nearest = neighbours_[size_t(start) + 1];
    float least = std::numeric_limits<float>::max();
    for (size_t i = 1; i <= count; ++i) {
        const uint16_t row = neighbours_[size_t(start) + i];
        const uint8_t* codes = codes_.data() + size_t{row} * size_t(columns_);
        float error = 0;
        for (int column = 0; column < columns_; ++column) {
            const float difference = value_of[codes[column]] - x[column];
            error += weights[column] * difference * difference;
        }
        if (error < least) {
            least = error;
            nearest = row;
        }
    }
    return nearest;
}

}  // namespace riftjit::graph::blocks

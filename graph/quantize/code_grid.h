// The grids of the IQ1, IQ2 and IQ3 types as sets of points: a group of codes is a point, and only those that are rows
// of the grid can be stored.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/formats/quant_grids.h"

namespace riftjit::graph::blocks {

class CodeGrid {
public:
    // `distances`: of a point that is no row, rows at so many of the least distances are its neighbours.
    CodeGrid(QuantGrid grid, int distances);

    int columns() const { return columns_; }
    int levels() const { return levels_; }  // codes are below it

    uint32_t point(std::span<const uint8_t> codes) const {
        uint32_t word = 0;
        for (size_t i = 0; i < codes.size(); ++i) word |= uint32_t(codes[i]) << (size_t(bits_) * i);
        return word;
    }
    bool has(uint32_t point) const { return starts_[point] < 0; }

    std::span<const uint8_t> codes(uint16_t row) const {
        return std::span(codes_).subspan(size_t{row} * size_t(columns_), size_t(columns_));
    }

    // The row that `point` is, or else that of its neighbours for which the sum of weight (value_of[code] - x)^2 is
    // least.
    uint16_t nearest_row(uint32_t point, const float* x, const float* weights, std::span<const float> value_of) const;

private:
    int columns_, bits_, levels_;
    std::vector<uint8_t> codes_;        // [rows][columns]
    std::vector<int32_t> starts_;       // of a point: -1 - row, or where its neighbours' number stands
    std::vector<uint16_t> neighbours_;  // of each point: their number, and their rows, the nearest first
};

}  // namespace riftjit::graph::blocks

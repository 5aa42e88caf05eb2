#include "jit/formats/quant_grids.h"

#include <cstddef>
#include <vector>

namespace riftjit {

namespace {

#include "jit/formats/quant_grids.inc"

constexpr int8_t kIq2Values[] = {8, 25, 43};
constexpr int8_t kIq3XxsValues[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int8_t kIq3SValues[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr int8_t kIq1Values[] = {-1, 0, 1};

constexpr PackedGrid kGrids[] = {
    {kIq2XxsRows, kIq2Values, 8, 2},    {kIq2XsRows, kIq2Values, 8, 2}, {kIq2SRows, kIq2Values, 8, 2},
    {kIq3XxsRows, kIq3XxsValues, 4, 3}, {kIq3SRows, kIq3SValues, 4, 3}, {kIq1SRows, kIq1Values, 8, 2},
};

template <QuantGrid grid>
std::span<const int8_t> expanded_once() {
    static const std::vector<int8_t> bytes = [] {
        const PackedGrid& packed = packed_grid(grid);
        const uint32_t mask = (1u << packed.bits) - 1;
        std::vector<int8_t> expanded;
        expanded.reserve(packed.rows.size() * packed.columns);
        for (uint16_t row : packed.rows)
            for (uint32_t i = 0; i < packed.columns; ++i)
                expanded.push_back(packed.values[(row >> (packed.bits * i)) & mask]);
        return expanded;
    }();
    return bytes;
}

}  // namespace

const PackedGrid& packed_grid(QuantGrid grid) { return kGrids[static_cast<size_t>(grid)]; }

std::span<const int8_t> grid_bytes(QuantGrid grid) {
    switch (grid) {
        case QuantGrid::iq2xxs:
            return expanded_once<QuantGrid::iq2xxs>();
        case QuantGrid::iq2xs:
            return expanded_once<QuantGrid::iq2xs>();
        case QuantGrid::iq2s:
            return expanded_once<QuantGrid::iq2s>();
        case QuantGrid::iq3xxs:
            return expanded_once<QuantGrid::iq3xxs>();
        case QuantGrid::iq3s:
            return expanded_once<QuantGrid::iq3s>();
        case QuantGrid::iq1s:
            return expanded_once<QuantGrid::iq1s>();
    }
    return {};
}

}  // namespace riftjit

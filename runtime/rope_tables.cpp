#include "runtime/rope_tables.h"

#include <cmath>

#include "host/result.h"

namespace riftjit::runtime {

RopeTable::RopeTable(const graph::RopeTable& table, std::span<const float> factors) {
    const uint32_t pairs = table.rotary_dims / 2;
    check(factors.empty() || factors.size() >= pairs, "there is one rope factor per pair");
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const double frequency = table.scale * std::pow(double(table.base), -2.0 * pair / table.rotary_dims);
        frequencies_.push_back(factors.empty() ? frequency : frequency / factors[pair]);
    }
}

std::span<const float> RopeTable::fill(std::span<const BatchRow> rows, std::span<float> out) const {
    check(out.size() >= rows.size() * floats_per_row(), "a rope table has room for its rows");
    float* next = out.data();
    for (const BatchRow& row : rows) {
        for (const double frequency : frequencies_) {
            const double angle = double(row.position) * frequency;
            *next++ = float(std::cos(angle));
            *next++ = float(std::sin(angle));
        }
    }
    return out.first(rows.size() * floats_per_row());
}

}  // namespace riftjit::runtime

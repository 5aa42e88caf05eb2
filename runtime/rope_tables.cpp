#include "runtime/rope_tables.h"

#include <cmath>

#include "host/result.h"

namespace riftjit::runtime {

RopeTableRows::RopeTableRows(const graph::RopeTable& table, std::span<const float> factors, uint32_t max_tokens) {
    const uint32_t pairs = table.rotary_dims / 2;
    check(factors.empty() || factors.size() >= pairs, "there is one rope factor per pair");
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const double frequency = table.scale * std::pow(double(table.base), -2.0 * pair / table.rotary_dims);
        frequencies_.push_back(factors.empty() ? frequency : frequency / factors[pair]);
    }
    rows_.resize(size_t(max_tokens) * floats_per_token());
}

std::span<const float> RopeTableRows::fill(uint32_t position, uint32_t tokens) {
    float* out = rows_.data();
    for (uint32_t token = 0; token < tokens; ++token) {
        for (const double frequency : frequencies_) {
            const double angle = double(position + token) * frequency;
            *out++ = float(std::cos(angle));
            *out++ = float(std::sin(angle));
        }
    }
    return std::span(rows_).first(size_t(tokens) * floats_per_token());
}

}  // namespace riftjit::runtime

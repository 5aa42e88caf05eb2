// IQ1_S and IQ1_M: values are scale x (t + 1/8) or scale x (t - 1/8), t of -1, 0 and 1, eight of them a row of a grid.
// A group shares its scale; which eighth it is holds for the whole group in IQ1_S and for each half in IQ1_M.
//
// Without the grid the least error has an exact solution: values in ascending order are cut in two places, and prefix
// sums give scale and gain of each pair of cuts. Then each eight are moved to the grid, and the scale is solved again.
// What is tried is as in llama.cpp's quantiser, whose files then have the same errors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "graph/quantize/block_encoders.h"
#include "graph/quantize/code_grid.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kMostOfTernaryGroup = 32, kOctet = 8;
constexpr float kDelta = 0.125f;
constexpr double kEqual = 1e-6;  // of gains
constexpr std::array<float, 3> kRaised{-1 + kDelta, kDelta, 1 + kDelta}, kLowered{-1 - kDelta, -kDelta, 1 - kDelta};

const CodeGrid& ternary_grid() {
    static const CodeGrid grid(QuantGrid::iq1s, 3);
    return grid;
}

struct TernaryFit {
    float scale = 0;
    std::array<uint16_t, 4> rows{};    // of the grid
    std::array<bool, 2> is_lowered{};  // of each part
};

struct Sums {
    float with_values = 0, squares = 0;
};

class TernarySearch {
public:
    TernarySearch(Values x, Values weights, size_t parts) : x_(x), weights_(weights), parts_(parts) {}

    TernaryFit fit() {
        TernaryFit fit;
        cut(fit);
        if (fit.scale == 0) return fit;
        if (fit.scale < 0) {
            fit.scale = -fit.scale;
            for (size_t i = 0; i < x_.size(); ++i) codes_[i] = uint8_t(2 - codes_[i]);
            for (size_t part = 0; part < parts_; ++part) fit.is_lowered[part] = !fit.is_lowered[part];
        }
        const CodeGrid& grid = ternary_grid();
        bool are_on_grid = true;
        for (size_t octet = 0; octet < x_.size() / kOctet; ++octet) {
            const uint32_t point = grid.point(std::span(codes_).subspan(kOctet * octet, kOctet));
            are_on_grid &= grid.has(point);
            std::array<float, 3> value_of = entries(fit, octet);
            for (float& value : value_of) value *= fit.scale;
            fit.rows[octet] = grid.nearest_row(point, &x_[kOctet * octet], &weights_[kOctet * octet], value_of);
        }
        if (are_on_grid) return fit;
        const Sums sums = sums_of(fit, 1);
        if (sums.with_values > 0 && sums.squares > 0) fit.scale = sums.with_values / sums.squares;
        return fit;
    }

    // Of the fit's rows, with a scale that is `multiple` of another.
    Sums sums_of(const TernaryFit& fit, float multiple, Sums sums = {}) const {
        for (size_t octet = 0; octet < x_.size() / kOctet; ++octet) {
            const auto codes = ternary_grid().codes(fit.rows[octet]);
            const std::array<float, 3> value_of = entries(fit, octet);
            for (size_t i = 0; i < kOctet; ++i) {
                const float weight = weights_[kOctet * octet + i], value = value_of[codes[i]] * multiple;
                sums.with_values += weight * value * x_[kOctet * octet + i];
                sums.squares += weight * value * value;
            }
        }
        return sums;
    }

private:
    size_t part_of(size_t i) const { return i * parts_ / x_.size(); }
    std::array<float, 3> entries(const TernaryFit& fit, size_t octet) const {
        return fit.is_lowered[part_of(kOctet * octet)] ? kLowered : kRaised;
    }

    // The best codes without the grid, their scale, which may be negative, and how each part is shifted.
    void cut(TernaryFit& fit) {
        std::array<uint8_t, kMostOfTernaryGroup> order;
        const auto sorted = std::span(order).first(x_.size());
        std::iota(sorted.begin(), sorted.end(), uint8_t(0));
        std::ranges::stable_sort(sorted, {}, [this](uint8_t i) { return x_[i]; });
        // Of each part: sums of weight x value and of weights over the first of these. In double: where values lie near
        // each other, cuts differ by less than sums in float are off.
        using Prefix = std::array<double, kMostOfTernaryGroup + 1>;
        std::array<Prefix, 2> values{}, sums{};
        for (size_t j = 0; j < sorted.size(); ++j) {
            const size_t i = sorted[j];
            for (size_t part = 0; part < parts_; ++part) {
                const double own_weight = part_of(i) == part ? double(weights_[i]) : 0;
                values[part][j + 1] = values[part][j] + own_weight * double(x_[i]);
                sums[part][j + 1] = sums[part][j] + own_weight;
            }
        }
        const size_t size = sorted.size();
        struct Cut {
            double with_values = 0, squares = 0;
        };
        const auto add = [&](Cut& cut, size_t part, bool is_lowered, size_t first, size_t second) {
            const auto& [low, middle, high] = is_lowered ? kLowered : kRaised;
            const auto thirds = [&](const Prefix& prefix, double a, double b, double c) {
                return prefix[first] * a + (prefix[second] - prefix[first]) * b + (prefix[size] - prefix[second]) * c;
            };
            cut.with_values += thirds(values[part], double(low), double(middle), double(high));
            cut.squares += thirds(sums[part], double(low * low), double(middle * middle), double(high * high));
        };
        double gain = -1;
        size_t best_first = 0, best_second = 0;
        for (size_t first = 0; first <= size; ++first)
            for (size_t second = first; second <= size; ++second)
                for (unsigned shifts = 0; shifts < 1u << parts_; ++shifts) {
                    const auto is_lowered = [&](size_t part) { return (shifts >> (parts_ - 1 - part) & 1) != 0; };
                    Cut cut;
                    for (size_t part = 0; part < parts_; ++part) add(cut, part, is_lowered(part), first, second);
                    if (cut.squares <= 0) continue;
                    const double scale = cut.with_values / cut.squares, own_gain = scale * cut.with_values;
                    // Equally good ones, as where all values are alike: that of the least scale, so that groups of a
                    // super-block have similar ones.
                    const bool is_equal = std::fabs(own_gain - gain) <= kEqual * gain;
                    if (is_equal ? std::fabs(scale) >= std::fabs(double(fit.scale)) : own_gain <= gain) continue;
                    fit.scale = float(scale);
                    gain = own_gain;
                    best_first = first;
                    best_second = second;
                    for (size_t part = 0; part < parts_; ++part) fit.is_lowered[part] = is_lowered(part);
                }
        for (size_t j = 0; j < size; ++j) codes_[sorted[j]] = j < best_first ? 0 : j < best_second ? 1 : 2;
    }

    Values x_, weights_;
    size_t parts_;
    std::array<uint8_t, kMostOfTernaryGroup> codes_{};
};

// The groups of a super-block, and the scale for which the largest of theirs has the highest of eight codes.
struct TernaryBlock {
    TernaryBlock(const BlockInput& input, size_t size, size_t parts, float nothing) : group_size(size) {
        const float mean_square = 2 * sum_of_squares(input.x) / kSuperBlock;
        for (size_t at = 0; at < kSuperBlock; at += size) {
            const Values x = input.x.subspan(at, size);
            const std::span<float> own = std::span(weights).subspan(at, size);
            if (!input.importance.empty())
                weigh(x, input.importance.subspan(at, size), mean_square, own);
            else
                for (size_t i = 0; i < size; ++i) own[i] = x[i] * x[i];
            if (std::fabs(extreme_of(x)) >= nothing) fits[at / size] = TernarySearch(x, own, parts).fit();
            largest = std::max(largest, fits[at / size].scale);
        }
        scale = largest / 15;  // 2 * 7 + 1
    }

    unsigned code(size_t group) const { return unsigned(nearest(0.5f * (1 / scale * fits[group].scale - 1), 0, 7)); }

    size_t group_size;
    std::array<float, kSuperBlock> weights{};
    std::array<TernaryFit, 16> fits;
    float largest = 0, scale = 0;
};

}  // namespace

void encode_iq1_s(const BlockInput& input, uint8_t* block) {
    std::memset(block, 0, 50);
    const TernaryBlock found(input, 32, 1, 1e-12f);
    if (found.largest <= 0) return;
    put_half(block, found.scale * 1.125f);
    for (size_t group = 0; group < 8; ++group) {
        const TernaryFit& fit = found.fits[group];
        unsigned word = found.code(group) << 12 | unsigned(fit.is_lowered[0]) << 15;
        for (size_t i = 0; i < 4; ++i) {
            block[2 + 4 * group + i] = uint8_t(fit.rows[i]);
            word |= unsigned(fit.rows[i] >> 8) << 3 * i;
        }
        put_u16(block + 34 + 2 * group, uint16_t(word));
    }
}

void encode_iq1_m(const BlockInput& input, uint8_t* block) {
    std::memset(block, 0, 56);
    const TernaryBlock found(input, 16, 2, 1e-7f);
    if (found.largest <= 0) return;
    std::array<uint16_t, 4> scales{};
    Sums sums;
    for (size_t group = 0; group < 16; ++group) {
        const TernaryFit& fit = found.fits[group];
        const unsigned code = found.code(group);
        scales[group / 4] |= uint16_t(code << 3 * (group % 4));
        for (size_t half = 0; half < 2; ++half) {
            block[2 * group + half] = uint8_t(fit.rows[half]);
            const unsigned high = unsigned(fit.rows[half] >> 8) | unsigned(fit.is_lowered[half]) << 3;
            block[32 + group] |= uint8_t(high << 4 * half);
        }
        sums = TernarySearch(input.x.subspan(16 * group, 16), Values(found.weights).subspan(16 * group, 16), 2)
                   .sums_of(fit, float(2 * code + 1), sums);
    }
    // Its half is spread over the highest bits of four words of sub-scales.
    const float scale = sums.squares > 0 ? sums.with_values / sums.squares : found.scale;
    const uint16_t half = float_to_half(scale * 1.1125f);
    for (size_t i = 0; i < 4; ++i) put_u16(block + 48 + 2 * i, uint16_t(scales[i] | (half >> 4 * i & 15) << 12));
}

}  // namespace riftjit::graph::blocks

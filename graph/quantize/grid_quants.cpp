// The IQ2 and IQ3 types: magnitudes are scale x (2 code + 1), groups of eight or four codes a row of a grid, and signs
// lie apart. Where only seven of eight signs are stored, an even number of them is negative, so a value of little
// weight may get the wrong one.
//
// What is tried, and in which order, is as in llama.cpp's quantiser, whose files then have the same errors: some scales
// around the one that gives the largest value the highest code, each value rounded by it, each group moved to the grid;
// the scale that solves the least squares of the best such codes; and groups off the grid moved once more by it.
#include <cmath>
#include <cstring>

#include "graph/quantize/block_encoders.h"
#include "graph/quantize/code_grid.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kMostOfGroup = 32;

// Which groups of codes are moved again, by the best scale.
enum class SecondLook : uint8_t { off_grid, all_if_one_is_off, all };

struct GridType {
    QuantGrid grid;
    int distances;     // CodeGrid
    size_t group;      // values that share a scale
    int steps;         // scales tried on either side
    float step;        // between them, in codes
    bool even_signs;   // of eight, seven are stored
    float mean_parts;  // the mean square's factor in weights
    SecondLook second_look;
    float nothing;  // a group of less is zeros
    float stretch;  // of the super-block's scale
};
constexpr GridType kIq2Xxs{QuantGrid::iq2xxs, 2, 32, 6, 0.1f, true, 1, SecondLook::all, kNothing, 1};
constexpr GridType kIq2Xs{QuantGrid::iq2xs, 2, 16, 9, 0.1f, true, 1, SecondLook::off_grid, kNothing, 1};
constexpr GridType kIq2S{QuantGrid::iq2s, 1, 16, 9, 0.1f, false, 2, SecondLook::off_grid, 1e-8f, 0.9875f};
constexpr GridType kIq3Xxs{QuantGrid::iq3xxs, 2, 32, 15, 0.2f, true, 2, SecondLook::off_grid, 1e-8f, 1.0125f};
constexpr GridType kIq3S{QuantGrid::iq3s, 3, 32, 9, 0.2f, false, 2, SecondLook::all_if_one_is_off, 0, 1.033f};

// What a group of values becomes.
struct GroupFit {
    float scale = 0;
    std::array<uint16_t, 8> rows{};  // of the grid
    std::array<uint8_t, 4> signs{};  // a bit for each value, of negative ones
};

class GroupSearch {
public:
    GroupSearch(const GridType& type, const CodeGrid& grid) : type_(type), grid_(grid) {}

    GroupFit fit(Values x, Values weights) {
        weights_ = weights;
        GroupFit fit;
        take_signs(x, fit);
        const float largest = *std::max_element(magnitudes_.begin(), magnitudes_.begin() + long(type_.group));
        if (largest < type_.nothing || largest <= 0) return {};
        for (size_t i = 0; i < type_.group; ++i) roots_[i] = std::sqrt(weights[i]);

        const auto highest = float(2 * grid_.levels() - 1);
        float base = largest;
        fit.scale = largest / highest;
        if (type_.second_look == SecondLook::all) {
            std::array<uint8_t, kMostOfGroup> codes;
            fit.scale = fit_positive(Values(magnitudes_).first(type_.group), weights, grid_.levels() + 1,
                                     Codes(codes).first(type_.group));
            base = fit.scale * float(grid_.levels());
            if (base <= 0) return {};
        }
        std::array<bool, 8> is_on_grid;
        is_on_grid.fill(type_.second_look == SecondLook::off_grid);
        float gain = 0;
        for (int step = -type_.steps; step <= type_.steps; ++step) {
            const float inverse = (highest + float(step) * type_.step) / base;
            GroupFit tried;
            std::array<bool, 8> is_on_grid_now{};
            for (size_t part = 0; part < parts(); ++part)
                is_on_grid_now[part] = move_to_grid(part, inverse, 1 / inverse, tried);
            const Sums sums = sums_of(tried);
            if (sums.squares <= 0 || sums.with_values * sums.with_values <= gain * sums.squares) continue;
            fit.scale = sums.with_values / sums.squares;
            gain = fit.scale * sums.with_values;
            fit.rows = tried.rows;
            is_on_grid = is_on_grid_now;
        }
        look_again(fit, is_on_grid);
        if (fit.scale < 0) {
            fit.scale = -fit.scale;
            for (uint8_t& signs : fit.signs) signs = uint8_t(~signs);
        }
        return fit;
    }

private:
    struct Sums {
        float with_values = 0, squares = 0;
    };

    size_t parts() const { return type_.group / size_t(grid_.columns()); }

    void take_signs(Values x, GroupFit& fit) {
        for (size_t octet = 0; octet < type_.group / 8; ++octet) {
            uint8_t signs = 0;
            size_t lightest = 8 * octet;
            float least = weights_[lightest] * x[lightest] * x[lightest];
            for (size_t i = 8 * octet; i < 8 * octet + 8; ++i) {
                magnitudes_[i] = x[i] >= 0 ? x[i] : -x[i];
                if (!(x[i] >= 0)) signs |= uint8_t(1u << i % 8);
                if (const float error = weights_[i] * x[i] * x[i]; error < least) {
                    least = error;
                    lightest = i;
                }
            }
            if (type_.even_signs && std::popcount(signs) % 2 != 0) {
                magnitudes_[lightest] = -magnitudes_[lightest];
                signs ^= uint8_t(1u << lightest % 8);
            }
            fit.signs[octet] = signs;
        }
    }

    // One part's row by a scale; whether rounding led to it.
    bool move_to_grid(size_t part, float inverse, float scale, GroupFit& fit) const {
        const auto columns = size_t(grid_.columns());
        const float* x = magnitudes_.data() + columns * part;
        std::array<uint8_t, 8> codes;
        for (size_t i = 0; i < columns; ++i)
            codes[i] = uint8_t(nearest(0.5f * (inverse * x[i] - 1), 0, grid_.levels() - 1));
        const uint32_t point = grid_.point(std::span(codes).first(columns));
        std::array<float, 8> value_of;
        for (int code = 0; code < grid_.levels(); ++code) value_of[size_t(code)] = scale * float(2 * code + 1);
        fit.rows[part] = grid_.nearest_row(point, x, roots_.data() + columns * part, value_of);
        return grid_.has(point);
    }

    Sums sums_of(const GroupFit& fit) const {
        Sums sums;
        const auto columns = size_t(grid_.columns());
        for (size_t part = 0; part < parts(); ++part) {
            const auto codes = grid_.codes(fit.rows[part]);
            for (size_t i = 0; i < columns; ++i) {
                const float weight = weights_[columns * part + i], step = float(2 * codes[i] + 1);
                sums.with_values += weight * magnitudes_[columns * part + i] * step;
                sums.squares += weight * step * step;
            }
        }
        return sums;
    }

    void look_again(GroupFit& fit, std::span<const bool, 8> is_on_grid) const {
        bool are_all_on_grid = true;
        for (size_t part = 0; part < parts(); ++part) are_all_on_grid &= is_on_grid[part];
        if (fit.scale <= 0 || (are_all_on_grid && type_.second_look != SecondLook::all)) return;
        const float scale = fit.scale;
        for (size_t part = 0; part < parts(); ++part)
            if (type_.second_look != SecondLook::off_grid || !is_on_grid[part])
                move_to_grid(part, 1 / scale, scale, fit);
        if (const Sums sums = sums_of(fit); sums.squares > 0) fit.scale = sums.with_values / sums.squares;
    }

    const GridType& type_;
    const CodeGrid& grid_;
    Values weights_;
    std::array<float, kMostOfGroup> magnitudes_{}, roots_{};
};

// Writes the super-block's scale; of each group `store(group, fit, code)` with the code of its scale in it.
template <typename Store>
void encode_grid_block(const GridType& type, const CodeGrid& grid, const BlockInput& input, uint8_t* scale_at,
                       Store&& store) {
    const float mean_square = type.mean_parts * sum_of_squares(input.x) / kSuperBlock;
    const size_t groups = kSuperBlock / type.group;
    std::array<GroupFit, 16> fits;
    GroupSearch search(type, grid);
    float largest = 0;
    for (size_t group = 0; group < groups; ++group) {
        const Values x = input.x.subspan(type.group * group, type.group);
        std::array<float, kMostOfGroup> weights;
        if (!input.importance.empty())
            weigh(x, input.importance.subspan(type.group * group, type.group), mean_square, weights);
        else
            for (size_t i = 0; i < type.group; ++i)
                weights[i] = (grid.columns() == 8 ? mean_square / 4 : 0) + x[i] * x[i];
        fits[group] = search.fit(x, Values(weights).first(type.group));
        largest = std::max(largest, fits[group].scale);
    }
    constexpr float kHighest = 31;  // 2 * 15 + 1
    const float scale = largest / kHighest, inverse = largest > 0 ? 1 / scale : 0;
    put_half(scale_at, scale * type.stretch);
    if (largest <= 0) return;
    for (size_t group = 0; group < groups; ++group)
        store(group, fits[group], unsigned(nearest(0.5f * (inverse * fits[group].scale - 1), 0, 15)));
}

void or_u32(uint8_t* at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) at[i] |= uint8_t(value >> 8 * i);
}

// Four times seven signs, and the scale above them.
uint32_t signs_and_scale(const GroupFit& fit, unsigned scale) {
    uint32_t word = uint32_t(scale) << 28;
    for (size_t i = 0; i < 4; ++i) word |= uint32_t(fit.signs[i] & 127) << 7 * i;
    return word;
}

void put_nibble(uint8_t* bytes, size_t index, unsigned value) { bytes[index / 2] |= uint8_t(value << 4 * (index % 2)); }

}  // namespace

void encode_iq2_xxs(const BlockInput& input, uint8_t* block) {
    static const CodeGrid grid(kIq2Xxs.grid, kIq2Xxs.distances);
    std::memset(block, 0, 66);
    encode_grid_block(kIq2Xxs, grid, input, block, [&](size_t group, const GroupFit& fit, unsigned scale) {
        uint8_t* at = block + 2 + 8 * group;
        for (size_t i = 0; i < 4; ++i) at[i] = uint8_t(fit.rows[i]);
        or_u32(at + 4, signs_and_scale(fit, scale));
    });
}

void encode_iq2_xs(const BlockInput& input, uint8_t* block) {
    static const CodeGrid grid(kIq2Xs.grid, kIq2Xs.distances);
    std::memset(block, 0, 74);
    encode_grid_block(kIq2Xs, grid, input, block, [&](size_t group, const GroupFit& fit, unsigned scale) {
        for (size_t i = 0; i < 2; ++i)
            put_u16(block + 2 + 4 * group + 2 * i, uint16_t(fit.rows[i] | (fit.signs[i] & 127) << 9));
        put_nibble(block + 66, group, scale);
    });
}

void encode_iq2_s(const BlockInput& input, uint8_t* block) {
    static const CodeGrid grid(kIq2S.grid, kIq2S.distances);
    std::memset(block, 0, 82);
    encode_grid_block(kIq2S, grid, input, block, [&](size_t group, const GroupFit& fit, unsigned scale) {
        for (size_t i = 0; i < 2; ++i) {
            const size_t octet = 2 * group + i;
            block[2 + octet] = uint8_t(fit.rows[i]);
            block[34 + octet] = fit.signs[i];
            block[66 + octet / 4] |= uint8_t((fit.rows[i] >> 8) << 2 * (octet % 4));
        }
        put_nibble(block + 74, group, scale);
    });
}

void encode_iq3_xxs(const BlockInput& input, uint8_t* block) {
    static const CodeGrid grid(kIq3Xxs.grid, kIq3Xxs.distances);
    std::memset(block, 0, 98);
    encode_grid_block(kIq3Xxs, grid, input, block, [&](size_t group, const GroupFit& fit, unsigned scale) {
        for (size_t i = 0; i < 8; ++i) block[2 + 8 * group + i] = uint8_t(fit.rows[i]);
        or_u32(block + 66 + 4 * group, signs_and_scale(fit, scale));
    });
}

void encode_iq3_s(const BlockInput& input, uint8_t* block) {
    static const CodeGrid grid(kIq3S.grid, kIq3S.distances);
    std::memset(block, 0, 110);
    encode_grid_block(kIq3S, grid, input, block, [&](size_t group, const GroupFit& fit, unsigned scale) {
        for (size_t i = 0; i < 8; ++i) {
            block[2 + 8 * group + i] = uint8_t(fit.rows[i]);
            block[66 + group] |= uint8_t((fit.rows[i] >> 8) << i);
        }
        std::memcpy(block + 74 + 4 * group, fit.signs.data(), 4);
        put_nibble(block + 106, group, scale);
    });
}

}  // namespace riftjit::graph::blocks

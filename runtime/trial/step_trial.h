// Steps of a plan by themselves, on any device: what they read is given as numbers, and so is what they leave behind,
// wherever the device's back end keeps it. Two devices are compared bit by bit, and one with a reference.
//
// A case lays out its arena in buffers that lie kBuffer bytes apart, wide enough for any back end's rows; weights,
// cache and rows of the batch are what it says.
#pragma once

#include <string>
#include <vector>

#include "jit/batch.h"
#include "runtime/device.h"

namespace riftjit::runtime::trial {

inline constexpr uint64_t kBuffer = 1 << 20;

inline graph::Place buffer(uint32_t number) { return {graph::Place::Kind::arena, number * kBuffer, 0}; }
inline graph::Place weight(uint32_t number) { return {graph::Place::Kind::weight, 0, number}; }
inline graph::Place no_place() { return {}; }
inline graph::Place keys() { return {graph::Place::Kind::keys, 0, 0}; }
inline graph::Place values() { return {graph::Place::Kind::values, 0, 0}; }
inline graph::Place token_ids() { return {graph::Place::Kind::token_ids, 0, 0}; }
inline graph::Place rope_table() { return {graph::Place::Kind::rope_table, 0, 0}; }

// A matrix as a file has it (rows of f32 for vectors, which are padded to 16 elements).
struct Weight {
    DType type = DType::F32;
    uint32_t rows = 1, width = 0;
    std::vector<std::byte> file;
    bool is_vector = true;
};

struct Rows {
    uint32_t buffer, width;
    RowFormat format = RowFormat::f32;  // or i16
    uint32_t stride_bytes = 0;          // 0: as the back end lays out rows
};

// A row of RowFormat::i16, in whole blocks. Scales are their bits.
struct Quantized {
    std::vector<int32_t> codes, sums16;
    std::vector<uint32_t> scales;
    bool operator==(const Quantized&) const = default;
};

struct Run {
    std::vector<BatchRow> rows;
    std::vector<uint32_t> outputs = {};
    std::vector<std::pair<uint32_t, std::vector<float>>> inputs = {};  // buffer, contents
    std::vector<int32_t> ids = {};
    std::vector<float> table = {};
    std::vector<std::pair<uint32_t, std::vector<Quantized>>> codes = {};  // buffer, rows of `codes_width` elements
    uint32_t codes_width = 0;
    bool is_opening = false;  // only the case's opening steps
};

struct Case {
    std::string name;
    std::vector<graph::Step> steps;
    uint32_t buffers;
    uint32_t opening_steps = 0;  // the first ones, which fill the cache
    std::vector<Weight> weights = {};
    DType key_type = DType::F16, value_type = DType::F16;
    uint32_t kv_heads = 0, head_dim = 0, pages = 0;  // of the cache, if there is one
    uint32_t sequences = 1, pages_per_sequence = 1;  // page p of sequence s is s * pages_per_sequence + p, reversed
    uint32_t cached = 0;  // this many positions of each sequence are read from the cache: keys and values of all heads
    std::vector<Run> runs = {};
    std::vector<Rows> results = {};  // after the last run, of its rows (of its outputs where it has some)
};

// What one of the results holds, row by row, or, behind them, the cache: by sequence and position keys and then values
// of every head.
struct Found {
    std::vector<uint32_t> floats;      // bits; of Q8_0 in the cache codes, then scales
    std::vector<Quantized> quantized;  // of rows that are
    std::vector<double> values;        // of either, decoded
};

struct Outcome {
    std::vector<Found> found;
    double seconds = 0;  // of the last run
};
Result<Outcome> run_case(const Case& test, Device& device);

// Empty, or the first difference. NaNs are equal, whatever their bits, and so are codes whose scale is not finite: so
// is what is computed from them.
std::string difference(const std::vector<Found>& expected, const std::vector<Found>& found);

}  // namespace riftjit::runtime::trial

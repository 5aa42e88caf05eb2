// Steps of a plan run on the processor and on RDNA targets in the software machine, and compared bit by bit.
//
// A case lays out its arena in buffers that lie kBuffer bytes apart, wide enough for any back end's rows; weights,
// cache and rows of the batch are what it says. What the steps leave behind is read as f32, or, where rows are
// quantised, as codes, scales and sums, which both back ends must have alike wherever they keep them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "host/half.h"
#include "jit/batch.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/rows.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/rdna/rdna_device.h"

namespace riftjit::runtime::same_bits {

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
    RowFormat format = RowFormat::f32;
    uint32_t stride_bytes = 0;  // 0: as the back end lays out rows
};

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

struct Result {
    std::vector<uint32_t> floats;      // bits
    std::vector<Quantized> quantized;  // row by row
};

inline Quantized quantized_row(const Backend& backend, const std::byte* row, uint32_t width) {
    const rdna::kernels::I16Row there{width};
    const x86::I16Row here{width};
    const auto load = [&]<class T>(uint64_t offset, T) {
        T value;
        std::memcpy(&value, row + offset, sizeof value);
        return value;
    };
    const bool is_rdna = dynamic_cast<const RdnaBackend*>(&backend) != nullptr;
    Quantized result;
    for (uint32_t block = 0; block < there.blocks(); ++block) {
        const uint64_t first = uint64_t(block) * rdna::kernels::I16Row::kBlockBytes;
        for (uint32_t i = 0; i < kI16Block; ++i)
            result.codes.push_back(is_rdna ? 128 * load(first + there.kHighOffset + i, int8_t{}) +
                                                 load(first + there.kLowOffset + i, int8_t{})
                                           : load(here.codes_offset_bytes() + (block * kI16Block + i) * 2, int16_t{}));
        for (uint32_t i = 0; i < 16; ++i)
            result.sums16.push_back(
                load(is_rdna ? first + there.kSumsOffset + i * 4 : here.sums16_offset_bytes() + (block * 16 + i) * 4,
                     int32_t{}));
        result.scales.push_back(
            load((is_rdna ? there.scales_offset_bytes() : here.scales_offset_bytes()) + block * 4, uint32_t{}));
    }
    return result;
}

// What the cache holds at a position, as floats: elements of all heads and, of Q8_0, scales.
class CacheReader {
public:
    CacheReader(const Backend& backend, uint32_t kv_heads, uint32_t head_dim)
        : is_rdna_(dynamic_cast<const RdnaBackend*>(&backend) != nullptr), kv_heads_(kv_heads), head_dim_(head_dim) {}

    void read_keys(DType type, const std::byte* page, uint32_t position, std::vector<uint32_t>& floats) const {
        const uint64_t code_bytes = rdna::kernels::cache_code_bytes(type);
        for (uint32_t head = 0; head < kv_heads_; ++head) {
            const std::byte* rdna_head = page + head * rdna::kernels::key_head_bytes(type, head_dim_);
            const std::byte* panel =
                page + (head * (kKvPage / 16) + position / 16) * x86::key_panel_bytes(type, head_dim_);
            const uint32_t lane = position % 16;
            for (uint32_t d = 0; d < head_dim_; ++d) {
                const uint64_t in_chunk = d * code_bytes % 16, chunk = d * code_bytes / 16;
                push(type,
                     is_rdna_ ? rdna_head + (chunk * kKvPage + position) * 16 + in_chunk
                              : panel + (d * 16 + lane) * code_bytes,
                     floats);
            }
            for (uint32_t block = 0; block < rdna::kernels::cache_scale_blocks(type, head_dim_); ++block)
                push(DType::F16,
                     is_rdna_ ? rdna_head + rdna::kernels::key_scales_offset_bytes(type, head_dim_) +
                                    (block * kKvPage + position) * 2
                              : panel + 16 * head_dim_ + (block * 16 + lane) * 2,
                     floats);
        }
    }
    void read_values(DType type, const std::byte* page, uint32_t position, std::vector<uint32_t>& floats) const {
        const uint64_t code_bytes = rdna::kernels::cache_code_bytes(type);
        for (uint32_t head = 0; head < kv_heads_; ++head) {
            const std::byte* rdna_head = page + head * rdna::kernels::value_head_bytes(type, head_dim_);
            const std::byte* row = page + (head * kKvPage + position) * x86::value_row_bytes(type, head_dim_);
            for (uint32_t d = 0; d < head_dim_; ++d)
                push(type,
                     is_rdna_ ? rdna_head + ((position / 8 * head_dim_ + d) * 8 + position % 8) * code_bytes
                              : row + d * code_bytes,
                     floats);
            for (uint32_t block = 0; block < rdna::kernels::cache_scale_blocks(type, head_dim_); ++block)
                push(DType::F16,
                     is_rdna_ ? rdna_head + rdna::kernels::value_scales_offset_bytes(type, head_dim_) +
                                    (block * kKvPage + position) * 2
                              : row + head_dim_ + block * 2,
                     floats);
        }
    }

private:
    static void push(DType type, const std::byte* at, std::vector<uint32_t>& floats) {
        uint32_t word = 0;
        std::memcpy(&word, at, rdna::kernels::cache_code_bytes(type));
        const float value = type == DType::F32   ? std::bit_cast<float>(word)
                            : type == DType::F16 ? half_to_float(uint16_t(word))
                                                 : float(int8_t(word));
        floats.push_back(std::bit_cast<uint32_t>(value));
    }

    const bool is_rdna_;
    const uint32_t kv_heads_, head_dim_;
};

inline Result cache_of(const Case& test, const Device& device, const Addresses& addresses,
                       const std::vector<uint32_t>& pages) {
    const Backend& backend = device.backend();
    const CacheReader reader(backend, test.kv_heads, test.head_dim);
    std::vector<std::byte> keys(backend.key_page_bytes(test.key_type, test.kv_heads, test.head_dim)),
        values(backend.value_page_bytes(test.value_type, test.kv_heads, test.head_dim));
    Result result;
    for (uint32_t sequence = 0; sequence < test.sequences; ++sequence)
        for (uint32_t position = 0; position < test.cached; ++position) {
            const uint32_t page = pages[sequence * test.pages_per_sequence + position / kKvPage];
            if (position % kKvPage == 0) {
                device.read(keys, addresses.keys[0] + page * keys.size());
                device.read(values, addresses.values[0] + page * values.size());
            }
            reader.read_keys(test.key_type, keys.data(), position % kKvPage, result.floats);
            reader.read_values(test.value_type, values.data(), position % kKvPage, result.floats);
        }
    return result;
}

// 13-bit codes and scales, as rows of activations have them.
inline Quantized random_codes(uint32_t width, uint32_t seed) {
    std::mt19937 random(seed);
    Quantized row;
    const uint32_t blocks = rdna::kernels::I16Row{width}.blocks();
    for (uint32_t i = 0; i < blocks * kI16Block; ++i)
        row.codes.push_back(i < width ? int32_t(random() % (2 * kI16Max + 1)) - kI16Max : 0);
    for (uint32_t i = 0; i < blocks * 16; ++i)
        row.sums16.push_back(std::accumulate(&row.codes[i * 16], &row.codes[i * 16] + 16, 0));
    for (uint32_t i = 0; i < blocks; ++i)
        row.scales.push_back(std::bit_cast<uint32_t>(std::ldexp(float(1 + random() % 1000), -20)));
    return row;
}

inline std::vector<std::byte> quantized_bytes(const Backend& backend, const Quantized& codes, uint32_t width) {
    const rdna::kernels::I16Row there{width};
    const x86::I16Row here{width};
    std::vector<std::byte> row(backend.row_bytes(RowFormat::i16, width));
    const auto store = [&](uint64_t offset, auto value) { std::memcpy(row.data() + offset, &value, sizeof value); };
    const bool is_rdna = dynamic_cast<const RdnaBackend*>(&backend) != nullptr;
    for (uint32_t block = 0; block < there.blocks(); ++block) {
        const uint64_t first = uint64_t(block) * rdna::kernels::I16Row::kBlockBytes;
        for (uint32_t i = 0; i < kI16Block; ++i) {
            const int32_t code = codes.codes[block * kI16Block + i];
            if (is_rdna) {
                store(first + there.kHighOffset + i, high_byte(code));
                store(first + there.kLowOffset + i, low_byte(code));
            } else {
                store(here.codes_offset_bytes() + (block * kI16Block + i) * 2, int16_t(code));
            }
        }
        for (uint32_t i = 0; i < 16; ++i) {
            const int32_t sum = codes.sums16[block * 16 + i];
            if (is_rdna) {
                store(first + there.kSumsOffset + i * 4, sum);
                continue;
            }
            store(here.sums16_offset_bytes() + (block * 16 + i) * 4, sum);
            if (i % 2 == 1)
                store(here.sums32_offset_bytes() + (block * 8 + i / 2) * 4, sum + codes.sums16[block * 16 + i - 1]);
        }
        store((is_rdna ? there.scales_offset_bytes() : here.scales_offset_bytes()) + block * 4, codes.scales[block]);
    }
    return row;
}

inline std::vector<Result> run(const Case& test, Device& device) {
    const auto allocate = [&](uint64_t bytes) { return device.allocate(bytes, MemoryUse::random, "a test's").value(); };
    Addresses addresses;
    addresses.arena = allocate(test.buffers * kBuffer);
    for (const Weight& weight : test.weights) {
        if (weight.is_vector) {
            std::vector<std::byte> padded(f32_row_bytes(weight.width));
            std::ranges::copy(weight.file, padded.begin());
            addresses.weights.push_back(allocate(padded.size()));
            device.write(addresses.weights.back(), padded);
        } else {
            addresses.weights.push_back(
                allocate(device.backend().packed_bytes(weight.type, weight.rows, weight.width)));
            device.pack({weight.type, weight.rows, weight.width, weight.file.data()}, addresses.weights.back(), {});
        }
    }
    uint32_t most_rows = 1, most_ids = 1, most_angles = 1;
    for (const Run& run : test.runs) {
        most_rows = std::max(most_rows, uint32_t(run.rows.size()));
        most_ids = std::max(most_ids, uint32_t(run.ids.size()));
        most_angles = std::max(most_angles, uint32_t(run.table.size()));
    }
    if (test.pages != 0) {
        const Backend& backend = device.backend();
        addresses.keys = {allocate(test.pages * backend.key_page_bytes(test.key_type, test.kv_heads, test.head_dim))};
        addresses.values = {
            allocate(test.pages * backend.value_page_bytes(test.value_type, test.kv_heads, test.head_dim))};
    }
    addresses.token_ids = allocate(most_ids * 4);
    addresses.rope_tables = {allocate(most_angles * 4)};
    addresses.pages_per_sequence = test.pages_per_sequence;

    graph::Plan plan;
    plan.steps = test.steps;
    plan.arena_bytes = test.buffers * kBuffer;
    plan.max_tokens = plan.max_outputs = most_rows;
    plan.form = most_rows > 1 ? MatmulForm::tile : MatmulForm::vector;
    const auto bound = device.bind(plan, addresses);
    EXPECT_TRUE(bound) << test.name << ": " << (bound ? "" : bound.error().message);
    graph::Plan opening = plan;
    opening.steps.resize(test.opening_steps);
    const auto opening_bound = device.bind(opening, addresses);
    EXPECT_TRUE(opening_bound);
    if (!bound || !opening_bound || !device.make_ready()) return {};

    std::vector<uint32_t> pages(test.sequences * test.pages_per_sequence);
    for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = uint32_t(pages.size()) - 1 - i;
    for (const Run& run : test.runs) {
        Batch batch(most_rows);
        for (const BatchRow& row : run.rows) batch.add(row);
        for (const uint32_t output : run.outputs) batch.add_output(output);
        for (const auto& [number, floats] : run.inputs)
            device.write(addresses.arena + number * kBuffer, std::as_bytes(std::span(floats)));
        for (const auto& [number, rows] : run.codes) {
            std::vector<std::byte> bytes;
            for (const Quantized& row : rows) {
                const auto packed = quantized_bytes(device.backend(), row, run.codes_width);
                bytes.insert(bytes.end(), packed.begin(), packed.end());
            }
            device.write(addresses.arena + number * kBuffer, bytes);
        }
        if (!run.ids.empty()) device.write(addresses.token_ids, std::as_bytes(std::span(run.ids)));
        if (!run.table.empty()) device.write(addresses.rope_tables[0], std::as_bytes(std::span(run.table)));
        const auto done =
            (run.is_opening ? *opening_bound : *bound)->run(batch.finish(pages.data(), test.pages_per_sequence));
        EXPECT_TRUE(done) << test.name << ": " << (done ? "" : done.error().message);
    }
    const Run& last = test.runs.back();
    const uint64_t count = last.outputs.empty() ? last.rows.size() : last.outputs.size();
    std::vector<Result> results;
    for (const Rows& rows : test.results) {
        const uint64_t stride =
            rows.stride_bytes != 0 ? rows.stride_bytes : device.backend().row_bytes(rows.format, rows.width);
        std::vector<std::byte> bytes(count * stride);
        device.read(bytes, addresses.arena + rows.buffer * kBuffer);
        Result& result = results.emplace_back();
        for (uint64_t row = 0; row < count; ++row) {
            if (rows.format != RowFormat::f32) {
                result.quantized.push_back(quantized_row(device.backend(), bytes.data() + row * stride, rows.width));
                continue;
            }
            const size_t first = result.floats.size();
            result.floats.resize(first + rows.width);
            std::memcpy(result.floats.data() + first, bytes.data() + row * stride, rows.width * sizeof(float));
        }
    }
    if (test.cached != 0) results.push_back(cache_of(test, device, addresses, pages));
    return results;
}

// Empty, or the first difference. NaNs are equal, whatever their bits, and so are codes whose scale is not finite: so
// is what is computed from them.
inline std::string difference(const std::vector<Result>& expected, const std::vector<Result>& found) {
    const auto is_same = [](uint32_t a, uint32_t b) {
        return a == b || (std::bit_cast<float>(a) != std::bit_cast<float>(a) &&
                          std::bit_cast<float>(b) != std::bit_cast<float>(b));
    };
    const auto is_finite = [](uint32_t scale) { return std::isfinite(std::bit_cast<float>(scale)); };
    if (expected.size() != found.size()) return "nothing ran";
    for (size_t r = 0; r < expected.size(); ++r) {
        for (size_t i = 0; i < expected[r].floats.size(); ++i)
            if (!is_same(expected[r].floats[i], found[r].floats[i]))
                return fmt::format("result {}, float {}: {} ({:08x}), expected {} ({:08x})", r, i,
                                   std::bit_cast<float>(found[r].floats[i]), found[r].floats[i],
                                   std::bit_cast<float>(expected[r].floats[i]), expected[r].floats[i]);
        for (size_t row = 0; row < expected[r].quantized.size(); ++row) {
            const Quantized &want = expected[r].quantized[row], &got = found[r].quantized[row];
            for (size_t i = 0; i < want.scales.size(); ++i)
                if (!is_same(want.scales[i], got.scales[i]))
                    return fmt::format("result {}, row {}, scale {}: {:08x}, expected {:08x}", r, row, i, got.scales[i],
                                       want.scales[i]);
            for (size_t i = 0; i < want.codes.size(); ++i)
                if (want.codes[i] != got.codes[i] && is_finite(want.scales[i / kI16Block]))
                    return fmt::format("result {}, row {}, code {}: {}, expected {}", r, row, i, got.codes[i],
                                       want.codes[i]);
            for (size_t i = 0; i < want.sums16.size(); ++i)
                if (want.sums16[i] != got.sums16[i] && is_finite(want.scales[i / 16]))
                    return fmt::format("result {}, row {}, sum {}: {}, expected {}", r, row, i, got.sums16[i],
                                       want.sums16[i]);
        }
    }
    return "";
}

inline const std::vector<rdna::Target>& chips() {
    static const std::vector<rdna::Target> kChips = {rdna::Target::gfx1030, rdna::Target::gfx1100,
                                                     rdna::Target::gfx1201};
    return kChips;
}

// On every chip what the processor has at AVX2, whose bits are those of every level; where `of_gpu` is given, it says
// the same in steps that the processor lacks.
inline void expect_same_bits(const Case& test, const Case* of_gpu = nullptr) {
    KernelCache cpu_cache(x86::compile, DiskCache::disabled());
    const auto cpu = CpuDevice::create(Isa::avx2, 1, Helpers::always, cpu_cache).value();
    const std::vector<Result> expected = run(test, *cpu);
    for (const rdna::Target chip : chips()) {
        KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
        RdnaDevice gpu(chip, gpu_cache);
        EXPECT_EQ(difference(expected, run(of_gpu == nullptr ? test : *of_gpu, gpu)), "")
            << test.name << " on " << rdna::name(chip);
    }
}

inline std::vector<float> random_floats(size_t count, uint32_t seed, float scale = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

inline Weight vector_weight(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {DType::F32, 1, uint32_t(values.size()), {bytes.begin(), bytes.end()}, true};
}

// Rows at the positions first, first + 1, ... of one sequence.
inline std::vector<BatchRow> positions(uint32_t first, uint32_t count, uint32_t sequence = 0) {
    std::vector<BatchRow> rows;
    for (uint32_t i = 0; i < count; ++i) rows.push_back({sequence, first + i});
    return rows;
}

}  // namespace riftjit::runtime::same_bits

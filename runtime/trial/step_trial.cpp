#include "runtime/trial/step_trial.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "host/half.h"
#include "jit/backend.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/rows.h"

namespace riftjit::runtime::trial {
namespace {

bool is_rdna(const Backend& backend) { return backend.target().architecture == Architecture::rdna; }

// ---- rows of codes ---------------------------------------------------------------------------------------------

// Where each back end has what a row of codes consists of.
struct CodeLayout {
    CodeLayout(const Backend& backend, uint32_t width) : is_rdna(trial::is_rdna(backend)), there{width}, here{width} {}

    uint64_t sum_offset(uint32_t block, uint32_t i) const {
        return is_rdna ? there.kBlockBytes * uint64_t(block) + there.kSumsOffset + i * 4
                       : here.sums16_offset_bytes() + (block * 16 + i) * 4;
    }
    uint64_t scale_offset(uint32_t block) const {
        return (is_rdna ? there.scales_offset_bytes() : here.scales_offset_bytes()) + block * 4;
    }
    uint64_t byte_offset(uint32_t block, uint32_t digits, uint32_t i) const {
        return there.kBlockBytes * uint64_t(block) + digits + i;
    }
    uint64_t code_offset(uint32_t block, uint32_t i) const {
        return here.codes_offset_bytes() + (block * kI16Block + i) * 2;
    }

    bool is_rdna;
    rdna::kernels::I16Row there;
    x86::I16Row here;
};

Quantized quantized_row(const CodeLayout& layout, const std::byte* row) {
    const auto load = [&]<class T>(uint64_t offset, T value) {
        std::memcpy(&value, row + offset, sizeof value);
        return value;
    };
    using Bytes = rdna::kernels::I16Row;
    Quantized result;
    for (uint32_t block = 0; block < layout.there.blocks(); ++block) {
        for (uint32_t i = 0; i < kI16Block; ++i)
            result.codes.push_back(layout.is_rdna
                                       ? 128 * load(layout.byte_offset(block, Bytes::kHighOffset, i), int8_t{}) +
                                             load(layout.byte_offset(block, Bytes::kLowOffset, i), int8_t{})
                                       : load(layout.code_offset(block, i), int16_t{}));
        for (uint32_t i = 0; i < 16; ++i) result.sums16.push_back(load(layout.sum_offset(block, i), int32_t{}));
        result.scales.push_back(load(layout.scale_offset(block), uint32_t{}));
    }
    return result;
}

std::vector<std::byte> quantized_bytes(const Backend& backend, const Quantized& codes, uint32_t width) {
    const CodeLayout layout(backend, width);
    std::vector<std::byte> row(backend.row_bytes(RowFormat::i16, width));
    const auto store = [&](uint64_t offset, auto value) { std::memcpy(row.data() + offset, &value, sizeof value); };
    using Bytes = rdna::kernels::I16Row;
    for (uint32_t block = 0; block < layout.there.blocks(); ++block) {
        for (uint32_t i = 0; i < kI16Block; ++i) {
            const int32_t code = codes.codes[block * kI16Block + i];
            if (layout.is_rdna) {
                store(layout.byte_offset(block, Bytes::kHighOffset, i), high_byte(code));
                store(layout.byte_offset(block, Bytes::kLowOffset, i), low_byte(code));
            } else {
                store(layout.code_offset(block, i), int16_t(code));
                using Row = x86::I16Row;
                const uint32_t place = block * kI16Block + x86::place_in_quads(i);
                store(layout.here.bytes_offset(Row::Digit::low) + place, int8_t(Row::low_digit(code)));
                store(layout.here.bytes_offset(Row::Digit::high) + place, int8_t(Row::high_digit(code)));
            }
        }
        for (uint32_t i = 0; i < 16; ++i) {
            const int32_t sum = codes.sums16[block * 16 + i];
            store(layout.sum_offset(block, i), sum);
            if (!layout.is_rdna && i % 2 == 1)
                store(layout.here.sums32_offset_bytes() + (block * 8 + i / 2) * 4,
                      sum + codes.sums16[block * 16 + i - 1]);
        }
        store(layout.scale_offset(block), codes.scales[block]);
    }
    return row;
}

// ---- the cache -------------------------------------------------------------------------------------------------

class CacheReader {
public:
    CacheReader(const Backend& backend, uint32_t kv_heads, uint32_t head_dim)
        : is_rdna_(is_rdna(backend)), kv_heads_(kv_heads), head_dim_(head_dim) {}

    void read_keys(DType type, const std::byte* page, uint32_t position, Found& found) const {
        using namespace rdna::kernels;
        const uint64_t code_bytes = cache_code_bytes(type);
        const uint32_t lane = position % 16;
        for (uint32_t head = 0; head < kv_heads_; ++head) {
            const std::byte* there = page + head * key_head_bytes(type, head_dim_);
            const std::byte* here =
                page + (head * (kKvPage / 16) + position / 16) * x86::key_panel_bytes(type, head_dim_);
            const auto element = [&](uint32_t d) {
                const uint64_t in_chunk = d * code_bytes % 16, chunk = d * code_bytes / 16;
                return is_rdna_ ? there + (chunk * kKvPage + position) * 16 + in_chunk
                                : here + (d * 16 + lane) * code_bytes;
            };
            const auto scale = [&](uint32_t block) {
                return is_rdna_ ? there + key_scales_offset_bytes(type, head_dim_) + (block * kKvPage + position) * 2
                                : here + 16 * head_dim_ + (block * 16 + lane) * 2;
            };
            read_head(type, element, scale, found);
        }
    }
    void read_values(DType type, const std::byte* page, uint32_t position, Found& found) const {
        using namespace rdna::kernels;
        const uint64_t code_bytes = cache_code_bytes(type);
        for (uint32_t head = 0; head < kv_heads_; ++head) {
            const std::byte* there = page + head * value_head_bytes(type, head_dim_);
            const std::byte* here = page + (head * kKvPage + position) * x86::value_row_bytes(type, head_dim_);
            const auto element = [&](uint32_t d) {
                return is_rdna_ ? there + ((position / 8 * head_dim_ + d) * 8 + position % 8) * code_bytes
                                : here + d * code_bytes;
            };
            const auto scale = [&](uint32_t block) {
                return is_rdna_ ? there + value_scales_offset_bytes(type, head_dim_) + (block * kKvPage + position) * 2
                                : here + head_dim_ + block * 2;
            };
            read_head(type, element, scale, found);
        }
    }

private:
    void read_head(DType type, const auto& element, const auto& scale, Found& found) const {
        const auto load = [](DType of, const std::byte* at) {
            uint32_t word = 0;
            std::memcpy(&word, at, cache_code_bytes(of));
            return of == DType::F32   ? std::bit_cast<float>(word)
                   : of == DType::F16 ? half_to_float(uint16_t(word))
                                      : float(int8_t(word));
        };
        std::vector<float> scales;
        for (uint32_t block = 0; block < rdna::kernels::cache_scale_blocks(type, head_dim_); ++block)
            scales.push_back(load(DType::F16, scale(block)));
        for (uint32_t d = 0; d < head_dim_; ++d) {
            const float value = load(type, element(d));
            found.floats.push_back(std::bit_cast<uint32_t>(value));
            found.values.push_back(scales.empty() ? value
                                                  : double{value} * scales[d / rdna::kernels::kCacheScaleBlock]);
        }
        for (const float value : scales) found.floats.push_back(std::bit_cast<uint32_t>(value));
    }

    const bool is_rdna_;
    const uint32_t kv_heads_, head_dim_;
};

Result<Found> read_cache(const Case& test, const Device& device, const Addresses& addresses,
                         const std::vector<uint32_t>& pages) {
    const Backend& backend = device.backend();
    const CacheReader reader(backend, test.kv_heads, test.head_dim);
    std::vector<std::byte> keys(backend.key_page_bytes(test.key_type, test.kv_heads, test.head_dim)),
        values(backend.value_page_bytes(test.value_type, test.kv_heads, test.head_dim));
    Found found;
    for (uint32_t sequence = 0; sequence < test.sequences; ++sequence)
        for (uint32_t position = 0; position < test.cached; ++position) {
            const uint32_t page = pages[sequence * test.pages_per_sequence + position / kKvPage];
            if (position % kKvPage == 0) {
                RIFTJIT_TRY_VOID(device.read(keys, addresses.keys[0] + page * keys.size()));
                RIFTJIT_TRY_VOID(device.read(values, addresses.values[0] + page * values.size()));
            }
            reader.read_keys(test.key_type, keys.data(), position % kKvPage, found);
            reader.read_values(test.value_type, values.data(), position % kKvPage, found);
        }
    return found;
}

// ---- a case on a device ----------------------------------------------------------------------------------------

class CaseRun {
public:
    CaseRun(const Case& test, Device& device) : test_(test), device_(device), pages_(pages_of(test)) {}

    Result<Outcome> run() {
        RIFTJIT_TRY_VOID(allocate());
        graph::Plan plan;
        plan.steps = test_.steps;
        plan.arena_bytes = test_.buffers * kBuffer;
        plan.max_tokens = plan.max_outputs = most_rows_;
        plan.form = most_rows_ > 1 ? MatmulForm::tile : MatmulForm::vector;
        graph::Plan opening = plan;
        opening.steps.resize(test_.opening_steps);
        RIFTJIT_TRY(bound, device_.bind(plan, addresses_));
        RIFTJIT_TRY(opening_bound, device_.bind(opening, addresses_));
        RIFTJIT_TRY_VOID(device_.make_ready());
        Outcome outcome;
        for (const Run& run : test_.runs) {
            Batch batch(most_rows_);
            for (const BatchRow& row : run.rows) batch.add(row);
            for (const uint32_t output : run.outputs) batch.add_output(output);
            RIFTJIT_TRY_VOID(write_inputs(run));
            const BatchState& state = batch.finish(pages_.data(), test_.pages_per_sequence);
            const auto begin = std::chrono::steady_clock::now();
            RIFTJIT_TRY_VOID((run.is_opening ? *opening_bound : *bound).run(state));
            outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
        for (const Rows& rows : test_.results) {
            RIFTJIT_TRY(found, read_rows(rows));
            outcome.found.push_back(std::move(found));
        }
        if (test_.cached != 0) {
            RIFTJIT_TRY(found, read_cache(test_, device_, addresses_, pages_));
            outcome.found.push_back(std::move(found));
        }
        return outcome;
    }

private:
    static std::vector<uint32_t> pages_of(const Case& test) {
        std::vector<uint32_t> pages(test.sequences * test.pages_per_sequence);
        for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = uint32_t(pages.size()) - 1 - i;
        return pages;
    }

    Result<Address> reserve(uint64_t bytes) { return device_.allocate(bytes, MemoryUse::random, "memory of a trial"); }

    Result<void> allocate() {
        const Backend& backend = device_.backend();
        RIFTJIT_TRY(arena, reserve(test_.buffers * kBuffer));
        addresses_.arena = arena;
        for (const Weight& weight : test_.weights) {
            std::vector<std::byte> padded(f32_row_bytes(weight.width));
            RIFTJIT_TRY(address,
                        reserve(weight.is_vector ? padded.size()
                                                 : backend.packed_bytes(weight.type, weight.rows, weight.width)));
            addresses_.weights.push_back(address);
            if (!weight.is_vector) {
                RIFTJIT_TRY_VOID(
                    device_.pack({weight.type, weight.rows, weight.width, weight.file.data()}, address, {}));
                continue;
            }
            std::ranges::copy(weight.file, padded.begin());
            RIFTJIT_TRY_VOID(device_.write(address, padded));
        }
        size_t most_ids = 1, most_angles = 1;
        for (const Run& run : test_.runs) {
            most_rows_ = std::max(most_rows_, uint32_t(run.rows.size()));
            most_ids = std::max(most_ids, run.ids.size());
            most_angles = std::max(most_angles, run.table.size());
        }
        if (test_.pages != 0) {
            RIFTJIT_TRY(keys,
                        reserve(test_.pages * backend.key_page_bytes(test_.key_type, test_.kv_heads, test_.head_dim)));
            RIFTJIT_TRY(values, reserve(test_.pages *
                                        backend.value_page_bytes(test_.value_type, test_.kv_heads, test_.head_dim)));
            addresses_.keys = {keys};
            addresses_.values = {values};
        }
        RIFTJIT_TRY(ids, reserve(most_ids * sizeof(int32_t)));
        RIFTJIT_TRY(table, reserve(most_angles * sizeof(float)));
        addresses_.token_ids = ids;
        addresses_.rope_tables = {table};
        addresses_.pages_per_sequence = test_.pages_per_sequence;
        return {};
    }

    Result<void> write_inputs(const Run& run) {
        for (const auto& [number, floats] : run.inputs)
            RIFTJIT_TRY_VOID(device_.write(addresses_.arena + number * kBuffer, std::as_bytes(std::span(floats))));
        for (const auto& [number, rows] : run.codes) {
            std::vector<std::byte> bytes;
            for (const Quantized& row : rows) {
                const auto packed = quantized_bytes(device_.backend(), row, run.codes_width);
                bytes.insert(bytes.end(), packed.begin(), packed.end());
            }
            RIFTJIT_TRY_VOID(device_.write(addresses_.arena + number * kBuffer, bytes));
        }
        if (!run.ids.empty()) RIFTJIT_TRY_VOID(device_.write(addresses_.token_ids, std::as_bytes(std::span(run.ids))));
        if (!run.table.empty())
            RIFTJIT_TRY_VOID(device_.write(addresses_.rope_tables[0], std::as_bytes(std::span(run.table))));
        return {};
    }

    Result<Found> read_rows(const Rows& rows) {
        const Run& last = test_.runs.back();
        const uint64_t count = last.outputs.empty() ? last.rows.size() : last.outputs.size();
        const Backend& backend = device_.backend();
        const uint64_t stride = rows.stride_bytes != 0 ? rows.stride_bytes : backend.row_bytes(rows.format, rows.width);
        std::vector<std::byte> bytes(count * stride);
        RIFTJIT_TRY_VOID(device_.read(bytes, addresses_.arena + rows.buffer * kBuffer));
        Found found;
        for (uint64_t row = 0; row < count; ++row) {
            const std::byte* at = bytes.data() + row * stride;
            if (rows.format != RowFormat::f32) {
                found.quantized.push_back(quantized_row(CodeLayout(backend, rows.width), at));
                const Quantized& codes = found.quantized.back();
                for (uint32_t i = 0; i < rows.width; ++i)
                    found.values.push_back(double{std::bit_cast<float>(codes.scales[i / kI16Block])} * codes.codes[i]);
                continue;
            }
            for (uint32_t i = 0; i < rows.width; ++i) {
                uint32_t bits = 0;
                std::memcpy(&bits, at + i * sizeof bits, sizeof bits);
                found.floats.push_back(bits);
                found.values.push_back(std::bit_cast<float>(bits));
            }
        }
        return found;
    }

    const Case& test_;
    Device& device_;
    const std::vector<uint32_t> pages_;
    Addresses addresses_;
    uint32_t most_rows_ = 1;
};

}  // namespace

Result<Outcome> run_case(const Case& test, Device& device) { return CaseRun(test, device).run(); }

std::string difference(const std::vector<Found>& expected, const std::vector<Found>& found) {
    const auto is_same = [](uint32_t a, uint32_t b) {
        return a == b || (std::isnan(std::bit_cast<float>(a)) && std::isnan(std::bit_cast<float>(b)));
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

}  // namespace riftjit::runtime::trial

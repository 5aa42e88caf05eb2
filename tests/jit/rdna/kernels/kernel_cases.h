// One launch of every kernel.
#pragma once

#include <numbers>

#include "jit/alibi.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "tests/jit/highest_reference.h"
#include "tests/jit/rdna/kernels/kernel_case.h"
#include "tests/jit/rdna/kernels/matmul_cases.h"

namespace riftjit::rdna::kernels {

inline KernelCase vector_add_case() {
    constexpr uint32_t kCount = 700;  // two whole workgroups and a part: its last wave has 28 lanes on, two waves none
    const auto a = random_floats(kCount, -4, 4, 1), b = random_floats(kCount, -4, 4, 2);
    return {"vector_add",
            [](KernelTarget t, PassOptions o) { return vector_add(t, {}, o); },
            {bytes_of(a), bytes_of(b), zeros(kCount * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, kCount},
            3,
            always(256),
            [a, b](const std::vector<Bytes>& after) {
                std::vector<float> expected(kCount);
                for (size_t i = 0; i < kCount; ++i) expected[i] = a[i] + b[i];
                return compare_exactly(values_of<float>(after[2]), expected);
            }};
}

inline KernelCase swiglu_case(uint32_t rows = 1, uint32_t width = 256) {
    const uint32_t stride = f32_row_bytes(width) / 4;
    const auto gate = random_floats(rows * width, -8, 8, 3), up = random_floats(rows * width, -4, 4, 4);
    KernelCase result = op_case("swiglu", swiglu_spec(width), rows);
    result.buffers = {bytes_of(gate), bytes_of(up), zeros(rows * stride * 4)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        std::vector<double> expected(rows * stride), bound(rows * stride, 1e9);
        for (size_t row = 0; row < rows; ++row)
            for (size_t i = 0; i < width; ++i) {
                expected[row * stride + i] = swiglu_of(gate[row * width + i], up[row * width + i]);
                bound[row * stride + i] = std::abs(expected[row * stride + i]) * kSwigluError;
            }
        return compare(values_of<float>(after[2]), expected, bound);
    };
    return result;
}

inline KernelCase swiglu_i16_case() {
    constexpr uint32_t kRows = 2;
    const SwigluSpec spec = swiglu_i16_spec();
    const uint32_t bytes = I16Row{spec.width}.bytes();
    const size_t count = (kRows - 1) * spec.in_stride + spec.width;  // the last row ends where its elements do
    const auto gate = random_floats(count, -8, 8, 30), up = random_floats(count, -4, 4, 31);
    KernelCase result = op_case("swiglu_i16", spec, kRows);
    result.buffers = {bytes_of(gate), bytes_of(up), zeros(kRows * bytes)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        for (size_t row = 0; row < kRows; ++row) {
            std::vector<double> expected;
            for (size_t i = row * spec.in_stride; i < row * spec.in_stride + spec.width; ++i)
                expected.push_back(swiglu_of(gate[i], up[i]));
            if (std::string wrong = compare_i16(after[2].data() + row * bytes, expected, kSwigluError); !wrong.empty())
                return wrong;
        }
        return "";
    };
    return result;
}

inline KernelCase activation_case() {
    constexpr uint32_t kRows = 2;
    const SwigluSpec spec = activation_spec();
    const uint32_t bytes = I16Row{spec.width}.bytes();
    const auto gate = random_floats((kRows - 1) * spec.in_stride + spec.width, -8, 8, 44);
    KernelCase result = op_case("activation", spec, kRows);
    result.buffers = {bytes_of(gate), zeros(kRows * bytes)};
    result.args = {BufferIndex{0}, NullPointer{}, BufferIndex{1}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        for (size_t row = 0; row < kRows; ++row) {
            std::vector<double> expected;
            for (size_t i = row * spec.in_stride; i < row * spec.in_stride + spec.width; ++i)
                expected.push_back(gate[i] / 2 * std::erfc(-double{gate[i]} / std::numbers::sqrt2));
            // The normal distribution is off by its polynomial's 0.75e-7 and eight roundings, of which each block's
            // largest element has as much.
            if (std::string wrong = compare_i16(after[1].data() + row * bytes, expected, 0.75e-7 + 8 * kUlp);
                !wrong.empty())
                return wrong;
        }
        return "";
    };
    return result;
}

inline KernelCase rms_norm_case(uint32_t rows = 3, uint32_t width = 1024) {
    const uint32_t stride = f32_row_bytes(width) / 4;
    const auto x = random_floats(rows * stride, -3, 3, 5), gain = random_floats(width, 0.5f, 2, 6);
    KernelCase result = op_case("rms_norm", rms_norm_spec(width), rows);
    result.buffers = {bytes_of(x), bytes_of(gain), zeros(x.size() * 4)};
    result.args = {BufferIndex{0}, NullPointer{}, BufferIndex{1}, BufferIndex{2}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        std::vector<double> expected(x.size()), bound(x.size(), 1e9);
        for (size_t row = 0; row < rows; ++row) {
            std::ranges::copy(rms_norm_of(x.data() + row * stride, gain),
                              expected.begin() + static_cast<ptrdiff_t>(row * stride));
            for (size_t i = row * stride; i < row * stride + width; ++i)
                bound[i] = std::abs(expected[i]) * rms_norm_error(width);
        }
        return compare(values_of<float>(after[2]), expected, bound);
    };
    return result;
}

inline KernelCase rms_norm_i16_case() {
    constexpr uint32_t kRows = 2;
    const RmsNormSpec spec = rms_norm_i16_spec();
    const uint32_t bytes = I16Row{spec.width}.bytes();
    const auto x = random_floats(kRows * spec.width, -3, 3, 32), addend = random_floats(kRows * spec.width, -1, 1, 33);
    const auto gain = random_floats(spec.width, 0.5f, 2, 34);
    KernelCase result = op_case("rms_norm_i16", spec, kRows);
    result.buffers = {bytes_of(x), bytes_of(addend), bytes_of(gain), zeros(kRows * bytes)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        std::vector<float> sums(x.size());
        for (size_t i = 0; i < x.size(); ++i) sums[i] = x[i] + addend[i];
        if (std::string wrong = compare_exactly(values_of<float>(after[0]), sums); !wrong.empty()) return wrong;
        for (size_t row = 0; row < kRows; ++row) {
            const auto expected = rms_norm_of(sums.data() + row * spec.width, gain);
            if (std::string wrong = compare_i16(after[3].data() + row * bytes, expected, rms_norm_error(spec.width));
                !wrong.empty())
                return wrong;
        }
        return "";
    };
    return result;
}

inline KernelCase layer_norm_case(uint32_t rows = 2, uint32_t width = 600) {
    const LayerNormSpec spec = layer_norm_spec(width);
    const uint32_t stride = f32_row_bytes(width) / 4;
    const auto x = random_floats(rows * stride, -1, 3, 35), gain = random_floats(width, 0.5f, 2, 36);
    const auto bias = random_floats(width, -1, 1, 37);
    KernelCase result = op_case("layer_norm", spec, rows);
    result.buffers = {bytes_of(x), bytes_of(gain), bytes_of(bias), zeros(x.size() * 4)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        std::vector<double> expected(x.size()), bound(x.size(), 1e9);
        for (size_t row = 0; row < rows; ++row) {
            const auto normed =
                graph::layer_norm_of(std::span(x).subspan(row * stride, width), gain, bias, double{spec.epsilon});
            for (size_t i = 0; i < width; ++i) {
                expected[row * stride + i] = normed[i].value;
                bound[row * stride + i] = normed[i].bound;
            }
        }
        return compare(values_of<float>(after[3]), expected, bound);
    };
    return result;
}

inline KernelCase quantize_case() {
    const QuantizeSpec spec = quantize_spec();
    const auto x = random_floats(f32_row_bytes(spec.width) / 4, -3, 3, 38);
    KernelCase result = op_case("quantize", spec, 1);
    result.buffers = {bytes_of(x), zeros(I16Row{spec.width}.bytes())};
    result.args = {BufferIndex{0}, BufferIndex{1}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        return compare_i16(after[1].data(), {x.begin(), x.begin() + spec.width}, 0);
    };
    return result;
}

inline KernelCase gather_rows_case() {
    const GatherRowsSpec spec = gather_rows_spec();
    const uint32_t stride = f32_row_bytes(spec.width) / 4;
    const std::vector<uint32_t> outputs = {3, 0, 2};
    const auto x = random_floats(4 * stride, -3, 3, 39);
    BatchState batch;
    batch.outputs = uint32_t(outputs.size());
    KernelCase result = op_case("gather_rows", spec, batch.outputs);
    result.buffers = {bytes_of(x), zeros(outputs.size() * stride * 4), bytes_of(std::vector{batch}), bytes_of(outputs)};
    result.pointers = {{2, offsetof(BatchState, output_row), 3}};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        const auto got = values_of<float>(after[1]);
        for (size_t row = 0; row < outputs.size(); ++row)
            for (size_t i = 0; i < spec.width; ++i)
                if (got[row * stride + i] != x[outputs[row] * stride + i])
                    return "row " + std::to_string(row) + " is not row " + std::to_string(outputs[row]);
        return "";
    };
    return result;
}

inline KernelCase elementwise_case() {
    constexpr uint32_t kRows = 3;
    const ElementwiseSpec spec = elementwise_spec();
    const uint32_t stride = spec.inputs[0].row_stride, other_stride = spec.inputs[1].row_stride;
    const auto a = random_floats((kRows - 1) * stride + spec.width, -3, 3, 40);
    const auto b = random_floats((kRows - 1) * other_stride + spec.width, -3, 3, 41);
    const auto bias = random_floats(spec.width, -3, 3, 42);
    KernelCase result = op_case("elementwise", spec, kRows);
    result.buffers = {bytes_of(a), bytes_of(b), bytes_of(bias), zeros(kRows * spec.out_stride * 4)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, NullPointer{},
                   NullPointer{},  NullPointer{},  BufferIndex{3}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        std::vector<float> expected(kRows * spec.out_stride);  // zeros behind each row
        for (size_t row = 0; row < kRows; ++row)
            for (size_t i = 0; i < spec.width; ++i)
                expected[row * spec.out_stride + i] =
                    (a[row * stride + i] * 0.5f + b[row * other_stride + i]) + bias[i];
        return compare_exactly(values_of<float>(after[3]), expected);
    };
    return result;
}

inline KernelCase elementwise_chain_case() {
    constexpr uint32_t kRows = 2;
    const ElementwiseSpec spec = elementwise_chain_spec();
    const auto [stride, column] = spec.inputs[1];
    const auto a = random_floats((kRows - 1) * spec.inputs[0].row_stride + spec.width, -6, 6, 45);
    const auto b = random_floats(kRows * stride, -3, 3, 46), divisor = random_floats(spec.width, 0.5f, 2, 47);
    KernelCase result = op_case("elementwise_chain", spec, kRows);
    result.buffers = {bytes_of(a), bytes_of(b), bytes_of(divisor), zeros(kRows * spec.out_stride * 4)};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, NullPointer{},
                   NullPointer{},  NullPointer{},  BufferIndex{3}, NullPointer{}};
    result.wrong = [=, stride = stride, column = column](const std::vector<Bytes>& after) {
        std::vector<double> expected(kRows * spec.out_stride), bound(expected.size());  // zeros behind each row
        for (size_t row = 0; row < kRows; ++row)
            for (size_t i = 0; i < spec.width; ++i) {
                const double capped = 2.5 * std::tanh(std::abs(a[row * spec.inputs[0].row_stride + i]) / 2.5);
                const double factor = b[row * stride + column], clamped = std::clamp(capped / divisor[i], 0.25, 3.0);
                const size_t at = row * spec.out_stride + i;
                expected[at] = clamped * factor;
                // The argument of tanh is off by four roundings of it, of which tanh keeps at most 0.45 of one of 1,
                // and tanh by 2^-23, two of 1: four in all, times 2.5. Three products and quotients round once each.
                bound[at] = (4 * 2.5 / divisor[i] + 3 * clamped) * std::abs(factor) * kUlp;
            }
        return compare(values_of<float>(after[3]), expected, bound);
    };
    return result;
}

// Rows at positions from 5 on; what lies between the last head and the next row stays as it is.
inline KernelCase rope_case(uint32_t rows = 2, uint32_t heads = 3, uint32_t head_dim = 128, uint32_t gap = 0) {
    const uint32_t half = head_dim / 2, stride = heads * head_dim + gap;
    const auto x = random_floats(rows * stride, -3, 3, 7);
    std::vector<float> table;
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t i = 0; i < half; ++i) {
            const double angle = (row + 5) * std::pow(10000.0, -2.0 * i / head_dim);
            table.push_back(static_cast<float>(std::cos(angle)));
            table.push_back(static_cast<float>(std::sin(angle)));
        }
    KernelCase result = op_case("rope", rope_spec(heads, head_dim, stride), rows);
    result.buffers = {bytes_of(x), bytes_of(table)};
    result.args = {BufferIndex{0}, NullPointer{}, BufferIndex{1}, NullPointer{}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        std::vector<double> expected(x.begin(), x.end()), bound(x.size());
        for (size_t i = 0; i < x.size(); ++i) {
            const size_t row = i / stride, in_row = i % stride, in_head = in_row % head_dim, pair = in_head % half;
            if (in_row >= heads * head_dim) continue;
            const double c = table[(row * half + pair) * 2], s = table[(row * half + pair) * 2 + 1];
            const double a = x[i - in_head + pair], b = x[i - in_head + pair + half];
            expected[i] = in_head < half ? a * c - b * s : b * c + a * s;
            bound[i] = (std::abs(a) + std::abs(b)) * 2 * kUlp;  // one product and one fma are rounded
        }
        return compare(values_of<float>(after[0]), expected, bound);
    };
    return result;
}

// A product and a rotation, whose workgroups are of five waves and of one.
inline KernelCase side_by_side_case() {
    const KernelCase product = matmul_case(), rotation = rope_case(1, 2, 64);
    KernelCase result = op_case("side_by_side", side_by_side_spec(), 1);
    result.buffers = product.buffers;
    result.buffers.insert(result.buffers.end(), rotation.buffers.begin(), rotation.buffers.end());
    result.args = product.args;
    for (auto arg : rotation.args) {
        if (auto* index = std::get_if<BufferIndex>(&arg)) index->value += product.buffers.size();
        result.args.push_back(arg);
    }
    result.wrong = [=](const std::vector<Bytes>& after) {
        const auto second = after.begin() + static_cast<ptrdiff_t>(product.buffers.size());
        const std::string wrong = product.wrong({after.begin(), second});
        return wrong.empty() ? rotation.wrong({second, after.end()}) : wrong;
    };
    return result;
}

// The rows of cases with a cache: two sequences, whose pages are not in order.
inline std::vector<BatchRow> cached_rows() { return {{0, 3}, {0, 4}, {1, 257}}; }
inline std::vector<uint32_t> cached_pages() { return {2, 0, 3, 1}; }

// What is added up of a Q8_0 block, and how far from `expected` it may be: half a scale and as much more as the scale
// of 11 bits and what went before it (`before`, relative) change.
inline std::string compare_q8_0(const std::vector<double>& got, const std::vector<double>& expected, double before) {
    std::vector<double> bound(expected.size());
    for (size_t block = 0; block < expected.size(); block += kCacheScaleBlock) {
        double largest = 0;
        for (size_t i = block; i < block + kCacheScaleBlock; ++i) largest = std::max(largest, std::abs(expected[i]));
        for (size_t i = block; i < block + kCacheScaleBlock; ++i)
            bound[i] = largest / 127 * 0.5 * (1 + 0x1p-10) + largest * before;
    }
    return compare(got, expected, bound);
}

// Heads normed, rotated by adjacent pairs in part, and stored as Q8_0 keys.
inline KernelCase rope_keys_case() {
    constexpr uint32_t kHeads = 2;
    const RopeSpec spec = rope_keys_spec(kHeads);
    const uint32_t head_dim = spec.head_dim, pairs = spec.rotary_dims / 2;
    const std::vector<BatchRow> rows = cached_rows();
    const auto x = random_floats(rows.size() * spec.row_stride, -3, 3, 20), gain = random_floats(head_dim, 0.5f, 2, 21);
    std::vector<float> table;
    for (const BatchRow& row : rows)
        for (uint32_t i = 0; i < pairs; ++i) {
            table.push_back(static_cast<float>(std::cos(row.position + i)));
            table.push_back(static_cast<float>(std::sin(row.position + i)));
        }
    const uint64_t head_bytes = key_head_bytes(DType::Q8_0, head_dim);
    KernelCase result = op_case("rope_keys", spec, uint32_t(rows.size()));
    result.buffers = {bytes_of(x), bytes_of(gain), bytes_of(table), zeros(4 * kHeads * head_bytes)};
    const BufferIndex batch = add_batch(result, rows, cached_pages(), 2);
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, batch};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        for (size_t row = 0; row < rows.size(); ++row)
            for (size_t head = 0; head < kHeads; ++head) {
                const float* in = x.data() + row * spec.row_stride + head * head_dim;
                double squares = 0;
                for (size_t d = 0; d < head_dim; ++d) squares += double{in[d]} * in[d];
                const double scale = 1 / std::sqrt(squares / head_dim + double{spec.epsilon});
                std::vector<double> expected(head_dim), got(head_dim);
                for (size_t d = 0; d < head_dim; ++d) expected[d] = in[d] * scale * gain[d];
                for (size_t i = 0; i < pairs; ++i) {
                    const double a = expected[2 * i], b = expected[2 * i + 1];
                    const double c = table[(row * pairs + i) * 2], s = table[(row * pairs + i) * 2 + 1];
                    expected[2 * i] = a * c - b * s;
                    expected[2 * i + 1] = b * c + a * s;
                }
                const uint32_t position = rows[row].position % kKvPage;
                const uint32_t page = cached_pages()[rows[row].sequence * 2 + rows[row].position / kKvPage];
                const std::byte* at = after[3].data() + (page * kHeads + head) * head_bytes;
                for (size_t d = 0; d < head_dim; ++d) {
                    uint16_t half;
                    std::memcpy(&half,
                                at + key_scales_offset_bytes(DType::Q8_0, head_dim) + (d / 32 * kKvPage + position) * 2,
                                sizeof half);
                    got[d] = half_to_float(half) * int(int8_t(at[(d / 16 * kKvPage + position) * 16 + d % 16]));
                }
                // Of the norm and the rotation: some 20 roundings of numbers that are at most twice as large.
                if (const std::string wrong = compare_q8_0(got, expected, 40 * kUlp); !wrong.empty()) return wrong;
            }
        return "";
    };
    return result;
}

inline KernelCase value_store_case() {
    constexpr uint32_t kHeads = 2;
    const ValueStoreSpec spec = value_store_spec(kHeads);
    const uint32_t head_dim = spec.head_dim;
    const std::vector<BatchRow> rows = cached_rows();
    const auto v = random_floats(rows.size() * spec.row_stride, -3, 3, 22);
    const uint64_t head_bytes = value_head_bytes(DType::Q8_0, head_dim);
    KernelCase result = op_case("value_store", spec, uint32_t(rows.size()));
    result.buffers = {bytes_of(v), zeros(4 * kHeads * head_bytes)};
    const BufferIndex batch = add_batch(result, rows, cached_pages(), 2);
    result.args = {BufferIndex{0}, BufferIndex{1}, batch};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        for (size_t row = 0; row < rows.size(); ++row)
            for (size_t head = 0; head < kHeads; ++head) {
                const float* in = v.data() + row * spec.row_stride + head * head_dim;
                const uint32_t position = rows[row].position % kKvPage;
                const uint32_t page = cached_pages()[rows[row].sequence * 2 + rows[row].position / kKvPage];
                const std::byte* at = after[1].data() + (page * kHeads + head) * head_bytes;
                std::vector<double> got(head_dim);
                for (size_t d = 0; d < head_dim; ++d) {
                    uint16_t half;
                    std::memcpy(
                        &half,
                        at + value_scales_offset_bytes(DType::Q8_0, head_dim) + (d / 32 * kKvPage + position) * 2,
                        sizeof half);
                    got[d] = half_to_float(half) * int(int8_t(at[(position / 8 * head_dim + d) * 8 + position % 8]));
                }
                // Quotient, inverse and product are rounded.
                if (const std::string wrong = compare_q8_0(got, {in, in + head_dim}, 4 * kUlp); !wrong.empty())
                    return wrong;
            }
        return "";
    };
    return result;
}

inline uint32_t first_seen(const AttentionSpec& spec, uint32_t position) {
    if (spec.chunk != 0) return position / spec.chunk * spec.chunk;
    return spec.window == 0 || position < spec.window ? 0 : position + 1 - spec.window;
}

// Rows of one sequence, whose two pages are not in order. Single rows are cut into segments where there is room for
// parts.
inline KernelCase attention_case(std::string name, const AttentionSpec& spec, const std::vector<BatchRow>& rows) {
    const MatmulForm form = spec.form;
    const uint32_t head_dim = spec.head_dim, group = spec.heads / spec.kv_heads;
    const std::vector<uint32_t> pages = {1, 2, 0};
    const uint64_t key_bytes = key_head_bytes(spec.key_type, head_dim),
                   value_bytes = value_head_bytes(spec.value_type, head_dim);
    const auto q = random_floats(rows.size() * spec.q_stride, -1, 1, 23);
    // By head, position and element.
    const size_t positions = pages.size() * kKvPage;
    std::vector<float> keys, values;
    Bytes key_cache(pages.size() * spec.kv_heads * key_bytes), value_cache(pages.size() * spec.kv_heads * value_bytes);
    std::mt19937 generator(24);
    for (size_t head = 0; head < spec.kv_heads; ++head)
        for (size_t position = 0; position < positions; ++position) {
            const size_t in_page = position % kKvPage, number = pages[position / kKvPage] * spec.kv_heads + head;
            std::byte *key = key_cache.data() + number * key_bytes, *value = value_cache.data() + number * value_bytes;
            const uint16_t scale = float_to_half(0x1p-7f + static_cast<float>(generator() % 64) * 0x1p-12f);
            for (size_t block = 0; block < cache_scale_blocks(spec.value_type, head_dim); ++block)
                std::memcpy(
                    value + value_scales_offset_bytes(spec.value_type, head_dim) + (block * kKvPage + in_page) * 2,
                    &scale, 2);
            for (size_t d = 0; d < head_dim; ++d) {
                const uint16_t half = float_to_half(static_cast<float>(generator() >> 8) * 0x1p-23f - 1);
                const auto code = static_cast<int8_t>(generator() >> 24);
                std::memcpy(key + (d / 8 * kKvPage + in_page) * 16 + d % 8 * 2, &half, 2);
                std::memcpy(value + (in_page / 8 * head_dim + d) * 8 + in_page % 8, &code, 1);
                keys.push_back(half_to_float(half));
                values.push_back(half_to_float(scale) * code);
            }
        }
    KernelCase result = op_case(std::move(name), spec, form == MatmulForm::tile ? 1 : uint32_t(rows.size()));
    result.runs_in_wave64 = false;
    result.buffers = {bytes_of(q), key_cache, value_cache, zeros(rows.size() * spec.out_stride * 4)};
    const BufferIndex batch = add_batch(result, rows, pages, uint32_t(pages.size()));
    if (form == MatmulForm::vector) {
        const LaunchShape shape = launch_of(spec);
        result.groups *= LaunchShape::segments_for(uint32_t(pages.size()));
        result.pointers.push_back({batch.value, offsetof(BatchState, parts), result.buffers.size()});
        result.scratch = result.buffers.size();
        result.buffers.push_back(zeros(result.groups * shape.part_bytes));
        result.pointers.push_back({batch.value, offsetof(BatchState, finished), result.buffers.size()});
        result.buffers.push_back(zeros(rows.size() * shape.groups * 4));
    }
    const bool has_sinks = spec.sinks == Presence::present;
    const auto sinks = random_floats(spec.heads, -2, 6, 25);
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, batch};
    const size_t finished = result.buffers.size() - 1;
    if (has_sinks) {
        result.args.push_back(BufferIndex{result.buffers.size()});
        result.buffers.push_back(bytes_of(sinks));
    }
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        if (form == MatmulForm::vector && after[finished] != zeros(after[finished].size()))
            return "counters are left behind";
        const auto out = values_of<float>(after[3]);
        for (size_t row = 0; row < rows.size(); ++row)
            for (size_t head = 0; head < spec.heads; ++head) {
                const float* query = q.data() + row * spec.q_stride + head * head_dim;
                const size_t first = head / group * positions * head_dim;
                std::vector<double> expected(head_dim), bound(head_dim);
                const uint32_t own = rows[row].position;
                const double slope = spec.alibi == 0 ? 0 : alibi_slope(uint32_t(head), spec.heads, spec.alibi);
                double all = has_sinks ? std::exp(double{sinks[head]}) : 0;
                for (size_t position = first_seen(spec, own); position <= own; ++position) {
                    double score = 0;
                    for (size_t d = 0; d < head_dim; ++d)
                        score += double{query[d]} * keys[first + position * head_dim + d];
                    score *= double{spec.scale};
                    if (spec.softcap != 0) score = double{spec.softcap} * std::tanh(score / double{spec.softcap});
                    const double weight = std::exp(score - slope * double(own - position));
                    all += weight;
                    for (size_t d = 0; d < head_dim; ++d) {
                        expected[d] += weight * values[first + position * head_dim + d];
                        bound[d] += weight * std::abs(values[first + position * head_dim + d]);
                    }
                }
                for (size_t d = 0; d < head_dim; ++d) {
                    expected[d] /= all;
                    // A score is off by a rounding in each of 32 steps of sums below 32, times 0.2 (of 64 below 64,
                    // times 0.05), and so is its weight, which exp and its argument round a few times more; so are
                    // sums, of 17 + 256 terms and those of two merges.
                    // A cap adds the four roundings of tanh, times 4, and its own. Beside biases that matter, those
                    // below 32, one of 32 for the slope and one for the sum; beside a sink two weights and a sum.
                    const int beside = has_sinks ? 2 * (20 + 64) + 10 : 0;
                    bound[d] = bound[d] / all * (2 * 205 + 20 + 17 + 260 + beside) * kUlp;
                }
                const float* found = out.data() + row * spec.out_stride + head * head_dim;
                if (std::string wrong = compare(std::vector<float>(found, found + head_dim), expected, bound);
                    !wrong.empty())
                    return wrong;
            }
        return "";
    };
    return result;
}
inline KernelCase vector_attention_case() {
    return attention_case("attention", attention_spec(MatmulForm::vector), {{0, 520}, {0, 70}});
}
inline KernelCase tile_attention_case() {
    return attention_case("attention_tile", attention_spec(MatmulForm::tile),
                          {{0, 253}, {0, 254}, {0, 255}, {0, 256}, {0, 257}, {0, 258}, {0, 259}});
}
// Windows that begin within a segment and see two and three of them; and a row that sees its whole text.
inline KernelCase narrow_vector_attention_case() {
    return attention_case("narrow_attention", narrow_attention_spec(MatmulForm::vector), {{0, 690}, {0, 520}, {0, 70}});
}
// Rows on both sides of a chunk's end, which is a segment's.
inline KernelCase narrow_tile_attention_case() {
    return attention_case("narrow_attention_tile", narrow_attention_spec(MatmulForm::tile),
                          {{0, 253}, {0, 254}, {0, 255}, {0, 256}, {0, 257}, {0, 258}, {0, 259}});
}

inline KernelCase softmax_case() {
    constexpr uint32_t kRows = 2, kWidth = 1024;
    const auto x = random_floats(kRows * kWidth, -10, 10, 8);
    return {"softmax",
            [](KernelTarget t, PassOptions o) { return softmax(t, {}, o); },
            {bytes_of(x), zeros(kRows * kWidth * 4)},
            {BufferIndex{0}, BufferIndex{1}},
            kRows,
            always(128),
            [x](const std::vector<Bytes>& after) {
                std::vector<double> expected(x.size()), bound(x.size());
                for (size_t row = 0; row < kRows; ++row) {
                    double maximum = -1e30, sum = 0;
                    for (size_t i = row * kWidth; i < (row + 1) * kWidth; ++i)
                        maximum = std::max<double>(maximum, x[i]);
                    for (size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) sum += std::exp(x[i] - maximum);
                    for (size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) {
                        expected[i] = std::exp(x[i] - maximum) / sum;
                        // x - maximum and its multiple are rounded, at most 20 log2 e: 60 ulp of the power; the sum
                        // carries as much of each of its terms, mostly far less; additions and the quotient, 24.
                        bound[i] = expected[i] * (60 + 60 + 24) * kUlp;
                    }
                }
                return compare(values_of<float>(after[1]), expected, bound);
            }};
}

inline KernelCase argmax_case() {
    constexpr uint32_t kRows = 4, kWidth = 1000;
    auto x = random_floats(kRows * kWidth, -3, 3, 9);
    x[123] = x[124] = x[700] = 5;                 // the first of equals
    x[kWidth + 999] = 5;                          // the last element, in the partly idle round
    x[2 * kWidth] = 5;                            // the first
    x[3 * kWidth + 77] = x[3 * kWidth + 45] = 4;  // equals in different lanes
    return {"argmax",
            [](KernelTarget t, PassOptions o) { return argmax(t, {}, o); },
            {bytes_of(x), zeros(kRows * 4)},
            {BufferIndex{0}, BufferIndex{1}},
            kRows,
            [](uint32_t lanes) { return lanes; },
            [](const std::vector<Bytes>& after) {
                return compare_exactly(values_of<uint32_t>(after[1]), std::vector<uint32_t>{123, 999, 0, 45});
            }};
}

inline KernelCase gemv_q8_case() {
    constexpr uint32_t kRows = 8, kColumns = 2080, kBlocks = kColumns / 32;
    std::mt19937 generator(10);
    std::vector<int8_t> weights(kRows * kColumns), input(kColumns);
    for (int8_t& w : weights) w = static_cast<int8_t>(generator() >> 24);
    for (int8_t& v : input) v = static_cast<int8_t>(generator() >> 24);
    std::vector<uint16_t> scales(kRows * kBlocks);
    for (uint16_t& s : scales) s = float_to_half(static_cast<float>(generator() >> 8) * 0x1p-30f);
    const auto input_scales = random_floats(kBlocks, 0.001f, 0.02f, 11);
    return {"gemv_q8",
            [](KernelTarget t, PassOptions o) { return gemv_q8(t, {}, o); },
            {bytes_of(weights), bytes_of(scales), bytes_of(input), bytes_of(input_scales), zeros(kRows * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, BufferIndex{4}},
            kRows / 4,
            [](uint32_t lanes) { return 4 * lanes; },
            [=](const std::vector<Bytes>& after) {
                std::vector<double> expected(kRows), bound(kRows);
                for (size_t row = 0; row < kRows; ++row)
                    for (size_t block = 0; block < kBlocks; ++block) {
                        int dot = 0;
                        for (size_t i = block * 32; i < (block + 1) * 32; ++i)
                            dot += weights[row * kColumns + i] * input[i];
                        const double term =
                            double{half_to_float(scales[row * kBlocks + block])} * input_scales[block] * dot;
                        expected[row] += term;
                        bound[row] += std::abs(term) * 12 * kUlp;  // the scale's product, 3 fma, 6 additions
                    }
                return compare(values_of<float>(after[4]), expected, bound);
            }};
}

inline KernelCase matmul_f16_case() {
    constexpr uint32_t kM = 64, kN = 96, kK = 64;
    const auto halves = [](size_t count, unsigned seed) {
        std::vector<uint16_t> values;
        for (const float value : random_floats(count, -2, 2, seed)) values.push_back(float_to_half(value));
        return values;
    };
    const auto a = halves(kM * kK, 12), b = halves(kN * kK, 13);
    return {"matmul_f16",
            [](KernelTarget t, PassOptions o) { return matmul_f16(t, {}, o); },
            {bytes_of(a), bytes_of(b), zeros(kM * kN * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}},
            kM / 32 * (kN / 32),
            always(128),
            [a, b](const std::vector<Bytes>& after) {
                std::vector<double> expected(kM * kN), bound(kM * kN);
                for (size_t m = 0; m < kM; ++m)
                    for (size_t n = 0; n < kN; ++n)
                        for (size_t k = 0; k < kK; ++k) {
                            const double term = double{half_to_float(a[m * kK + k])} * half_to_float(b[n * kK + k]);
                            expected[m * kN + n] += term;
                            // Products of halves are exact in f32; at most one rounding per addition, in any order.
                            bound[m * kN + n] += std::abs(term) * kK * kUlp;
                        }
                return compare(values_of<float>(after[2]), expected, bound);
            },
            false};
}

inline std::vector<uint32_t> random_words(size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<uint32_t> values(count);
    for (uint32_t& value : values) value = static_cast<uint32_t>(generator());
    return values;
}

inline KernelCase transpose_case() {
    constexpr uint32_t kRows = 64, kColumns = 96;
    const auto in = random_words(kRows * kColumns, 14);
    return {"transpose",
            [](KernelTarget t, PassOptions o) { return transpose(t, {}, o); },
            {bytes_of(in), zeros(in.size() * 4)},
            {BufferIndex{0}, BufferIndex{1}},
            kRows / 32 * (kColumns / 32),
            always(256),
            [in](const std::vector<Bytes>& after) {
                std::vector<uint32_t> expected(in.size());
                for (size_t row = 0; row < kRows; ++row)
                    for (size_t column = 0; column < kColumns; ++column)
                        expected[column * kRows + row] = in[row * kColumns + column];
                return compare_exactly(values_of<uint32_t>(after[1]), expected);
            }};
}

inline KernelCase histogram_case() {
    constexpr uint32_t kGroups = 2;
    const auto data = random_words(kGroups * 4 * 256, 15);
    return {"histogram",
            [](KernelTarget t, PassOptions o) { return histogram(t, {}, o); },
            {bytes_of(data), zeros(256 * 4)},
            {BufferIndex{0}, BufferIndex{1}},
            kGroups,
            always(256),
            [data](const std::vector<Bytes>& after) {
                std::vector<uint32_t> expected(256);
                for (const std::byte byte : bytes_of(data)) ++expected[static_cast<size_t>(byte)];
                return compare_exactly(values_of<uint32_t>(after[1]), expected);
            }};
}

inline KernelCase grid_barrier_case() {
    constexpr uint32_t kGroups = 4, kLanes = 128, kCount = kGroups * kLanes;
    const auto first = random_words(kCount, 16);
    return {"grid_barrier",
            [](KernelTarget t, PassOptions o) { return grid_barrier(t, {}, o); },
            {bytes_of(first), zeros(kCount * 4), zeros(4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}},
            kGroups,
            always(kLanes),
            [first](const std::vector<Bytes>& after) {
                std::vector<uint32_t> from = first, to(kCount);
                for (int phase = 0; phase < 3; ++phase) {
                    for (uint32_t i = 0; i < kCount; ++i) to[i] = from[(i + kLanes) % kCount] + i;
                    std::swap(from, to);
                }
                return compare_exactly(values_of<uint32_t>(after[1]), from);
            }};
}

inline KernelCase reverse_copy_case() {
    constexpr uint32_t kGroups = 2, kChunks = 6, kLanes = 128;
    const auto in = random_words(kGroups * kChunks * kLanes * 4, 17);
    return {"reverse_copy",
            [](KernelTarget t, PassOptions o) { return reverse_copy(t, {}, o); },
            {bytes_of(in), zeros(in.size() * 4)},
            {BufferIndex{0}, BufferIndex{1}},
            kGroups,
            always(kLanes),
            [in](const std::vector<Bytes>& after) {
                std::vector<uint32_t> expected(in.size());
                for (size_t i = 0; i < in.size(); ++i) {
                    const size_t chunk = i / (kLanes * 4), lane = i / 4 % kLanes;
                    expected[i] = in[(chunk * kLanes + kLanes - 1 - lane) * 4 + i % 4];
                }
                return compare_exactly(values_of<uint32_t>(after[1]), expected);
            }};
}

inline KernelCase dot_f64_case() {
    constexpr uint32_t kCount = 2048;
    std::vector<double> a, b;
    for (const float value : random_floats(kCount, -3, 3, 18)) a.push_back(value * 1.1);
    for (const float value : random_floats(kCount, -3, 3, 19)) b.push_back(value * 0.9);
    return {"dot_f64",
            [](KernelTarget t, PassOptions o) { return dot_f64(t, {}, o); },
            {bytes_of(a), bytes_of(b), zeros(8)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}},
            1,
            always(256),
            [a, b](const std::vector<Bytes>& after) {
                long double sum = 0;
                double bound = 0;
                for (size_t i = 0; i < kCount; ++i) {
                    sum += static_cast<long double>(a[i]) * b[i];
                    bound += std::abs(a[i] * b[i]) * 24 * 0x1p-53;  // 8 fma, 6 additions in the wave, 8 of the waves
                }
                return compare(values_of<double>(after[2]), {static_cast<double>(sum)}, {bound});
            }};
}

// Few values, so that some of those that are as high as the lowest must stay behind; the first element is one of them.
inline KernelCase highest_case() {
    constexpr uint32_t kRows = 2;
    const HighestSpec spec = highest_spec();
    const uint32_t stride = f32_row_bytes(spec.width) / 4;
    std::vector<float> x;
    for (const float value : random_floats(kRows * stride, -4, 4, 43)) x.push_back(std::round(value));
    for (uint32_t row = 0; row < kRows; ++row)
        x[row * stride] = highest_of(std::span(x).subspan(row * stride, spec.width)).back().logit;
    KernelCase result = op_case("highest", spec, kRows);
    result.buffers = {bytes_of(x), zeros(kRows * kHighest * sizeof(IndexedLogit))};
    result.args = {BufferIndex{0}, NullPointer{}, BufferIndex{1}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        const auto found = values_of<IndexedLogit>(after[1]);
        for (size_t row = 0; row < kRows; ++row)
            if (std::string wrong = compare_highest(std::span(x).subspan(row * stride, spec.width),
                                                    std::span(found).subspan(row * kHighest, kHighest));
                !wrong.empty())
                return wrong;
        return "";
    };
    return result;
}

inline KernelCase highest_parts_case() {
    const HighestSpec spec = highest_parts_spec();
    std::vector<float> x;
    for (const float value : random_floats(f32_row_bytes(spec.width) / 4, -60, 60, 44)) x.push_back(std::round(value));
    KernelCase result = op_case("highest_parts", spec, 1);
    result.buffers = {bytes_of(x), zeros(2 * kHighest * sizeof(IndexedLogit))};
    result.args = {BufferIndex{0}, BufferIndex{1}, NullPointer{}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) -> std::string {
        auto found = values_of<IndexedLogit>(after[1]);
        for (size_t part = 0; part < 2; ++part) {
            const auto list = std::span(found).subspan(part * kHighest, kHighest);
            for (IndexedLogit& each : list) each.index -= uint32_t(part) * kHighestPart;
            const size_t count = part == 0 ? kHighestPart : spec.width - kHighestPart;
            if (std::string wrong = compare_highest(std::span(x).subspan(part * kHighestPart, count), list);
                !wrong.empty())
                return wrong;
        }
        return "";
    };
    return result;
}

// Of each part's list the order does not matter, but for equal ones.
inline KernelCase highest_merge_case() {
    const HighestSpec spec = highest_merge_spec();
    std::vector<float> row(spec.width, -100);
    std::vector<IndexedLogit> lists;
    for (uint32_t i = 0; i < 2 * kHighest; ++i) {
        const uint32_t part = i / kHighest, index = part * kHighestPart + i % kHighest * 7;
        row[index] = float(i * 37 % 11);
        lists.push_back({row[index], index});
    }
    KernelCase result = op_case("highest_merge", spec, 1);
    result.buffers = {bytes_of(lists), zeros(kHighest * sizeof(IndexedLogit))};
    result.args = {NullPointer{}, BufferIndex{0}, BufferIndex{1}, NullPointer{}};
    result.wrong = [=](const std::vector<Bytes>& after) {
        return compare_highest(row, values_of<IndexedLogit>(after[1]));
    };
    return result;
}

inline std::vector<KernelCase> kernel_cases() {
    return {vector_add_case(),
            swiglu_case(),
            swiglu_i16_case(),
            activation_case(),
            rms_norm_case(),
            rms_norm_i16_case(),
            layer_norm_case(),
            quantize_case(),
            gather_rows_case(),
            elementwise_case(),
            elementwise_chain_case(),
            rope_case(),
            rope_keys_case(),
            value_store_case(),
            vector_attention_case(),
            tile_attention_case(),
            narrow_vector_attention_case(),
            narrow_tile_attention_case(),
            matmul_case(),
            matmul_minima_case(),
            matmul_tile_case(),
            matmul_float_case(),
            embed_case(),
            fused_matmul_case(),
            gated_matmul_case(),
            side_by_side_case(),
            highest_case(),
            highest_parts_case(),
            highest_merge_case(),
            softmax_case(),
            argmax_case(),
            gemv_q8_case(),
            matmul_f16_case(),
            transpose_case(),
            histogram_case(),
            grid_barrier_case(),
            reverse_copy_case(),
            dot_f64_case()};
}

// The ops at other shapes than above: waves of one to eight, rows of one round, of more, in pieces and of several
// workgroups, gaps between rows.
inline std::vector<KernelCase> shape_cases() {
    return {swiglu_case(3, 32),     swiglu_case(2, 96),       swiglu_case(2, 192),      swiglu_case(1, 2500),
            rms_norm_case(1, 32),   rms_norm_case(2, 99),     rms_norm_case(2, 192),    rms_norm_case(1, 4500),
            rms_norm_case(2, 9000), layer_norm_case(1, 2),    layer_norm_case(2, 9001), rope_case(1, 1, 64),
            rope_case(3, 1, 128),   rope_case(2, 5, 256, 64), rope_case(1, 2, 512)};
}

}  // namespace riftjit::rdna::kernels

// Products with packed weights and look-ups of rows. Integer sums are exact; what is rounded is counted where bounds
// are made.
#pragma once

#include <array>

#include "jit/rdna/kernels/packed.h"
#include "tests/jit/formats/random_blocks.h"
#include "tests/jit/rdna/kernels/kernel_case.h"

namespace riftjit::rdna::kernels {

// A matrix of a type whose blocks begin with their f16 numbers.
struct TestMatrix {
    DType type;
    uint32_t rows, width;
    Bytes file = {};

    TestMatrix(DType type_, uint32_t rows_, uint32_t width_, unsigned seed) : type(type_), rows(rows_), width(width_) {
        std::mt19937 generator(seed);
        for (uint64_t i = 0; i < uint64_t{rows} * width / traits(type).block_elements; ++i) {
            Bytes block = random_block(type, generator);
            for (size_t number = 0; number < (type == DType::Q4_K ? 2 : 1); ++number) {
                const uint16_t half = float_to_half(0x1p-5f + static_cast<float>(generator() % 512) * 0x1p-14f);
                std::memcpy(block.data() + 2 * number, &half, sizeof half);
            }
            file.insert(file.end(), block.begin(), block.end());
        }
    }

    Bytes packed() const {
        Bytes bytes(packed_bytes(type, rows, width));
        pack_panels(type, rows, width, file.data(), bytes.data(), 0, (rows + kPanelRows - 1) / kPanelRows);
        return bytes;
    }

    graph::WeightRow row(uint32_t number) const {
        return graph::weight_row(type, file.data() + number * row_bytes(type, width), width);
    }
};

using TestProduct = graph::Bounded;
using graph::plus;
using graph::quantisation_error;
inline TestProduct product_of(const TestMatrix& matrix, uint32_t row, const std::vector<double>& x,
                              const std::vector<double>& x_error = {}) {
    return graph::product_of(matrix.row(row), graph::product_roundings(matrix.type, matrix.width), x, x_error);
}

// Rows of RowFormat::i16, and their values.
struct CodeRows {
    Bytes bytes;
    std::vector<std::vector<double>> values;
};
inline CodeRows random_code_rows(uint32_t rows, uint32_t width, unsigned seed) {
    const I16Row layout{width};
    std::mt19937 generator(seed);
    CodeRows result{Bytes(size_t(rows) * layout.bytes()), std::vector<std::vector<double>>(rows)};
    for (uint32_t row = 0; row < rows; ++row) {
        std::byte* begin = result.bytes.data() + size_t(row) * layout.bytes();
        for (uint32_t block = 0; block < layout.blocks(); ++block) {
            std::byte* at = begin + block * I16Row::kBlockBytes;
            const float scale = static_cast<float>(1 + generator() % 1000) * 0x1p-20f;
            std::memcpy(begin + layout.scales_offset_bytes() + block * 4, &scale, sizeof scale);
            std::array<int32_t, 16> sums{};
            for (uint32_t i = 0; i < kI16Block && block * kI16Block + i < width; ++i) {
                const int code = int(generator() % (2 * kI16Max + 1)) - kI16Max;
                at[I16Row::kHighOffset + i] = std::byte(high_byte(code));
                at[I16Row::kLowOffset + i] = std::byte(low_byte(code));
                sums[i / 16] += code;
                result.values[row].push_back(double{scale} * code);
            }
            std::memcpy(at + I16Row::kSumsOffset, sums.data(), sizeof sums);
        }
    }
    return result;
}

// Rows of results, `stride` floats apart.
inline std::string compare_products(const Bytes& out, uint32_t stride,
                                    const std::vector<std::vector<TestProduct>>& expected) {
    const auto floats = values_of<float>(out);
    for (size_t row = 0; row < expected.size(); ++row) {
        std::vector<double> values, bounds;
        for (const TestProduct& product : expected[row]) {
            values.push_back(product.value);
            bounds.push_back(product.bound);
        }
        const auto begin = floats.begin() + static_cast<ptrdiff_t>(row * stride);
        const std::string wrong =
            compare(std::vector<float>(begin, begin + static_cast<ptrdiff_t>(values.size())), values, bounds);
        if (!wrong.empty()) return "row " + std::to_string(row) + ": " + wrong;
    }
    return "";
}

// The batch's rows are fewer than a tile has.
inline KernelCase product_case(std::string name, const MatmulSpec& spec, uint32_t rows) {
    const TestMatrix matrix(spec.weight, spec.rows, spec.width, 50);
    const auto bias = random_floats(round_up(spec.rows, 16), -9, 9, 51);
    const auto before = random_floats(size_t(rows) * spec.out_stride, -9, 9, 52);
    CodeRows x;
    if (is_float(spec.weight)) {
        const uint32_t stride = f32_row_bytes(spec.width) / 4;
        const auto floats = random_floats(size_t(rows) * stride, -3, 3, 53);
        x.bytes = bytes_of(floats);
        for (size_t row = 0; row < rows; ++row)
            x.values.emplace_back(floats.begin() + static_cast<ptrdiff_t>(row * stride),
                                  floats.begin() + static_cast<ptrdiff_t>(row * stride + spec.width));
    } else {
        x = random_code_rows(rows, spec.width, 54);
    }
    std::vector<std::vector<TestProduct>> expected(rows);
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t i = 0; i < spec.rows; ++i) {
            const double added = spec.bias == Presence::present ? bias[i] : 0;
            const double there = spec.epilogue == Epilogue::accumulate ? before[row * spec.out_stride + i] : 0;
            expected[row].push_back(plus(product_of(matrix, i, x.values[row]), added, there));
        }
    BatchState batch;
    batch.rows = rows;
    KernelCase result = op_case(std::move(name), spec, rows);
    result.buffers = {matrix.packed(), bytes_of(bias), x.bytes, bytes_of(before), bytes_of(std::vector{batch})};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}, BufferIndex{4}};
    result.wrong = [expected, spec](const std::vector<Bytes>& after) {
        return compare_products(after[3], spec.out_stride, expected);
    };
    return result;
}

inline KernelCase matmul_case() { return product_case("matmul", matmul_spec(), 1); }
inline KernelCase matmul_minima_case() { return product_case("matmul_minima", matmul_minima_spec(), 1); }
inline KernelCase matmul_tile_case() { return product_case("matmul_tile", matmul_tile_spec(), 11); }
inline KernelCase matmul_float_case() { return product_case("matmul_float", matmul_float_spec(), 8); }

inline KernelCase embed_case() {
    const EmbedSpec spec = embed_spec();
    const TestMatrix table(spec.weight, 40, spec.width, 55);
    const std::vector<int32_t> ids = {39, 0, 5};
    KernelCase result = op_case("embed", spec, uint32_t(ids.size()));
    result.buffers = {table.packed(), bytes_of(ids), zeros(ids.size() * f32_row_bytes(spec.width))};
    result.args = {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, NullPointer{}};
    std::vector<std::vector<TestProduct>> expected(ids.size());
    for (size_t token = 0; token < ids.size(); ++token)
        for (const double value : table.row(uint32_t(ids[token])).values)
            expected[token].push_back({value, std::abs(value) * kUlp});  // products are exact, and one fma rounds
    result.wrong = [expected, stride = f32_row_bytes(spec.width) / 4](const std::vector<Bytes>& after) {
        return compare_products(after[2], stride, expected);
    };
    return result;
}

// A quantised row, and what lies there is added to.
inline KernelCase fused_matmul_case() {
    const FusedMatmulSpec spec = fused_matmul_spec();
    const MatmulSpec& product = spec.product;
    const TestMatrix matrix(product.weight, product.rows, product.width, 56);
    const auto x = random_floats(f32_row_bytes(product.width) / 4, -3, 3, 57);
    const auto before = random_floats(product.out_stride, -9, 9, 58);
    const std::vector<double> values(x.begin(), x.begin() + product.width);
    std::vector<TestProduct> expected;
    for (uint32_t i = 0; i < product.rows; ++i)
        expected.push_back(plus(product_of(matrix, i, values, quantisation_error(values, 0)), 0, before[i]));
    KernelCase result = op_case("fused_matmul", spec, 1);
    result.buffers = {matrix.packed(), bytes_of(x), bytes_of(before)};
    result.args = {BufferIndex{0}, NullPointer{},  NullPointer{}, BufferIndex{1},
                   NullPointer{},  BufferIndex{2}, NullPointer{}};
    result.wrong = [expected](const std::vector<Bytes>& after) { return compare_products(after[2], 0, {expected}); };
    return result;
}

// A normed row, and two matrices, of which one gates the other.
inline KernelCase gated_matmul_case() {
    const FusedMatmulSpec spec = gated_matmul_spec();
    const MatmulSpec& product = spec.product;
    const TestMatrix gate_matrix(product.weight, product.rows, product.width, 59),
        up_matrix(product.weight, product.rows, product.width, 60);
    // Small enough that gates are not all open or closed.
    const auto x = random_floats(f32_row_bytes(product.width) / 4, -3, 3, 61),
               gain = random_floats(product.width, 0.001f, 0.002f, 62);
    const std::vector<double> normed = rms_norm_of(x.data(), gain);
    const std::vector<double> error = quantisation_error(normed, rms_norm_error(product.width));
    std::vector<TestProduct> expected;
    for (uint32_t i = 0; i < product.rows; ++i) {
        const TestProduct gate = product_of(gate_matrix, i, normed, error),
                          up = product_of(up_matrix, i, normed, error);
        expected.push_back(graph::gated(gate, up));
    }
    KernelCase result = op_case("gated_matmul", spec, 1);
    result.buffers = {gate_matrix.packed(), up_matrix.packed(), bytes_of(x), bytes_of(gain),
                      zeros(product.out_stride * 4)};
    result.args = {BufferIndex{0}, BufferIndex{1}, NullPointer{}, BufferIndex{2},
                   BufferIndex{3}, BufferIndex{4}, NullPointer{}};
    result.wrong = [expected](const std::vector<Bytes>& after) { return compare_products(after[4], 0, {expected}); };
    return result;
}

}  // namespace riftjit::rdna::kernels

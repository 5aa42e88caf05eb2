// A weight matrix for tests: in the file's layout, packed, and as values; and activation rows with the values they
// hold.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/dequantize.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/rows.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/jit/x86/ops/row_reference.h"

namespace riftjit::x86 {

// 64-byte aligned bytes that end at an unmapped page, up to the alignment.
class AlignedBuffer {
public:
    explicit AlignedBuffer(size_t bytes) : buffer_(round_up(std::max<size_t>(bytes, 1), 64)) {}
    std::byte* data() const { return buffer_.data(); }
    size_t bytes() const { return buffer_.bytes(); }

private:
    GuardedBuffer<std::byte> buffer_;
};

struct WeightsUnderTest {
    WeightsUnderTest(DType weight_type, uint32_t row_count, uint32_t row_width, std::vector<std::byte> rows_in_file)
        : type(weight_type),
          rows(row_count),
          width(row_width),
          file(std::move(rows_in_file)),
          packed(packed_bytes(type, rows, width)),
          values(size_t(rows) * width) {
        GuardedBuffer<std::byte> source(file.size());
        std::ranges::copy(file, source.data());
        pack_panels(type, rows, width, source.data(), packed.data(), 0, panels());
        for (uint32_t row = 0; row < rows; ++row)
            graph::dequantize_row(type, &file[row * row_bytes(type, width)], width, &values[size_t(row) * width]);
    }
    WeightsUnderTest(DType weight_type, uint32_t row_count, uint32_t row_width)
        : WeightsUnderTest(weight_type, row_count, row_width,
                           random_weights(weight_type, row_count, row_width, 17 + static_cast<uint64_t>(weight_type))) {
    }

    uint32_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
    std::span<const float> row(uint32_t index) const { return std::span(values).subspan(size_t(index) * width, width); }

    DType type;
    uint32_t rows, width;
    std::vector<std::byte> file;
    AlignedBuffer packed;
    std::vector<float> values;
};

struct RowsUnderTest {
    RowsUnderTest(RowFormat row_format, uint32_t row_count, uint32_t row_width, std::span<const float> values)
        : format(row_format),
          count(row_count),
          width(row_width),
          stride(activation_row_bytes(format, width)),
          bytes(size_t(stride) * count) {
        for (uint32_t row = 0; row < count; ++row) {
            const auto encoded = reference_row(format, values.subspan(size_t(row) * width, width));
            std::ranges::copy(encoded, bytes.data() + size_t(row) * stride);
        }
    }
    // What the stored row stands for.
    double value(uint32_t row, uint32_t element) const {
        const std::byte* at = bytes.data() + size_t(row) * stride;
        if (format == RowFormat::f32) return reinterpret_cast<const float*>(at)[element];
        if (format == RowFormat::bf16) return bfloat_to_float(reinterpret_cast<const uint16_t*>(at)[element]);
        if (format == RowFormat::i8)
            return double(reinterpret_cast<const int8_t*>(at)[quad_place(element)]) * scale(row, element);
        return double(reinterpret_cast<const int16_t*>(at)[element]) * scale(row, element);
    }
    double scale(uint32_t row, uint32_t element) const {
        const std::byte* at = bytes.data() + size_t(row) * stride;
        if (format == RowFormat::i8)
            return reinterpret_cast<const float*>(
                at + I8Row{width}.array_offset_bytes(I8Row::Array::scales, kI8Block))[element / kI8Block];
        return reinterpret_cast<const float*>(at + I16Row{width, format}.scales_offset_bytes())[element / kI16Block];
    }

    RowFormat format;
    uint32_t count, width, stride;
    AlignedBuffer bytes;
};

inline std::vector<float> random_values(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = random.normal();
    return values;
}

}  // namespace riftjit::x86

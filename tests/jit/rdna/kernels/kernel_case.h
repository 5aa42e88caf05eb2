// A launch of a kernel with its inputs, and what must come out, computed in double. Each bound is argued where it
// stands; kUlp is half a unit in the last place of a float near 1.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/kernel_error.h"
#include "host/half.h"
#include "jit/batch.h"
#include "jit/rdna/kernels/rows.h"
#include "tests/jit/rdna/kernels/samples/all_kernels.h"

namespace riftjit::rdna::kernels {

using Bytes = std::vector<std::byte>;
inline constexpr double kUlp = graph::kRounding;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}
template <class T>
std::vector<T> values_of(const Bytes& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

struct BufferIndex {
    size_t value;
};
struct NullPointer {};  // a field of the args that the kernel does not look at

// At `offset` of a buffer stands the address of buffer `target`.
struct PointerBetween {
    size_t buffer, offset, target;
};

struct KernelCase {
    std::string name;
    std::function<Result<KernelProgram>(KernelTarget, PassOptions)> assemble;
    std::vector<Bytes> buffers;                                          // contents before the launch
    std::vector<std::variant<BufferIndex, NullPointer, uint32_t>> args;  // in the kernel's order
    uint32_t groups = 0;
    std::function<uint32_t(uint32_t lanes)> group_lanes;
    // Empty when the buffers hold what they should after the launch, otherwise what is wrong.
    std::function<std::string(const std::vector<Bytes>&)> wrong;
    bool runs_in_wave64 = true;
    std::vector<PointerBetween> pointers = {};
    std::optional<size_t> scratch = {};  // the buffer of which it does not matter what is left there
};

// The batch in device memory, as buffers of the case; returns that of its BatchState.
inline BufferIndex add_batch(KernelCase& test, const std::vector<BatchRow>& rows, const std::vector<uint32_t>& pages,
                             uint32_t pages_per_sequence) {
    Batch batch{uint32_t(rows.size())};
    for (const BatchRow& row : rows) batch.add(row);
    const BatchState& state = batch.finish(pages.data(), pages_per_sequence);
    const size_t index = test.buffers.size();
    const auto add = [&]<class T>(const T* begin, size_t count) {
        const auto bytes = std::as_bytes(std::span(begin, count));
        test.buffers.emplace_back(bytes.begin(), bytes.end());
    };
    const auto add_pointed_to = [&](size_t offset, const auto* begin, size_t count) {
        if (count == 0) return;
        test.pointers.push_back({index, offset, test.buffers.size()});
        add(begin, count);
    };
    add(&state, 1);
    add_pointed_to(offsetof(BatchState, row), state.row, state.rows);
    add_pointed_to(offsetof(BatchState, tile), state.tile, state.tiles);
    add_pointed_to(offsetof(BatchState, single), state.single, state.singles);
    add_pointed_to(offsetof(BatchState, pages), pages.data(), pages.size());
    return {index};
}

inline std::vector<float> random_floats(size_t count, float low, float high, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<float> values(count);
    // Not uniform_real_distribution: its results differ between libraries.
    for (float& value : values) value = low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
    return values;
}

template <class T>
std::string compare(const std::vector<T>& got, const std::vector<double>& expected, const std::vector<double>& bound) {
    for (size_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(static_cast<double>(got[i]) - expected[i]) <= bound[i]))
            return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
                   std::to_string(expected[i]) + " within " + std::to_string(bound[i]);
    return "";
}

template <class T>
std::string compare_exactly(const std::vector<T>& got, const std::vector<T>& expected) {
    for (size_t i = 0; i < expected.size(); ++i)
        if (got[i] != expected[i])
            return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
                   std::to_string(expected[i]);
    return "";
}

inline Bytes zeros(size_t bytes) { return Bytes(bytes); }
inline auto always(uint32_t lanes) {
    return [lanes](uint32_t) { return lanes; };
}

// Launches are those that the specs ask for, whatever the target.
inline LaunchShape launch_of(const KernelSpec& spec) { return launch_shape({Target::gfx1100}, spec).value(); }

inline KernelCase op_case(std::string name, const KernelSpec& spec, uint32_t rows) {
    const LaunchShape shape = launch_of(spec);
    KernelCase result;
    result.name = std::move(name);
    result.assemble = [spec](KernelTarget t, PassOptions o) { return kernel_program(t, spec, o); };
    result.groups = shape.grid(rows);
    result.group_lanes = always(shape.lanes);
    result.runs_in_wave64 = launch_shape({Target::gfx1100, WaveSize::wave64}, spec).has_value();
    return result;
}

// A row of RowFormat::i16, of which `before` was the relative error of the block's largest element before it was
// quantised: codes are off by half a scale, and the sums are those of the codes.
inline std::string compare_i16(const std::byte* row, const std::vector<double>& expected, double before) {
    const I16Row layout{static_cast<uint32_t>(expected.size())};
    std::vector<float> scales(layout.blocks());
    std::memcpy(scales.data(), row + layout.scales_offset_bytes(), scales.size() * sizeof(float));
    for (size_t block = 0; block < layout.blocks(); ++block) {
        const std::byte* at = row + block * I16Row::kBlockBytes;
        std::vector<double> got,
            wanted(
                expected.begin() + static_cast<ptrdiff_t>(block * kI16Block),
                expected.begin() + static_cast<ptrdiff_t>(std::min<size_t>((block + 1) * kI16Block, expected.size())));
        wanted.resize(kI16Block);  // zeros behind the row
        std::vector<int32_t> sums(16), stored(16);
        std::memcpy(stored.data(), at + I16Row::kSumsOffset, 64);
        for (size_t i = 0; i < kI16Block; ++i) {
            const int code = 128 * int(int8_t(at[I16Row::kHighOffset + i])) + int(int8_t(at[I16Row::kLowOffset + i]));
            got.push_back(double{scales[block]} * code);
            sums[i / 16] += code;
        }
        const std::vector<double> bound = graph::quantisation_error(wanted, before);
        if (std::string wrong = compare(got, wanted, bound); !wrong.empty())
            return "block " + std::to_string(block) + ": " + wrong;
        if (std::string wrong = compare_exactly(stored, sums); !wrong.empty())
            return "sums of block " + std::to_string(block) + ": " + wrong;
    }
    return "";
}

using graph::kSwigluError;
using graph::rms_norm_error;
using graph::swiglu_of;

inline std::vector<double> rms_norm_of(const float* x, const std::vector<float>& gain) {
    const size_t width = gain.size();
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += double{x[i]} * x[i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(width) + double{1e-5f});
    std::vector<double> result;
    for (size_t i = 0; i < width; ++i) result.push_back(x[i] * scale * gain[i]);
    return result;
}

}  // namespace riftjit::rdna::kernels

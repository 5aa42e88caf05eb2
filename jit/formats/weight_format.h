// The weight types of GGUF as data: where the fields of a block lie, and a straight-line program that makes its
// elements of them. A back end reads from it what to pack, what to compute and how far integers grow (weight_bounds.h);
// loops, memory and tiling are its own. Sources: GGUF specification, ggml-common.h, ggml-quants.c.
//
// A lane program computes on every element of a block alone. Step i defines value i, an i32 or an f32; operands are
// earlier steps. A value that several elements share is the same for each of them, and analyse() says how many share
// it. The parts of an element, all of which but the scale may be missing, stand for
//
//   code * multiplier * scale + offset              or
//   code * multiplier * scale - minimum * minimum_scale
//
// in real numbers. The file decoder's f32 result (lane_reference.h) multiplies scale by multiplier, then by code, which
// is exact (WeightBounds::is_exact), and rounds the sum once. Without a code the scale is the element itself.
//
// To make a back end's code of a program, walk `steps` in order. Where a `field` step stands, load the field as it was
// packed: its value number is element / field.span. `position` and what is computed from it and constants alone is
// known while emitting, if an instruction handles one element of many rows; if its lanes are elements, it is a constant
// of each lane. Steps whose span is at least the group go before the loop over elements.
// tests/jit/formats/lane_walk_test.cpp makes instructions of 32 lanes from every program this way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "host/result.h"
#include "jit/formats/dtype.h"
#include "jit/formats/quant_grids.h"

namespace riftjit {

template <class T, size_t most>
class FixedList {
public:
    constexpr FixedList() = default;
    constexpr FixedList(std::initializer_list<T> items) {
        for (const T& item : items) push_back(item);
    }
    constexpr void push_back(const T& item) { items_.at(count_++) = item; }
    constexpr size_t size() const { return count_; }
    constexpr const T& operator[](size_t index) const { return items_[index]; }
    constexpr const T* begin() const { return items_.data(); }
    constexpr const T* end() const { return items_.data() + count_; }

private:
    std::array<T, most> items_{};
    uint8_t count_ = 0;
};

// ---- fields ---------------------------------------------------------------------------------------------------------

// `extent` values, `stride` bits from each to the next.
struct Axis {
    uint16_t extent = 1, stride = 0;
};

// Equally wide runs of bits, one for each value from first_value on: value first_value + i has digits i % extent(0),
// i / extent(0) % extent(1) ... along the axes, each of which moves it by its stride. Bit b of a block is bit b % 8 of
// byte b / 8.
struct BitPlane {
    uint16_t first_bit;
    uint8_t bits;
    FixedList<Axis, 4> axes;
    uint8_t to_bit = 0;  // of the value
    uint16_t first_value = 0;

    constexpr uint32_t values() const {
        uint32_t product = 1;
        for (const Axis& axis : axes) product *= axis.extent;
        return product;
    }
    constexpr uint32_t bit_of(uint32_t value) const {
        uint32_t bit = first_bit, rest = value - first_value;
        for (const Axis& axis : axes) {
            bit += rest % axis.extent * axis.stride;
            rest /= axis.extent;
        }
        return bit;
    }
};

enum class FieldRole : uint8_t {
    element,        // of the float types
    scale,          // of the block or a part of it, a float
    offset,         // likewise
    minimum_scale,  // likewise
    sub_scale,      // of a part of the block, an integer
    sub_minimum,    // likewise
    code,           // of an element
    digits,         // a byte of five ternary digits
    grid_row,       // of 8 or 4 elements
    signs,          // a bit for each of 8 elements, or one for all, set where they are negative (lowered, in IQ1)
};

struct BitField {
    FieldRole role;
    uint16_t span;  // elements that share a value
    bool is_signed = false;
    FixedList<BitPlane, 4> planes;  // each gives some bits of the values, lowest first, or all bits of some values

    constexpr uint32_t bits() const {
        uint32_t most = 0;
        for (const BitPlane& plane : planes) most = most < plane.to_bit + plane.bits ? plane.to_bit + plane.bits : most;
        return most;
    }
};

// Bits of a field's value number `index`, without sign extension. To read many: field_reader.h.
uint32_t read_value(const BitField& field, const std::byte* block, uint32_t index);

// ---- lane programs --------------------------------------------------------------------------------------------------

enum class LaneOp : uint8_t {
    // Integers.
    field,        // value element / span of field `index`
    position,     // element / index % constant
    constant,     // `constant`
    lookup,       // entry a of LaneTable(`index`)
    add,          // a + b
    subtract,     // a - b
    multiply,     // a * b
    shift_right,  // a >> b, a >= 0
    bit_and,      // a & b, both >= 0
    parity,       // of the bits of a
    // Numbers.
    number,  // the f32 that the bits of a mean in NumberFormat(`index`)
    times,   // a * 2^constant, exact
};

// Operands, from a on, that an op has.
constexpr uint32_t operand_count(LaneOp op) {
    switch (op) {
        case LaneOp::field:
        case LaneOp::position:
        case LaneOp::constant:
            return 0;
        case LaneOp::lookup:
        case LaneOp::parity:
        case LaneOp::number:
        case LaneOp::times:
            return 1;
        default:
            return 2;
    }
}

enum class NumberFormat : uint8_t {
    f32,
    f16,
    bf16,
    e8m0_half,  // 2^(bits - 128): half of what E8M0 says; 0 and 1 give subnormal f32
    ue4m3,      // unsigned E4M3, bias 7; bit 7 is ignored but that only 0x00 and 0x7f (and 0x80) are 0
};

enum class LaneTable : uint8_t { iq2xxs, iq2xs, iq2s, iq3xxs, iq3s, iq1s, nonlinear, fp4, ternary_powers };

// A grid's entries follow each other row by row. ternary_powers: 3^n, n the digit of TQ1_0's elements 4i to 4i + 3.
std::span<const int8_t> lane_table(LaneTable table);

struct LaneStep {
    LaneOp op;
    uint8_t a = 0, b = 0;
    uint16_t index = 0;
    int32_t constant = 0;
};

inline constexpr uint8_t kNoStep = 0xff;

// Steps that hold the parts of an element.
struct LaneResults {
    uint8_t code = kNoStep, multiplier = kNoStep, scale = kNoStep, offset = kNoStep, minimum = kNoStep,
            minimum_scale = kNoStep;
};

struct WeightFormat {
    DType type;
    FixedList<BitField, 6> fields;  // together every bit of the block, once
    FixedList<LaneStep, 28> steps;
    LaneResults results;

    constexpr const BitField& field(FieldRole role) const {  // the format has it
        for (const BitField& field : fields)
            if (field.role == role) return field;
        check_failed("a field that the format has", std::source_location::current());
    }
};

// `type` holds weights.
const WeightFormat& weight_format(DType type);
std::span<const WeightFormat> weight_formats();

}  // namespace riftjit

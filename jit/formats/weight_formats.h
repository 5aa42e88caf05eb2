// The table of weight formats: one function per type or family of types, evaluated by the compiler. To read the formats
// include weight_format.h, to read blocks field_reader.h.
#pragma once

#include "jit/formats/weight_format.h"

namespace riftjit::formats {

using enum FieldRole;
using enum NumberFormat;

// ---- how a format is written down -----------------------------------------------------------------------------------

// A step of the format under construction.
struct Value {
    WeightFormat* format = nullptr;
    uint8_t step = kNoStep;
};

constexpr Value append(WeightFormat& format, const LaneStep& step) {
    format.steps.push_back(step);
    return {&format, static_cast<uint8_t>(format.steps.size() - 1)};
}
constexpr Value constant(WeightFormat& format, int32_t value) {
    for (size_t i = 0; i < format.steps.size(); ++i)
        if (format.steps[i].op == LaneOp::constant && format.steps[i].constant == value)
            return {&format, static_cast<uint8_t>(i)};
    return append(format, {.op = LaneOp::constant, .constant = value});
}
constexpr Value binary(LaneOp op, Value a, Value b) { return append(*a.format, {.op = op, .a = a.step, .b = b.step}); }
constexpr Value binary(LaneOp op, Value a, int32_t b) { return binary(op, a, constant(*a.format, b)); }

constexpr Value operator+(Value a, Value b) { return binary(LaneOp::add, a, b); }
constexpr Value operator+(Value a, int32_t b) { return binary(LaneOp::add, a, b); }
constexpr Value operator-(Value a, int32_t b) { return binary(LaneOp::subtract, a, b); }
constexpr Value operator-(int32_t a, Value b) {
    const Value left = constant(*b.format, a);
    return binary(LaneOp::subtract, left, b);
}
constexpr Value operator*(Value a, Value b) { return binary(LaneOp::multiply, a, b); }
constexpr Value operator*(Value a, int32_t b) { return binary(LaneOp::multiply, a, b); }
constexpr Value operator>>(Value a, Value b) { return binary(LaneOp::shift_right, a, b); }
constexpr Value operator>>(Value a, int32_t b) { return binary(LaneOp::shift_right, a, b); }
constexpr Value operator&(Value a, int32_t b) { return binary(LaneOp::bit_and, a, b); }

constexpr Value parity(Value a) { return append(*a.format, {.op = LaneOp::parity, .a = a.step}); }
constexpr Value look_up(LaneTable table, Value a) {
    return append(*a.format, {.op = LaneOp::lookup, .a = a.step, .index = static_cast<uint16_t>(table)});
}
constexpr Value times_power_of_2(Value a, int32_t exponent) {
    return append(*a.format, {.op = LaneOp::times, .a = a.step, .constant = exponent});
}

constexpr uint16_t at(uint32_t byte, uint32_t bit = 0) { return static_cast<uint16_t>(8 * byte + bit); }

class Author {
public:
    constexpr Author(DType type, uint16_t block_elements) : block_(block_elements) { format_.type = type; }

    constexpr Value field(FieldRole role, uint16_t span, std::initializer_list<BitPlane> planes) {
        return add_field({.role = role, .span = span, .planes = planes});
    }
    constexpr Value signed_field(FieldRole role, uint16_t span, const BitPlane& plane) {
        return add_field({.role = role, .span = span, .is_signed = true, .planes = {plane}});
    }
    constexpr Value block_field(FieldRole role, std::initializer_list<BitPlane> planes) {
        return field(role, block_, planes);
    }
    constexpr Value number(NumberFormat number_format, Value bits) {
        return append(format_, {.op = LaneOp::number, .a = bits.step, .index = static_cast<uint16_t>(number_format)});
    }
    constexpr Value half(FieldRole role, uint32_t byte) { return number(f16, block_field(role, {{at(byte), 16}})); }
    constexpr Value position(uint16_t divisor, int32_t modulus) {
        return append(format_, {.op = LaneOp::position, .index = divisor, .constant = modulus});
    }

    struct Parts {
        Value code, multiplier, scale, offset, minimum, minimum_scale;
    };
    constexpr WeightFormat finish(const Parts& parts) {
        format_.results = {.code = parts.code.step,
                           .multiplier = parts.multiplier.step,
                           .scale = parts.scale.step,
                           .offset = parts.offset.step,
                           .minimum = parts.minimum.step,
                           .minimum_scale = parts.minimum_scale.step};
        return format_;
    }

private:
    constexpr Value add_field(const BitField& field) {
        format_.fields.push_back(field);
        return append(format_, {.op = LaneOp::field, .index = static_cast<uint16_t>(format_.fields.size() - 1)});
    }

    WeightFormat format_{};
    uint16_t block_;
};

// ---- plain ----------------------------------------------------------------------------------------------------------

constexpr WeightFormat plain(DType type, NumberFormat number, uint8_t bits) {
    Author f(type, 1);
    return f.finish({.scale = f.number(number, f.block_field(element, {{at(0), bits}}))});
}

// ---- blocks of 32 ---------------------------------------------------------------------------------------------------

// Byte j holds element j in its low nibble and element j + 16 in its high one.
constexpr BitPlane nibbles32(uint32_t byte) { return {at(byte), 4, {{16, 8}, {2, 4}}}; }
constexpr BitPlane fifth_bits32(uint32_t byte) { return {at(byte), 1, {{32, 1}}, 4}; }

constexpr WeightFormat q4_0() {
    Author f(DType::Q4_0, 32);
    const Value d = f.half(scale, 0);
    return f.finish({.code = f.field(code, 1, {nibbles32(2)}) - 8, .scale = d});
}

constexpr WeightFormat q4_1() {
    Author f(DType::Q4_1, 32);
    const Value d = f.half(scale, 0), m = f.half(offset, 2);
    return f.finish({.code = f.field(code, 1, {nibbles32(4)}), .scale = d, .offset = m});
}

constexpr WeightFormat q5_0() {
    Author f(DType::Q5_0, 32);
    const Value d = f.half(scale, 0);
    return f.finish({.code = f.field(code, 1, {nibbles32(6), fifth_bits32(2)}) - 16, .scale = d});
}

constexpr WeightFormat q5_1() {
    Author f(DType::Q5_1, 32);
    const Value d = f.half(scale, 0), m = f.half(offset, 2);
    return f.finish({.code = f.field(code, 1, {nibbles32(8), fifth_bits32(4)}), .scale = d, .offset = m});
}

constexpr WeightFormat q8_0() {
    Author f(DType::Q8_0, 32);
    const Value d = f.half(scale, 0);
    return f.finish({.code = f.signed_field(code, 1, {at(2), 8, {{32, 8}}}), .scale = d});
}

// ---- codebooks ------------------------------------------------------------------------------------------------------

constexpr WeightFormat iq4_nl() {
    Author f(DType::IQ4_NL, 32);
    const Value d = f.half(scale, 0);
    return f.finish({.code = look_up(LaneTable::nonlinear, f.field(code, 1, {nibbles32(2)})), .scale = d});
}

constexpr WeightFormat iq4_xs() {
    Author f(DType::IQ4_XS, 256);
    const Value d = f.half(scale, 0);
    const Value m = f.field(sub_scale, 32, {{at(4), 4, {{8, 4}}}, {at(2), 2, {{8, 2}}, 4}});
    const Value q = f.field(code, 1, {{at(8), 4, {{16, 8}, {2, 4}, {8, 128}}}});
    return f.finish({.code = look_up(LaneTable::nonlinear, q), .multiplier = m - 32, .scale = d});
}

// The codebook holds twice the values.
constexpr WeightFormat mxfp4() {
    Author f(DType::MXFP4, 32);
    const Value d = f.number(e8m0_half, f.block_field(scale, {{at(0), 8}}));
    return f.finish({.code = look_up(LaneTable::fp4, f.field(code, 1, {nibbles32(1)})), .scale = d});
}

constexpr WeightFormat nvfp4() {
    Author f(DType::NVFP4, 64);
    const Value d = f.number(ue4m3, f.field(scale, 16, {{at(0), 8, {{4, 8}}}}));
    const Value q = f.field(code, 1, {{at(4), 4, {{8, 8}, {2, 4}, {4, 64}}}});
    return f.finish({.code = look_up(LaneTable::fp4, q), .scale = times_power_of_2(d, -1)});
}

// ---- one and two bits, ternary --------------------------------------------------------------------------------------

// Four codes per byte, 32 elements apart.
constexpr BitPlane crumbs256(uint32_t byte) { return {at(byte), 2, {{32, 8}, {4, 2}, {2, 256}}}; }

constexpr WeightFormat q1_0() {
    Author f(DType::Q1_0, 128);
    const Value d = f.half(scale, 0);
    return f.finish({.code = f.field(code, 1, {{at(2), 1, {{128, 1}}}}) * 2 - 1, .scale = d});
}

constexpr WeightFormat q2_0() {
    Author f(DType::Q2_0, 64);
    const Value d = f.half(scale, 0);
    return f.finish({.code = f.field(code, 1, {{at(2), 2, {{64, 2}}}}) - 1, .scale = d});
}

constexpr WeightFormat tq2_0() {
    Author f(DType::TQ2_0, 256);
    const Value d = f.half(scale, 64);
    return f.finish({.code = f.field(code, 1, {crumbs256(0)}) - 1, .scale = d});
}

// Five base-3 digits as a fraction of 256; digit n is floor(3 * fraction(byte * 3^n / 256)). Bytes 0 to 31 hold digits
// of the elements below 160, 32 apart; 32 to 47 of those below 240, 16 apart; the last four of the rest.
constexpr WeightFormat tq1_0() {
    Author f(DType::TQ1_0, 256);
    const Value d = f.half(scale, 52);
    const Value byte = f.field(
        digits, 1,
        {{at(0), 8, {{32, 8}, {5, 0}}}, {at(32), 8, {{16, 8}, {5, 0}}, 0, 160}, {at(48), 8, {{4, 8}, {4, 0}}, 0, 240}});
    const Value power = look_up(LaneTable::ternary_powers, f.position(4, 64));
    return f.finish({.code = ((byte * power & 255) * 3 >> 8) - 1, .scale = d});
}

// ---- K-quants -------------------------------------------------------------------------------------------------------

constexpr WeightFormat q2_k() {
    Author f(DType::Q2_K, 256);
    const Value d = f.half(scale, 80), dmin = f.half(minimum_scale, 82);
    const Value m = f.field(sub_scale, 16, {{at(0), 4, {{16, 8}}}});
    const Value n = f.field(sub_minimum, 16, {{at(0, 4), 4, {{16, 8}}}});
    const Value q = f.field(code, 1, {crumbs256(16)});
    return f.finish({.code = q, .multiplier = m, .scale = d, .minimum = n, .minimum_scale = dmin});
}

constexpr WeightFormat q3_k() {
    Author f(DType::Q3_K, 256);
    const Value d = f.half(scale, 108);
    const Value m = f.field(sub_scale, 16, {{at(96), 4, {{8, 8}, {2, 4}}}, {at(104), 2, {{4, 8}, {4, 2}}, 4}});
    const Value q = f.field(code, 1, {crumbs256(32), {at(0), 1, {{32, 8}, {8, 1}}, 2}});
    return f.finish({.code = q - 4, .multiplier = m - 32, .scale = d});
}

// Q4_K and Q5_K. Scales and minima 0 to 3 are the low six bits of bytes 0 to 3 and 4 to 7; of 4 to 7 the low four bits
// are the nibbles of bytes 8 to 11, and the high two those on top of bytes 0 to 3 and 4 to 7.
enum class FifthBits : uint8_t { absent, present };

constexpr WeightFormat k_with_minima(DType type, FifthBits fifth_bits) {
    Author f(type, 256);
    const Value d = f.half(scale, 0), dmin = f.half(minimum_scale, 2);
    const Value m = f.field(sub_scale, 32, {{at(4), 4, {{4, 8}, {2, 64}}}, {at(4, 4), 2, {{4, 8}, {2, 2}}, 4}});
    const Value n = f.field(sub_minimum, 32, {{at(8), 4, {{4, 8}, {2, 36}}}, {at(8, 4), 2, {{4, 8}, {2, 2}}, 4}});
    const auto nibbles = [](uint32_t byte) { return BitPlane{at(byte), 4, {{32, 8}, {2, 4}, {4, 256}}}; };
    const Value q = fifth_bits == FifthBits::absent
                        ? f.field(code, 1, {nibbles(16)})
                        : f.field(code, 1, {nibbles(48), {at(16), 1, {{32, 8}, {8, 1}}, 4}});
    return f.finish({.code = q, .multiplier = m, .scale = d, .minimum = n, .minimum_scale = dmin});
}

constexpr WeightFormat q6_k() {
    Author f(DType::Q6_K, 256);
    const Value d = f.half(scale, 208);
    const Value m = f.signed_field(sub_scale, 16, {at(192), 8, {{16, 8}}});
    const BitPlane low{at(0), 4, {{32, 8}, {2, 256}, {2, 4}, {2, 512}}};
    const BitPlane high{at(128), 2, {{32, 8}, {4, 2}, {2, 256}}, 4};
    return f.finish({.code = f.field(code, 1, {low, high}) - 32, .multiplier = m, .scale = d});
}

// ---- grids ----------------------------------------------------------------------------------------------------------

// `signs` has a bit for each of eight elements: 1, or -1 where the element's bit is set.
constexpr Value sign_factor(Author& f, Value signs) { return 1 - (signs >> f.position(1, 8) & 1) * 2; }
// The eighth bit makes the number of set bits even.
constexpr Value sign_factor_of_seven(Author& f, Value signs) { return sign_factor(f, signs + parity(signs) * 128); }

// The element's entry of a row of `columns`.
constexpr Value grid_entry(Author& f, LaneTable grid, Value row, int32_t columns) {
    return look_up(grid, row * columns + f.position(1, columns));
}

// d * (s + 1/2) / 4 = d/8 * (2s + 1).
constexpr WeightFormat iq2_xxs() {
    Author f(DType::IQ2_XXS, 256);
    const Value d = times_power_of_2(f.half(scale, 0), -3);
    const Value row = f.field(grid_row, 8, {{at(2), 8, {{4, 8}, {8, 64}}}});
    const Value sign = sign_factor_of_seven(f, f.field(signs, 8, {{at(6), 7, {{4, 7}, {8, 64}}}}));
    const Value s = f.field(sub_scale, 32, {{at(6, 28), 4, {{8, 64}}}});
    return f.finish({.code = grid_entry(f, LaneTable::iq2xxs, row, 8) * sign, .multiplier = s * 2 + 1, .scale = d});
}

constexpr WeightFormat iq2_xs() {
    Author f(DType::IQ2_XS, 256);
    const Value d = times_power_of_2(f.half(scale, 0), -3);
    const Value row = f.field(grid_row, 8, {{at(2), 9, {{32, 16}}}});
    const Value sign = sign_factor_of_seven(f, f.field(signs, 8, {{at(2, 9), 7, {{32, 16}}}}));
    const Value s = f.field(sub_scale, 16, {{at(66), 4, {{16, 4}}}});
    return f.finish({.code = grid_entry(f, LaneTable::iq2xs, row, 8) * sign, .multiplier = s * 2 + 1, .scale = d});
}

constexpr WeightFormat iq2_s() {
    Author f(DType::IQ2_S, 256);
    const Value d = times_power_of_2(f.half(scale, 0), -3);
    const Value row = f.field(grid_row, 8, {{at(2), 8, {{32, 8}}}, {at(66), 2, {{32, 2}}, 8}});
    const Value sign = sign_factor(f, f.field(signs, 8, {{at(34), 8, {{32, 8}}}}));
    const Value s = f.field(sub_scale, 16, {{at(74), 4, {{16, 4}}}});
    return f.finish({.code = grid_entry(f, LaneTable::iq2s, row, 8) * sign, .multiplier = s * 2 + 1, .scale = d});
}

// d * (s + 1/2) / 2 = d/4 * (2s + 1).
constexpr WeightFormat iq3_xxs() {
    Author f(DType::IQ3_XXS, 256);
    const Value d = times_power_of_2(f.half(scale, 0), -2);
    const Value row = f.field(grid_row, 4, {{at(2), 8, {{64, 8}}}});
    const Value sign = sign_factor_of_seven(f, f.field(signs, 8, {{at(66), 7, {{4, 7}, {8, 32}}}}));
    const Value s = f.field(sub_scale, 32, {{at(66, 28), 4, {{8, 32}}}});
    return f.finish({.code = grid_entry(f, LaneTable::iq3xxs, row, 4) * sign, .multiplier = s * 2 + 1, .scale = d});
}

constexpr WeightFormat iq3_s() {
    Author f(DType::IQ3_S, 256);
    const Value d = f.half(scale, 0);
    const Value row = f.field(grid_row, 4, {{at(2), 8, {{64, 8}}}, {at(66), 1, {{64, 1}}, 8}});
    const Value sign = sign_factor(f, f.field(signs, 8, {{at(74), 8, {{32, 8}}}}));
    const Value s = f.field(sub_scale, 32, {{at(106), 4, {{8, 4}}}});
    return f.finish({.code = grid_entry(f, LaneTable::iq3s, row, 4) * sign, .multiplier = s * 2 + 1, .scale = d});
}

// d * (2s + 1) * (g +- 1/8) = d/8 * (2s + 1) * (8g +- 1).
constexpr Value shifted_entry(Author& f, Value row, Value is_lowered) {
    return grid_entry(f, LaneTable::iq1s, row, 8) * 8 + (1 - is_lowered * 2);
}

constexpr WeightFormat iq1_s() {
    Author f(DType::IQ1_S, 256);
    const Value d = times_power_of_2(f.half(scale, 0), -3);
    const Value row = f.field(grid_row, 8, {{at(2), 8, {{32, 8}}}, {at(34), 3, {{4, 3}, {8, 16}}, 8}});
    const Value s = f.field(sub_scale, 32, {{at(34, 12), 3, {{8, 16}}}});
    const Value is_lowered = f.field(signs, 32, {{at(34, 15), 1, {{8, 16}}}});
    return f.finish({.code = shifted_entry(f, row, is_lowered), .multiplier = s * 2 + 1, .scale = d});
}

// The scale lies in the top nibbles of four words, lowest first.
constexpr WeightFormat iq1_m() {
    Author f(DType::IQ1_M, 256);
    const auto nibble = [](uint8_t i) { return BitPlane{at(48 + 2 * i, 12), 4, {}, static_cast<uint8_t>(4 * i)}; };
    const Value bits = f.block_field(scale, {nibble(0), nibble(1), nibble(2), nibble(3)});
    const Value d = times_power_of_2(f.number(f16, bits), -3);
    const Value row = f.field(grid_row, 8, {{at(0), 8, {{32, 8}}}, {at(32), 3, {{32, 4}}, 8}});
    const Value is_lowered = f.field(signs, 8, {{at(32, 3), 1, {{32, 4}}}});
    const Value s = f.field(sub_scale, 16, {{at(48), 3, {{4, 3}, {4, 16}}}});
    return f.finish({.code = shifted_entry(f, row, is_lowered), .multiplier = s * 2 + 1, .scale = d});
}

constexpr WeightFormat make_format(DType type) {
    switch (type) {
        case DType::F32:
            return plain(type, f32, 32);
        case DType::F16:
            return plain(type, f16, 16);
        case DType::BF16:
            return plain(type, bf16, 16);
        case DType::Q4_0:
            return q4_0();
        case DType::Q4_1:
            return q4_1();
        case DType::Q5_0:
            return q5_0();
        case DType::Q5_1:
            return q5_1();
        case DType::Q8_0:
            return q8_0();
        case DType::Q2_K:
            return q2_k();
        case DType::Q3_K:
            return q3_k();
        case DType::Q4_K:
            return k_with_minima(type, FifthBits::absent);
        case DType::Q5_K:
            return k_with_minima(type, FifthBits::present);
        case DType::Q6_K:
            return q6_k();
        case DType::IQ1_S:
            return iq1_s();
        case DType::IQ1_M:
            return iq1_m();
        case DType::IQ2_XXS:
            return iq2_xxs();
        case DType::IQ2_XS:
            return iq2_xs();
        case DType::IQ2_S:
            return iq2_s();
        case DType::IQ3_XXS:
            return iq3_xxs();
        case DType::IQ3_S:
            return iq3_s();
        case DType::IQ4_NL:
            return iq4_nl();
        case DType::IQ4_XS:
            return iq4_xs();
        case DType::TQ1_0:
            return tq1_0();
        case DType::TQ2_0:
            return tq2_0();
        case DType::MXFP4:
            return mxfp4();
        case DType::NVFP4:
            return nvfp4();
        case DType::Q1_0:
            return q1_0();
        case DType::Q2_0:
            return q2_0();
        default:
            check_failed("a type that holds weights has a format", std::source_location::current());
    }
}

}  // namespace riftjit::formats

namespace riftjit {

inline constexpr DType kWeightTypes[] = {
    DType::F32,    DType::F16,     DType::BF16,   DType::Q4_0,  DType::Q4_1,    DType::Q5_0,  DType::Q5_1,
    DType::Q8_0,   DType::Q2_K,    DType::Q3_K,   DType::Q4_K,  DType::Q5_K,    DType::Q6_K,  DType::IQ1_S,
    DType::IQ1_M,  DType::IQ2_XXS, DType::IQ2_XS, DType::IQ2_S, DType::IQ3_XXS, DType::IQ3_S, DType::IQ4_NL,
    DType::IQ4_XS, DType::TQ1_0,   DType::TQ2_0,  DType::MXFP4, DType::NVFP4,   DType::Q1_0,  DType::Q2_0,
};

template <DType type>
inline constexpr WeightFormat kWeightFormat = formats::make_format(type);

}  // namespace riftjit

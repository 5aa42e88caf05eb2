#include "jit/rdna/kernels/quad_decoder.h"

#include <algorithm>
#include <bit>

namespace riftjit::rdna::kernels {
namespace {

constexpr uint32_t four_bytes(uint32_t byte) { return byte * 0x0101'0101; }

}  // namespace

// ---- strings --------------------------------------------------------------------------------------------------------

StepString::StepString(KernelAssembler& kernel, const StepLayout& layout, Sgpr base, const StringOffsets& offsets)
    : k_(kernel), layout_(layout), base_(base), offsets_(offsets), chunks_(layout.chunks()) {}

void StepString::load() {
    for (uint32_t i = 0; i < layout_.chunks(); ++i) chunk(i);
    if (layout_.rest() != 0) rest();
    if (layout_.has_half) half();
}

Vgpr StepString::dword(uint32_t index) {
    if (index < layout_.chunks() * 4) return chunk(index / 4)[index % 4];
    if (index < layout_.dwords) return rest()[index - layout_.chunks() * 4];
    check(layout_.has_half && index == layout_.dwords, "a dword of the string");
    return half();
}

// Offsets in instructions are signed and as narrow as 12 bits: each base serves what lies within 2 KiB of it.
std::pair<Sgpr, int32_t> StepString::near(uint32_t offset) {
    constexpr uint32_t kReach = 4096;
    const uint32_t middle = offset / kReach * kReach + kReach / 2;
    auto base = bases_.find(middle);
    if (base == bases_.end()) {
        base = bases_.emplace(middle, k_.sgpr(2)).first;
        k_.s_add_u64(base->second, base_, middle);
    }
    return {base->second, int32_t(offset) - int32_t(middle)};
}

Vgpr StepString::chunk(uint32_t index) {
    std::optional<Vgpr>& chunk = chunks_[index];
    if (!chunk) {
        const auto [base, offset] = near(layout_.chunk_offset_bytes(index));
        chunk = k_.vgpr(4);
        k_.global_load_b128(*chunk, offsets_.chunk, base, offset, k_.streaming_load_policy());
    }
    return *chunk;
}

Vgpr StepString::rest() {
    if (!rest_) {
        const auto [base, offset] = near(layout_.rest_offset_bytes());
        rest_ = k_.vgpr(layout_.rest());
        const Opcode load = layout_.rest() == 1   ? Opcode::global_load_b32
                            : layout_.rest() == 2 ? Opcode::global_load_b64
                                                  : Opcode::global_load_b96;
        k_.emit(load, {*rest_, offsets_.rest, base, offset, k_.streaming_load_policy()});
    }
    return *rest_;
}

Vgpr StepString::half() {
    if (!half_) {
        const auto [base, offset] = near(layout_.half_offset_bytes());
        half_ = k_.vgpr();
        k_.global_load_u16(*half_, offsets_.half, base, offset, k_.streaming_load_policy());
    }
    return *half_;
}

// ---- decoding -------------------------------------------------------------------------------------------------------

QuadDecoder::QuadDecoder(KernelAssembler& kernel, DType type, const StepLayout& layout, StepString& string, Sgpr grid)
    : k_(kernel),
      format_(weight_format(type)),
      facts_(analyse(format_)),
      layout_(layout),
      string_(string),
      grid_(grid) {
    // A constant that is taken off every code of bits is left to the sums.
    const LaneStep& code = step(parts().code);
    if (code.op == LaneOp::subtract && step(code.b).op == LaneOp::constant) zero_point_ = step(code.b).constant;
}

Quad QuadDecoder::quad(uint32_t element) {
    const Value code = evaluate(parts().code, element);
    check(code.kind == Value::Kind::bytes && code.offset == -zero_point_, "codes are bytes less the zero point");
    if (code.factor == 1) return {*code.reg, zero_point_};
    check(code.factor == 2 && code.least >= 0 && code.most <= 63, "codes that are doubled stay within their bytes");
    const Vgpr doubled = k_.vgpr();
    k_.v_lshlrev_b32(doubled, 1, *code.reg);
    return {doubled, zero_point_};
}

std::optional<int32_t> QuadDecoder::constant(const Value& value) {
    if (value.kind != Value::Kind::known) return std::nullopt;
    for (const int32_t lane : value.known)
        if (lane != value.known[0]) return std::nullopt;
    return value.known[0];
}

QuadDecoder::Value QuadDecoder::evaluate(uint8_t index, uint32_t element) {
    const LaneStep& s = step(index);
    const auto a = [&] { return evaluate(s.a, element); };
    const auto b = [&] { return evaluate(s.b, element); };
    const bool may_be_known = s.op == LaneOp::position || s.op == LaneOp::constant || s.op == LaneOp::lookup;
    if (!may_be_known && facts_[index].span >= 4) return {.kind = Value::Kind::shared, .reg = shared(index, element)};
    switch (s.op) {
        case LaneOp::field:
            return code_field(uint8_t(s.index), element);
        case LaneOp::position: {
            Value value{.kind = Value::Kind::known};
            for (uint32_t i = 0; i < 4; ++i) value.known[i] = int32_t((element + i) / s.index) % s.constant;
            return value;
        }
        case LaneOp::constant:
            return {.kind = Value::Kind::known, .known = {s.constant, s.constant, s.constant, s.constant}};
        case LaneOp::lookup:
            return look_up(LaneTable(s.index), a(), element);
        case LaneOp::add:
            return add(a(), b(), 1);
        case LaneOp::subtract:
            return add(a(), b(), -1);
        case LaneOp::multiply:
            return multiply(a(), b());
        case LaneOp::shift_right:
            return shift_right(a(), b());
        case LaneOp::bit_and:
            return bit_and(a(), b());
        default:
            check(false, "a step of codes");
    }
    return {};
}

// The planes of a code, merged.
QuadDecoder::Value QuadDecoder::code_field(uint8_t field, uint32_t element) {
    const BitField& bits = format_.fields[field];
    Value value{.kind = Value::Kind::bytes};
    value.most = bits.is_signed ? (1 << (bits.bits() - 1)) - 1 : (1 << bits.bits()) - 1;
    value.least = bits.is_signed ? -value.most - 1 : 0;
    for (const PackedPiece& piece : layout_.planes) {
        if (piece.field != field) continue;
        if (bits.role == FieldRole::digits) {  // bytes as in the file, which four elements have side by side
            for (const BitPlane& plane : bits.planes)
                if (element - plane.first_value < plane.values()) {
                    const uint32_t bit = plane.bit_of(element);
                    check(bit % 32 == 0, "four digits lie in one dword");
                    value.reg = string_.dword((piece.first_bit + bit) / 32);
                }
            return value;
        }
        const uint32_t per_dword = 32 / piece.bits;
        const Vgpr dword = string_.dword(piece.first_bit / 32 + element / per_dword);
        const int shift = int(element % per_dword / 4 * piece.bits) - piece.to_bit;  // to the right
        const uint32_t mask = four_bytes(((1u << piece.bits) - 1) << piece.to_bit);
        Vgpr part = dword;
        if (shift != 0) {
            part = k_.vgpr();
            if (shift > 0)
                k_.v_lshrrev_b32(part, shift, dword);
            else
                k_.v_lshlrev_b32(part, -shift, dword);
        }
        if (piece.bits == 8) {
            value.reg = part;
            continue;
        }
        const Vgpr merged = k_.vgpr();
        if (value.reg)
            k_.v_and_or_b32(merged, part, mask, *value.reg);
        else
            k_.v_and_b32(merged, mask, part);
        value.reg = merged;
    }
    return value;
}

QuadDecoder::Value QuadDecoder::look_up(LaneTable table, const Value& index, uint32_t element) {
    if (index.kind == Value::Kind::known) {
        Value value{.kind = Value::Kind::known};
        for (uint32_t i = 0; i < 4; ++i) value.known[i] = lane_table(table)[size_t(index.known[i])];
        return value;
    }
    if (index.kind == Value::Kind::bytes) return look_up_sixteen(table, index);
    return look_up_grid(table, index, element);
}

// Both halves of the table by the low three bits, and one of them by the fourth.
QuadDecoder::Value QuadDecoder::look_up_sixteen(LaneTable table, const Value& index) {
    const auto entries = lane_table(table);
    check(entries.size() == 16 && index.least == 0 && index.most == 15 && index.factor == 1 && index.offset == 0,
          "four bits name one of sixteen entries");
    if (sixteen_.empty()) {
        for (uint32_t i = 0; i < 4; ++i) {
            uint32_t dword = 0;
            for (uint32_t j = 0; j < 4; ++j) dword |= uint32_t(uint8_t(entries[4 * i + j])) << 8 * j;
            sixteen_.push_back(k_.sgpr());
            k_.s_mov_b32(sixteen_.back(), dword);
        }
    }
    const Vgpr low_bits = k_.vgpr(), low = k_.vgpr(), high = k_.vgpr(), is_high = k_.vgpr(), mask = k_.vgpr(),
               out = k_.vgpr();
    k_.v_and_b32(low_bits, four_bytes(7), *index.reg);
    k_.v_perm_b32(low, sixteen_[1], sixteen_[0], low_bits);
    k_.v_perm_b32(high, sixteen_[3], sixteen_[2], low_bits);
    k_.v_and_b32(is_high, four_bytes(8), *index.reg);
    k_.v_lshlrev_b32(mask, 5, is_high);     // 0x100 for a set bit of the byte below
    k_.v_lshrrev_b32(is_high, 3, is_high);  // 1
    k_.v_sub_nc_u32(mask, mask, is_high);   // 0xff
    k_.v_bfi_b32(out, mask, high, low);
    const auto [least, most] = std::ranges::minmax(entries);
    return {.kind = Value::Kind::bytes, .reg = out, .least = least, .most = most};
}

// Rows of 4 or 8 entries; a row of 8 is loaded once for both quads.
QuadDecoder::Value QuadDecoder::look_up_grid(LaneTable table, const Value& index, uint32_t element) {
    check(index.kind == Value::Kind::entries, "a grid's rows are named");
    const uint32_t columns = table == LaneTable::iq3xxs || table == LaneTable::iq3s ? 4 : 8;
    const uint32_t first = element / columns * columns;
    for (uint32_t i = 0; i < 4; ++i)
        check(uint32_t(index.known[i]) == element % columns + i, "entries of a row side by side");
    if (!grid_row_ || grid_row_->first != first) {
        const Vgpr row = k_.vgpr(columns / 4);
        if (columns == 8)
            k_.global_load_b64(row, *index.reg, grid_);
        else
            k_.global_load_b32(row, *index.reg, grid_);
        grid_row_ = {first, row};
    }
    const auto [least, most] = std::ranges::minmax(lane_table(table));
    return {.kind = Value::Kind::bytes, .reg = grid_row_->second[element % columns / 4], .least = least, .most = most};
}

QuadDecoder::Value QuadDecoder::add(const Value& a, const Value& b, int32_t sign) {
    using enum Value::Kind;
    if (const auto right = constant(b); right && a.kind == bytes) {
        Value value = a;
        value.offset += sign * *right;
        return value;
    }
    if (const auto left = constant(a); left && b.kind == bytes) {
        Value value = b;
        value.factor *= sign;
        value.offset = *left + sign * b.offset;
        return value;
    }
    if (b.kind == known && sign == 1 && a.kind == shared) return {.kind = entries, .known = b.known, .reg = a.reg};
    if (a.kind == bytes && b.kind == shared && sign == 1) return add_shared(a, b);
    check(false, "a sum that the decoder knows");
    return {};
}

// bytes * factor + shared, where no sum leaves its byte: the topmost bits are added without carry.
QuadDecoder::Value QuadDecoder::add_shared(const Value& a, const Value& b) {
    check(std::has_single_bit(uint32_t(a.factor)) && a.offset == 0, "bytes times a power of two");
    const uint32_t low = four_bytes(0x7f);
    Vgpr left = *a.reg;
    if (a.factor != 1) {
        const Vgpr shifted = k_.vgpr();
        k_.v_lshlrev_b32(shifted, std::countr_zero(uint32_t(a.factor)), left);
        left = k_.vgpr();
        k_.v_and_b32(left, four_bytes(0xff & -uint32_t(a.factor)), shifted);
    }
    const Vgpr right = k_.vgpr(), low_left = k_.vgpr(), low_right = k_.vgpr(), sum = k_.vgpr(), carry = k_.vgpr(),
               out = k_.vgpr();
    k_.v_perm_b32(right, *b.reg, *b.reg, 0);  // the lowest byte four times
    k_.v_and_b32(low_left, low, left);
    k_.v_and_b32(low_right, low, right);
    k_.v_add_nc_u32(sum, low_left, low_right);
    k_.v_xor_b32(carry, left, right);
    k_.v_and_b32(carry, ~low, carry);
    k_.v_xor_b32(out, sum, carry);
    return {.kind = Value::Kind::bytes, .reg = out, .least = -128, .most = 127};
}

QuadDecoder::Value QuadDecoder::multiply(const Value& a, const Value& b) {
    using enum Value::Kind;
    if (const auto factor = constant(b)) return multiply_by(a, *factor);
    if (const auto factor = constant(a)) return multiply_by(b, *factor);
    if (a.kind == bytes && b.kind == bytes) return negate_where(a, b);
    check(false, "a product that the decoder knows");
    return {};
}

QuadDecoder::Value QuadDecoder::multiply_by(const Value& a, int32_t factor) {
    using enum Value::Kind;
    Value value = a;
    if (a.kind == halves) {
        value.reg = k_.vgpr();
        value.high = k_.vgpr();
        const Vgpr factors = k_.vgpr();
        k_.v_mov_b32(factors, uint32_t(factor) * 0x1'0001);
        k_.v_pk_mul_lo_u16(*value.reg, *a.reg, factors);
        k_.v_pk_mul_lo_u16(*value.high, *a.high, factors);
        return value;
    }
    check(a.kind == bytes, "a product with a constant");
    value.factor *= factor;
    value.offset *= factor;
    return value;
}

// `sign` is 1 - 2 * bit. Minus a byte is its complement plus one, which carries over for zero alone.
QuadDecoder::Value QuadDecoder::negate_where(const Value& a, const Value& sign) {
    check(sign.factor == -2 && sign.offset == 1 && sign.least == 0 && sign.most == 1, "a factor of 1 or -1");
    check(a.factor == 1 && a.offset == 0, "bytes as they are");
    const Vgpr mask = k_.vgpr(), flipped = k_.vgpr(), out = k_.vgpr();
    k_.v_lshlrev_b32(mask, 8, *sign.reg);
    k_.v_sub_nc_u32(mask, mask, *sign.reg);
    k_.v_xor_b32(flipped, mask, *a.reg);
    k_.v_add_nc_u32(out, flipped, *sign.reg);
    const int64_t most = std::max(a.most, -a.least);
    return {.kind = Value::Kind::bytes, .reg = out, .least = -most, .most = most};
}

QuadDecoder::Value QuadDecoder::shift_right(const Value& a, const Value& b) {
    using enum Value::Kind;
    if (a.kind == shared && b.kind == known) return {.kind = bits, .known = b.known, .reg = a.reg};
    check(a.kind == halves && constant(b) == 8, "a shift that the decoder knows");
    // The upper bytes of the halves, put together.
    const Vgpr even = k_.vgpr(), out = k_.vgpr();
    k_.v_lshrrev_b32(even, 8, *a.reg);
    k_.v_bfi_b32(out, 0x00ff'00ff, even, *a.high);
    return {.kind = bytes, .reg = out, .least = 0, .most = 127};
}

QuadDecoder::Value QuadDecoder::bit_and(const Value& a, const Value& b) {
    using enum Value::Kind;
    const auto mask = constant(b);
    if (a.kind == bits) {  // four bits of the shared integer, spread over four bytes
        check(mask == 1, "one bit for each element");
        for (int32_t i = 0; i < 4; ++i) check(a.known[i] == a.known[0] + i, "bits side by side");
        const Vgpr nibble = k_.vgpr(), spread = k_.vgpr(), out = k_.vgpr();
        k_.v_bfe_u32(nibble, *a.reg, a.known[0], 4);
        k_.v_mul_u32_u24(spread, 0x20'4081, nibble);  // bit i to bit 8 i, among others
        k_.v_and_b32(out, four_bytes(1), spread);
        return {.kind = bytes, .reg = out, .least = 0, .most = 1};
    }
    check(a.kind == bytes && mask == 0xff, "a mask that the decoder knows");
    const Value wide = widened(a);
    const Vgpr even = k_.vgpr(), odd = k_.vgpr();
    k_.v_and_b32(even, 0x00ff'00ff, *wide.reg);
    k_.v_and_b32(odd, 0x00ff'00ff, *wide.high);
    return {.kind = halves, .reg = even, .high = odd};
}

QuadDecoder::Value QuadDecoder::widened(const Value& a) {
    check(a.least >= 0 && a.offset == 0 && a.factor > 0, "unsigned bytes times a constant");
    const Vgpr even = k_.vgpr(), odd = k_.vgpr();
    k_.v_and_b32(even, 0x00ff'00ff, *a.reg);
    k_.v_lshrrev_b32(odd, 8, *a.reg);
    k_.v_and_b32(odd, 0x00ff'00ff, odd);
    const Value halves{.kind = Value::Kind::halves, .reg = even, .high = odd};
    return a.factor == 1 ? halves : multiply_by(halves, a.factor);
}

// ---- what elements share --------------------------------------------------------------------------------------------

Vgpr QuadDecoder::shared(uint8_t index, uint32_t element) {
    const LaneStep& s = step(index);
    const uint32_t first = element / facts_[index].span * facts_[index].span;
    if (const auto made = made_.find(index); made != made_.end() && made->second.first == first)
        return made->second.reg;
    const auto constant_of = [&](uint8_t of) {
        return step(of).op == LaneOp::constant ? std::optional(step(of).constant) : std::nullopt;
    };
    const auto result = [&]() -> Vgpr {
        if (s.op == LaneOp::field) {
            const auto piece = std::ranges::find(layout_.shared, s.index, &PackedPiece::field);
            check(piece != layout_.shared.end(), "a field that elements share");
            const BitField& field = format_.fields[s.index];
            return extract(*piece, field.is_signed, first / field.span);
        }
        const Vgpr out = k_.vgpr();
        if (s.op == LaneOp::parity) {
            k_.v_bcnt_u32_b32(out, shared(s.a, element), 0);
            k_.v_and_b32(out, 1, out);
            return out;
        }
        const std::optional<int32_t> left = constant_of(s.a), right = constant_of(s.b);
        if (s.op == LaneOp::add && right)
            k_.v_add_nc_u32(out, *right, shared(s.a, element));
        else if (s.op == LaneOp::add)
            k_.v_add_nc_u32(out, shared(s.a, element), shared(s.b, element));
        else if (s.op == LaneOp::subtract && right)
            k_.v_add_nc_u32(out, -*right, shared(s.a, element));
        else if (s.op == LaneOp::subtract && left)
            k_.v_sub_nc_u32(out, *left, shared(s.b, element));
        else if (s.op == LaneOp::multiply && right && std::has_single_bit(uint32_t(*right)))
            k_.v_lshlrev_b32(out, std::countr_zero(uint32_t(*right)), shared(s.a, element));
        else
            check(false, "a shared step that the decoder knows");
        return out;
    }();
    made_.insert_or_assign(index, Made{first, result});
    return result;
}

// Value `value` of a field, out of one dword or two.
Vgpr QuadDecoder::extract(const PackedPiece& piece, bool is_signed, uint32_t value) {
    const uint32_t bit = piece.first_bit + value * piece.bits, shift = bit % 32;
    const Vgpr dword = string_.dword(bit / 32), out = k_.vgpr();
    if (shift + piece.bits <= 32) {
        if (is_signed)
            k_.v_bfe_i32(out, dword, shift, piece.bits);
        else if (shift + piece.bits == 32)
            k_.v_lshrrev_b32(out, shift, dword);
        else
            k_.v_bfe_u32(out, dword, shift, piece.bits);
        return out;
    }
    k_.v_alignbit_b32(out, string_.dword(bit / 32 + 1), dword, shift);
    const Vgpr cut = k_.vgpr();
    if (is_signed)
        k_.v_bfe_i32(cut, out, 0, piece.bits);
    else
        k_.v_bfe_u32(cut, out, 0, piece.bits);
    return cut;
}

Vgpr QuadDecoder::number(uint8_t index, uint32_t element) {
    const LaneStep& s = step(index);
    const uint32_t first = element / facts_[index].span * facts_[index].span;
    if (const auto made = made_.find(index); made != made_.end() && made->second.first == first)
        return made->second.reg;
    const auto result = [&]() -> Vgpr {
        if (s.op == LaneOp::number) return number_of(NumberFormat(s.index), shared(s.a, element));
        check(s.op == LaneOp::times, "a number, or one times a power of two");
        const Vgpr out = k_.vgpr();
        k_.v_mul_f32(out, std::bit_cast<float>(uint32_t(127 + s.constant) << 23), number(s.a, element));
        return out;
    }();
    made_.insert_or_assign(index, Made{first, result});
    return result;
}

Vgpr QuadDecoder::number_of(NumberFormat format, Vgpr bits) {
    const Vgpr out = k_.vgpr();
    switch (format) {
        case NumberFormat::f16:
            k_.v_cvt_f32_f16(out, bits);
            return out;
        case NumberFormat::e8m0_half: {  // exponent bits - 1; 0 and 1 are subnormal
            const Vgpr small = k_.vgpr();
            const Sgpr is_normal = k_.lane_mask();
            k_.v_add_nc_u32(out, -1, bits);
            k_.v_lshlrev_b32(out, 23, out);
            k_.v_lshlrev_b32(small, bits, 0x0020'0000);
            k_.v_cmp_lt_u32(is_normal, 1, bits);
            k_.v_cndmask_b32(out, small, out, is_normal);
            return out;
        }
        case NumberFormat::ue4m3: {  // as an f32 of that exponent it is 2^120 too small, also where it is subnormal
            const Vgpr magnitude = k_.vgpr();
            const Sgpr is_nan = k_.lane_mask();
            k_.v_and_b32(magnitude, 0x7f, bits);
            k_.v_lshlrev_b32(magnitude, 20, magnitude);
            k_.v_mul_f32(out, 0x1p120f, magnitude);
            k_.v_cmp_eq_u32(is_nan, 0x7f, bits);
            k_.v_cndmask_b32(out, out, 0, is_nan);
            return out;
        }
        default:
            check(false, "scales are f16, E8M0 or E4M3");
    }
    return out;
}

}  // namespace riftjit::rdna::kernels

// IQ1, IQ2, IQ3: a row of a constant grid gives the magnitudes of 8 elements (4 in IQ3), beside which lie their signs,
// or in IQ1 one sign for a shift of all of them by 1/8 (gguf specification, ggml-common.h).
//
// Decoding a row is: fetch its fields (decoder_grid_layout.h), merge the signs, look all bytes up in a 16-byte
// codebook, which gives a quad, or widened, two pairs; in IQ1 and IQ2, shift the fields by 4 and do it once more. Of an
// index byte VPSHUFB ignores bits 4 to 6, and bit 7 is clear: it is the topmost bit of a field, and fields use 3 of
// their 4 bits in IQ1 and IQ2 and 4 of their 8 in IQ3.
//
// Fetching is a gather of dwords, or with AVX-512 and a grid of at most 512 rows, permutations of the 16-bit rows of
// the packed grid: two grid rows of 16 lanes at once, 64 grid rows an instruction. A gather takes a load per lane; on
// Zen 4 the permutations take a third of its time for 256 rows, three fifths for 512, and more from 1024 rows on.
#include <cmath>

#include "jit/formats/weight_format.h"
#include "jit/x86/decoders/decoder_grid_layout.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

class GridDecoder final : public Decoder {
public:
    explicit GridDecoder(const GridLayout& layout)
        : Decoder({.type = layout.type,
                   .header_bytes = static_cast<uint8_t>(layout.has_header_bits ? 4 : 2),
                   .body_dwords = layout.body_dwords}),
          layout_(layout) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        pack_grid_block(layout_, block, packed);
    }
    std::vector<VectorConstant> constants(Isa isa, Elements) const override;
    size_t temporaries(Isa isa, Elements) const override { return is_permuted(isa) ? 7 : 5; }
    void prepare(const DecodeSite& site) const override;
    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override;
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override;
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override;

private:
    // Register map. A row number is dead once its row is fetched, so the pairs take its register.
    static Xmm codebook(const DecodeSite& site) { return site.constant(0); }
    static Xmm sign_mask(const DecodeSite& site) { return site.constant(1); }
    static Xmm low_bytes(const DecodeSite& site) { return site.constant(2); }  // 1 in the low byte of every i16
    static Xmm signs(const DecodeSite& site) { return site.temporary(0); }
    static Xmm row_number(const DecodeSite& site) { return site.temporary(1); }
    static Xmm pair(const DecodeSite& site) { return site.temporary(1); }
    static Xmm fields(const DecodeSite& site) { return site.temporary(2); }
    static Xmm scratch(const DecodeSite& site) { return site.temporary(3); }
    static Xmm four_row_numbers(const DecodeSite& site) { return site.temporary(4); }
    // Only when permuted.
    static Xmm low_halves(const DecodeSite& site) { return site.constant(3); }
    static Xmm code_mask(const DecodeSite& site) { return site.constant(4); }
    static Xmm two_rows(const DecodeSite& site) { return site.temporary(5); }
    static Xmm table_part(const DecodeSite& site) { return site.temporary(6); }

    bool is_permuted(Isa isa) const {
        constexpr size_t kMaxPermutedRows = 512;
        return has_avx512(isa) && packed_grid(layout_.grid).rows.size() <= kMaxPermutedRows;
    }
    bool has_high_bits() const { return layout_.high_bits.bits != 0; }
    uint32_t group_rows() const { return traits().group / layout_.row_elements; }
    // Bits of a code in a row of word_table().
    int word_stride() const { return 16 / layout_.row_elements; }
    VectorConstant signed_codebook() const;
    std::vector<uint32_t> dword_table() const;
    std::vector<uint16_t> word_table() const;

    void load_signs(const DecodeSite& site, uint32_t row) const;
    void load_shift_sign(const DecodeSite& site, uint32_t row) const;
    void complete_parity(const DecodeSite& site) const;
    void merge_high_bits(const DecodeSite& site, uint32_t row, int bit) const;
    void merge_signs(const DecodeSite& site, uint32_t row) const;
    void emit_quads(const DecodeSite& site, uint32_t first_quad, const ElementSink& sink) const;

    void unpack_quads(const DecodeSite& site, uint32_t group, const ElementSink& sink) const;
    void unpack_gathered(const DecodeSite& site, uint32_t group, const ElementSink& sink) const;
    void load_row_number(const DecodeSite& site, uint32_t row, uint32_t first_row) const;
    void gather_fields(const DecodeSite& site) const;

    void unpack_permuted(const DecodeSite& site, uint32_t group, const ElementSink& sink) const;
    void load_two_row_numbers(const DecodeSite& site, uint32_t row) const;
    void permute_rows(const DecodeSite& site) const;
    void spread_fields(const DecodeSite& site, uint32_t row) const;

    const GridLayout& layout_;
};

// ---- instructions by level ------------------------------------------------------------------------------------------

// out = the body's dword shifted right by count, or left by -count.
void load_shifted(const DecodeSite& site, const Xmm& out, uint32_t dword, int count) {
    X86Emitter& code = site.code;
    if (!has_avx512(code.isa())) {
        load(code, out, site.body_dwords(0, dword));
        shift_dwords(code, out, out, count);
    } else if (count < 0) {
        code.vpslld(out, site.body_dwords(0, dword), static_cast<uint8_t>(-count));
    } else {
        code.vpsrld(out, site.body_dwords(0, dword), static_cast<uint8_t>(count));
    }
}

// target |= bits & mask. Clobbers bits.
void merge_bits(X86Emitter& code, const Xmm& target, const Xmm& bits, uint32_t mask) {
    if (has_avx512(code.isa())) {
        constexpr uint8_t kTargetOrBitsAndMask = 0xf8;  // a | (b & c): index a*4 + b*2 + c
        code.vpternlogd(target, bits, code.splat_u32(mask), kTargetOrBitsAndMask);
    } else {
        bit_and(code, bits, bits, code.splat_u32(mask));
        bit_or(code, target, target, bits);
    }
}

void bit_xor(X86Emitter& code, const Xmm& out, const Xmm& left, const Xmm& right) {
    has_avx512(code.isa()) ? code.vpxord(out, left, right) : code.vpxor(out, left, right);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

std::vector<VectorConstant> GridDecoder::constants(Isa isa, Elements) const {
    uint32_t signs = 0, codes = 0;
    for (uint32_t j = 0; j < layout_.row_elements; ++j) {
        signs |= 1u << (layout_.field_shift(j) + layout_.sign_bit());
        codes |= ((1u << layout_.sign_bit()) - 1) << layout_.field_shift(j);
    }
    std::vector<VectorConstant> result = {signed_codebook(), broadcast(signs), broadcast(0x00010001)};
    if (is_permuted(isa)) result.insert(result.end(), {broadcast(0x0000ffff), broadcast(codes)});
    return result;
}

VectorConstant GridDecoder::signed_codebook() const {
    const auto magnitudes = packed_grid(layout_.grid).values;
    const bool is_shifted = layout_.signs == GridSigns::shift;
    std::array<int8_t, 16> values{};
    for (size_t i = 0; i < magnitudes.size(); ++i) {
        const int value = magnitudes[i];
        values[i] = static_cast<int8_t>(is_shifted ? 8 * value + 1 : value);
        values[i | size_t{1} << layout_.sign_bit()] = static_cast<int8_t>(is_shifted ? 8 * value - 1 : -value);
    }
    VectorConstant codebook;
    for (size_t lane = 0; lane < 4; ++lane) std::memcpy(&codebook[4 * lane], values.data(), sizeof values);
    return codebook;
}

// The fields of every grid row.
std::vector<uint32_t> GridDecoder::dword_table() const {
    const PackedGrid& grid = packed_grid(layout_.grid);
    std::vector<uint32_t> rows;
    for (const uint32_t packed : grid.rows) {
        uint32_t fields = 0;
        for (uint32_t j = 0; j < grid.columns; ++j)
            fields |= (packed >> grid.bits * j & ((1u << grid.bits) - 1)) << layout_.field_shift(j);
        rows.push_back(fields);
    }
    return rows;
}

// Every grid row in 16 bits: even elements where their fields are, each followed by its odd neighbour.
std::vector<uint16_t> GridDecoder::word_table() const {
    std::vector<uint16_t> rows;
    for (const uint32_t fields : dword_table())
        rows.push_back(static_cast<uint16_t>((fields & 0xffff) | fields >> 16 << word_stride()));
    return rows;
}

void GridDecoder::prepare(const DecodeSite& site) const {
    Decoder::prepare(site);
    const auto point_at = [&](const auto& rows) {
        site.code.lea(site.table(), site.code.constant_bytes(rows.data(), rows.size() * sizeof rows[0]));
    };
    is_permuted(site.code.isa()) ? point_at(word_table()) : point_at(dword_table());
}

// ---- signs ----------------------------------------------------------------------------------------------------------

// signs = the sign dword of the 32 elements around the row.
void GridDecoder::load_signs(const DecodeSite& site, uint32_t row) const {
    load(site.code, signs(site), site.body_dwords(0, layout_.sign_dword + row * layout_.row_elements / 32));
    if (layout_.signs == GridSigns::parity) complete_parity(site);
}

// Column 7 = xor of columns 0 to 6: they move one column up, then fold onto the topmost. Clobbers scratch and pair.
void GridDecoder::complete_parity(const DecodeSite& site) const {
    X86Emitter& code = site.code;
    const Xmm parity = pair(site);
    shift_dwords(code, parity, signs(site), -4);
    for (int distance : {16, 8, 4}) {
        shift_dwords(code, scratch(site), parity, -distance);
        bit_xor(code, parity, parity, scratch(site));
    }
    constexpr uint32_t kStored = 0x0fffffff;
    bit_and(code, signs(site), signs(site), code.splat_u32(kStored));
    merge_bits(code, signs(site), parity, ~kStored);
}

// signs = the sign bits of all the row's fields, set or clear together.
void GridDecoder::load_shift_sign(const DecodeSite& site, uint32_t row) const {
    const uint32_t index = row / layout_.shift_rows;
    load_shifted(site, signs(site), layout_.shifts.dword(index), layout_.shifts.shift(index) - 31);
    site.code.vpsrad(signs(site), signs(site), 31);
    bit_and(site.code, signs(site), signs(site), sign_mask(site));
}

void GridDecoder::merge_signs(const DecodeSite& site, uint32_t row) const {
    if (layout_.signs == GridSigns::shift) return bit_or(site.code, fields(site), fields(site), signs(site));
    const uint32_t element = row * layout_.row_elements % 32;
    const int stored_bit = static_cast<int>(element / 8 + 4 * (element % 8 / layout_.row_elements));
    shift_dwords(site.code, scratch(site), signs(site), stored_bit - layout_.sign_bit());
    merge_bits(site.code, fields(site), scratch(site), sign_mask(site));
}

// ---- rows by gather -------------------------------------------------------------------------------------------------

void GridDecoder::unpack_quads(const DecodeSite& site, uint32_t group, const ElementSink& sink) const {
    is_permuted(site.code.isa()) ? unpack_permuted(site, group, sink) : unpack_gathered(site, group, sink);
}

void GridDecoder::unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const {
    if (site.elements() == Elements::quads) return unpack_quads(site, group, sink);
    X86Emitter& code = site.code;
    unpack_quads(site, group, [&](const Xmm& quad, uint32_t index) {
        code.vpmaddubsw(pair(site), low_bytes(site), quad);  // 1 * byte 0 + 0 * byte 1, widened
        sink(pair(site), 2 * index);
        code.vpsraw(pair(site), quad, 8);
        sink(pair(site), 2 * index + 1);
    });
}

void GridDecoder::unpack_gathered(const DecodeSite& site, uint32_t group, const ElementSink& sink) const {
    const uint32_t first_row = group * group_rows();
    if (layout_.signs != GridSigns::shift) load_signs(site, first_row);
    for (uint32_t i = 0; i < group_rows(); ++i) {
        const uint32_t row = first_row + i;
        if (layout_.signs == GridSigns::shift && row % layout_.shift_rows == 0) load_shift_sign(site, row);
        load_row_number(site, row, first_row);
        gather_fields(site);
        merge_signs(site, row);
        emit_quads(site, i * layout_.row_elements / 4, sink);
    }
}

// VPSHUFB control that moves byte `index` of every dword to its lowest and clears the others.
VectorConstant byte_of_dwords(uint32_t index) {
    VectorConstant control;
    for (uint32_t lane = 0; lane < control.size(); ++lane) control[lane] = 0x80808000 | (lane % 4 * 4 + index);
    return control;
}

void GridDecoder::load_row_number(const DecodeSite& site, uint32_t row, uint32_t first_row) const {
    X86Emitter& code = site.code;
    const VectorConstant byte = byte_of_dwords(layout_.low_byte(row));
    if (row % 4 == 0 || row == first_row) load(code, four_row_numbers(site), site.body_dwords(0, row / 4));
    code.vpshufb(row_number(site), four_row_numbers(site), code.constant_bytes(byte.data(), sizeof byte));
    if (has_high_bits()) merge_high_bits(site, row, 8);
}

// Puts the row's high bits at `bit` of row_number.
void GridDecoder::merge_high_bits(const DecodeSite& site, uint32_t row, int bit) const {
    load_shifted(site, scratch(site), layout_.high_bits.dword(row), layout_.high_bits.shift(row) - bit);
    merge_bits(site.code, row_number(site), scratch(site), layout_.high_bits.mask() << bit);
}

void GridDecoder::gather_fields(const DecodeSite& site) const {
    X86Emitter& code = site.code;
    const auto row = code.ptr[site.table() + row_number(site) * 4];
    set_zero(code, fields(site));  // a gather keeps the lanes that its mask leaves out: cut the false dependency
    if (has_avx512(code.isa())) {
        code.kxnorw(code.k1, code.k1, code.k1);
        code.vpgatherdd(fields(site) | code.k1, row);
    } else {
        code.vpcmpeqd(scratch(site), scratch(site), scratch(site));
        code.vpgatherdd(fields(site), row, scratch(site));
    }
}

void GridDecoder::emit_quads(const DecodeSite& site, uint32_t first_quad, const ElementSink& sink) const {
    X86Emitter& code = site.code;
    for (uint32_t round = 0; round < layout_.row_elements / 4u; ++round) {
        if (round > 0) code.vpsrlw(fields(site), fields(site), 4);
        code.vpshufb(scratch(site), codebook(site), fields(site));
        sink(scratch(site), first_quad + round);
    }
}

// ---- rows by permutation --------------------------------------------------------------------------------------------

void GridDecoder::unpack_permuted(const DecodeSite& site, uint32_t group, const ElementSink& sink) const {
    const uint32_t first_row = group * group_rows();
    load_signs(site, first_row);
    for (uint32_t i = 0; i < group_rows(); ++i) {
        const uint32_t row = first_row + i;
        if (row % 2 == 0) {
            load_two_row_numbers(site, row);
            permute_rows(site);
        }
        spread_fields(site, row);
        merge_signs(site, row);
        emit_quads(site, i * layout_.row_elements / 4, sink);
    }
}

// row_number = the numbers of an even row and of its successor, in the halves of every dword.
void GridDecoder::load_two_row_numbers(const DecodeSite& site, uint32_t row) const {
    constexpr uint32_t kLowBytes = 0x00ff00ff;
    load(site.code, row_number(site), site.body_dwords(0, row / 4));
    if (row % 4 == 0)
        bit_and(site.code, row_number(site), row_number(site), site.code.splat_u32(kLowBytes));
    else
        site.code.vpsrlw(row_number(site), row_number(site), 8);
    if (!has_high_bits()) return;
    merge_high_bits(site, row, 8);
    merge_high_bits(site, row + 1, 24);
}

// two_rows = the rows of word_table() with these numbers. VPERMT2W selects among 64 by the low 6 bits of each number.
void GridDecoder::permute_rows(const DecodeSite& site) const {
    X86Emitter& code = site.code;
    constexpr uint32_t kRowsAtOnce = 64;
    constexpr uint8_t kNotLess = 5;  // predicate of VPCMPUW
    const uint32_t rows = static_cast<uint32_t>(packed_grid(layout_.grid).rows.size());
    for (uint32_t first = 0; first < rows; first += kRowsAtOnce) {
        const Xmm out = first == 0 ? two_rows(site) : table_part(site);
        load(code, out, code.ptr[site.table() + first * 2]);
        code.vpermt2w(out, row_number(site), code.ptr[site.table() + first * 2 + 64]);
        if (first == 0) continue;
        const VectorConstant limit = broadcast(pair_mask(first));
        code.vpcmpuw(code.k1, row_number(site), code.constant_bytes(limit.data(), sizeof limit), kNotLess);
        code.vmovdqu16(two_rows(site) | code.k1, out);
    }
}

// fields = those of one of the two rows: even elements from its half of each dword, odd ones word_stride() higher.
void GridDecoder::spread_fields(const DecodeSite& site, uint32_t row) const {
    X86Emitter& code = site.code;
    constexpr uint8_t kChooseByMask = 0xe4;  // c ? a : b: index a*4 + b*2 + c
    if (row % 2 == 0) {
        shift_dwords(code, scratch(site), two_rows(site), word_stride() - 16);
        code.vmovdqa32(fields(site), two_rows(site));
    } else {
        shift_dwords(code, scratch(site), two_rows(site), word_stride());
        shift_dwords(code, fields(site), two_rows(site), 16);
    }
    code.vpternlogd(fields(site), scratch(site), low_halves(site), kChooseByMask);
    bit_and(code, fields(site), fields(site), code_mask(site));
}

// ---- scales ---------------------------------------------------------------------------------------------------------

void GridDecoder::scale(const DecodeSite& site, uint32_t, const Xmm& out) const {
    load_half_scale(site, out, 0, 0);
    const WeightFormat& format = weight_format(layout_.type);
    const LaneStep& last = format.steps[format.results.scale];
    if (last.op == LaneOp::times) site.code.vmulps(out, out, site.code.splat(std::ldexp(1.0f, last.constant)));
}

// m = 2s + 1: the field goes to bit 1 and up.
void GridDecoder::sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const {
    X86Emitter& code = site.code;
    const FieldArray& field = layout_.sub_scales;
    load_shifted(site, out, field.dword(group), field.shift(group) - 1);
    bit_and(code, out, out, code.splat_u32(field.mask() << 1));
    if (layout_.has_header_bits) {
        code.vpmovzxwd(scratch(site), site.header_halves(0, 1));
        shift_dwords(code, scratch(site), scratch(site), static_cast<int>(group) - 3);
        merge_bits(code, out, scratch(site), 1u << 3);
    }
    bit_or(code, out, out, code.splat_u32(1));
}

}  // namespace

const Decoder* find_grid_decoder(DType type) {
    static const GridDecoder decoders[] = {
        GridDecoder(*find_grid_layout(DType::IQ2_XXS)), GridDecoder(*find_grid_layout(DType::IQ2_XS)),
        GridDecoder(*find_grid_layout(DType::IQ2_S)),   GridDecoder(*find_grid_layout(DType::IQ3_XXS)),
        GridDecoder(*find_grid_layout(DType::IQ3_S)),   GridDecoder(*find_grid_layout(DType::IQ1_S)),
        GridDecoder(*find_grid_layout(DType::IQ1_M)),
    };
    for (const GridDecoder& decoder : decoders)
        if (decoder.traits().type == type) return &decoder;
    return nullptr;
}

}  // namespace riftjit::x86

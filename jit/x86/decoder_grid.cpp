// IQ1, IQ2, IQ3: a row of a constant grid gives the magnitudes of 8 elements (4 in IQ3), beside which lie their signs,
// or in IQ1 one sign for a shift of all of them by 1/8 (gguf specification, ggml-common.h).
//
// A grid row becomes one dword of indices into a 16-byte codebook: the row's element j has its field at bit
// stride * (j / 2) + 16 * (j % 2), where stride is 4, or 8 in IQ3. A field is the number of the magnitude and above it
// the sign, which a table row leaves clear. So decoding a row is: gather its dword, merge the signs, look all bytes up,
// and widen bytes 0 and 2 to one pair of elements and bytes 1 and 3 to another; in IQ1 and IQ2, shift the fields by 4
// and do it once more. Of an index byte VPSHUFB ignores bits 4 to 6, and bit 7 is clear: it is the topmost bit of a
// field, and fields use 3 of their 4 bits in IQ1 and IQ2 and 4 of their 8 in IQ3.
//
// D and m: d * (s + 1/2) / 4 = d/8 * (2s + 1) in IQ2, d * (s + 1/2) / 2 = d/4 * (2s + 1) in IQ3_XXS, d * (2s + 1) in
// IQ3_S; d * (2s + 1) * (g +- 1/8) = d/8 * (2s + 1) * (8g +- 1) in IQ1. Dividing an f16 value by 8 is exact in f32.
//
// Bounds, with 256 elements in a segment and |a| <= kI16Max = 4095:
//   IQ2      m <= 31, |q| <= 43:  |I| <= 256 * 31 * 43 * 4095 = 1.40e9
//   IQ3_XXS  m <= 31, |q| <= 62:  |I| <= 256 * 31 * 62 * 4095 = 2.01e9
//   IQ3_S    m <= 31, |q| <= 15;  IQ1  m <= 15, |q| <= 9: less
// all below 2^31 = 2.147e9, and m * |q| <= 1922 fits i16.
#include "jit/quant_grids.h"
#include "jit/x86/decoder_grid_block.h"
#include "jit/x86/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

// Fields of `bits` bits, 2^log2_per_dword of them in each body dword from `first_dword`, `stride` apart from
// `first_bit`.
struct FieldArray {
    uint8_t first_dword, log2_per_dword, first_bit, stride, bits;

    constexpr uint32_t dword(uint32_t index) const { return first_dword + (index >> log2_per_dword); }
    constexpr int shift(uint32_t index) const {
        return first_bit + stride * static_cast<int>(index & ((1u << log2_per_dword) - 1));
    }
    constexpr uint32_t mask() const { return (1u << bits) - 1; }
    void put(PackedBlock& packed, uint32_t index, uint32_t value) const {
        packed.body[dword(index)] |= (value & mask()) << shift(index);
    }
};

enum class Signs : uint8_t {
    parity,  // seven per eight elements; the eighth makes their number even
    all,     // eight per eight elements
    shift,   // one per `shift_rows` grid rows: the elements are 1/8 lower instead of higher
};

// Where a type keeps what it stores. The low 8 bits of the grid row numbers come first, four to a dword.
//
// Signs, other than Signs::shift, take one dword per 32 elements: eight columns of four bits. The l-th eight elements
// have bit l of every column, and the last element of each eight has column 7. So xor of columns 0 to 6 gives the four
// missing bits of Signs::parity at once, and column 7 is free to hold something else.
struct GridLayout {
    DType type;
    QuantGrid grid;
    uint8_t group;  // elements that share a sub-scale
    uint8_t body_dwords;
    FieldArray high_bits;  // per grid row: what the low 8 bits of its number leave
    Signs signs;
    uint8_t sign_dword;  // the first
    FieldArray shifts;   // for Signs::shift
    uint8_t shift_rows;
    FieldArray sub_scales;  // per group
    float scale;            // D = d * scale

    constexpr uint32_t row_elements() const { return grid == QuantGrid::iq3xxs || grid == QuantGrid::iq3s ? 4 : 8; }
    constexpr uint32_t rows() const { return kStepElements / row_elements(); }
    constexpr int sign_bit() const { return row_elements() == 8 ? 2 : 3; }  // of a field
};

// Where a row's element has its field in the gathered dword.
constexpr int field_shift(uint32_t row_elements, uint32_t element) {
    const int stride = row_elements == 8 ? 4 : 8;
    return stride * static_cast<int>(element / 2) + 16 * static_cast<int>(element % 2);
}

constexpr FieldArray kNone{};
constexpr GridLayout kIq2Xxs = {
    DType::IQ2_XXS, QuantGrid::iq2xxs, 32, 16, kNone, Signs::parity, 8, kNone, 0, {8, 0, 28, 0, 4}, 0.125f};
constexpr GridLayout kIq2Xs = {
    DType::IQ2_XS, QuantGrid::iq2xs, 16, 18, {8, 2, 28, 1, 1}, Signs::parity, 8, kNone, 0, {16, 3, 0, 4, 4}, 0.125f};
constexpr GridLayout kIq2S = {DType::IQ2_S,     QuantGrid::iq2s, 16, 20, {16, 4, 0, 2, 2}, Signs::all, 8, kNone, 0,
                              {18, 3, 0, 4, 4}, 0.125f};
constexpr GridLayout kIq3Xxs = {
    DType::IQ3_XXS, QuantGrid::iq3xxs, 32, 24, kNone, Signs::parity, 16, kNone, 0, {16, 0, 28, 0, 4}, 0.25f};
constexpr GridLayout kIq3S = {
    DType::IQ3_S, QuantGrid::iq3s, 32, 27, {24, 5, 0, 1, 1}, Signs::all, 16, kNone, 0, {26, 3, 0, 4, 4}, 1.0f};
constexpr GridLayout kIq1S = {
    DType::IQ1_S,     QuantGrid::iq1s, 32, 12, {8, 3, 0, 3, 3}, Signs::shift, 0, {8, 1, 30, 1, 1}, 4,
    {8, 1, 24, 3, 3}, 0.125f};
constexpr GridLayout kIq1M = {
    DType::IQ1_M,     QuantGrid::iq1s, 16, 13, {8, 3, 0, 4, 3}, Signs::shift, 0, {8, 3, 3, 4, 1}, 1,
    {12, 4, 0, 2, 2}, 0.125f};

// The sub-scales of IQ1_M have a third bit, in the second half of the header: bit g for group g.
constexpr bool has_header_bits(const GridLayout& layout) { return layout.type == DType::IQ1_M; }

class GridDecoder final : public Decoder {
public:
    explicit constexpr GridDecoder(const GridLayout& layout)
        : Decoder({.type = layout.type,
                   .segment = kStepElements,
                   .group = layout.group,
                   .header_bytes = static_cast<uint8_t>(has_header_bits(layout) ? 4 : 2),
                   .body_dwords = layout.body_dwords,
                   .sub_scale = SubScale::integer}),
          layout_(layout) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override;
    std::vector<VectorConstant> constants(Isa isa) const override;
    size_t temporaries(Isa) const override { return 5; }
    void prepare(const DecodeSite& site) const override;
    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override;
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override;
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override;

private:
    // Register map. A row number is dead once its row is gathered, so the pairs take its register.
    static Xmm codebook(const DecodeSite& site) { return site.constant(0); }
    static Xmm sign_mask(const DecodeSite& site) { return site.constant(1); }
    static Xmm low_bytes(const DecodeSite& site) { return site.constant(2); }  // 1 in the low byte of every i16
    static Xmm signs(const DecodeSite& site) { return site.temporary(0); }
    static Xmm row_number(const DecodeSite& site) { return site.temporary(1); }
    static Xmm pair(const DecodeSite& site) { return site.temporary(1); }
    static Xmm fields(const DecodeSite& site) { return site.temporary(2); }
    static Xmm scratch(const DecodeSite& site) { return site.temporary(3); }
    static Xmm four_row_numbers(const DecodeSite& site) { return site.temporary(4); }

    bool has_high_bits() const { return layout_.high_bits.bits != 0; }
    int field_shift(uint32_t element) const { return x86::field_shift(layout_.row_elements(), element); }
    std::vector<uint32_t> table() const;

    void load_signs(const DecodeSite& site, uint32_t first_row) const;
    void complete_parity(const DecodeSite& site) const;
    void load_row_number(const DecodeSite& site, uint32_t row, uint32_t first_row) const;
    void gather_fields(const DecodeSite& site) const;
    void merge_signs(const DecodeSite& site, uint32_t row) const;
    void emit_pairs(const DecodeSite& site, uint32_t first_pair, const PairSink& sink) const;

    GridLayout layout_;
};

void bit_xor(X86Emitter& code, const Xmm& out, const Xmm& left, const Xmm& right) {
    has_avx512(code.isa()) ? code.vpxord(out, left, right) : code.vpxor(out, left, right);
}

// ---- packing --------------------------------------------------------------------------------------------------------

// For every byte of eight signs: each sign at bit 0 of its column.
template <uint32_t row_elements>
constexpr std::array<uint32_t, 256> kSignColumns = [] {
    std::array<uint32_t, 256> columns{};
    for (uint32_t signs = 0; signs < 256; ++signs)
        for (uint32_t j = 0; j < 8; ++j)
            columns[signs] |= (signs >> j & 1)
                              << (field_shift(row_elements, j % row_elements) + 4 * (j / row_elements));
    return columns;
}();

void GridDecoder::pack_block(const std::byte* block, PackedBlock& packed) const {
    GridBlock fields;
    find_grid_block_reader(layout_.type)(block, fields);
    packed.body.fill(0);
    packed.header = {fields.scale, 0};
    for (uint32_t row = 0; row < layout_.rows(); ++row) {
        packed.body[row / 4] |= (fields.rows[row] & 255u) << 8 * (row % 4);
        if (has_high_bits()) layout_.high_bits.put(packed, row, fields.rows[row] >> 8);
        if (layout_.signs == Signs::shift && row % layout_.shift_rows == 0)
            layout_.shifts.put(packed, row / layout_.shift_rows, fields.signs[row]);
    }
    if (layout_.signs != Signs::shift) {
        const uint32_t stored = layout_.signs == Signs::parity ? 127 : 255;
        const auto& columns = layout_.row_elements() == 8 ? kSignColumns<8> : kSignColumns<4>;
        for (uint32_t i = 0; i < 32; ++i)
            packed.body[layout_.sign_dword + i / 4] |= columns[fields.signs[i] & stored] << i % 4;
    }
    for (uint32_t group = 0; group < kStepElements / layout_.group; ++group) {
        layout_.sub_scales.put(packed, group, fields.sub_scales[group]);
        if (has_header_bits(layout_))
            packed.header[1] |= static_cast<uint16_t>((fields.sub_scales[group] >> 2 & 1) << group);
    }
}

// ---- tables ---------------------------------------------------------------------------------------------------------

std::vector<VectorConstant> GridDecoder::constants(Isa) const {
    const auto magnitudes = packed_grid(layout_.grid).values;
    std::array<int8_t, 16> values{};
    for (size_t i = 0; i < magnitudes.size(); ++i) {
        const int value = magnitudes[i];
        const bool is_shifted = layout_.signs == Signs::shift;
        values[i] = static_cast<int8_t>(is_shifted ? 8 * value + 1 : value);
        values[i | 1u << layout_.sign_bit()] = static_cast<int8_t>(is_shifted ? 8 * value - 1 : -value);
    }
    VectorConstant codebook;
    for (size_t lane = 0; lane < 4; ++lane) std::memcpy(&codebook[4 * lane], values.data(), sizeof values);

    uint32_t sign_mask = 0;
    for (uint32_t j = 0; j < layout_.row_elements(); ++j) sign_mask |= 1u << (field_shift(j) + layout_.sign_bit());
    return {codebook, broadcast(sign_mask), broadcast(0x00010001)};
}

std::vector<uint32_t> GridDecoder::table() const {
    const PackedGrid& grid = packed_grid(layout_.grid);
    std::vector<uint32_t> rows;
    for (const uint32_t packed : grid.rows) {
        uint32_t fields = 0;
        for (uint32_t j = 0; j < grid.columns; ++j)
            fields |= (packed >> grid.bits * j & ((1u << grid.bits) - 1)) << field_shift(j);
        rows.push_back(fields);
    }
    return rows;
}

void GridDecoder::prepare(const DecodeSite& site) const {
    Decoder::prepare(site);
    const std::vector<uint32_t> rows = table();
    site.code.lea(site.table(), site.code.constant_bytes(rows.data(), rows.size() * sizeof rows[0]));
}

// ---- decoding -------------------------------------------------------------------------------------------------------

void GridDecoder::unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const {
    const uint32_t rows = layout_.group / layout_.row_elements();
    for (uint32_t i = 0; i < rows; ++i) {
        const uint32_t row = group * rows + i;
        if (i == 0 || (layout_.signs == Signs::shift && row % layout_.shift_rows == 0)) load_signs(site, row);
        load_row_number(site, row, group * rows);
        gather_fields(site);
        merge_signs(site, row);
        emit_pairs(site, i * layout_.row_elements() / 2, sink);
    }
}

// signs = the sign dword of the 32 elements around the row; for Signs::shift, all sign bits of the row's fields.
void GridDecoder::load_signs(const DecodeSite& site, uint32_t row) const {
    X86Emitter& code = site.code;
    if (layout_.signs == Signs::shift) {
        const uint32_t index = row / layout_.shift_rows;
        load(code, signs(site), site.body_dwords(0, layout_.shifts.dword(index)));
        code.vpslld(signs(site), signs(site), static_cast<uint8_t>(31 - layout_.shifts.shift(index)));
        code.vpsrad(signs(site), signs(site), 31);
        return bit_and(code, signs(site), signs(site), sign_mask(site));
    }
    load(code, signs(site), site.body_dwords(0, layout_.sign_dword + row * layout_.row_elements() / 32));
    if (layout_.signs == Signs::parity) complete_parity(site);
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
    bit_and(code, parity, parity, code.splat_u32(~kStored));
    bit_or(code, signs(site), signs(site), parity);
}

// VPSHUFB control that moves byte `index` of every dword to its lowest and clears the others.
VectorConstant byte_of_dwords(uint32_t index) {
    VectorConstant control;
    for (uint32_t lane = 0; lane < control.size(); ++lane) control[lane] = 0x80808000 | (lane % 4 * 4 + index);
    return control;
}

void GridDecoder::load_row_number(const DecodeSite& site, uint32_t row, uint32_t first_row) const {
    X86Emitter& code = site.code;
    const VectorConstant byte = byte_of_dwords(row % 4);
    if (row % 4 == 0 || row == first_row) load(code, four_row_numbers(site), site.body_dwords(0, row / 4));
    code.vpshufb(row_number(site), four_row_numbers(site), code.constant_bytes(byte.data(), sizeof byte));
    if (!has_high_bits()) return;
    load(code, scratch(site), site.body_dwords(0, layout_.high_bits.dword(row)));
    shift_dwords(code, scratch(site), scratch(site), layout_.high_bits.shift(row) - 8);
    bit_and(code, scratch(site), scratch(site), code.splat_u32(layout_.high_bits.mask() << 8));
    bit_or(code, row_number(site), row_number(site), scratch(site));
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

void GridDecoder::merge_signs(const DecodeSite& site, uint32_t row) const {
    if (layout_.signs == Signs::shift) return bit_or(site.code, fields(site), fields(site), signs(site));
    const uint32_t first_element = row * layout_.row_elements() % 32;
    const int stored_bit = static_cast<int>(first_element / 8 + 4 * (first_element % 8 / layout_.row_elements()));
    shift_dwords(site.code, scratch(site), signs(site), stored_bit - layout_.sign_bit());
    merge_bits(site.code, fields(site), scratch(site), sign_mask(site));
}

void GridDecoder::emit_pairs(const DecodeSite& site, uint32_t first_pair, const PairSink& sink) const {
    X86Emitter& code = site.code;
    const uint32_t pairs = layout_.row_elements() / 2, rounds = pairs / 2;
    for (uint32_t round = 0; round < rounds; ++round) {
        if (round > 0) code.vpsrlw(fields(site), fields(site), 4);
        code.vpshufb(scratch(site), codebook(site), fields(site));
        code.vpmaddubsw(pair(site), low_bytes(site), scratch(site));  // 1 * byte 0 + 0 * byte 1, widened
        sink(pair(site), first_pair + round);
        code.vpsraw(pair(site), scratch(site), 8);
        sink(pair(site), first_pair + rounds + round);
    }
}

void GridDecoder::scale(const DecodeSite& site, uint32_t, const Xmm& out) const {
    load_half_scale(site, out, 0, 0);
    if (layout_.scale != 1.0f) site.code.vmulps(out, out, site.code.splat(layout_.scale));
}

// m = 2s + 1: the field goes to bit 1 and up.
void GridDecoder::sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const {
    X86Emitter& code = site.code;
    const FieldArray& field = layout_.sub_scales;
    load(code, out, site.body_dwords(0, field.dword(group)));
    shift_dwords(code, out, out, field.shift(group) - 1);
    bit_and(code, out, out, code.splat_u32(field.mask() << 1));
    if (has_header_bits(layout_)) {
        code.vpmovzxwd(scratch(site), site.header_halves(0, 1));
        shift_dwords(code, scratch(site), scratch(site), static_cast<int>(group) - 3);
        bit_and(code, scratch(site), scratch(site), code.splat_u32(1u << 3));
        bit_or(code, out, out, scratch(site));
    }
    bit_or(code, out, out, code.splat_u32(1));
}

constinit const GridDecoder kIq2XxsDecoder(kIq2Xxs), kIq2XsDecoder(kIq2Xs), kIq2SDecoder(kIq2S),
    kIq3XxsDecoder(kIq3Xxs), kIq3SDecoder(kIq3S), kIq1SDecoder(kIq1S), kIq1MDecoder(kIq1M);
constexpr const GridDecoder* kDecoders[] = {&kIq2XxsDecoder, &kIq2XsDecoder, &kIq2SDecoder, &kIq3XxsDecoder,
                                            &kIq3SDecoder,   &kIq1SDecoder,  &kIq1MDecoder};

}  // namespace

const Decoder* find_grid_decoder(DType type) {
    for (const GridDecoder* decoder : kDecoders)
        if (decoder->traits().type == type) return decoder;
    return nullptr;
}

}  // namespace riftjit::x86

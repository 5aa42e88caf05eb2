#include "jit/x86/decoders/decoder_grid_layout.h"

#include "jit/formats/field_reader.h"

namespace riftjit::x86 {

namespace {

template <DType type>
void read_fields(const std::byte* block, GridFields& fields) {
    fields.scale = static_cast<uint16_t>(read_value(kField<type, FieldRole::scale>, block, 0));
    read_values<type, FieldRole::grid_row>(block, fields.rows.data());
    read_values<type, FieldRole::signs>(block, fields.signs.data());
    read_values<type, FieldRole::sub_scale>(block, fields.sub_scales.data());
    fields.groups = kStepElements / kField<type, FieldRole::sub_scale>.span;
}

constexpr GridLayout kLayouts[] = {
    {.type = DType::IQ2_XXS,
     .read = read_fields<DType::IQ2_XXS>,
     .grid = QuantGrid::iq2xxs,
     .row_elements = 8,
     .body_dwords = 16,
     .high_bits = kNoFields,
     .signs = GridSigns::parity,
     .sign_dword = 8,
     .sub_scales = {8, 0, 28, 0, 4}},
    {.type = DType::IQ2_XS,
     .read = read_fields<DType::IQ2_XS>,
     .grid = QuantGrid::iq2xs,
     .row_elements = 8,
     .body_dwords = 18,
     .high_bits = {8, 2, 28, 1, 1},
     .signs = GridSigns::parity,
     .sign_dword = 8,
     .sub_scales = {16, 3, 0, 4, 4}},
    {.type = DType::IQ2_S,
     .read = read_fields<DType::IQ2_S>,
     .grid = QuantGrid::iq2s,
     .row_elements = 8,
     .body_dwords = 20,
     .high_bits = {16, 4, 0, 2, 2},
     .signs = GridSigns::all,
     .sign_dword = 8,
     .sub_scales = {18, 3, 0, 4, 4}},
    {.type = DType::IQ3_XXS,
     .read = read_fields<DType::IQ3_XXS>,
     .grid = QuantGrid::iq3xxs,
     .row_elements = 4,
     .body_dwords = 24,
     .high_bits = kNoFields,
     .signs = GridSigns::parity,
     .sign_dword = 16,
     .sub_scales = {16, 0, 28, 0, 4}},
    {.type = DType::IQ3_S,
     .read = read_fields<DType::IQ3_S>,
     .grid = QuantGrid::iq3s,
     .row_elements = 4,
     .body_dwords = 27,
     .high_bits = {24, 5, 0, 1, 1},
     .signs = GridSigns::all,
     .sign_dword = 16,
     .sub_scales = {26, 3, 0, 4, 4}},
    {.type = DType::IQ1_S,
     .read = read_fields<DType::IQ1_S>,
     .grid = QuantGrid::iq1s,
     .row_elements = 8,
     .body_dwords = 12,
     .high_bits = {8, 3, 0, 3, 3},
     .signs = GridSigns::shift,
     .shifts = {8, 1, 30, 1, 1},
     .shift_rows = 4,
     .sub_scales = {8, 1, 24, 3, 3}},
    {.type = DType::IQ1_M,
     .read = read_fields<DType::IQ1_M>,
     .grid = QuantGrid::iq1s,
     .row_elements = 8,
     .body_dwords = 13,
     .high_bits = {8, 3, 0, 4, 3},
     .signs = GridSigns::shift,
     .shifts = {8, 3, 3, 4, 1},
     .shift_rows = 1,
     .sub_scales = {12, 4, 0, 2, 2},
     .has_header_bits = true},
};

void put(const FieldArray& fields, PackedBlock& packed, uint32_t index, uint32_t value) {
    packed.body[fields.dword(index)] |= (value & fields.mask()) << fields.shift(index);
}

// For every byte of eight signs: each sign at bit 0 of its column.
constexpr std::array<uint32_t, 256> sign_columns(const GridLayout& layout) {
    std::array<uint32_t, 256> columns{};
    for (uint32_t signs = 0; signs < 256; ++signs) {
        for (uint32_t j = 0; j < 8; ++j) {
            const uint32_t row = j / layout.row_elements, element = j % layout.row_elements;
            columns[signs] |= (signs >> j & 1) << (layout.field_shift(element) + 4 * static_cast<int>(row));
        }
    }
    return columns;
}
constexpr auto kColumnsOf8 = sign_columns({.row_elements = 8}), kColumnsOf4 = sign_columns({.row_elements = 4});

void pack_rows(const GridLayout& layout, const GridFields& fields, PackedBlock& packed) {
    for (uint32_t row = 0; row < layout.rows(); ++row) {
        packed.body[row / 4] |= (fields.rows[row] & 255u) << 8 * layout.low_byte(row);
        put(layout.high_bits, packed, row, fields.rows[row] >> 8);
    }
}

void pack_signs(const GridLayout& layout, const GridFields& fields, PackedBlock& packed) {
    if (layout.signs == GridSigns::shift) {
        for (uint32_t i = 0; i < layout.rows() / layout.shift_rows; ++i) put(layout.shifts, packed, i, fields.signs[i]);
        return;
    }
    const auto& columns = layout.row_elements == 8 ? kColumnsOf8 : kColumnsOf4;
    for (uint32_t i = 0; i < 32; ++i) packed.body[layout.sign_dword + i / 4] |= columns[fields.signs[i]] << i % 4;
}

void pack_sub_scales(const GridLayout& layout, const GridFields& fields, PackedBlock& packed) {
    for (uint32_t group = 0; group < fields.groups; ++group) {
        put(layout.sub_scales, packed, group, fields.sub_scales[group]);
        if (layout.has_header_bits)
            packed.header[1] |= static_cast<uint16_t>((fields.sub_scales[group] >> 2 & 1) << group);
    }
}

}  // namespace

const GridLayout* find_grid_layout(DType type) {
    for (const GridLayout& layout : kLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

void pack_grid_block(const GridLayout& layout, const std::byte* block, PackedBlock& packed) {
    GridFields fields;
    layout.read(block, fields);
    packed.body.fill(0);
    packed.header = {fields.scale, 0};
    pack_rows(layout, fields, packed);
    pack_signs(layout, fields, packed);
    pack_sub_scales(layout, fields, packed);
}

}  // namespace riftjit::x86

// Where every format keeps its fields, per generation, as data: the encoder writes them and the decoder reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

enum class Field : uint8_t {
    op,
    // scalar ALU
    sdst,
    ssrc0,
    ssrc1,
    simm16,
    // vector ALU
    vdst,
    src0,
    src1,  // nine bits; vsrc1 holds VGPRs only
    vsrc1,
    src2,
    clamp,
    omod,
    op_sel,
    op_sel_hi01,
    op_sel_hi2,
    neg,
    abs,
    // the word after a DPP or SDWA instruction
    word_src0,
    word_neg0,
    word_abs0,
    word_neg1,
    word_abs1,
    dpp_control,
    fetch_inactive,
    bound_control,
    bank_mask,
    row_mask,
    selectors,
    destination_select,
    destination_unused,
    source_select0,
    source_select1,
    sign_extend0,
    sign_extend1,
    scalar0,  // the source is an SGPR
    scalar1,
    has_sdst,  // SDWA compares: sdst instead of vcc
    // memory
    sbase,
    sdata,
    saddr,
    soffset,
    resource,
    vaddr,
    data0,
    data1,
    offset,
    offset1,
    index_enable,
    offset_enable,
    vaddr_enable,
    data_format,
    gds,
    lds,
    tfe,
    glc,
    slc,
    dlc,
    temporal_hint,
    scope,
    // VOPD
    op_x,
    op_y,
    src0_x,
    src0_y,
    vsrc1_x,
    vsrc1_y,
    vdst_x,
    vdst_y,
    count,
};
inline constexpr size_t kFieldCount = static_cast<size_t>(Field::count);

struct FieldPlace {
    Field field;
    uint8_t low, width, word;
};

// A format's machine words, or the word that DPP and SDWA put behind them.
enum class Layout : uint8_t {
    SOP2,
    SOPK,
    SOP1,
    SOPC,
    SOPP,
    SMEM,
    VOP1,
    VOP2,
    VOPC,
    VOP3,
    VOP3_sdst,  // VOP3 with a scalar destination where abs and op_sel lie otherwise
    VOP3P,
    VOPD,
    DS,
    FLAT,
    GLOBAL,
    SCRATCH,
    MUBUF,
    DPP16,
    DPP8,
    SDWA,
    SDWA_compare,
    none,
};
inline constexpr size_t kLayoutCount = static_cast<size_t>(Layout::none);

struct LayoutInfo {
    uint32_t prefix = 0, prefix_mask = 0;  // in the first word
    uint8_t words = 0;                     // 0: the generation lacks the format
    std::span<const FieldPlace> fields{};
};

namespace formats {

using enum Field;

inline constexpr FieldPlace kSop2[] = {{op, 23, 7, 0}, {sdst, 16, 7, 0}, {ssrc1, 8, 8, 0}, {ssrc0, 0, 8, 0}};
inline constexpr FieldPlace kSopk[] = {{op, 23, 5, 0}, {sdst, 16, 7, 0}, {simm16, 0, 16, 0}};
inline constexpr FieldPlace kSop1[] = {{sdst, 16, 7, 0}, {op, 8, 8, 0}, {ssrc0, 0, 8, 0}};
inline constexpr FieldPlace kSopc[] = {{op, 16, 7, 0}, {ssrc1, 8, 8, 0}, {ssrc0, 0, 8, 0}};
inline constexpr FieldPlace kSopp[] = {{op, 16, 7, 0}, {simm16, 0, 16, 0}};

inline constexpr FieldPlace kSmem10[] = {{op, 18, 8, 0},   {glc, 16, 1, 0},     {dlc, 14, 1, 0},   {sdata, 6, 7, 0},
                                         {sbase, 0, 6, 0}, {soffset, 25, 7, 1}, {offset, 0, 21, 1}};
inline constexpr FieldPlace kSmem11[] = {{op, 18, 8, 0},   {glc, 14, 1, 0},     {dlc, 13, 1, 0},   {sdata, 6, 7, 0},
                                         {sbase, 0, 6, 0}, {soffset, 25, 7, 1}, {offset, 0, 21, 1}};
inline constexpr FieldPlace kSmem12[] = {{op, 13, 6, 0},    {temporal_hint, 23, 2, 0}, {scope, 21, 2, 0},
                                         {sdata, 6, 7, 0},  {sbase, 0, 6, 0},          {soffset, 25, 7, 1},
                                         {offset, 0, 24, 1}};

inline constexpr FieldPlace kVop1[] = {{vdst, 17, 8, 0}, {op, 9, 8, 0}, {src0, 0, 9, 0}};
inline constexpr FieldPlace kVop2[] = {{op, 25, 6, 0}, {vdst, 17, 8, 0}, {vsrc1, 9, 8, 0}, {src0, 0, 9, 0}};
inline constexpr FieldPlace kVopc[] = {{op, 17, 8, 0}, {vsrc1, 9, 8, 0}, {src0, 0, 9, 0}};
inline constexpr FieldPlace kVop3[] = {{op, 16, 10, 0}, {clamp, 15, 1, 0}, {op_sel, 11, 4, 0}, {abs, 8, 3, 0},
                                       {vdst, 0, 8, 0}, {neg, 29, 3, 1},   {omod, 27, 2, 1},   {src2, 18, 9, 1},
                                       {src1, 9, 9, 1}, {src0, 0, 9, 1}};
inline constexpr FieldPlace kVop3Sdst[] = {{op, 16, 10, 0},  {clamp, 15, 1, 0}, {sdst, 8, 7, 0},
                                           {vdst, 0, 8, 0},  {neg, 29, 3, 1},   {omod, 27, 2, 1},
                                           {src2, 18, 9, 1}, {src1, 9, 9, 1},   {src0, 0, 9, 1}};
inline constexpr FieldPlace kVop3p[] = {{op, 16, 7, 0},     {clamp, 15, 1, 0},       {op_sel_hi2, 14, 1, 0},
                                        {op_sel, 11, 3, 0}, {abs, 8, 3, 0},          {vdst, 0, 8, 0},
                                        {neg, 29, 3, 1},    {op_sel_hi01, 27, 2, 1}, {src2, 18, 9, 1},
                                        {src1, 9, 9, 1},    {src0, 0, 9, 1}};
inline constexpr FieldPlace kVopd[] = {{op_x, 22, 4, 0},   {op_y, 17, 5, 0},   {vsrc1_x, 9, 8, 0}, {src0_x, 0, 9, 0},
                                       {vdst_x, 24, 8, 1}, {vdst_y, 17, 7, 1}, {vsrc1_y, 9, 8, 1}, {src0_y, 0, 9, 1}};

inline constexpr FieldPlace kDs10[] = {{op, 18, 8, 0},   {gds, 17, 1, 0},   {offset1, 8, 8, 0}, {offset, 0, 8, 0},
                                       {vdst, 24, 8, 1}, {data1, 16, 8, 1}, {data0, 8, 8, 1},   {vaddr, 0, 8, 1}};
inline constexpr FieldPlace kDs12[] = {{op, 18, 8, 0},    {offset1, 8, 8, 0}, {offset, 0, 8, 0}, {vdst, 24, 8, 1},
                                       {data1, 16, 8, 1}, {data0, 8, 8, 1},   {vaddr, 0, 8, 1}};

inline constexpr FieldPlace kFlat10[] = {{op, 18, 7, 0},   {slc, 17, 1, 0},    {glc, 16, 1, 0},  {lds, 13, 1, 0},
                                         {dlc, 12, 1, 0},  {offset, 0, 12, 0}, {vdst, 24, 8, 1}, {saddr, 16, 7, 1},
                                         {data0, 8, 8, 1}, {vaddr, 0, 8, 1}};
inline constexpr FieldPlace kFlat11[] = {
    {op, 18, 7, 0},   {slc, 15, 1, 0},          {glc, 14, 1, 0},   {dlc, 13, 1, 0},  {offset, 0, 13, 0},
    {vdst, 24, 8, 1}, {vaddr_enable, 23, 1, 1}, {saddr, 16, 7, 1}, {data0, 8, 8, 1}, {vaddr, 0, 8, 1}};
inline constexpr FieldPlace kFlat12[] = {
    {op, 14, 8, 0},           {saddr, 0, 7, 0}, {data0, 23, 8, 1},  {temporal_hint, 20, 3, 1}, {scope, 18, 2, 1},
    {vaddr_enable, 17, 1, 1}, {vdst, 0, 8, 1},  {offset, 8, 24, 2}, {vaddr, 0, 8, 2}};

inline constexpr FieldPlace kMubuf10[] = {{op, 18, 8, 0},     {lds, 16, 1, 0},          {dlc, 15, 1, 0},
                                          {glc, 14, 1, 0},    {index_enable, 13, 1, 0}, {offset_enable, 12, 1, 0},
                                          {offset, 0, 12, 0}, {soffset, 24, 8, 1},      {tfe, 23, 1, 1},
                                          {slc, 22, 1, 1},    {resource, 16, 5, 1},     {data0, 8, 8, 1},
                                          {vaddr, 0, 8, 1}};
inline constexpr FieldPlace kMubuf11[] = {{op, 18, 8, 0},           {glc, 14, 1, 0},           {dlc, 13, 1, 0},
                                          {slc, 12, 1, 0},          {offset, 0, 12, 0},        {soffset, 24, 8, 1},
                                          {index_enable, 23, 1, 1}, {offset_enable, 22, 1, 1}, {tfe, 21, 1, 1},
                                          {resource, 16, 5, 1},     {data0, 8, 8, 1},          {vaddr, 0, 8, 1}};
inline constexpr FieldPlace kMubuf12[] = {{op, 14, 8, 0},
                                          {tfe, 22, 1, 0},
                                          {soffset, 0, 7, 0},
                                          {index_enable, 31, 1, 1},
                                          {offset_enable, 30, 1, 1},
                                          {data_format, 23, 7, 1},
                                          {temporal_hint, 20, 3, 1},
                                          {scope, 18, 2, 1},
                                          {resource, 9, 9, 1},
                                          {data0, 0, 8, 1},
                                          {offset, 8, 24, 2},
                                          {vaddr, 0, 8, 2}};

inline constexpr FieldPlace kDpp16[] = {{row_mask, 28, 4, 0},      {bank_mask, 24, 4, 0},      {word_abs1, 23, 1, 0},
                                        {word_neg1, 22, 1, 0},     {word_abs0, 21, 1, 0},      {word_neg0, 20, 1, 0},
                                        {bound_control, 19, 1, 0}, {fetch_inactive, 18, 1, 0}, {dpp_control, 8, 9, 0},
                                        {word_src0, 0, 8, 0}};
inline constexpr FieldPlace kDpp8[] = {{selectors, 8, 24, 0}, {word_src0, 0, 8, 0}};
inline constexpr FieldPlace kSdwa[] = {{scalar1, 31, 1, 0},
                                       {word_abs1, 29, 1, 0},
                                       {word_neg1, 28, 1, 0},
                                       {sign_extend1, 27, 1, 0},
                                       {source_select1, 24, 3, 0},
                                       {scalar0, 23, 1, 0},
                                       {word_abs0, 21, 1, 0},
                                       {word_neg0, 20, 1, 0},
                                       {sign_extend0, 19, 1, 0},
                                       {source_select0, 16, 3, 0},
                                       {omod, 14, 2, 0},
                                       {clamp, 13, 1, 0},
                                       {destination_unused, 11, 2, 0},
                                       {destination_select, 8, 3, 0},
                                       {word_src0, 0, 8, 0}};
inline constexpr FieldPlace kSdwaCompare[] = {
    {scalar1, 31, 1, 0},        {word_abs1, 29, 1, 0},      {word_neg1, 28, 1, 0}, {sign_extend1, 27, 1, 0},
    {source_select1, 24, 3, 0}, {scalar0, 23, 1, 0},        {word_abs0, 21, 1, 0}, {word_neg0, 20, 1, 0},
    {sign_extend0, 19, 1, 0},   {source_select0, 16, 3, 0}, {has_sdst, 15, 1, 0},  {sdst, 8, 7, 0},
    {word_src0, 0, 8, 0}};

inline constexpr std::array<std::array<LayoutInfo, 3>, kLayoutCount> kLayouts = {{
    // gfx10, gfx11, gfx12
    {{{0x80000000, 0xC0000000, 1, kSop2}, {0x80000000, 0xC0000000, 1, kSop2}, {0x80000000, 0xC0000000, 1, kSop2}}},
    {{{0xB0000000, 0xF0000000, 1, kSopk}, {0xB0000000, 0xF0000000, 1, kSopk}, {0xB0000000, 0xF0000000, 1, kSopk}}},
    {{{0xBE800000, 0xFF800000, 1, kSop1}, {0xBE800000, 0xFF800000, 1, kSop1}, {0xBE800000, 0xFF800000, 1, kSop1}}},
    {{{0xBF000000, 0xFF800000, 1, kSopc}, {0xBF000000, 0xFF800000, 1, kSopc}, {0xBF000000, 0xFF800000, 1, kSopc}}},
    {{{0xBF800000, 0xFF800000, 1, kSopp}, {0xBF800000, 0xFF800000, 1, kSopp}, {0xBF800000, 0xFF800000, 1, kSopp}}},
    {{{0xF4000000, 0xFC000000, 2, kSmem10},
      {0xF4000000, 0xFC000000, 2, kSmem11},
      {0xF4000000, 0xFC000000, 2, kSmem12}}},
    {{{0x7E000000, 0xFE000000, 1, kVop1}, {0x7E000000, 0xFE000000, 1, kVop1}, {0x7E000000, 0xFE000000, 1, kVop1}}},
    {{{0x00000000, 0x80000000, 1, kVop2}, {0x00000000, 0x80000000, 1, kVop2}, {0x00000000, 0x80000000, 1, kVop2}}},
    {{{0x7C000000, 0xFE000000, 1, kVopc}, {0x7C000000, 0xFE000000, 1, kVopc}, {0x7C000000, 0xFE000000, 1, kVopc}}},
    {{{0xD4000000, 0xFC000000, 2, kVop3}, {0xD4000000, 0xFC000000, 2, kVop3}, {0xD4000000, 0xFC000000, 2, kVop3}}},
    {{{0xD4000000, 0xFC000000, 2, kVop3Sdst},
      {0xD4000000, 0xFC000000, 2, kVop3Sdst},
      {0xD4000000, 0xFC000000, 2, kVop3Sdst}}},
    {{{0xCC000000, 0xFF800000, 2, kVop3p}, {0xCC000000, 0xFF800000, 2, kVop3p}, {0xCC000000, 0xFF800000, 2, kVop3p}}},
    {{{}, {0xC8000000, 0xFC000000, 2, kVopd}, {0xC8000000, 0xFC000000, 2, kVopd}}},
    {{{0xD8000000, 0xFC000000, 2, kDs10}, {0xD8000000, 0xFC000000, 2, kDs10}, {0xD8000000, 0xFC000000, 2, kDs12}}},
    {{{0xDC000000, 0xFC00C000, 2, kFlat10},
      {0xDC000000, 0xFC030000, 2, kFlat11},
      {0xEC000000, 0xFF000000, 3, kFlat12}}},
    {{{0xDC008000, 0xFC00C000, 2, kFlat10},
      {0xDC020000, 0xFC030000, 2, kFlat11},
      {0xEE000000, 0xFF000000, 3, kFlat12}}},
    {{{0xDC004000, 0xFC00C000, 2, kFlat10},
      {0xDC010000, 0xFC030000, 2, kFlat11},
      {0xED000000, 0xFF000000, 3, kFlat12}}},
    {{{0xE0000000, 0xFC000000, 2, kMubuf10},
      {0xE0000000, 0xFC000000, 2, kMubuf11},
      {0xC4000000, 0xFC000000, 3, kMubuf12}}},
    {{{0, 0, 1, kDpp16}, {0, 0, 1, kDpp16}, {0, 0, 1, kDpp16}}},
    {{{0, 0, 1, kDpp8}, {0, 0, 1, kDpp8}, {0, 0, 1, kDpp8}}},
    {{{0, 0, 1, kSdwa}, {}, {}}},
    {{{0, 0, 1, kSdwaCompare}, {}, {}}},
}};

}  // namespace formats

constexpr const LayoutInfo& layout_info(Layout layout, Generation generation) {
    return formats::kLayouts[static_cast<size_t>(layout)][static_cast<size_t>(generation)];
}

constexpr uint32_t mask_of_width(unsigned width) { return width >= 32 ? ~0u : (1u << width) - 1; }

// Values that src0 holds when a DPP or SDWA word follows.
inline constexpr uint32_t kSdwaFollows = 249, kDpp16Follows = 250, kDpp8Follows = 233, kDpp8FollowsFetchInactive = 234;

// The VOP3 number of a short form's: these offsets, the same on all generations.
inline constexpr uint16_t kVop3OfVopc = 0, kVop3OfVop2 = 0x100, kVop3OfVop1 = 0x180;

}  // namespace riftjit::rdna

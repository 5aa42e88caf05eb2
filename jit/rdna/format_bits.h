// Where each field of each instruction format lies: word, lowest bit, width. The encoder packs and the decoder unpacks
// by the same constants. Bit positions as in AMD's RDNA2, RDNA3 and RDNA4 ISA documents, checked against LLVM 19.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/target.h"

namespace riftjit::rdna::bits {

struct Field {
    uint8_t word, low, width;
    constexpr uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};

class Words {
public:
    constexpr uint32_t get(Field field) const { return words[field.word] >> field.low & field.mask(); }
    // The value must fit; whoever packs has checked it.
    constexpr void set(Field field, uint32_t value) { words[field.word] |= (value & field.mask()) << field.low; }
    constexpr int32_t get_signed(Field field) const {
        const auto shift = 32u - field.width;
        return static_cast<int32_t>(get(field) << shift) >> shift;
    }
    std::array<uint32_t, 5> words{};
    uint8_t count = 1;
};

namespace sop2 {
inline constexpr Field prefix{0, 30, 2}, op{0, 23, 7}, sdst{0, 16, 7}, ssrc1{0, 8, 8}, ssrc0{0, 0, 8};
inline constexpr uint32_t kPrefix = 0b10;
}  // namespace sop2
namespace sopk {
inline constexpr Field prefix{0, 28, 4}, op{0, 23, 5}, sdst{0, 16, 7}, simm16{0, 0, 16};
inline constexpr uint32_t kPrefix = 0b1011;
}  // namespace sopk
namespace sop1 {
inline constexpr Field prefix{0, 23, 9}, sdst{0, 16, 7}, op{0, 8, 8}, ssrc0{0, 0, 8};
inline constexpr uint32_t kPrefix = 0b101111101;
}  // namespace sop1
namespace sopc {
inline constexpr Field prefix{0, 23, 9}, op{0, 16, 7}, ssrc1{0, 8, 8}, ssrc0{0, 0, 8};
inline constexpr uint32_t kPrefix = 0b101111110;
}  // namespace sopc
namespace sopp {
inline constexpr Field prefix{0, 23, 9}, op{0, 16, 7}, simm16{0, 0, 16};
inline constexpr uint32_t kPrefix = 0b101111111;
}  // namespace sopp

// SMEM: gfx10 and gfx11 differ in the cache bits, gfx12 in op, cache policy and the width of the offset.
namespace smem {
inline constexpr Field prefix{0, 26, 6}, sdata{0, 6, 7}, sbase{0, 0, 6}, soffset{1, 25, 7};
inline constexpr Field op10{0, 18, 8}, op12{0, 13, 6}, offset10{1, 0, 21}, offset12{1, 0, 24};
inline constexpr Field glc10{0, 16, 1}, dlc10{0, 14, 1}, glc11{0, 14, 1}, dlc11{0, 13, 1};
inline constexpr Field th12{0, 23, 2}, scope12{0, 21, 2};
inline constexpr uint32_t kPrefix = 0b111101;
}  // namespace smem

namespace vop1 {
inline constexpr Field prefix{0, 25, 7}, vdst{0, 17, 8}, op{0, 9, 8}, src0{0, 0, 9};
inline constexpr uint32_t kPrefix = 0b0111111;
}  // namespace vop1
namespace vopc {
inline constexpr Field prefix{0, 25, 7}, op{0, 17, 8}, vsrc1{0, 9, 8}, src0{0, 0, 9};
inline constexpr uint32_t kPrefix = 0b0111110;
}  // namespace vopc
namespace vop2 {  // VOPC and VOP1 lie behind its last numbers
inline constexpr Field prefix{0, 31, 1}, op{0, 25, 6}, vdst{0, 17, 8}, vsrc1{0, 9, 8}, src0{0, 0, 9};
inline constexpr uint32_t kPrefix = 0;
}  // namespace vop2

// VOP3; with sdst the bits of op_sel and abs hold it. VOP3 numbers of the short formats follow from theirs.
namespace vop3 {
inline constexpr Field prefix{0, 26, 6}, op{0, 16, 10}, clamp{0, 15, 1}, op_sel{0, 11, 4}, abs{0, 8, 3}, sdst{0, 8, 7},
    vdst{0, 0, 8};
inline constexpr Field neg{1, 29, 3}, omod{1, 27, 2}, src2{1, 18, 9}, src1{1, 9, 9}, src0{1, 0, 9};
inline constexpr uint32_t kPrefix = 0b110101, kVopcBase = 0, kVop2Base = 0x100, kVop1Base = 0x180;
inline constexpr uint32_t kExec = 126;  // vdst of v_cmpx
}  // namespace vop3
namespace vop3p {
inline constexpr Field prefix{0, 23, 9}, op{0, 16, 7}, clamp{0, 15, 1}, op_sel_hi2{0, 14, 1}, op_sel{0, 11, 3},
    neg_hi{0, 8, 3}, vdst{0, 0, 8};
inline constexpr Field neg_lo{1, 29, 3}, op_sel_hi01{1, 27, 2}, src2{1, 18, 9}, src1{1, 9, 9}, src0{1, 0, 9};
inline constexpr uint32_t kPrefix = 0b110011000;
}  // namespace vop3p
namespace vopd {
inline constexpr Field prefix{0, 26, 6}, op_x{0, 22, 4}, op_y{0, 17, 5}, vsrc1_x{0, 9, 8}, src0_x{0, 0, 9};
inline constexpr Field vdst_x{1, 24, 8}, vdst_y_half{1, 17, 7}, vsrc1_y{1, 9, 8}, src0_y{1, 0, 9};
inline constexpr uint32_t kPrefix = 0b110010;
}  // namespace vopd

// Words that follow a VALU instruction whose src0 field holds the marker. `word` is relative to the extra word.
inline constexpr uint32_t kSdwaMarker = 249, kDpp16Marker = 250, kDpp8Marker = 233, kDpp8FetchInactiveMarker = 234;
namespace dpp {
inline constexpr Field vsrc0{0, 0, 8}, control{0, 8, 9}, fetch_inactive{0, 18, 1}, bound_control{0, 19, 1},
    neg0{0, 20, 1}, abs0{0, 21, 1}, neg1{0, 22, 1}, abs1{0, 23, 1}, bank_mask{0, 24, 4}, row_mask{0, 28, 4};
inline constexpr Field selectors{0, 8, 24};  // DPP8
}  // namespace dpp
namespace sdwa {
inline constexpr Field vsrc0{0, 0, 8}, dst_sel{0, 8, 3}, dst_unused{0, 11, 2}, clamp{0, 13, 1}, omod{0, 14, 2};
inline constexpr Field sdst{0, 8, 7}, has_sdst{0, 15, 1};  // VOPC
inline constexpr Field src0_sel{0, 16, 3}, src0_sext{0, 19, 1}, src0_neg{0, 20, 1}, src0_abs{0, 21, 1},
    src0_scalar{0, 23, 1};
inline constexpr Field src1_sel{0, 24, 3}, src1_sext{0, 27, 1}, src1_neg{0, 28, 1}, src1_abs{0, 29, 1},
    src1_scalar{0, 31, 1};
}  // namespace sdwa

namespace ds {
inline constexpr Field prefix{0, 26, 6}, op{0, 18, 8}, gds{0, 17, 1}, offset1{0, 8, 8}, offset0{0, 0, 8},
    offset{0, 0, 16};
inline constexpr Field vdst{1, 24, 8}, data1{1, 16, 8}, data0{1, 8, 8}, addr{1, 0, 8};
inline constexpr uint32_t kPrefix = 0b110110;
}  // namespace ds

// FLAT, GLOBAL and SCRATCH share a format up to gfx11; gfx12 has three words.
namespace flat {
inline constexpr Field prefix{0, 26, 6}, op{0, 18, 7};
inline constexpr Field segment10{0, 14, 2}, segment11{0, 16, 2};
inline constexpr Field slc10{0, 17, 1}, glc10{0, 16, 1}, dlc10{0, 12, 1}, offset10{0, 0, 12};
inline constexpr Field slc11{0, 15, 1}, glc11{0, 14, 1}, dlc11{0, 13, 1}, offset11{0, 0, 13};
inline constexpr Field vdst{1, 24, 8}, sve11{1, 23, 1}, saddr{1, 16, 7}, data{1, 8, 8}, addr{1, 0, 8};
inline constexpr uint32_t kPrefix = 0b110111, kFlat = 0, kScratch = 1, kGlobal = 2;
inline constexpr uint32_t kScratchWithoutBase10 = 127;  // saddr of gfx10's scratch with neither vaddr nor saddr
}  // namespace flat
namespace flat12 {
inline constexpr Field prefix{0, 24, 8}, op{0, 14, 8}, saddr{0, 0, 7};
inline constexpr Field data{1, 23, 8}, th{1, 20, 3}, scope{1, 18, 2}, sve{1, 17, 1}, vdst{1, 0, 8};
inline constexpr Field offset{2, 8, 24}, addr{2, 0, 8};
inline constexpr uint32_t kFlat = 0xEC, kScratch = 0xED, kGlobal = 0xEE;
}  // namespace flat12

namespace mubuf {
inline constexpr Field prefix{0, 26, 6}, offset{0, 0, 12}, vaddr{1, 0, 8}, vdata{1, 8, 8}, srsrc{1, 16, 5},
    soffset{1, 24, 8};
inline constexpr Field op10{0, 18, 7}, lds10{0, 16, 1}, dlc10{0, 15, 1}, glc10{0, 14, 1}, idxen10{0, 13, 1},
    offen10{0, 12, 1}, slc10{1, 22, 1}, tfe10{1, 23, 1};
inline constexpr Field op11{0, 18, 8}, glc11{0, 14, 1}, dlc11{0, 13, 1}, slc11{0, 12, 1}, tfe11{1, 21, 1},
    offen11{1, 22, 1}, idxen11{1, 23, 1};
inline constexpr uint32_t kPrefix = 0b111000;
}  // namespace mubuf
namespace mubuf12 {
inline constexpr Field prefix{0, 26, 6}, op{0, 14, 8}, tfe{0, 22, 1}, soffset{0, 0, 7};
inline constexpr Field idxen{1, 31, 1}, offen{1, 30, 1}, format{1, 23, 7}, th{1, 20, 3}, scope{1, 18, 2}, rsrc{1, 9, 9},
    vdata{1, 0, 8};
inline constexpr Field offset{2, 8, 24}, vaddr{2, 0, 8};
inline constexpr uint32_t kPrefix = 0b110001, kFormat = 1;  // what LLVM writes where no format is asked for
}  // namespace mubuf12

}  // namespace riftjit::rdna::bits

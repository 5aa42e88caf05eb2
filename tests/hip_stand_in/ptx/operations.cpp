#include "tests/hip_stand_in/ptx/operations.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace riftjit::hip_stand_in {
namespace {

using rdna::Opcode;
using Operations = std::map<Opcode, std::string>;

std::string find(const Operations& operations, Opcode opcode) {
    const auto found = operations.find(opcode);
    return found == operations.end() ? "" : found->second;
}

// Shifts of PTX do not wrap.
std::string shift(std::string_view operation, std::string_view value, std::string_view count) {
    return fmt::format("and.b32 t0, {}, 31; {} r, {}, t0;", count, operation, value);
}

// scc: the result is not zero.
std::string and_test(const std::string& operation) { return operation + " setp.ne.u32 scc, r, 0;"; }

std::string scalar_compare(std::string_view condition) { return fmt::format("setp.{} scc, $0, $1;", condition); }

const Operations& scalar_operations() {
    static const Operations kOperations = {
        {Opcode::s_mov_b32, "mov.b32 r, $0;"},
        {Opcode::s_add_co_u32, "add.u32 r, $0, $1; setp.lt.u32 scc, r, $0;"},
        {Opcode::s_sub_co_u32, "sub.u32 r, $0, $1; setp.gt.u32 scc, $1, $0;"},
        {Opcode::s_add_co_i32,
         "add.u32 r, $0, $1; xor.b32 t0, r, $0; xor.b32 t1, r, $1; and.b32 t0, t0, t1; setp.lt.s32 scc, t0, 0;"},
        {Opcode::s_add_co_ci_u32,
         "selp.b32 t0, 1, 0, scc; cvt.u64.u32 a0, $0; cvt.u64.u32 a1, $1; add.u64 a0, a0, a1; cvt.u64.u32 a1, t0;"
         " add.u64 a0, a0, a1; mov.b64 {r, t0}, a0; setp.ne.u32 scc, t0, 0;"},
        {Opcode::s_mul_i32, "mul.lo.u32 r, $0, $1;"},
        {Opcode::s_mul_hi_u32, "mul.hi.u32 r, $0, $1;"},
        {Opcode::s_min_u32, "min.u32 r, $0, $1; setp.lt.u32 scc, $0, $1;"},
        {Opcode::s_and_b32, and_test("and.b32 r, $0, $1;")},
        {Opcode::s_or_b32, and_test("or.b32 r, $0, $1;")},
        {Opcode::s_not_b32, and_test("not.b32 r, $0;")},
        {Opcode::s_lshl_b32, and_test(shift("shl.b32", "$0", "$1"))},
        {Opcode::s_lshr_b32, and_test(shift("shr.u32", "$0", "$1"))},
        {Opcode::s_bcnt1_i32_b32, and_test("popc.b32 r, $0;")},
        {Opcode::s_clz_i32_u32, "clz.b32 r, $0; setp.eq.u32 p0, $0, 0; @p0 mov.b32 r, 0xffffffff;"},
        {Opcode::s_cselect_b32, "selp.b32 r, $0, $1, scc;"},
        {Opcode::s_and_saveexec_b32, "mov.b32 r, s126; and.b32 s126, s126, $0; setp.ne.u32 scc, s126, 0;"},
        {Opcode::s_cmp_eq_u32, scalar_compare("eq.u32")},
        {Opcode::s_cmp_lg_u32, scalar_compare("ne.u32")},
        {Opcode::s_cmp_gt_u32, scalar_compare("gt.u32")},
        {Opcode::s_cmp_ge_u32, scalar_compare("ge.u32")},
        {Opcode::s_cmp_lt_u32, scalar_compare("lt.u32")},
        {Opcode::s_cmp_le_u32, scalar_compare("le.u32")},
        {Opcode::s_cmp_lt_i32, scalar_compare("lt.s32")},
    };
    return kOperations;
}

// v_perm_b32's selectors, a byte each: 0 to 7 a byte of $1 and $0, 8 to 11 the sign of every other one, 12 zeros, above
// ones. PTX has nibbles, and knows the first eight.
constexpr std::string_view kPermute =
    "and.b32 t0, $2, 0x07070707; shr.u32 t1, t0, 4; or.b32 t0, t0, t1; and.b32 t0, t0, 0x00ff00ff; shr.u32 t1, t0, 8;"
    " or.b32 t0, t0, t1; and.b32 t0, t0, 0xffff; prmt.b32 r, $1, $0, t0;"
    " prmt.b32 t1, $1, $0, 0xfdb9; prmt.b32 t1, t1, 0xffffff00, t0;"
    " shl.b32 t2, $2, 4; prmt.b32 t2, t2, 0, 0xba98; not.b32 t3, t2; and.b32 r, r, t3; and.b32 t1, t1, t2;"
    " or.b32 r, r, t1; shr.u32 t2, $2, 4; and.b32 t2, t2, 0x0f0f0f0f; add.u32 t2, t2, 0x7f7f7f7f;"
    " prmt.b32 t2, t2, 0, 0xba98; or.b32 r, r, t2;";

// Lane i of a row takes what lane nibble i of $1 and $2 of the other row has.
constexpr std::string_view kPermuteOtherRow =
    "and.b32 t0, lane, 7; shl.b32 t0, t0, 2; and.b32 t1, lane, 8; setp.ne.u32 p0, t1, 0; selp.b32 t1, $2, $1, p0;"
    " shr.u32 t1, t1, t0; and.b32 t1, t1, 15; xor.b32 t0, row, 16; or.b32 t1, t1, t0;"
    " shfl.sync.idx.b32 r, $0, t1, 0x1f, 0xffffffff;";

// $0, which is the denominator $1 or the numerator $2, scaled where a quotient or a step towards it would leave the
// normal range; p: div_fmas shall scale back.
constexpr std::string_view kDivScale =
    "mov.b32 r, 0x3f800000; bfe.u32 t0, $1, 23, 8; bfe.u32 t1, $2, 23, 8; sub.u32 t2, t1, t0;"
    " setp.le.u32 p0, t1, 23; setp.eq.or.u32 p0, t0, 0, p0; @p0 mov.b32 r, 0x5f800000;"
    " setp.ge.u32 p0, t0, 253; @p0 mov.b32 r, 0x1f800000;"
    " setp.le.s32 p1, t2, -96; setp.eq.u32 p3, $0, $2; selp.b32 t3, 0x5f800000, 0x3f800000, p3; @p1 mov.b32 r, t3;"
    " and.pred p0, p0, p1; setp.eq.u32 p3, $0, $1; selp.b32 t3, 0x1f800000, 0x3f800000, p3; @p0 mov.b32 r, t3;"
    " setp.ge.s32 p2, t2, 96; selp.b32 t3, 0x5f800000, 0x3f800000, p3; @p2 mov.b32 r, t3;"
    " or.pred p, p1, p2; mul.rn.f32 r, r, $0;"
    " and.b32 t0, $1, 0x7fffffff; and.b32 t1, $2, 0x7fffffff; min.u32 t0, t0, t1; setp.eq.u32 p0, t0, 0;"
    " or.pred p, p, p0; @p0 mov.b32 r, 0xffc00000;";

// Scaled by 2^64 or 2^-64 where vcc says so, and rounded once: in f64 to odd, of which rounding to f32 is exact.
constexpr std::string_view kDivFmas =
    "and.b32 t0, s106, lane_bit; setp.ne.u32 p0, t0, 0; fma.rn.f32 r, $0, $1, $2;"
    " cvt.f64.f32 d0, $0; cvt.f64.f32 d1, $1; cvt.f64.f32 d2, $2; fma.rz.f64 d3, d0, d1, d2; mov.b64 a0, d3;"
    " fma.rm.f64 d3, d0, d1, d2; fma.rp.f64 d0, d0, d1, d2; setp.neu.f64 p1, d3, d0; selp.b64 a1, 1, 0, p1;"
    " or.b64 a0, a0, a1; mov.b64 d0, a0; bfe.u32 t0, $2, 23, 8; setp.gt.u32 p1, t0, 127;"
    " selp.f64 d1, 0d43F0000000000000, 0d3BF0000000000000, p1; mul.rn.f64 d0, d0, d1; cvt.rn.f32.f64 t0, d0;"
    " selp.b32 r, t0, r, p0;";

// $0: the quotient found, $1: the denominator, $2: the numerator. Later lines go before earlier ones.
constexpr std::string_view kDivFixup =
    "and.b32 t0, $1, 0x7fffffff; and.b32 t1, $2, 0x7fffffff; xor.b32 t2, $1, $2; and.b32 t2, t2, 0x80000000;"
    " and.b32 r, $0, 0x7fffffff; setp.gt.u32 p0, r, 0x7f800000; @p0 mov.b32 r, 0x7f800000;"
    " bfe.u32 t3, $1, 23, 8; bfe.u32 t4, $2, 23, 8; sub.u32 t3, t4, t3; setp.lt.s32 p0, t3, -150; @p0 mov.b32 r, 0;"
    " setp.eq.u32 p0, t0, 0; setp.eq.u32 p1, t1, 0; setp.eq.u32 p2, t0, 0x7f800000; setp.eq.u32 p3, t1, 0x7f800000;"
    " or.pred p4, p2, p1; @p4 mov.b32 r, 0; or.pred p4, p0, p3; @p4 mov.b32 r, 0x7f800000; or.b32 r, r, t2;"
    " and.pred p0, p0, p1; and.pred p2, p2, p3; or.pred p0, p0, p2; @p0 mov.b32 r, 0xffc00000;"
    " setp.gt.u32 p0, t0, 0x7f800000; or.b32 t3, $1, 0x400000; @p0 mov.b32 r, t3;"
    " setp.gt.u32 p0, t1, 0x7f800000; or.b32 t3, $2, 0x400000; @p0 mov.b32 r, t3;";

// Bit n of $1 asks for class n: NaNs that signal and do not; infinity, normal, denormal and zero below; the same above
// from zero on.
constexpr std::string_view kClass =
    "and.b32 t0, $0, 0x7fffffff; mov.b32 t1, 3; setp.lt.u32 p0, t0, 0x7f800000; @p0 mov.b32 t1, 2;"
    " setp.lt.u32 p0, t0, 0x800000; @p0 mov.b32 t1, 1; setp.eq.u32 p0, t0, 0; @p0 mov.b32 t1, 0;"
    " add.u32 t2, t1, 6; sub.u32 t1, 5, t1; setp.lt.s32 p0, $0, 0; selp.b32 t1, t1, t2, p0;"
    " bfe.u32 t2, $0, 22, 1; setp.gt.u32 p0, t0, 0x7f800000; selp.b32 t1, t2, t1, p0;"
    " shr.u32 t1, $1, t1; and.b32 t1, t1, 1; setp.ne.u32 p, t1, 0;";

const Operations& vector_operations() {
    static const std::string kSigned = "bfe.s32 t0, $0, 0, 24; bfe.s32 t1, $1, 0, 24; ",
                             kUnsigned = "and.b32 t0, $0, 0xffffff; and.b32 t1, $1, 0xffffff; ",
                             kField = "and.b32 t0, $1, 31; and.b32 t1, $2, 31; ";
    static const Operations kOperations = {
        {Opcode::v_mov_b32, "mov.b32 r, $0;"},
        {Opcode::v_not_b32, "not.b32 r, $0;"},
        {Opcode::v_and_b32, "and.b32 r, $0, $1;"},
        {Opcode::v_or_b32, "or.b32 r, $0, $1;"},
        {Opcode::v_xor_b32, "xor.b32 r, $0, $1;"},
        {Opcode::v_and_or_b32, "and.b32 r, $0, $1; or.b32 r, r, $2;"},
        {Opcode::v_bfi_b32, "and.b32 r, $0, $1; not.b32 t0, $0; and.b32 t0, t0, $2; or.b32 r, r, t0;"},
        {Opcode::v_bfe_u32, kField + "bfe.u32 r, $0, t0, t1;"},
        {Opcode::v_bfe_i32, kField + "bfe.s32 r, $0, t0, t1;"},
        {Opcode::v_lshlrev_b32, shift("shl.b32", "$1", "$0")},
        {Opcode::v_lshrrev_b32, shift("shr.u32", "$1", "$0")},
        {Opcode::v_ashrrev_i32, shift("shr.s32", "$1", "$0")},
        {Opcode::v_lshl_add_u32, shift("shl.b32", "$0", "$1") + " add.u32 r, r, $2;"},
        {Opcode::v_lshl_or_b32, shift("shl.b32", "$0", "$1") + " or.b32 r, r, $2;"},
        {Opcode::v_alignbit_b32, "shf.r.wrap.b32 r, $1, $0, $2;"},
        {Opcode::v_perm_b32, std::string(kPermute)},
        {Opcode::v_bcnt_u32_b32, "popc.b32 r, $0; add.u32 r, r, $1;"},
        {Opcode::v_mbcnt_lo_u32_b32, "sub.u32 r, lane_bit, 1; and.b32 r, r, $0; popc.b32 r, r; add.u32 r, r, $1;"},
        {Opcode::v_add_nc_u32, "add.u32 r, $0, $1;"},
        {Opcode::v_sub_nc_u32, "sub.u32 r, $0, $1;"},
        {Opcode::v_add3_u32, "add.u32 r, $0, $1; add.u32 r, r, $2;"},
        {Opcode::v_min_u32, "min.u32 r, $0, $1;"},
        {Opcode::v_max_u32, "max.u32 r, $0, $1;"},
        {Opcode::v_max3_u32, "max.u32 r, $0, $1; max.u32 r, r, $2;"},
        {Opcode::v_mul_lo_u32, "mul.lo.u32 r, $0, $1;"},
        {Opcode::v_mul_i32_i24, kSigned + "mul.lo.u32 r, t0, t1;"},
        {Opcode::v_mul_u32_u24, kUnsigned + "mul.lo.u32 r, t0, t1;"},
        {Opcode::v_mad_i32_i24, kSigned + "mad.lo.u32 r, t0, t1, $2;"},
        {Opcode::v_mad_u32_u24, kUnsigned + "mad.lo.u32 r, t0, t1, $2;"},
        {Opcode::v_pk_mul_lo_u16,
         "mul.lo.u32 r, $0, $1; shr.u32 t0, $0, 16; shr.u32 t1, $1, 16; mul.lo.u32 t0, t0, t1;"
         " prmt.b32 r, r, t0, 0x5410;"},
        {Opcode::v_dot4_i32_i8, "dp4a.s32.s32 r, $0, $1, $2;"},
        {Opcode::v_add_f32, "add.rn.f32 r, $0, $1;"},
        {Opcode::v_sub_f32, "sub.rn.f32 r, $0, $1;"},
        {Opcode::v_subrev_f32, "sub.rn.f32 r, $1, $0;"},
        {Opcode::v_mul_f32, "mul.rn.f32 r, $0, $1;"},
        {Opcode::v_fma_f32, "fma.rn.f32 r, $0, $1, $2;"},
        {Opcode::v_fmac_f32, "fma.rn.f32 r, $0, $1, $d;"},
        {Opcode::v_fmaak_f32, "fma.rn.f32 r, $0, $1, $2;"},
        {Opcode::v_fmamk_f32, "fma.rn.f32 r, $0, $1, $2;"},
        {Opcode::v_min_num_f32, "min.f32 r, $0, $1;"},
        {Opcode::v_max_num_f32, "max.f32 r, $0, $1;"},
        {Opcode::v_rndne_f32, "cvt.rni.f32.f32 r, $0;"},
        {Opcode::v_rcp_f32, "rcp.approx.f32 r, $0;"},
        {Opcode::v_sqrt_f32, "sqrt.rn.f32 r, $0;"},
        {Opcode::v_cvt_f32_i32, "cvt.rn.f32.s32 r, $0;"},
        {Opcode::v_cvt_i32_f32, "cvt.rzi.s32.f32 r, $0;"},
        {Opcode::v_cvt_f32_f16, "mov.b32 {h0, h1}, $0; cvt.f32.f16 r, h0;"},
        {Opcode::v_cvt_f16_f32, "cvt.rn.f16.f32 h0, $0; mov.b32 {h1, h2}, $d; mov.b32 r, {h0, h2};"},
        {Opcode::v_div_scale_f32, std::string(kDivScale)},
        {Opcode::v_div_fmas_f32, std::string(kDivFmas)},
        {Opcode::v_div_fixup_f32, std::string(kDivFixup)},
        {Opcode::v_cndmask_b32, "and.b32 t0, $2, lane_bit; setp.ne.u32 p0, t0, 0; selp.b32 r, $1, $0, p0;"},
        {Opcode::v_permlanex16_b32, std::string(kPermuteOtherRow)},
        // Of lane 0 where all are off.
        {Opcode::v_readfirstlane_b32,
         "brev.b32 t0, s126; clz.b32 t0, t0; and.b32 t0, t0, 31; shfl.sync.idx.b32 r, $0, t0, 0x1f, 0xffffffff;"},
    };
    return kOperations;
}

// Of v_cmp_CONDITION_f32, by CONDITION.
const std::map<std::string_view, std::string_view> kFloatConditions = {
    {"lt", "lt"}, {"eq", "eq"},   {"le", "le"},   {"gt", "gt"},   {"lg", "ne"},   {"ge", "ge"},   {"o", "num"},
    {"u", "nan"}, {"nge", "ltu"}, {"nlg", "equ"}, {"ngt", "leu"}, {"nle", "gtu"}, {"neq", "neu"}, {"nlt", "geu"},
};

}  // namespace

std::string scalar_operation(Opcode opcode) { return find(scalar_operations(), opcode); }
std::string vector_operation(Opcode opcode) { return find(vector_operations(), opcode); }

std::string compare_operation(Opcode opcode) {
    if (opcode == Opcode::v_cmp_class_f32) return std::string(kClass);
    std::string_view name = rdna::info(opcode).name;
    if (!name.starts_with("v_cmp_")) return "";
    name.remove_prefix(6);
    const size_t end = name.find('_');
    const std::string_view condition = name.substr(0, end), type = end == name.npos ? "" : name.substr(end + 1);
    const auto found = kFloatConditions.find(condition);
    if (type == "f32" && found != kFloatConditions.end()) return fmt::format("setp.{}.f32 p, $0, $1;", found->second);
    const bool is_ordered = condition == "lt" || condition == "le" || condition == "gt" || condition == "ge";
    if ((type == "u32" || type == "i32") && (is_ordered || condition == "eq" || condition == "ne"))
        return fmt::format("setp.{}.{} p, $0, $1;", condition, type == "u32" ? "u32" : "s32");
    return "";
}

}  // namespace riftjit::hip_stand_in

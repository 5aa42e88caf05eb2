// What a line that asks too much is told: mnemonic, target, and the operand with what it may be.
#include <gtest/gtest.h>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {
namespace limits_test {

struct Limit {
    Target target;
    std::string_view line, message;
    WaveSize wave = WaveSize::wave32;
};

void expect_messages(std::span<const Limit> limits) {
    for (const Limit& limit : limits) {
        const Result<Parsed> parsed = parse(limit.target, limit.wave, limit.line);
        ASSERT_FALSE(parsed) << limit.line;
        const std::string& message = parsed.error().message;
        EXPECT_EQ(message, limit.message) << limit.line;
        EXPECT_TRUE(message.starts_with(limit.line.substr(0, limit.line.find_first_of(" _")))) << limit.line;
        EXPECT_NE(message.find(name(limit.target)), std::string::npos) << message;
    }
}

TEST(Limits, NameWrongOperands) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "v_add_f32 s0, v1, v2", "v_add_f32_e64 on gfx1100, wave32: destination (s0) must be a VGPR"},
        {Target::gfx1100, "v_add_f32_e32 v0, v1, s2", "v_add_f32_e32 on gfx1100, wave32: source 1 (s2) must be a VGPR"},
        {Target::gfx1100, "v_add_f32 v0, exec_hi, ttmp16",
         "v_add_f32: operand 3 'ttmp16' (column 24): is no register and no number (gfx1100)"},
        {Target::gfx1100, "s_add_u32 v0, s1, s2", "s_add_u32 on gfx1100, wave32: destination (v0) must be an SGPR"},
        {Target::gfx1100, "s_add_u32 s0, v1, s2", "s_add_u32 on gfx1100, wave32: source 0 (v1) must be scalar"},
        {Target::gfx1100, "s_add_u32 106, s1, s2", "s_add_u32: operand 1 '106' (column 11): is no register (gfx1100)"},
        {Target::gfx1100, "v_readlane_b32 v0, v1, s2",
         "v_readlane_b32 on gfx1100, wave32: destination (v0) must be an SGPR"},
        {Target::gfx1100, "v_readfirstlane_b32 s0, s1",
         "v_readfirstlane_b32 on gfx1100, wave32: source 0 (s1) must be a VGPR"},
        {Target::gfx1100, "v_cndmask_b32 v0, v1, v2, v3",
         "v_cndmask_b32_e64 on gfx1100, wave32: source 2 (v3) must be scalar"},
        {Target::gfx1100, "v_cndmask_b32_e64 v0, v1, v2, s3",
         "v_cndmask_b32_e64: operand 4 's3' (column 31): is a register of 32 bits where 64 are needed (gfx1100)",
         WaveSize::wave64},
        {Target::gfx1100, "v_cndmask_b32_e64 v0, v1, v2, s[2:3]",
         "v_cndmask_b32_e64: operand 4 's[2:3]' (column 31): is a register of 64 bits where 32 are needed (gfx1100)"},
        {Target::gfx1100, "v_cndmask_b32_e64 v0, v1, v2, exec_lo",
         "v_cndmask_b32_e64 on gfx1100, wave32: source 2 (exec_lo) must not be exec"},
        {Target::gfx1100, "s_load_b32 exec_lo, s[0:1], 0x0",
         "s_load_b32 on gfx1100, wave32: destination (exec_lo) must not be exec or m0"},
        {Target::gfx1201, "buffer_load_b32 v0, v1, s[4:7], 0 offen",
         "buffer_load_b32 on gfx1201, wave32: soffset (0) must be an SGPR, or before gfx12 an inline constant"},
        {Target::gfx1100, "buffer_load_b32 v0, v1, s[4:7], 100 offen",
         "buffer_load_b32: operand 4 '100' (column 33): is no inline constant (gfx1100)"},
        {Target::gfx1100, "buffer_load_b32 v0, v1, s[4:7], v3 offen",
         "buffer_load_b32 on gfx1100, wave32: soffset (v3) must be an SGPR, or before gfx12 an inline constant"},
        {Target::gfx1100, "scratch_load_b32 v0, v1, exec_hi",
         "scratch_load_b32 on gfx1100, wave32: saddr (exec_hi) must not be exec_hi"},
        {Target::gfx1030, "scratch_load_dword v0, v1, s2",
         "scratch_load_dword on gfx1030, wave32: vaddr (v1) cannot stand beside saddr on this target"},
        {Target::gfx1100, "ds_load_b32 v0, s1", "ds_load_b32 on gfx1100, wave32: vaddr (s1) must be a VGPR"},
        {Target::gfx1201, "ds_load_b32 v0, v1 gds", "ds_load_b32 on gfx1201, wave32: gds is not taken"},
        {Target::gfx1100, "v_fma_f32_e64_dpp v0, v1, s2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
         "v_fma_f32_e64_dpp on gfx1100, wave32: source 1 (s2) must be a VGPR beside DPP on this target"},
        {Target::gfx1030, "v_add_f32_sdwa v0, v1, 1.0 dst_sel:BYTE_0",
         "v_add_f32_sdwa on gfx1030, wave32: source 1 (1.0) must be a register; a constant beside SDWA is left out"},
        {Target::gfx1100, "v_wmma_f32_16x16x16_f16 v[0:7], s[8:15], v[16:23], v[0:7]",
         "v_wmma_f32_16x16x16_f16 on gfx1100, wave32: source 0 (s[8:15]) must be a VGPR"},
        {Target::gfx1100, "v_add_nc_u32 v0, v1, v2 mul:2",
         "v_add_nc_u32: modifier at column 25: takes no mul (gfx1100)"},
        {Target::gfx1100, "s_waitcnt_vscnt s0, 0",
         "s_waitcnt_vscnt on gfx1100, wave32: source 0 (s0) must be null; to wait for what an SGPR says is left out"},
        {Target::gfx1201, "s_barrier_signal s0",
         "s_barrier_signal on gfx1201, wave32: source 0 (s0) must be m0 or a number"},
        {Target::gfx1100, "global_load_b32 v0, v[1:2], off th:TH_LOAD_NT",
         "global_load_b32: modifier at column 33: takes no th (gfx1100)"},
        {Target::gfx1100, "v_mov_b32 v0, src_vccz",
         "v_mov_b32: operand 2 'src_vccz' (column 15): is no register and no number (gfx1100)"},
        {Target::gfx1100, "v_add_f32 v0, v1.l, v2",
         "v_add_f32: operand 2 'v1.l' (column 15): takes no .l or .h (gfx1100)"},
        {Target::gfx1030, "v_add_f16 v0, v1.l, v2",
         "v_add_f16: operand 2 'v1.l' (column 15): takes no .l or .h (gfx1030)"},
        {Target::gfx1100, "v_cvt_f32_f16 v0.h, v1.h",
         "v_cvt_f32_f16: operand 1 'v0.h' (column 15): takes no .l or .h (gfx1100)"},
        {Target::gfx1100, "v_add_f16_e32 v0.l, v128.h, v1.l",
         "v_add_f16_e32 on gfx1100, wave32: source 0 (v128) is beyond v127, which a 16-bit operand of this form cannot "
         "name"},
        {Target::gfx1201, "v_mul_f16 v0.l, v1.h, v2.l op_sel:[0,0,0]",
         "v_mul_f16: operand 2 'v1.h' (column 17): is not the half that op_sel names (gfx1201)"},
        {Target::gfx1100, "v_swap_b32 v0, s1", "v_swap_b32 on gfx1100, wave32: source 0 (s1) must be a VGPR"},
        {Target::gfx1100, "v_permlane16_b32 v0, v1, v2, s3",
         "v_permlane16_b32 on gfx1100, wave32: source 1 (v2) must be scalar"},
        {Target::gfx1100, "v_writelane_b32 v0, v1, s2",
         "v_writelane_b32 on gfx1100, wave32: source 0 (v1) must be scalar"},
        {Target::gfx1100, "v_mov_b32", "v_mov_b32: takes 2 operands, not 0 (gfx1100)"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameWhatTheTargetLacks) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1201, "ds_add_gs_reg_rtn v[0:1], v2 gds", "ds_add_gs_reg_rtn: gfx1201 has no such instruction"},
        {Target::gfx1100, "v_dual_max_i32 v0, v4, v1 :: v_dual_mul_f32 v1, v5, v2",
         "v_dual_max_i32: gfx1100 pairs no such instruction"},
        {Target::gfx1030, "v_fma_f32_e64_dpp v0, v1, v2, v3 quad_perm:[0,1,2,3]",
         "v_fma_f32_e64_dpp: gfx1030 has no such form of v_fma_f32"},
        {Target::gfx1100, "v_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_0",
         "v_add_f32_sdwa: gfx1100 has no such form of v_add_f32"},
        {Target::gfx1030, "s_wait_loadcnt 0", "s_wait_loadcnt: gfx1030 has no such instruction"},
        {Target::gfx1100, "s_dot_product s0, s1", "s_dot_product: no such instruction (gfx1100)"},
        {Target::gfx1030, "v_dot2_f32_bf16 v0, v1, v2, v3", "v_dot2_f32_bf16: gfx1030 has no such instruction"},
        {Target::gfx1100, "s_add_f32 s0, s1, s2", "s_add_f32: gfx1100 has no such instruction"},
        {Target::gfx1100, "s_mov_b32_e64 s0, s1", "s_mov_b32_e64: gfx1100 has no such form of s_mov_b32"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameNumbersOutOfRange) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "s_load_b64 s[4:5], s[0:1], 0x100000",
         "s_load_b64 on gfx1100, wave32: offset 1048576 is outside -1048576 to 1048575"},
        {Target::gfx1100, "s_load_b64 s[4:5], s[0:1], -0x100001",
         "s_load_b64 on gfx1100, wave32: offset -1048577 is outside -1048576 to 1048575"},
        {Target::gfx1201, "s_load_b64 s[4:5], s[0:1], 0x800000",
         "s_load_b64 on gfx1201, wave32: offset 8388608 is outside -8388608 to 8388607"},
        {Target::gfx1100, "s_buffer_load_b32 s0, s[4:7], -4",
         "s_buffer_load_b32 on gfx1100, wave32: offset -4 is outside 0 to 1048575"},
        {Target::gfx1201, "s_buffer_load_b32 s5, s[4:7], s0 offset:-1",
         "s_buffer_load_b32 on gfx1201, wave32: offset -1 is outside 0 to 8388607"},
        {Target::gfx1201, "s_buffer_prefetch_data s[4:7], -1, s0, 3",
         "s_buffer_prefetch_data on gfx1201, wave32: offset -1 is outside 0 to 8388607"},
        {Target::gfx1100, "buffer_load_b32 v0, v1, s[4:7], 0 offen offset:4096",
         "buffer_load_b32 on gfx1100, wave32: offset 4096 is outside 0 to 4095"},
        {Target::gfx1201, "buffer_load_b32 v0, v1, s[4:7], null offen offset:8388608",
         "buffer_load_b32 on gfx1201, wave32: offset 8388608 is outside 0 to 8388607"},
        {Target::gfx1100, "global_load_b32 v0, v[1:2], off offset:4096",
         "global_load_b32 on gfx1100, wave32: offset 4096 is outside -4096 to 4095"},
        {Target::gfx1030, "global_load_dword v0, v[1:2], off offset:2048",
         "global_load_dword on gfx1030, wave32: offset 2048 is outside -2048 to 2047"},
        {Target::gfx1030, "global_load_dword v0, v[1:2], off offset:-2049",
         "global_load_dword on gfx1030, wave32: offset -2049 is outside -2048 to 2047"},
        {Target::gfx1201, "global_load_b32 v0, v[1:2], off offset:8388608",
         "global_load_b32 on gfx1201, wave32: offset 8388608 is outside -8388608 to 8388607"},
        {Target::gfx1100, "flat_load_b32 v0, v[1:2] offset:-1",
         "flat_load_b32 on gfx1100, wave32: offset -1 is outside 0 to 4095"},
        {Target::gfx1100, "flat_load_b32 v0, v[1:2] offset:4096",
         "flat_load_b32 on gfx1100, wave32: offset 4096 is outside 0 to 4095"},
        {Target::gfx1030, "flat_load_dword v0, v[1:2] offset:2048",
         "flat_load_dword on gfx1030, wave32: offset 2048 is outside 0 to 2047"},
        {Target::gfx1100, "ds_load_b32 v0, v1 offset:65536",
         "ds_load_b32 on gfx1100, wave32: offset 65536 is outside 0 to 65535"},
        {Target::gfx1100, "ds_load_b32 v0, v1 offset:-1",
         "ds_load_b32 on gfx1100, wave32: offset -1 is outside 0 to 65535"},
        {Target::gfx1100, "ds_load_2addr_b32 v[0:1], v1 offset0:256 offset1:0",
         "ds_load_2addr_b32: modifier at column 30: offset0:256 is not between 0 and 255 (gfx1100)"},
        {Target::gfx1030, "s_movk_i32 s0, 0x18000",
         "s_movk_i32: operand 2 '0x18000' (column 16): does not fit 16 bits (gfx1030)"},
        {Target::gfx1030, "s_movk_i32 s0, -32769",
         "s_movk_i32: operand 2 '-32769' (column 16): does not fit 16 bits (gfx1030)"},
        {Target::gfx1100, "s_nop 65536", "s_nop: operand 1 '65536' (column 7): does not fit 16 bits (gfx1100)"},
        {Target::gfx1100, "s_branch 65536", "s_branch: operand 1 '65536' (column 10): does not fit 16 bits (gfx1100)"},
        {Target::gfx1100, "s_branch -32769",
         "s_branch: operand 1 '-32769' (column 10): does not fit 16 bits (gfx1100)"},
        {Target::gfx1100, "s_cbranch_scc0 0x12345",
         "s_cbranch_scc0: operand 1 '0x12345' (column 16): does not fit 16 bits (gfx1100)"},
        {Target::gfx1100, "v_add_f32_dpp v0, v1, v2 quad_perm:[0,1,2,4]",
         "v_add_f32_dpp: modifier at column 26: quad_perm: '4' is not between 0 and 3 (gfx1100)"},
        {Target::gfx1100, "v_add_f32_dpp v0, v1, v2 quad_perm:[0,1,2,3] row_mask:0x10",
         "v_add_f32_dpp: modifier at column 46: row_mask:0x10 is not between 0 and 15 (gfx1100)"},
        {Target::gfx1100, "v_add_f32_dpp v0, v1, v2 dpp8:[0,1,2,3,4,5,6,8]",
         "v_add_f32_dpp: modifier at column 26: dpp8: '8' is not between 0 and 7 (gfx1100)"},
        {Target::gfx1030, "v_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_4",
         "v_add_f32_sdwa: modifier at column 27: dst_sel: 'BYTE_4' is none of its values (gfx1030)"},
        {Target::gfx1100, "v_add_f64 v[0:1], 0x1234567890, v[2:3]",
         "v_add_f64: operand 2 '0x1234567890' (column 19): 78187493520 does not fit 32 bits (gfx1100)"},
        {Target::gfx1100, "v_add_f16 v0, 70000.0, v1",
         "v_add_f16: operand 2 '70000.0' (column 15): is too large for a float of 16 bits (gfx1100)"},
        {Target::gfx1201, "v_fmaak_f32 v0, v1, v2, 1e-46",
         "v_fmaak_f32: operand 4 '1e-46' (column 25): is too small for a float of 32 bits (gfx1201)"},
        {Target::gfx1100, "v_mul_f32 v0, v1, v2 mul:3",
         "v_mul_f32: modifier at column 22: mul:3 is none of mul:2, mul:4, div:2 (gfx1100)"},
        {Target::gfx1100, "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,2]",
         "v_pk_fma_f16: modifier at column 29: op_sel: '2' is not between 0 and 1 (gfx1100)"},
        {Target::gfx1100, "s_waitcnt vmcnt(64)",
         "s_waitcnt: operand 1 'vmcnt(64)' (column 11): vmcnt 64 is not between 0 and 63 (gfx1100)"},
        {Target::gfx1030, "s_waitcnt lgkmcnt(64)",
         "s_waitcnt: operand 1 'lgkmcnt(64)' (column 11): lgkmcnt 64 is not between 0 and 63 (gfx1030)"},
        {Target::gfx1201, "s_wait_loadcnt 0x12345",
         "s_wait_loadcnt: operand 1 '0x12345' (column 16): does not fit 16 bits (gfx1201)"},
        {Target::gfx1201, "s_barrier_wait 0x12345",
         "s_barrier_wait: operand 1 '0x12345' (column 16): does not fit 16 bits (gfx1201)"},
        {Target::gfx1100, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 33), s0",
         "s_setreg_b32: operand 1 'hwreg(HW_REG_MODE, 0, 33)' (column 14): bit width 33 is not between 0 and 32 "
         "(gfx1100)"},
        {Target::gfx1100, "s_setreg_b32 hwreg(HW_REG_MODE, 32, 1), s0",
         "s_setreg_b32: operand 1 'hwreg(HW_REG_MODE, 32, 1)' (column 14): bit offset 32 is not between 0 and 31 "
         "(gfx1100)"},
        {Target::gfx1100, "s_setreg_b32 hwreg(64), s0",
         "s_setreg_b32: operand 1 'hwreg(64)' (column 14): hardware register 64 is not between 0 and 63 (gfx1100)"},
        {Target::gfx1100, "s_setreg_b32 {id: 1, size: 33}, s0",
         "s_setreg_b32: operand 1 '{id: 1, size: 33}' (column 14): bit width 33 is not between 0 and 32 (gfx1100)"},
        {Target::gfx1201, "s_getreg_b32 s0, {id: HW_REG_MODE}",
         "s_getreg_b32: operand 2 '{id: HW_REG_MODE}' (column 18): 'HW_REG_MODE' is no number of a hardware register "
         "(gfx1201)"},
        {Target::gfx1030, "s_getreg_b32 s0, {id: 1, width: 4}",
         "s_getreg_b32: operand 2 '{id: 1, width: 4}' (column 18): 'width: 4' is none of id:, offset: and size: with a "
         "number (gfx1030)"},
        {Target::gfx1030, "s_getreg_b32 s0, {size: 1, size: 4}",
         "s_getreg_b32: operand 2 '{size: 1, size: 4}' (column 18): size: is given twice (gfx1030)"},
        {Target::gfx1100, "s_getreg_b32 s0, hwreg(HW_REG_HW_ID)",
         "s_getreg_b32: operand 2 'hwreg(HW_REG_HW_ID)' (column 18): 'HW_REG_HW_ID' is no hardware register (gfx1100)"},
        {Target::gfx1100, "s_getreg_b32 s0, -1",
         "s_getreg_b32: operand 2 '-1' (column 18): must not be negative (gfx1100)"},
        {Target::gfx1100, "s_endpgm -1", "s_endpgm: operand 1 '-1' (column 10): must not be negative (gfx1100)"},
        {Target::gfx1030, "s_sendmsg sendmsg(MSG_GS)",
         "s_sendmsg: operand 1 'sendmsg(MSG_GS)' (column 11): MSG_GS lacks its operation (gfx1030)"},
        {Target::gfx1030, "s_sendmsg sendmsg(MSG_SYSMSG, 5)",
         "s_sendmsg: operand 1 'sendmsg(MSG_SYSMSG, 5)' (column 11): '5' is no operation of MSG_SYSMSG (gfx1030)"},
        {Target::gfx1030, "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP, 0)",
         "s_sendmsg: operand 1 'sendmsg(MSG_GS_DONE, GS_OP_NOP, 0)' (column 11): MSG_GS_DONE takes no stream with this "
         "operation (gfx1030)"},
        {Target::gfx1100, "s_sendmsg sendmsg(MSG_INTERRUPT, 0)",
         "s_sendmsg: operand 1 'sendmsg(MSG_INTERRUPT, 0)' (column 11): MSG_INTERRUPT takes no operation (gfx1100)"},
        {Target::gfx1100, "s_sendmsg sendmsg(1, 0, 0, 0)",
         "s_sendmsg: operand 1 'sendmsg(1, 0, 0, 0)' (column 11): sendmsg(...) takes a message, an operation and a "
         "stream, and no more (gfx1100)"},
        {Target::gfx1100, "s_sendmsg_rtn_b32 s0, sendmsg(9, 0, 1)",
         "s_sendmsg_rtn_b32: operand 2 'sendmsg(9, 0, 1)' (column 23): does not fit 8 bits (gfx1100)"},
        {Target::gfx1201, "global_load_b32 v0, v[1:2], off scope:SCOPE_XX",
         "global_load_b32: modifier at column 33: scope:SCOPE_XX is none of SCOPE_CU, SCOPE_SE, SCOPE_DEV, SCOPE_SYS "
         "(gfx1201)"},
        {Target::gfx1201, "s_prefetch_data s[0:1], 0, s2, 32",
         "s_prefetch_data on gfx1201, wave32: source 2 (32) does not fit its field"},
        {Target::gfx1201, "s_prefetch_data s[0:1], 0x800000, s2, 3",
         "s_prefetch_data on gfx1201, wave32: offset 8388608 is outside -8388608 to 8388607"},
        {Target::gfx1100, "s_sendmsg sendmsg(500)",
         "s_sendmsg: operand 1 'sendmsg(500)' (column 11): message 500 is not between 0 and 255 (gfx1100)"},
        {Target::gfx1100, "s_sendmsg_rtn_b32 s0, 256",
         "s_sendmsg_rtn_b32: operand 2 '256' (column 23): does not fit 8 bits (gfx1100)"},
        {Target::gfx1030, "s_load_dword s0, s[4:5], s8 offset:0x100000",
         "s_load_dword on gfx1030, wave32: offset 1048576 is outside -1048576 to 1048575"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameRegistersOutOfRange) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "s_mov_b64 s[104:105], s[105:106]",
         "s_mov_b64: operand 2 's[105:106]' (column 23): is no register and no number (gfx1100)"},
        {Target::gfx1100, "s_load_b512 s[96:111], s[0:1], 0x0",
         "s_load_b512: operand 1 's[96:111]' (column 13): is no register (gfx1100)"},
        {Target::gfx1100, "buffer_load_b128 v[253:256], v1, s[4:7], 0 offen",
         "buffer_load_b128: operand 1 'v[253:256]' (column 18): is no register (gfx1100)"},
        {Target::gfx1100, "ds_load_b64 v[255:256], v1",
         "ds_load_b64: operand 1 'v[255:256]' (column 13): is no register (gfx1100)"},
        {Target::gfx1100, "v_add_f64 v[255:256], v[0:1], v[2:3]",
         "v_add_f64: operand 1 'v[255:256]' (column 11): is no register (gfx1100)"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameMisalignedAndMissizedGroups) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "v_cndmask_b32_e64 v0, v1, v2, s[3:4]",
         "v_cndmask_b32_e64 on gfx1100, wave64: source 2 (s[3:4]) must be an SGPR, or a pair in wave64",
         WaveSize::wave64},
        {Target::gfx1100, "s_mov_b64 s[1:2], 0",
         "s_mov_b64 on gfx1100, wave32: destination (s[1:2]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "s_load_b128 s[2:5], s[0:1], 0x0",
         "s_load_b128 on gfx1100, wave32: destination (s[2:5]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "s_load_b128 s[4:7], s[1:2], 0x0",
         "s_load_b128 on gfx1100, wave32: sbase (s[1:2]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "s_load_b256 s[6:13], s[0:1], 0x0",
         "s_load_b256 on gfx1100, wave32: destination (s[6:13]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "s_buffer_load_b32 s0, s[2:5], 0x0",
         "s_buffer_load_b32 on gfx1100, wave32: sbase (s[2:5]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "buffer_load_b32 v0, v1, s[2:5], 0 offen",
         "buffer_load_b32 on gfx1100, wave32: srsrc (s[2:5]) is no aligned group of four SGPRs"},
        {Target::gfx1100, "global_load_b32 v0, v1, s[5:6]",
         "global_load_b32 on gfx1100, wave32: saddr (s[5:6]) is no aligned group of SGPRs of its size"},
        {Target::gfx1100, "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:6]",
         "v_wmma_f32_16x16x16_f16: operand 4 'v[0:6]' (column 52): is a VGPR of 224 bits where 256 are needed "
         "(gfx1100)"},
        {Target::gfx1201, "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
         "v_wmma_f32_16x16x16_f16: operand 2 'v[8:15]' (column 33): is a VGPR of 256 bits where 128 are needed "
         "(gfx1201)"},
        {Target::gfx1100, "v_cmp_eq_u32_e64 s[0:1], v1, v2",
         "v_cmp_eq_u32_e64: operand 1 's[0:1]' (column 18): is a register of 64 bits where 32 are needed (gfx1100)"},
        {Target::gfx1100, "v_cmp_eq_u32_e64 s1, v1, v2",
         "v_cmp_eq_u32_e64: operand 1 's1' (column 18): is a register of 32 bits where 64 are needed (gfx1100)",
         WaveSize::wave64},
        {Target::gfx1100, "ds_load_b32 v[0:1], v1",
         "ds_load_b32: operand 1 'v[0:1]' (column 13): is a VGPR of 64 bits where 32 are needed (gfx1100)"},
        {Target::gfx1201, "s_load_b96 s[2:4], s[6:7], 0x0",
         "s_load_b96 on gfx1201, wave32: destination (s[2:4]) is no aligned group of SGPRs of its size"},
        {Target::gfx1030, "global_load_dword v0, v1, s[3:4]",
         "global_load_dword on gfx1030, wave32: saddr (s[3:4]) is no aligned group of SGPRs of its size"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameNullWhereAResourceIsNeeded) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1030, "buffer_load_dword v0, off, null, 0",
         "buffer_load_dword on gfx1030, wave32: srsrc (null) is no aligned group of four SGPRs"},
        {Target::gfx1100, "buffer_store_b32 v0, off, null, 0",
         "buffer_store_b32 on gfx1100, wave32: srsrc (null) is no aligned group of four SGPRs"},
        {Target::gfx1201, "buffer_atomic_add_u32 v0, off, null, s4",
         "buffer_atomic_add_u32 on gfx1201, wave32: srsrc (null) is no aligned group of four SGPRs"},
        {Target::gfx1100, "s_buffer_load_b32 s8, null, 0x0",
         "s_buffer_load_b32 on gfx1100, wave32: sbase (null) must not be null"},
        {Target::gfx1201, "s_buffer_load_b64 s[8:9], null, 0x0",
         "s_buffer_load_b64 on gfx1201, wave32: sbase (null) must not be null"},
        {Target::gfx1201, "s_buffer_prefetch_data null, 0x0, s0, 0",
         "s_buffer_prefetch_data on gfx1201, wave32: sbase (null) must not be null"},
        {Target::gfx1030, "s_load_dword s8, null, 0x0",
         "s_load_dword on gfx1030, wave32: sbase (null) must not be null"},
    };
    expect_messages(kLimits);
}

// All of it is nothing that llvm-mc takes.
TEST(Limits, NameOperandsThatOneFormAloneForbids) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1201, "v_s_exp_f32 exec_lo, s1",
         "v_s_exp_f32 on gfx1201, wave32: destination (exec_lo) must not be exec"},
        {Target::gfx1201, "v_wmma_f16_16x16x16_f16 v[0:3], v[4:7], v[8:11], s[0:3]",
         "v_wmma_f16_16x16x16_f16 on gfx1201, wave32: source 2 (s[0:3]) must be VGPRs or an inline constant"},
        {Target::gfx1100, "v_fmaak_f16 v0, v1, v2, 0x12345",
         "v_fmaak_f16: operand 4 '0x12345' (column 25): 74565 does not fit 16 bits (gfx1100)"},
        {Target::gfx1030, "s_load_dword s0, s[2:3], 0x10 offset:0x20",
         "s_load_dword: operand 3 '0x10' (column 26): is a number where offset: gives another (gfx1030)"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NameLiteralsAndTheConstantBus) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "v_fma_f32 v0, 0x1234, 0x5678, v1",
         "v_fma_f32: operand 3 '0x5678' (column 23): is a second literal; an instruction holds one (gfx1100)"},
        {Target::gfx1100, "v_add_f32 v0, 0x1234, 0x5678",
         "v_add_f32: operand 3 '0x5678' (column 23): is a second literal; an instruction holds one (gfx1100)"},
        {Target::gfx1100, "s_add_u32 s0, 0x1234, 0x5678",
         "s_add_u32: operand 3 '0x5678' (column 23): is a second literal; an instruction holds one (gfx1100)"},
        {Target::gfx1100, "v_fmaak_f32 v0, 0x1234, v1, 0x5678",
         "v_fmaak_f32: operand 4 '0x5678' (column 29): is a second literal; an instruction holds one (gfx1100)"},
        {Target::gfx1100, "v_fmamk_f32 v0, v1, s0, v2",
         "v_fmamk_f32: operand 3 's0' (column 21): is no number (gfx1100)"},
        {Target::gfx1100, "v_fma_f32 v0, s1, s2, s3",
         "v_fma_f32 on gfx1100, wave32: source 2 (s3) is one scalar value more than the constant bus carries"},
        {Target::gfx1100, "v_fma_f32 v0, s1, s2, 0x1234",
         "v_fma_f32 on gfx1100, wave32: source 2 (a literal) is one scalar value more than the constant bus carries"},
        {Target::gfx1100, "v_lshlrev_b64 v[0:1], s2, s[4:5]",
         "v_lshlrev_b64 on gfx1100, wave32: source 1 (s[4:5]) is one scalar value more than the constant bus carries"},
        {Target::gfx1100, "v_add_f32_dpp v0, 0x1234, v2 quad_perm:[0,1,2,3]",
         "v_add_f32_dpp on gfx1100, wave32: source 0 (a literal) must be a VGPR"},
    };
    expect_messages(kLimits);
}

TEST(Limits, NamePairs) {
    static constexpr Limit kLimits[] = {
        {Target::gfx1100, "v_dual_add_f32 v0, 0x1234, v1 :: v_dual_mul_f32 v1, 0x5678, v2",
         "v_dual_mul_f32: operand 2 '0x5678' (column 53): is a second literal; a pair holds one (gfx1100)"},
        {Target::gfx1100, "v_dual_add_f32 v0, v4, v1 :: v_dual_mul_f32 v2, v5, v2",
         "v_dual_add_f32 :: v_dual_mul_f32 on gfx1100, wave32: vdst of one half must be even and of the other odd"},
        {Target::gfx1100, "v_dual_add_f32 v0, v4, v1 :: v_dual_mul_f32 v1, v8, v2",
         "v_dual_add_f32 :: v_dual_mul_f32 on gfx1100, wave32: src0 of both halves share a bank"},
        {Target::gfx1100, "v_dual_add_f32 v0, v4, v1 :: v_dual_mul_f32 v1, v5, v5",
         "v_dual_add_f32 :: v_dual_mul_f32 on gfx1100, wave32: vsrc1 of both halves share a bank"},
        {Target::gfx1100, "v_dual_add_f32 v0, s0, v1 :: v_dual_cndmask_b32 v1, s1, v2",
         "v_dual_add_f32 :: v_dual_cndmask_b32 on gfx1100, wave32: src0 of the pair read more scalar values than the "
         "constant bus carries"},
        {Target::gfx1100, "v_dual_add_f32 v0, v4, v1 :: v_dual_mul_f32 v1, v5, v2",
         "v_dual_add_f32 :: v_dual_mul_f32 on gfx1100, wave64: VOPD needs wave32", WaveSize::wave64},
        {Target::gfx1030, "v_dual_add_f32 v0, v4, v1 :: v_dual_mul_f32 v1, v5, v2",
         "v_dual_add_f32: gfx1030 pairs no such instruction"},
    };
    expect_messages(kLimits);
}

std::string refusal(std::string_view source) {
    const Result<AssembledFile> file = assemble(source, "k.s", Target::gfx1030);
    return file ? "accepted" : file.error().message;
}

TEST(Limits, NameABranchThatIsTooLong) {
    EXPECT_EQ(refusal(".globl k\nk:\n  s_branch far\n  .fill 32768, 4, 0xbf800000\nfar:\n  s_endpgm\n"),
              "k.s:3:3: branch over 131072 bytes to 'far'; it reaches -131072 to 131068 (gfx1030)");
    EXPECT_EQ(refusal(".globl k\nk:\n  s_branch far\n  .fill 32767, 4, 0xbf800000\nfar:\n  s_endpgm\n"), "accepted");
}

}  // namespace limits_test
}  // namespace riftjit::rdna

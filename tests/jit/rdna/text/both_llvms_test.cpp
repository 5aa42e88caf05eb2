// Lines of one kind in all their variants against LLVM 19 and LLVM 22, where these differ among themselves or take more
// than they should: each difference has its reason here, and the words are LLVM's everywhere else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/llvm_oracle.h"

namespace riftjit::rdna {
namespace both_llvms_test {

using test::InstructionWords;
using test::LlvmOracle;
using test::LlvmVersion;

using Words = std::optional<InstructionWords>;

Words words_of(Target target, const std::string& line) {
    const Result<Parsed> parsed = parse(target, WaveSize::wave32, line);
    if (!parsed) return std::nullopt;
    const Result<EncodedInstruction> encoded = encode(target, WaveSize::wave32, parsed->instruction);
    if (!encoded) return std::nullopt;
    return InstructionWords(encoded->span().begin(), encoded->span().end());
}

std::string hex(const Words& words) {
    if (!words) return "refused";
    std::string text;
    for (const uint32_t word : *words) text += fmt::format("{:08x} ", word);
    return text;
}

bool has(const std::string& line, std::string_view part) { return line.find(part) != std::string::npos; }

class BothLlvms : public testing::TestWithParam<Target> {
protected:
    Generation generation() const { return rdna::generation(GetParam()); }
    bool is_gfx10() const { return generation() == Generation::gfx10; }
    bool is_gfx12() const { return generation() == Generation::gfx12; }
    // gfx1153 is younger than LLVM 19.
    std::vector<LlvmVersion> versions() const {
        if (GetParam() == Target::gfx1153) return {LlvmVersion::v22};
        return {LlvmVersion::v19, LlvmVersion::v22};
    }

    // `reason` says why a line may differ from what that LLVM makes of it; empty where it may not.
    void expect_agreement(const std::vector<std::string>& lines, const auto& reason) const {
        for (const LlvmVersion version : versions()) {
            if (!may_ask(LlvmOracle::is_present(version), "llvm-mc-19 and llvm-mc-22")) continue;
            const auto theirs = LlvmOracle(GetParam(), WaveSize::wave32, version).assemble(lines);
            for (size_t i = 0; i < lines.size(); ++i) {
                const Words ours = words_of(GetParam(), lines[i]);
                if (ours == theirs[i]) continue;
                const std::string why = reason(lines[i], version, ours, theirs[i]);
                EXPECT_FALSE(why.empty()) << name(GetParam()) << ": " << lines[i] << " is " << hex(ours)
                                          << ", for LLVM " << static_cast<int>(version) << " " << hex(theirs[i]);
            }
        }
    }
    static std::string no_reason(const std::string&, LlvmVersion, const Words&, const Words&) { return ""; }
};

TEST_P(BothLlvms, NameHardwareRegistersOrGiveTheirFields) {
    constexpr std::string_view kNames[] = {"MODE",
                                           "STATUS",
                                           "TRAPSTS",
                                           "HW_ID",
                                           "GPR_ALLOC",
                                           "LDS_ALLOC",
                                           "IB_STS",
                                           "IB_STS2",
                                           "SH_MEM_BASES",
                                           "TBA_LO",
                                           "TBA_HI",
                                           "TMA_LO",
                                           "TMA_HI",
                                           "FLAT_SCR_LO",
                                           "FLAT_SCR_HI",
                                           "XNACK_MASK",
                                           "HW_ID1",
                                           "HW_ID2",
                                           "POPS_PACKER",
                                           "SHADER_CYCLES",
                                           "SHADER_CYCLES_LO",
                                           "SHADER_CYCLES_HI",
                                           "DVGPR_ALLOC_LO",
                                           "DVGPR_ALLOC_HI",
                                           "STATE_PRIV",
                                           "EXCP_FLAG_PRIV",
                                           "EXCP_FLAG_USER",
                                           "TRAP_CTRL",
                                           "SCRATCH_BASE_LO",
                                           "SCRATCH_BASE_HI",
                                           "SCHED_MODE",
                                           "PERF_SNAPSHOT_DATA",
                                           "PERF_SNAPSHOT_DATA1",
                                           "PERF_SNAPSHOT_DATA2",
                                           "PERF_SNAPSHOT_PC_LO",
                                           "PERF_SNAPSHOT_PC_HI",
                                           "SQ_PERF_SNAPSHOT_DATA",
                                           "XCC_ID",
                                           "XNACK_STATE_PRIV"};
    std::vector<std::string> operands;
    for (const std::string_view name : kNames)
        for (const std::string_view prefix : {"HW_REG_", "HW_REG_WAVE_"})
            for (const std::string_view rest : {"", ", 3, 5"})
                operands.push_back(fmt::format("hwreg({}{}{})", prefix, name, rest));
    for (unsigned number = 0; number < 64; ++number) operands.push_back(fmt::format("hwreg({})", number));
    for (const std::string_view operand : {"{id: 1, offset: 0, size: 4}",
                                           "{id:1,offset:3,size:5}",
                                           "{size: 4, id: 1}",
                                           "{ id : 1 , offset : 0 , size : 4 }",
                                           "{}",
                                           "{offset: 1}",
                                           "{size: 8, offset: 1}",
                                           "{id: 0x3f, offset: 0x1f, size: 1}",
                                           "{id: 1, size: 32}",
                                           "{id: 64}",
                                           "{id: -1}",
                                           "{id: 1, offset: 32}",
                                           "{id: 1, offset: -1}",
                                           "{id: 1, size: 0}",
                                           "{id: 1, size: 33}",
                                           "{id: 1, id: 2}",
                                           "{offset: 31, id: 1, offset: 2}",
                                           "{id: 1, width: 4}",
                                           "{id 1}",
                                           "{id: }",
                                           "{id: 1,}",
                                           "{, id: 1}",
                                           "{id: 1; size: 2}",
                                           "{id: HW_REG_MODE}",
                                           "{ID: 1}",
                                           "[id: 1]",
                                           "id: 1",
                                           "hwreg{id: 1}",
                                           "hwreg(id: 1)",
                                           "hwreg(1, 0)",
                                           "hwreg(1, 0, 0)",
                                           "hwreg(1, 31, 1)",
                                           "hwreg(1, 32, 1)",
                                           "hwreg(1, 0, 33)",
                                           "hwreg(64)",
                                           "hwreg(-1)",
                                           "hwreg()",
                                           "HWREG(1)",
                                           "0x1801",
                                           "65535",
                                           "65536",
                                           "-1",
                                           "-32768"})
        operands.emplace_back(operand);
    std::vector<std::string> lines;
    for (const std::string& operand : operands) lines.push_back("s_getreg_b32 s2, " + operand);
    for (const std::string_view operand :
         {"{id: 1, size: 4}", "{}", "{id: 1, offset: 32}", "hwreg(HW_REG_MODE)", "-1"}) {
        lines.push_back(fmt::format("s_setreg_b32 {}, s2", operand));
        lines.push_back(fmt::format("s_setreg_imm32_b32 {}, 5", operand));
    }
    expect_agreement(lines, [&](const std::string& line, LlvmVersion version, const Words& ours, const Words& theirs) {
        const bool is_new = is_gfx12() && version == LlvmVersion::v19 && has(line, "HW_REG_WAVE_");
        return is_new && ours && !theirs ? "a name that is younger than LLVM 19" : "";
    });
    for (const std::string& operand : operands) {
        const Words words = words_of(GetParam(), "s_getreg_b32 s2, " + operand);
        if (!words) continue;
        const Decoded decoded = decode(GetParam(), WaveSize::wave32, *words);
        ASSERT_TRUE(decoded.ok) << operand;
        EXPECT_EQ(words_of(GetParam(), print(GetParam(), WaveSize::wave32, decoded.instruction)), words) << operand;
    }
}

TEST_P(BothLlvms, TakeOperationsAndStreamsOfMessages) {
    std::vector<std::string> operands;
    const auto add = [&](const std::string& inside) { operands.push_back("sendmsg(" + inside + ")"); };
    for (const std::string id : {"MSG_INTERRUPT",
                                 "MSG_GS",
                                 "MSG_GS_DONE",
                                 "MSG_SAVEWAVE",
                                 "MSG_SYSMSG",
                                 "MSG_GS_ALLOC_REQ",
                                 "MSG_HS_TESSFACTOR",
                                 "MSG_DEALLOC_VGPRS",
                                 "MSG_RTN_GET_TMA",
                                 "MSG_RTN_GET_SE_AID_ID",
                                 "MSG_FOO",
                                 "1",
                                 "2",
                                 "3",
                                 "4",
                                 "9",
                                 "15",
                                 "16",
                                 "135",
                                 "255",
                                 "256",
                                 "-1",
                                 ""}) {
        add(id);
        for (const std::string_view operation :
             {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT_CUT", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
              "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC", "0", "1", "4", "5", "7", "8", "-1"}) {
            add(fmt::format("{}, {}", id, operation));
            for (const std::string_view stream : {"0", "3", "4"}) add(fmt::format("{}, {}, {}", id, operation, stream));
        }
    }
    add("1, 0, 0, 0");
    for (const std::string_view operand : {"1", "255", "65535", "65536", "-1"}) operands.emplace_back(operand);
    std::vector<std::string> lines;
    for (const std::string& operand : operands) {
        lines.push_back("s_sendmsg " + operand);
        lines.push_back("s_sendmsg_rtn_b32 s0, " + operand);
    }
    expect_agreement(lines, [](const std::string& line, LlvmVersion, const Words& ours, const Words& theirs) {
        return !ours && theirs && line.starts_with("s_sendmsg_rtn") ? "LLVM cuts what does not fit eight bits" : "";
    });
}

TEST_P(BothLlvms, HoldUnsignedImmediatesToTheirRange) {
    std::vector<std::string> lines;
    for (const std::string_view value : {"-32768", "-1", "0", "1", "32767", "32768", "65535"})
        for (const std::string_view start :
             {"s_nop ", "s_sleep ", "s_endpgm ", "s_sendmsghalt ", "s_movk_i32 s0, ", "s_cmpk_eq_i32 s0, ",
              "s_cmpk_eq_u32 s0, ", "s_cmpk_lt_u32 s0, ", "s_waitcnt_vscnt null, ", "s_barrier_wait ", "s_waitcnt "})
            lines.push_back(fmt::format("{}{}", start, value));
    expect_agreement(lines, no_reason);
}

TEST_P(BothLlvms, ReachAsFarWithOffsets) {
    const bool is_old = is_gfx10();
    const std::string b32 = is_old ? "dword" : "b32", add = is_old ? "add" : "add_u32";
    const std::string none = is_old ? "0" : "null", load = is_old ? "read" : "load",
                      two = is_old ? "read2" : "load_2addr";
    std::vector<std::string> lines;
    for (const std::string value :
         {"-0x800001", "-0x800000", "-0x100001", "-0x100000", "-4097",    "-4096",    "-2049",    "-2048",    "-4",
          "-1",        "0",         "1",         "255",       "256",      "2047",     "2048",     "4095",     "4096",
          "65535",     "65536",     "0xfffff",   "0x100000",  "0x7fffff", "0x800000", "0xffffff", "0x1000000"}) {
        for (const std::string_view start : {"s_load_{} s5, s[2:3], ", "s_buffer_load_{} s5, s[4:7], "}) {
            const std::string made = fmt::format(fmt::runtime(start), b32);
            lines.push_back(made + value);
            lines.push_back(made + "s0 offset:" + value);
            lines.push_back(made + "null offset:" + value);
        }
        for (const std::string_view prefetch :
             {"s_prefetch_data s[2:3], {}, s0, 3", "s_prefetch_inst s[2:3], {}, s0, 3",
              "s_prefetch_data_pc_rel {}, s0, 3", "s_prefetch_inst_pc_rel {}, s0, 3",
              "s_buffer_prefetch_data s[4:7], {}, s0, 3", "s_buffer_load_u8 s5, s[4:7], {}",
              "s_buffer_load_b96 s[4:6], s[4:7], {}", "s_load_u16 s5, s[2:3], {}"})
            lines.push_back(fmt::format(fmt::runtime(prefetch), value));
        for (const std::string& vector :
             {"flat_load_" + b32 + " v0, v[2:3]", "flat_atomic_" + add + " v[2:3], v1",
              "global_load_" + b32 + " v0, v[2:3], off", "global_store_" + b32 + " v0, v2, s[2:3]",
              "global_atomic_" + add + " v2, v1, s[2:3]", "scratch_load_" + b32 + " v0, off, s2",
              "scratch_store_" + b32 + " v2, v3, off", "scratch_load_" + b32 + " v0, off, off",
              "ds_" + load + "_b32 v0, v1", std::string("ds_add_u32 v0, v1"),
              "buffer_load_" + b32 + " v0, off, s[4:7], s0",
              "buffer_load_" + b32 + " v0, v1, s[4:7], " + none + " offen",
              "buffer_store_" + b32 + " v0, v1, s[4:7], s3 idxen", "buffer_atomic_" + add + " v0, off, s[4:7], s0"})
            lines.push_back(vector + " offset:" + value);
        for (const std::string_view which : {"offset0:", "offset1:"})
            lines.push_back(fmt::format("ds_{}_b32 v[0:1], v1 {}{}", two, which, value));
    }
    const auto reason = [&](const std::string& line, LlvmVersion version, const Words& ours, const Words& theirs) {
        const bool is_buffer = line.find("buffer_") < 3;
        if (!is_buffer || ours || !theirs) return "";
        if (is_gfx12() && version == LlvmVersion::v19 && (has(line, ":-") || has(line, " -")))
            return "a negative offset into a buffer, which LLVM 22 refuses";
        const bool is_cut = line.ends_with("offset:4096") || line.ends_with("offset:65535");
        return !is_gfx12() && is_cut ? "LLVM cuts the offset to 12 bits" : "";
    };
    expect_agreement(lines, reason);
}

class OfGfx12 : public BothLlvms {};

TEST_P(OfGfx12, NegativeOffsetsIntoBuffersAreRefusedInWordsToo) {
    const std::vector<InstructionWords> words = {
        {0xf4020142, 0xf8fffffc},              // s_buffer_load_b32 s5, s[4:7], -0x4
        {0xf4020142, 0x00ffffff},              // s_buffer_load_b32 s5, s[4:7], s0 offset:-0x1
        {0xf404e0c2, 0x00ffffff},              // s_buffer_prefetch_data s[4:7], -0x1, s0, 3
        {0xf4020142, 0xf8800000},              // s_buffer_load_b32 s5, s[4:7], -0x800000
        {0xc4050000, 0x00800800, 0xfffffc00},  // buffer_load_b32 v0, off, s[4:7], s0 offset:-4
        {0xf4020142, 0xf87fffff},              // s_buffer_load_b32 s5, s[4:7], 0x7fffff
        {0xf4000142, 0xf8fffffc}};             // s_load_b32 s5, s[4:5], -0x4
    if (!may_ask(LlvmOracle::is_present(LlvmVersion::v22), "llvm-mc-22 and llvm-objdump-22")) return;
    const auto theirs = LlvmOracle(GetParam(), WaveSize::wave32, LlvmVersion::v22).disassemble(words);
    for (size_t i = 0; i < words.size(); ++i)
        EXPECT_EQ(decode(GetParam(), WaveSize::wave32, words[i]).ok, theirs[i].has_value()) << hex(words[i]);
}

// Of one constant in the place of `#`.
TEST_P(BothLlvms, WriteConstantsOfPackedHalves) {
    const std::string_view min = is_gfx12() ? "v_pk_min_num_f16" : "v_pk_min_f16";
    std::vector<std::string> lines, doubled;
    for (const std::string_view value :
         {"0",          "1",          "-1",         "-16",        "64",         "65",         "0.5",
          "1.0",        "-4.0",       "1.5",        "0x3c00",     "0x3800",     "0x3c003c00", "0xb800b800",
          "0x44004400", "0x31183118", "0x3118",     "0x10001",    "0xffff",     "0xfff0",     "0x3c01",
          "0xfff0fff0", "0xffffffff", "0x3c000000", "0x38003c00", "0x12345678", "0x400040"}) {
        doubled.push_back(fmt::format("v_pk_fmac_f16 v0, {}, v1", value));
        for (const std::string_view made :
             {"v_pk_add_f16 v0, {}, v1", "v_pk_mul_f16 v0, v1, {}", "v_pk_fma_f16 v0, v1, {}, v2",
              "v_pk_fma_f16 v0, v1, v2, {} op_sel:[0,0,1] op_sel_hi:[1,1,0]", "v_pk_add_u16 v0, {}, v1",
              "v_pk_mad_i16 v0, v1, v2, {}", "v_pk_lshlrev_b16 v0, {}, v1", "v_dot2_f32_f16 v0, {}, v1, v2",
              "v_dot2acc_f32_f16 v0, {}, v1", "v_dot4_u32_u8 v0, {}, v1, v2", "v_dot2_f16_f16 v0, {}, v1, v2",
              "v_dot2_bf16_bf16 v0, {}, v1, v2", "v_dot2_f32_bf16 v0, {}, v1, v2", "v_fma_mix_f32 v0, {}, v1, v2",
              "v_dot2_i32_i16 v0, {}, v1, v2", "v_dot2c_f32_f16 v0, {}, v1"})
            lines.push_back(fmt::format(fmt::runtime(made), value));
        lines.push_back(fmt::format("{} v0, {}, v1", min, value));
    }
    expect_agreement(lines, no_reason);
    expect_agreement(
        doubled, [&](const std::string& line, LlvmVersion version, const Words& ours, const Words& theirs) {
            if (is_gfx10() || !ours || !theirs) return "";
            const bool is_decimal = has(line, ".");
            if (version == LlvmVersion::v19)
                return is_decimal ? "" : "LLVM 19 has the inline float in the lower half alone, on every chip";
            if (is_decimal) return "LLVM 22 prints the inline float so, and reads a literal";
            const bool is_integer_twice = has(line, "0x10001,") || has(line, "0x400040,");
            return is_integer_twice ? "LLVM 22 takes an inline integer for two of them, and for one as well" : "";
        });
}

TEST_P(BothLlvms, WriteConstantsAndRefuseDecimalsOutOfRange) {
    std::vector<std::string> lines;
    const auto add = [&](std::initializer_list<std::string_view> values, std::initializer_list<std::string_view> rows) {
        for (const std::string_view value : values)
            for (const std::string_view made : rows) lines.push_back(fmt::format(fmt::runtime(made), value));
    };
    add({"0", "64", "65", "-16", "0x3c00", "0xffff", "0xfff0", "65535", "65536", "-32769", "0x12345", "0xffffffff"},
        {"v_add_f16 v0, {}, v1", "v_fmac_f16 v0, {}, v1", "v_add_nc_u16 v0, {}, v1", "v_lshlrev_b16 v0, {}, v1",
         "v_mad_u16 v0, {}, v1, v2", "v_add_f32 v0, {}, v1", "v_add_nc_u32 v0, {}, v1", "s_mov_b32 s0, {}"});
    add({"65504.0", "65519.0", "65520.0", "1e5", "-7e4", "1e-4", "6e-5", "0.000030517578125", "3e-8", "1e-10", "-1e-40",
         "0.0"},
        {"v_add_f16 v0, {}, v1", "v_pk_add_f16 v0, {}, v1", "v_fmaak_f16 v0, v2, v1, {}", "v_med3_f16 v0, v1, v2, {}",
         "s_add_f16 s0, {}, s1"});
    add({"3.4e38", "3.5e38", "-1e39", "1e300", "1e-37", "1e-40", "1e-46", "-1e-300", "0.0", "-0.0"},
        {"v_add_f32 v0, {}, v1", "v_fmaak_f32 v0, v2, v1, {}", "v_mov_b32 v0, {}", "s_mov_b32 s0, {}",
         "v_fma_f32 v0, v1, {}, v2", "s_fmaak_f32 s0, s1, s2, {}", "v_add_f64 v[0:1], {}, v[2:3]",
         "v_dual_mul_f32 v0, {}, v2 :: v_dual_add_f32 v3, v1, v1"});
    add({"1.17549435e-38", "1.1754942e-38", "6.1035e-05", "6.1035156e-05",
         "6.1020855e-05"},  // up to the smallest normal
        {"v_add_f16 v0, {}, v1", "v_add_f32 v0, {}, v1", "v_mov_b32 v0, {}"});
    add({"0.1", "1e39", "1e-310", "1.5", "-0.5", "4.0", "0.0"},
        {"s_mov_b64 s[0:1], {}", "s_and_b64 s[0:1], {}, s[2:3]", "s_cselect_b64 s[0:1], s[2:3], {}",
         "s_cmp_eq_u64 {}, s[0:1]", "v_cmp_eq_u64 vcc_lo, {}, v[0:1]", "v_mad_u64_u32 v[0:1], s0, v2, v3, {}"});
    add({"0.1", "1.5", "-0.0", "0.0", "0.5", "-4.0", "0.15915494", "3.0", "1e6", "1e-8", "-2.5"},
        {"v_add_nc_u16 v0, {}, v1", "v_sub_nc_i16 v0, v1, {}", "v_lshlrev_b16 v0, {}, v1", "v_mad_u16 v0, v1, {}, v2",
         "v_cmp_eq_u16 vcc_lo, {}, v1", "v_pk_add_u16 v0, {}, v1", "v_pk_mad_i16 v0, v1, v2, {}"});
    add({"0x1p-24", "0x1.8p-3", "-0x1p3", "0X1P+3", "0x.8p1", "0x1.p3", "0x1.8", "0x1p", "0x1p-130", "0x1.ffp20",
         "0x0p0"},
        {"v_add_f32 v0, {}, v1", "v_add_f16 v0, {}, v1", "v_add_f64 v[0:1], {}, v[2:3]", "v_fmaak_f32 v0, v2, v1, {}",
         "s_mov_b32 s0, {}"});
    add({"0x1p-24", "0x40p-24", "0x41p-24", "5.9604644775390625e-08", "0x1p-149", "0x40p-149", "0x41p-149", "0x1p-1074",
         "0x40p-1074"},
        {"v_add_f16 v0, {}, v1", "v_pk_add_f16 v0, {}, v1", "v_add_nc_u16 v0, {}, v1", "v_add_f32 v0, {}, v1",
         "s_mov_b32 s0, {}", "v_add_f64 v[0:1], {}, v[2:3]", "s_mov_b64 s[0:1], {}", "v_fmaak_f16 v0, v2, v1, {}"});
    expect_agreement(lines, [&](const std::string& line, LlvmVersion version, const Words&, const Words& theirs) {
        const bool is_half = has(line, "f16 v") || has(line, "16 v0") || has(line, "16 vcc_lo");
        return !is_gfx10() && version == LlvmVersion::v22 && is_half && !theirs ? "LLVM 22 wants halves named here"
                                                                                : "";
    });
}

TEST_P(BothLlvms, TakeDecimalsThatNoFloatHoldsForInfinityOrZeroWhichAreRefusedHere) {
    std::vector<std::string> lines;
    for (const std::string_view value : {"1e-400", "-1e-400", "1e400", "-1e400", "0x1p-2000", "0x1p2000", "0x0p-2000"})
        for (const std::string_view made :
             {"v_add_f32 v0, {}, v1", "v_add_f64 v[0:1], {}, v[2:3]", "s_mov_b32 s0, {}", "v_fmaak_f32 v0, v2, v1, {}"})
            lines.push_back(fmt::format(fmt::runtime(made), value));
    expect_agreement(lines, [](const std::string& line, LlvmVersion, const Words& ours, const Words& theirs) {
        const bool is_zero = has(line, "0x0p");
        return !ours && theirs && !is_zero ? "the number written is another" : "";
    });
}

// In every field in which LLVM takes one, spelled without blanks or in brackets after a modifier's colon.
TEST_P(BothLlvms, TakeExpressionsWhereNumbersMayStand) {
    std::vector<std::string> lines;
    for (const std::string_view expression :
         {"1+1",       "(1+1)",     "2-1",        "2*8",       "7/2",       "7%4",        "1<<4",      "256>>3",
          "1|2",       "6&3",       "5^1",        "~1",        "-(1+1)",    "1 << 2 + 1", "1|2^3",     "6 & 3 + 1",
          "5 | 2 + 1", "2 + 3 % 2", "8 >> 1 * 2", "1 + 2 & 3", "7 - 2 - 1", "3 * 2 | 1",  "((2)+3)*4", "0x10+010",
          "1+",        "1+v0",      "1 2",        "(1",        "1/0",       "1.0+1.0"})
        for (const std::string_view made :
             {"s_mov_b32 s0, {}", "v_add_f32 v0, {}, v1", "v_add_nc_u32 v0, {}, v1", "s_movk_i32 s0, {}", "s_nop {}",
              "v_fmaak_f32 v0, v2, v1, {}", "s_getreg_b32 s0, hwreg({})", "s_getreg_b32 s0, hwreg(1, {}, 1)",
              "s_getreg_b32 s0, {}", "s_sendmsg sendmsg({})", "s_sendmsg sendmsg(2, {}, 0)", "s_waitcnt vmcnt({})",
              "s_waitcnt {}", "s_waitcnt_vscnt null, {}", "s_branch {}"})
            lines.push_back(fmt::format(fmt::runtime(made), expression));
    for (const std::string_view line :
         {"s_setreg_imm32_b32 hwreg(1+1), 1+1", "s_waitcnt vmcnt(1+1) & lgkmcnt(2*2)",
          "s_waitcnt vmcnt((1+1)) expcnt(0)", "s_getreg_b32 s0, hwreg(64+1)",
          "s_getreg_b32 s0, {id: 1+1, offset: 0, size: 4*2}", "s_sendmsg sendmsg(MSG_INTERRUPT+1)",
          "v_add_f32 v0, |1+1|, v1", "s_mov_b32 s0, s[1+1]", "v_mov_b32 v0, v[2*8]", "s_mov_b64 s[2:2+1], s[4*2:9]",
          "v_mov_b32 v0, v[255+1]", "s_mov_b64 s[0:1], 1+1",
          "v_mov_b32_dpp v0, v1 quad_perm:[0,1,1+1,3] row_mask:0xf bank_mask:0xe+1",
          "v_mov_b32_dpp v0, v1 row_shl:1+1 row_mask:0xf bank_mask:0xf", "global_load_dword v0, v[1:2], off offset:4*4",
          "global_load_dword v0, v[1:2], off offset:(4+4)", "ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,4*2,1+1)",
          "s_load_dword s0, s[2:3], 4*4"})
        lines.emplace_back(line);
    expect_agreement(lines, [](const std::string& line, LlvmVersion, const Words& ours, const Words& theirs) {
        const bool has_no_value = has(line, "1/0") || has(line, "1+v0");
        return !ours && theirs && has_no_value ? "LLVM leaves it to the linker, as an expression of symbols" : "";
    });
}

TEST_P(BothLlvms, PrintInlineFloatsOfPackedFmac) {
    std::vector<InstructionWords> words;
    for (uint32_t code = 240; code <= 248; ++code) words.push_back({0x78000200 | code});
    for (const LlvmVersion version : versions()) {
        if (!may_ask(LlvmOracle::is_present(version), "llvm-mc-19 and llvm-mc-22")) continue;
        const auto theirs = LlvmOracle(GetParam(), WaveSize::wave32, version).disassemble(words);
        for (size_t i = 0; i < words.size(); ++i) {
            const Decoded decoded = decode(GetParam(), WaveSize::wave32, words[i]);
            ASSERT_TRUE(decoded.ok);
            const std::string text = print(GetParam(), WaveSize::wave32, decoded.instruction);
            EXPECT_EQ(text, theirs[i]) << hex(words[i]);
            EXPECT_EQ(words_of(GetParam(), text), words[i]) << text;
        }
    }
}

TEST(PackedFmac, HasLiteralsPrintedSoThatTheyMeanTheSame) {
    const auto printed = [](Target target, uint32_t literal) {
        const Decoded decoded = decode(target, WaveSize::wave32, InstructionWords{0x780002ff, literal});
        return decoded.ok ? print(target, WaveSize::wave32, decoded.instruction) : "refused";
    };
    EXPECT_EQ(printed(Target::gfx1030, 0x3C00), "v_pk_fmac_f16 v0, 1.0, v1");
    for (const Target target : {Target::gfx1100, Target::gfx1201}) {
        EXPECT_EQ(printed(target, 0x3C00), "v_pk_fmac_f16 v0, 0x3c00, v1");
        EXPECT_EQ(words_of(target, "v_pk_fmac_f16 v0, 0x3c00, v1"), (InstructionWords{0x780002ff, 0x3C00}));
        EXPECT_EQ(printed(target, 0x3C003C00), "v_pk_fmac_f16 v0, 0x3c003c00, v1");
        EXPECT_EQ(words_of(target, "v_pk_fmac_f16 v0, 0x3c003c00, v1"), (InstructionWords{0x780002f2}));
    }
}

// Every parity and bank of what two halves read and write.
class Pairs : public BothLlvms {
protected:
    static std::vector<std::string> lines() {
        std::vector<std::string> lines;
        for (unsigned first = 4; first < 8; ++first)
            for (unsigned second = 4; second < 12; ++second) {
                lines.push_back(fmt::format("v_dual_mul_f32 v0, v{}, v2 :: v_dual_add_f32 v3, v{}, v1", first, second));
                lines.push_back(fmt::format("v_dual_mul_f32 v0, v1, v{} :: v_dual_add_f32 v3, v2, v{}", first, second));
                lines.push_back(
                    fmt::format("v_dual_mul_f32 v0, v{0}, v{0} :: v_dual_add_f32 v3, v{1}, v{1}", first, second));
                lines.push_back(fmt::format("v_dual_mul_f32 v{}, v1, v2 :: v_dual_add_f32 v{}, v2, v3", first, second));
                lines.push_back(fmt::format("v_dual_mov_b32 v0, v{} :: v_dual_mov_b32 v3, v{}", first, second));
                lines.push_back(
                    fmt::format("v_dual_fmac_f32 v{}, v1, v2 :: v_dual_fmac_f32 v{}, v2, v3", first, second));
                lines.push_back(fmt::format(
                    "v_dual_fmamk_f32 v0, v1, 0x1234, v{} :: v_dual_fmamk_f32 v3, v2, 0x1234, v{}", first, second));
                lines.push_back(
                    fmt::format("v_dual_fmac_f32 v{}, v1, v2 :: v_dual_fmamk_f32 v{}, v2, 0x1234, v4", first, second));
                lines.push_back(fmt::format("v_dual_mov_b32 v0, v{} :: v_dual_lshlrev_b32 v3, v{}, v1", first, second));
            }
        return lines;
    }
    static std::set<uint16_t> registers_read(const VopdHalf& half) {
        std::set<uint16_t> read;
        for (unsigned i = half.opcode == Opcode::v_fmac_f32 ? 0 : 1; i < 3; ++i)
            if (half.operands[i].is_vgpr()) read.insert(half.operands[i].code);
        return read;
    }
    bool reads_one_register_twice(const std::string& line) const {
        const Result<Parsed> parsed = parse(GetParam(), WaveSize::wave32, line);
        if (!parsed) return false;
        const std::set<uint16_t> of_x = registers_read(parsed->instruction.dual[0]);
        return std::ranges::any_of(registers_read(parsed->instruction.dual[1]),
                                   [&](uint16_t code) { return of_x.contains(code); });
    }
};

TEST_P(Pairs, AreThoseOfLlvmAndOfOneRegisterReadTwiceOnGfx12) {
    expect_agreement(lines(), [&](const std::string& line, LlvmVersion, const Words& ours, const Words& theirs) {
        const bool is_new = is_gfx12() && ours && !theirs && reads_one_register_twice(line);
        return is_new ? "one register for both halves, which LLVM assembles since May 2026" : "";
    });
}

class PairsOfGfx12 : public Pairs {};

TEST_P(PairsOfGfx12, OfOneRegisterReadTwiceAreReadAsLlvmDoes) {
    std::vector<InstructionWords> words = {{0xc8c80501, 0x00020f01}};
    for (const std::string& line : lines())
        if (const Words made = words_of(GetParam(), line)) words.push_back(*made);
    for (const LlvmVersion version : versions()) {
        if (!may_ask(LlvmOracle::is_present(version), "llvm-mc-19 and llvm-mc-22")) continue;
        const auto theirs = LlvmOracle(GetParam(), WaveSize::wave32, version).disassemble(words);
        for (size_t i = 0; i < words.size(); ++i) {
            const Decoded decoded = decode(GetParam(), WaveSize::wave32, words[i]);
            ASSERT_TRUE(decoded.ok) << hex(words[i]) << reason(GetParam(), WaveSize::wave32, decoded);
            const std::string text = print(GetParam(), WaveSize::wave32, decoded.instruction);
            EXPECT_EQ(text, theirs[i]);
            EXPECT_EQ(words_of(GetParam(), text), words[i]) << text;
        }
    }
    const Decoded decoded = decode(GetParam(), WaveSize::wave32, words[0]);
    EXPECT_EQ(print(GetParam(), WaveSize::wave32, decoded.instruction),
              "v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v1, v7");
}

std::string chip_name(const testing::TestParamInfo<Target>& info) { return std::string(name(info.param)); }

INSTANTIATE_TEST_SUITE_P(Chips, BothLlvms,
                         testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1153,
                                         Target::gfx1200, Target::gfx1201),
                         chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, OfGfx12, testing::Values(Target::gfx1200, Target::gfx1201), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, PairsOfGfx12, testing::Values(Target::gfx1200, Target::gfx1201), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, Pairs, testing::Values(Target::gfx1100, Target::gfx1150, Target::gfx1201), chip_name);

}  // namespace both_llvms_test
}  // namespace riftjit::rdna

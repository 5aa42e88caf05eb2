// Declared counts, overlap rules, WMMA's demands, and code that cannot be executed.
#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace registers_test {

ProgramResult run(Target target, std::string_view text, uint32_t vgprs = 64, Checks checks = {}) {
    return run_program({.target = target, .checks = checks, .vgprs = vgprs}, std::string(text) + "\ns_endpgm");
}

std::string zeroed(unsigned count) {
    std::string text;
    for (unsigned v = 0; v < count; ++v) text += fmt::format("v_mov_b32_e32 v{}, 0\n", v);
    return text;
}

TEST(RegisterCount, EndsAtTheLastDeclaredVgpr) {
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        EXPECT_TRUE(reports_nothing(run(target, "v_mov_b32_e32 v16, 0", 17)));
        const ProgramResult result = run(target, "v_mov_b32_e32 v17, 0", 17);
        EXPECT_TRUE(reports_only(result, FindingKind::vgpr_beyond_count));
        EXPECT_FALSE(result.report.completed);
        EXPECT_EQ(result.report.findings[0].instruction, "v_mov_b32_e32 v17, 0");
        EXPECT_EQ(result.report.findings[0].code_offset, 0u);
    }
}

TEST(RegisterCount, CountsTheWholeTuple) {
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, "v_lshrrev_b64 v[15:16], 0, v[0:1]", 16), FindingKind::vgpr_beyond_count));
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "ds_load_b128 v[13:16], v0", 16), FindingKind::vgpr_beyond_count));
}

TEST(RegisterCount, AppliesToScalars) {
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "s_mov_b32 s103, 0"), FindingKind::sgpr_beyond_count))
        << "the fixture declares 100";
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, "s_mov_b32 s99, 0; s_mov_b32 vcc_lo, 0")));
}

TEST(RegisterOverlap, IsForbiddenToMadU64OnSomeChips) {
    const std::string start = zeroed(8);
    for (const std::string_view text :
         {"v_mad_u64_u32 v[0:1], null, v0, v3, v[4:5]", "v_mad_u64_u32 v[0:1], null, v2, v1, v[4:5]",
          "v_mad_u64_u32 v[0:1], null, v2, v3, v[0:1]"}) {
        EXPECT_TRUE(reports_only(run(Target::gfx1100, start + std::string(text)), FindingKind::register_overlap))
            << text;
        EXPECT_TRUE(reports_nothing(run(Target::gfx1030, start + std::string(text))));
        EXPECT_TRUE(reports_nothing(run(Target::gfx1150, start + std::string(text))));
    }
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, start + "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]")));
}

// Its code plus one is that of another register: exec_hi on gfx10, m0 from gfx11 on.
TEST(NullRegister, ReadsAsZeroInBothHalves) {
    struct Case {
        std::string_view text, upper;  // the second says where v2 gets the upper half from
    };
    constexpr Case kCases[] = {
        {"s_mov_b64 s[8:9], null", "s9"},
        {"s_or_b64 s[8:9], 0, null", "s9"},
        {"s_and_b64 s[8:9], -1, null", "s9"},
        {"s_bcnt1_i32_b64 s8, null", "s8"},
        {"s_cmp_lg_u64 null, 0; s_cselect_b32 s8, 1, 0", "s8"},
        {"v_add_f64 v[4:5], null, 0", "v5"},
        {"v_lshlrev_b64 v[4:5], 1, null", "v5"},
        {"v_mad_u64_u32 v[4:5], null, 0, 0, null", "v5"},
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201})
        for (const Case& each : kCases) {
            const bool old = generation(target) == Generation::gfx10;
            const ProgramResult result =
                run(target, load_out_pointer(target) + "s_mov_b32 m0, 77\n" + std::string(each.text) +
                                "\ns_nop 0\nv_mov_b32_e32 v2, " + std::string(each.upper) +
                                "\nv_lshlrev_b32_e32 v1, 2, v0\n" +
                                (old ? "global_store_dword v1, v2, s[2:3]" : "global_store_b32 v1, v2, s[2:3]"));
            EXPECT_TRUE(result.report.completed) << name(target) << ": " << each.text;
            for (unsigned lane = 0; lane < 32; ++lane)
                EXPECT_EQ(result.out[lane], 0u) << name(target) << ": " << each.text;
        }
}

TEST(NullRegister, IsNoAddressToLoadFrom) {
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "s_load_b32 s8, null, null"), FindingKind::out_of_bounds));
    EXPECT_TRUE(reports_only(run(Target::gfx1201, "s_load_b32 s8, null, 0x0"), FindingKind::out_of_bounds));
}

// What LLVM emits where it wants the lower half alone.
TEST(RegisterOverlap, OfTheAddendsUpperHalfCostsTheUpperHalfOfTheResult) {
    const std::string multiply = zeroed(12) + "v_mad_u64_u32 v[4:5], null, v6, v7, v[3:4]\n";
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, multiply + "v_cmp_eq_u32 vcc_lo, v4, v0; s_cbranch_vccz l; l:")));
    const std::string uses_upper = multiply + "v_cmp_eq_u32 vcc_lo, v5, v0; s_cbranch_vccz l; l:";
    const ProgramResult result = run(Target::gfx1100, uses_upper);
    EXPECT_TRUE(reports_only(result, FindingKind::undefined_branch));
    ASSERT_FALSE(result.report.findings.empty());
    EXPECT_NE(result.report.findings[0].detail.find("v_mad_u64_u32 v[4:5]"), std::string::npos);
    EXPECT_TRUE(reports_nothing(run(Target::gfx1150, uses_upper)));
    // Nor can it be told apart from a fault where undefined bits are not followed.
    Checks blind;
    blind.undefined = false;
    EXPECT_TRUE(reports_only(run(Target::gfx1100, multiply, 64, blind), FindingKind::register_overlap));
    // A carry that is asked for comes from the upper half.
    const std::string carry = zeroed(12) + "v_mad_u64_u32 v[4:5], vcc_lo, v6, v7, v[3:4]; s_cbranch_vccz l; l:";
    EXPECT_TRUE(reports_only(run(Target::gfx1100, carry), FindingKind::undefined_branch));
    // A factor too: the lower half is at stake.
    EXPECT_TRUE(reports_only(run(Target::gfx1100, zeroed(12) + "v_mad_u64_u32 v[4:5], null, v5, v7, v[3:4]"),
                             FindingKind::register_overlap));
}

TEST(RegisterOverlap, IsForbiddenToWmma) {
    const auto wmma = [](std::string_view operands) {
        return zeroed(48) + "v_wmma_f32_16x16x16_f16 " + std::string(operands);
    };
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, wmma("v[0:7], v[8:15], v[16:23], v[0:7]"))));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, wmma("v[0:7], v[8:15], v[16:23], v[24:31]"))));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, wmma("v[0:7], v[8:15], v[16:23], v[4:11]")), FindingKind::register_overlap));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, wmma("v[0:7], v[7:14], v[16:23], v[0:7]")), FindingKind::register_overlap));
}

TEST(Wmma, WantsEveryLaneOn) {
    const std::string wmma = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]";
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, zeroed(48) + "s_mov_b32 exec_lo, 0xffff\n" + wmma), FindingKind::wmma_exec));
}

TEST(Wmma, WantsItsOperandsRepeatedOnGfx11) {
    const std::string text = zeroed(48) + "s_mov_b32 exec_lo, 0xffff; v_mov_b32_e32 v8, 1.0; s_mov_b32 exec_lo, -1\n" +
                             "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]";
    EXPECT_TRUE(reports_only(run(Target::gfx1100, text), FindingKind::wmma_replication));
}

TEST(Code, MustNotRunPastItsEnd) {
    const ProgramResult result = run_program({}, "v_mov_b32_e32 v1, 0");
    EXPECT_TRUE(reports_only(result, FindingKind::code_end));
    EXPECT_FALSE(result.report.completed);
}

TEST(Code, MustNotBranchOutOfItself) {
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "s_branch 0x4000"), FindingKind::bad_jump));
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "s_mov_b64 s[8:9], 0; s_setpc_b64 s[8:9]"), FindingKind::bad_jump));
}

TEST(Code, StopsAtATrap) { EXPECT_TRUE(reports_only(run(Target::gfx1100, "s_trap 2"), FindingKind::trap)); }

TEST(Code, WithAnIllegalWordIsReportedWhenItIsReached) {
    KernelCode kernel;
    kernel.name = "program";
    kernel.code = {0xBF800000, 0xFFFFFFFF, 0xBFB00000};  // s_nop 0, nothing, s_endpgm
    kernel.resources = {.vgprs = 8};
    const auto object = write_code_object(Target::gfx1100, CodeObjectVersion::v5, {&kernel, 1});
    ASSERT_TRUE(object) << object.error().message;
    Machine machine(Target::gfx1100, {});
    ASSERT_TRUE(machine.load(*object));
    const auto report = machine.launch("program", {}, {32, 1, 1}, {});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->findings.size(), 1u);
    EXPECT_EQ(report->findings[0].kind, FindingKind::illegal_instruction);
    EXPECT_EQ(report->findings[0].code_offset, 4u);
    EXPECT_EQ(report->findings[0].instruction, ".long 0xffffffff");
}

TEST(InitialSgprs, MustFillSixteenOnSomeChips) {
    KernelCode kernel;
    kernel.name = "program";
    kernel.code = {0xBFB00000};
    for (const Target target : {Target::gfx1100, Target::gfx1101}) {
        auto object = write_code_object(target, CodeObjectVersion::v5, {&kernel, 1});
        ASSERT_TRUE(object);
        // The descriptor's rsrc2: 2 user SGPRs instead of what the writer chose.
        const auto loaded = load_code_object(*object);
        ASSERT_TRUE(loaded);
        KernelDescriptor few = loaded->kernels[0].descriptor;
        const KernelDescriptorBytes old_bytes = *encode(few, Generation::gfx11);
        few.user_sgpr_count = 2;
        const KernelDescriptorBytes new_bytes = *encode(few, Generation::gfx11);
        const auto at = std::search(object->begin(), object->end(), old_bytes.begin(), old_bytes.end());
        ASSERT_NE(at, object->end());
        std::copy(new_bytes.begin(), new_bytes.end(), at);
        Machine machine(target, {});
        ASSERT_TRUE(machine.load(*object));
        const auto report = machine.launch("program", {}, {32, 1, 1}, {});
        ASSERT_TRUE(report);
        const size_t expected = target == Target::gfx1100 ? 1 : 0;
        ASSERT_EQ(report->findings.size(), expected);
        if (expected > 0) {
            EXPECT_EQ(report->findings[0].kind, FindingKind::initial_sgprs);
        }
    }
}

}  // namespace registers_test
}  // namespace riftjit::rdna::emulator

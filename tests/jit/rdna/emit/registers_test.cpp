#include <gtest/gtest.h>

#include <functional>

#include "jit/rdna/emit/rdna_kernel.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace registers_test {

constexpr Target kGfx10 = Target::gfx1030, kGfx11 = Target::gfx1100, kGfx12 = Target::gfx1201;

class SmallKernel final : public KernelAssembler {
public:
    explicit SmallKernel(Target target, WaveSize wave = WaveSize::wave32) : KernelAssembler({target, wave}, "small") {}
};

constexpr PassOptions kNoPasses = PassOptions::none();

std::string listing(Target target, const std::function<void(SmallKernel&)>& body, WaveSize wave = WaveSize::wave32) {
    SmallKernel kernel(target, wave);
    body(kernel);
    kernel.end();
    return text_of(kernel.finish(kNoPasses).program);
}

// The message of the refusal, or "".
std::string refusal(const std::function<void(SmallKernel&)>& body, Target target = kGfx11) {
    try {
        listing(target, body);
    } catch (const AssemblyError& error) {
        return error.what();
    }
    return "";
}

void expect_refusal(const std::string& part, const std::function<void(SmallKernel&)>& body, Target target = kGfx11) {
    const std::string message = refusal(body, target);
    EXPECT_NE(message.find(part), std::string::npos) << "message: " << message;
    EXPECT_TRUE(message.starts_with("small: ")) << message;
}

// --- the register map

TEST(Registers, RefuseAUseBeforeTheDefinition) {
    expect_refusal("instruction 0, v_add_f32: dword 0 of the vgpr declared at registers_test.cpp:", [](SmallKernel& k) {
        const Vgpr a = k.vgpr();
        k.v_add_f32(a, a, a);
    });
    expect_refusal("dword 1 of the sgpr", [](SmallKernel& k) {
        const Sgpr pair = k.sgpr(2);
        k.s_mov_b32(pair[0], 1);
        k.s_mov_b64(pair, pair);
    });
}

TEST(Registers, RefuseAUseThatOnePathLeavesUndefined) {
    expect_refusal("is read before it is written", [](SmallKernel& k) {
        const Vgpr a = k.vgpr();
        const Label skip = k.label();
        k.s_cbranch_scc1(skip);
        k.v_mov_b32(a, 0);
        k.bind(skip);
        k.v_mov_b32(a, a);
    });
}

TEST(Registers, RefuseAUseAfterTheRelease) {
    expect_refusal("v_mov_b32 on gfx1100: operand 1: the vgpr declared at registers_test.cpp:", [](SmallKernel& k) {
        const Vgpr a = k.vgpr(), b = k.vgpr();
        k.v_mov_b32(a, 0);
        k.release(a);
        k.v_mov_b32(b, a);
    });
}

TEST(Registers, RefuseTwoNamesOfOneFixedRegisterWhileBothLive) {
    expect_refusal("are one hardware register and both are live at instruction 1", [](SmallKernel& k) {
        const Sgpr a = k.fixed_sgpr(8, 2), b = k.fixed_sgpr(9, 1);
        k.s_mov_b64(a, 1);
        k.s_mov_b32(b, 2);
        k.s_mov_b64(a, a);
        k.s_mov_b32(b, b);
    });
}

TEST(Registers, LetFixedRegistersFollowEachOther) {
    EXPECT_EQ(refusal([](SmallKernel& k) {
                  const Sgpr a = k.fixed_sgpr(8, 1), b = k.fixed_sgpr(8, 1);
                  k.s_mov_b32(a, 1);
                  k.s_mov_b32(b, a);
                  k.s_mov_b32(b, b);
              }),
              "");
}

TEST(Registers, RefuseAFixedRegisterOverTheLaunchsBeforeItsLastUse) {
    expect_refusal("are one hardware register", [](SmallKernel& k) {
        const Vgpr a = k.fixed_vgpr(0, 1);
        k.v_mov_b32(a, 0);
        k.v_add_nc_u32(a, a, k.launch_lane());
    });
}

TEST(Registers, RefuseTheWrongClass) {
    expect_refusal("operand 1: a vgpr where only a scalar may stand",
                   [](SmallKernel& k) { k.s_mov_b32(k.sgpr(), k.launch_lane()); });
    expect_refusal("operand 0: a scalar where only a vgpr may stand", [](SmallKernel& k) { k.v_mov_b32(k.sgpr(), 0); });
    expect_refusal("an address must be a vgpr", [](SmallKernel& k) { k.ds_load_b32(k.vgpr(), k.launch_workgroup()); });
}

TEST(Registers, RefuseTheWrongWidth) {
    expect_refusal("is 1 dwords wide, the instruction takes 2", [](SmallKernel& k) { k.s_mov_b64(k.sgpr(), 0); });
    expect_refusal("is 2 dwords wide, the instruction takes 1", [](SmallKernel& k) { k.v_mov_b32(k.vgpr(2), 0); });
    expect_refusal("has 2 dwords; dwords 2 to 2 are asked for", [](SmallKernel& k) { k.v_mov_b32(k.vgpr(2)[2], 0); });
    expect_refusal("is 1 dwords wide, the instruction takes 2",  // an address without a base
                   [](SmallKernel& k) { k.global_load_b32(k.vgpr(), k.launch_lane()); });
}

TEST(Registers, RefuseWhatTheTargetLacksByName) {
    expect_refusal(
        "v_dot4_i32_iu8 on gfx1030: there is no such instruction", [](SmallKernel& k) { k.v_dot4_i32_iu8(); }, kGfx10);
    expect_refusal("s_barrier on gfx1201: there is no such instruction", [](SmallKernel& k) { k.s_barrier(); }, kGfx12);
}

TEST(Registers, RefuseTooFewAndTooManyOperands) {
    expect_refusal("operand 2: is missing", [](SmallKernel& k) { k.v_add_f32(k.vgpr(), k.launch_lane()); });
    expect_refusal("takes 2 operands, 3 are given",
                   [](SmallKernel& k) { k.v_mov_b32(k.vgpr(), k.launch_lane(), k.launch_lane()); });
}

TEST(Registers, RefuseConstantsThatHaveNoMeaning) {
    expect_refusal("the constant does not fit", [](SmallKernel& k) { k.v_add_f32(k.vgpr(), 2, k.launch_lane()); });
    expect_refusal("a second literal, 0x1389 beside 0x1388",
                   [](SmallKernel& k) { k.v_lshl_add_u32(k.vgpr(), 5000, 3, 5001); });
}

TEST(Registers, NameThePressureInsteadOfSpilling) {
    expect_refusal("no room for the vgpr(16)", [](SmallKernel& k) {
        std::vector<Vgpr> all;
        for (int i = 0; i < 17; ++i) all.push_back(k.vgpr(16));
        for (const Vgpr& tuple : all)
            for (unsigned i = 0; i < 16; ++i) k.v_mov_b32(tuple[i], 0);
        for (const Vgpr& tuple : all)
            for (unsigned i = 0; i < 16; ++i) k.v_mov_b32(tuple[i], tuple[i]);
    });
    expect_refusal("256 exist", [](SmallKernel& k) {
        std::vector<Vgpr> all;
        for (int i = 0; i < 257; ++i) all.push_back(k.vgpr());
        for (const Vgpr& reg : all) k.v_mov_b32(reg, 0);
        for (const Vgpr& reg : all) k.v_mov_b32(reg, reg);
    });
}

TEST(Registers, RefuseAWideProductOverItsAddendWhereTheHardwareForbidsIt) {
    const auto body = [](SmallKernel& k) {
        const Vgpr sum = k.vgpr(2);
        k.v_mov_b32(sum[0], 0);
        k.v_mov_b32(sum[1], 0);
        k.v_mad_co_u64_u32(sum, k.null(), k.launch_lane(), k.launch_lane(), sum);
    };
    expect_refusal("the destination lies over source 2, which gfx1100 forbids", body, Target::gfx1100);
    for (const Target target : {kGfx10, Target::gfx1150, kGfx12}) EXPECT_EQ(refusal(body, target), "");
}

TEST(Registers, RefuseAMatrixResultOverItsFactorsOrPartOfItsSums) {
    const auto multiply = [](unsigned factor, unsigned sums) {
        return [=](SmallKernel& k) {
            const Vgpr all = k.vgpr(40);
            for (unsigned i = 0; i < 40; ++i) k.v_mov_b32(all[i], 0);
            k.v_wmma_f32_16x16x16_f16(all.part(16, 8), all.part(factor, 4), all.part(0, 4), all.part(sums, 8));
        };
    };
    EXPECT_EQ(refusal(multiply(4, 16), kGfx12), "");
    EXPECT_EQ(refusal(multiply(4, 24), kGfx12), "");
    expect_refusal("the destination lies over source 0", multiply(13, 16), kGfx12);
    expect_refusal("the destination lies over source 2", multiply(4, 20), kGfx12);
}

TEST(Registers, NeedEveryLabelBoundOnce) {
    expect_refusal("label 0 is never bound", [](SmallKernel& k) { k.s_branch(k.label()); });
    expect_refusal("label 0 is bound twice", [](SmallKernel& k) {
        const Label label = k.label();
        k.bind(label);
        k.bind(label);
    });
}

TEST(Registers, KeepLdsWithinAWorkgroups) {
    expect_refusal("65552 bytes of LDS, a workgroup has 65536", [](SmallKernel& k) {
        k.lds(65536);
        k.lds(16);
    });
}

// --- allocation

TEST(Allocation, AlignsScalarTuplesAndReusesDeadRegisters) {
    EXPECT_EQ(
        listing(kGfx11,
                [](SmallKernel& k) {
                    const Sgpr one = k.sgpr(), pair = k.sgpr(2), quad = k.sgpr(4);
                    k.s_load_b32(one, k.launch_args());
                    k.s_load_b64(pair, k.launch_args());
                    k.s_load_b128(quad, k.launch_args());
                    k.s_add_co_u32(one, one, pair[1]);
                    k.s_add_co_u32(one, one, quad[3]);
                }),
        normalized(kGfx11, WaveSize::wave32,
                   "s_load_b32 s2, s[0:1], 0x0\n s_load_b64 s[4:5], s[0:1], 0x0\n s_load_b128 s[8:11], s[0:1], 0x0\n"
                   "s_add_u32 s2, s2, s5\n s_add_u32 s2, s2, s11\n s_endpgm"));
}

TEST(Allocation, PutsTheWorkgroupWhereTheLaunchDoes) {
    const auto body = [](SmallKernel& k) { k.v_mov_b32(k.vgpr(), k.launch_workgroup()); };
    EXPECT_EQ(listing(kGfx10, body), "v_mov_b32_e32 v0, s2\ns_endpgm\n");
    EXPECT_EQ(listing(Target::gfx1100, body), "v_mov_b32_e32 v0, s15\ns_endpgm\n");
    EXPECT_EQ(listing(Target::gfx1101, body), "v_mov_b32_e32 v0, s2\ns_endpgm\n");
    EXPECT_EQ(listing(kGfx12, body), "v_mov_b32_e32 v0, ttmp9\ns_endpgm\n");
}

// A load over s15 would lose the workgroup's number: the range of a launch register starts at the start.
TEST(Allocation, KeepsLoadsOffTheWorkgroupUntilItIsRead) {
    const std::string text = listing(Target::gfx1100, [](SmallKernel& k) {
        const Sgpr wide = k.sgpr(16), sum = k.sgpr();
        k.s_load_b512(wide, k.launch_args());
        k.s_add_co_u32(sum, k.launch_workgroup(), wide[0]);
    });
    EXPECT_TRUE(text.starts_with("s_load_b512 s[16:31], s[0:1]")) << text;
}

TEST(Allocation, KeepsAValueAllTheWayRoundALoop) {
    // `kept` is read at the loop's start: nothing in the loop may take its register.
    const std::string text = listing(kGfx11, [](SmallKernel& k) {
        const Vgpr kept = k.vgpr(), early = k.vgpr(), late = k.vgpr();
        const Label top = k.label();
        k.v_mov_b32(kept, 1);
        k.bind(top);
        k.v_mov_b32(early, kept);
        k.v_mov_b32(late, 2);
        k.v_mov_b32(late, late);
        k.s_cbranch_scc1(top);
    });
    EXPECT_EQ(text,
              "v_mov_b32_e32 v0, 1\nL0:\nv_mov_b32_e32 v1, v0\nv_mov_b32_e32 v1, 2\nv_mov_b32_e32 v1, v1\n"
              "s_cbranch_scc1 -> L0\ns_endpgm\n");
}

TEST(Allocation, KeepsTheOldLanesOfAMaskedWrite) {
    // In the loop `value` is written for some lanes only; the others hold what an earlier round left there.
    const std::string text = listing(kGfx11, [](SmallKernel& k) {
        const Vgpr value = k.vgpr(), other = k.vgpr();
        const Sgpr mask = k.lane_mask();
        const Label top = k.label();
        k.v_mov_b32(value, 1);
        k.v_cmp_eq_u32(mask, 0, value);
        k.bind(top);
        k.if_lanes(mask, [&] { k.v_mov_b32(value, 2); });
        k.v_mov_b32(value, value);
        k.v_mov_b32(other, 3);
        k.v_mov_b32(other, other);
        k.s_cbranch_scc1(top);
    });
    EXPECT_NE(text.find("v_mov_b32_e32 v1, 3"), std::string::npos) << text;
}

TEST(Allocation, KeepsAMatrixResultApartFromItsOperands) {
    const std::string text = listing(kGfx12, [](SmallKernel& k) {
        const Vgpr a = k.vgpr(4), b = k.vgpr(4), c = k.vgpr(8), d = k.vgpr(8);
        for (unsigned i = 0; i < 4; ++i) k.v_mov_b32(a[i], 0), k.v_mov_b32(b[i], 0);
        for (unsigned i = 0; i < 8; ++i) k.v_mov_b32(c[i], 0);
        k.v_wmma_f32_16x16x16_f16(d, a, b, c);
    });
    EXPECT_NE(text.find("v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[4:7], v[8:15]"), std::string::npos) << text;
}

TEST(Allocation, KeepsAWideProductApartFromItsSourcesWhereTheyMayNotOverlap) {
    const auto body = [](SmallKernel& k) {
        const Vgpr a = k.vgpr(), product = k.vgpr(2);
        k.v_mov_b32(a, 3);
        k.v_mad_co_u64_u32(product, k.null(), a, a, 0);
    };
    EXPECT_NE(listing(Target::gfx1100, body).find("v_mad_u64_u32 v[1:2], null, v0, v0, 0"), std::string::npos);
    EXPECT_NE(listing(Target::gfx1150, body).find("v_mad_u64_u32 v[0:1], null, v0, v0, 0"), std::string::npos);
}

// --- encodings that the operands choose

TEST(Emit, ChoosesTheShortestForm) {
    const auto body = [](SmallKernel& k) {
        const Vgpr a = k.launch_lane();
        const Sgpr s = k.launch_workgroup(), mask = k.lane_mask();
        k.v_add_f32(a, 1.0f, a);
        k.v_add_f32(a, a, s);
        k.v_add_f32(a, -a, a);
        k.v_add_f32(a, a, a, Clamp{});
        k.v_cmp_gt_u32(k.vcc(), s, a);
        k.v_cmp_gt_u32(mask, s, a);
        k.v_cndmask_b32(a, a, a, k.vcc());
        k.v_cndmask_b32(a, a, a, mask);
        k.v_add_f32(a, a, a, row_xmask(8));
        k.v_mov_b32(a, 0x12345);
        k.v_fma_f32(a, a, 0.25f, a);
    };
    EXPECT_EQ(listing(Target::gfx1101, body),
              "v_add_f32_e32 v0, 1.0, v0\nv_add_f32_e64 v0, v0, s2\nv_add_f32_e64 v0, -v0, v0\n"
              "v_add_f32_e64 v0, v0, v0 clamp\nv_cmp_gt_u32_e32 vcc_lo, s2, v0\nv_cmp_gt_u32_e64 s0, s2, v0\n"
              "v_cndmask_b32_e32 v0, v0, v0, vcc_lo\nv_cndmask_b32_e64 v0, v0, v0, s0\n"
              "v_add_f32_dpp v0, v0, v0 row_xmask:8 row_mask:0xf bank_mask:0xf bound_ctrl:1\n"
              "v_mov_b32_e32 v0, 0x12345\nv_fma_f32 v0, v0, 0x3e800000, v0\ns_endpgm\n");
}

TEST(Emit, AsksForTheOldValueOfAnAtomicOnlyWhenItHasADestination) {
    const auto body = [](SmallKernel& k) {
        const Vgpr lane = k.launch_lane(), old = k.vgpr();
        k.global_atomic_add_u32(lane, lane, k.launch_args());
        k.global_atomic_add_u32(old, lane, lane, k.launch_args());
    };
    EXPECT_EQ(listing(kGfx11, body),
              "global_atomic_add_u32 v0, v0, s[0:1]\n"
              "global_atomic_add_u32 v0, v0, v0, s[0:1] glc\ns_endpgm\n");
    EXPECT_EQ(listing(kGfx12, body),
              "global_atomic_add_u32 v0, v0, s[0:1]\n"
              "global_atomic_add_u32 v0, v0, v0, s[0:1] th:TH_ATOMIC_RETURN\ns_endpgm\n");
}

}  // namespace registers_test
}  // namespace riftjit::rdna

#include <gtest/gtest.h>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/passes/passes.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace waits_test {

constexpr Target kGfx10 = Target::gfx1030, kGfx11 = Target::gfx1100, kGfx12 = Target::gfx1201;

TEST(Waits, PrecedeTheFirstUseOfALoad) {
    expect_pass(insert_waits, kGfx10, "global_load_dword v1, v0, s[2:3]\n v_add_f32 v2, v1, v0\n v_add_f32 v3, v1, v1",
                "global_load_dword v1, v0, s[2:3]\n s_waitcnt vmcnt(0)\n v_add_f32 v2, v1, v0\n v_add_f32 v3, v1, v1");
    expect_pass(insert_waits, kGfx11, "global_load_b32 v1, v0, s[2:3]\n v_add_f32 v2, v1, v0",
                "global_load_b32 v1, v0, s[2:3]\n s_waitcnt vmcnt(0)\n v_add_f32 v2, v1, v0");
    expect_pass(insert_waits, kGfx12, "global_load_b32 v1, v0, s[2:3]\n v_add_f32 v2, v1, v0",
                "global_load_b32 v1, v0, s[2:3]\n s_wait_loadcnt 0x0\n v_add_f32 v2, v1, v0");
}

TEST(Waits, LetYoungerLoadsStayUnderWay) {
    expect_pass(insert_waits, kGfx11,
                "global_load_b32 v1, v0, s[2:3]\n global_load_b64 v[2:3], v0, s[2:3]\n global_load_b32 v4, v0, s[2:3]\n"
                "v_add_f32 v5, v1, v1\n v_add_f32 v6, v3, v3\n v_add_f32 v7, v4, v4",
                "global_load_b32 v1, v0, s[2:3]\n global_load_b64 v[2:3], v0, s[2:3]\n global_load_b32 v4, v0, s[2:3]\n"
                "s_waitcnt vmcnt(2)\n v_add_f32 v5, v1, v1\n s_waitcnt vmcnt(1)\n v_add_f32 v6, v3, v3\n"
                "s_waitcnt vmcnt(0)\n v_add_f32 v7, v4, v4");
    expect_pass(insert_waits, kGfx12,
                "ds_load_b32 v1, v0\n ds_load_b32 v2, v0 offset:4\n v_add_f32 v5, v1, v1\n v_add_f32 v5, v2, v2",
                "ds_load_b32 v1, v0\n ds_load_b32 v2, v0 offset:4\n s_wait_dscnt 0x1\n v_add_f32 v5, v1, v1\n"
                "s_wait_dscnt 0x0\n v_add_f32 v5, v2, v2");
}

TEST(Waits, TreatScalarLoadsAsUnordered) {
    expect_pass(insert_waits, kGfx11,
                "s_load_b32 s4, s[0:1], 0x0\n s_load_b32 s5, s[0:1], 0x4\n s_add_u32 s6, s4, 1\n s_add_u32 s7, s5, 1",
                "s_load_b32 s4, s[0:1], 0x0\n s_load_b32 s5, s[0:1], 0x4\n s_waitcnt lgkmcnt(0)\n s_add_u32 s6, s4, 1\n"
                "s_add_u32 s7, s5, 1");
    expect_pass(insert_waits, kGfx12,
                "s_load_b32 s4, s[0:1], 0x0\n s_load_b32 s5, s[0:1], 0x4\n s_add_co_u32 s6, s4, 1",
                "s_load_b32 s4, s[0:1], 0x0\n s_load_b32 s5, s[0:1], 0x4\n s_wait_kmcnt 0x0\n s_add_co_u32 s6, s4, 1");
}

TEST(Waits, TrustNoLdsOrderWhileAScalarLoadSharesTheCounter) {
    const std::string head = "s_load_b32 s4, s[0:1], 0x0\n ds_load_b32 v1, v0\n ds_load_b32 v2, v0\n";
    expect_pass(insert_waits, kGfx11, head + "v_add_f32 v3, v1, v1",
                head + "s_waitcnt lgkmcnt(0)\n v_add_f32 v3, v1, v1");
    // gfx12 counts them apart.
    expect_pass(insert_waits, kGfx12, head + "v_add_f32 v3, v1, v1", head + "s_wait_dscnt 0x1\n v_add_f32 v3, v1, v1");
}

TEST(Waits, CombineCountersWhereOneInstructionCan) {
    const std::string loads = "global_load_b32 v1, v0, s[2:3]\n ds_load_b32 v2, v0\n";
    expect_pass(insert_waits, kGfx11, loads + "v_add_f32 v3, v1, v2",
                loads + "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_add_f32 v3, v1, v2");
    expect_pass(insert_waits, kGfx12, loads + "v_add_f32 v3, v1, v2",
                loads + "s_wait_loadcnt_dscnt 0x0\n v_add_f32 v3, v1, v2");
}

TEST(Waits, PrecedeOverwritingALoadsDestination) {
    expect_pass(insert_waits, kGfx11, "global_load_b32 v1, v0, s[2:3]\n v_mov_b32 v1, 0",
                "global_load_b32 v1, v0, s[2:3]\n s_waitcnt vmcnt(0)\n v_mov_b32 v1, 0");
    expect_pass(insert_waits, kGfx11, "s_load_b32 s4, s[0:1], 0x0\n s_mov_b32 s4, 0",
                "s_load_b32 s4, s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_mov_b32 s4, 0");
}

TEST(Waits, SeparateTwoLoadsIntoOneRegisterOnGfx12Only) {
    const std::string first = "global_load_b32 v1, v0, s[2:3]\n", second = "global_load_b32 v1, v0, s[2:3] offset:4";
    expect_unchanged(insert_waits, kGfx11, first + second);
    expect_pass(insert_waits, kGfx12, first + second, first + "s_wait_loadcnt 0x0\n" + second);
}

TEST(Waits, AreNotNeededToReuseTheRegistersOfAnAddressOrOfStoredData) {
    expect_unchanged(insert_waits, kGfx11,
                     "global_store_b32 v0, v1, s[2:3]\n v_mov_b32 v0, 0\n v_mov_b32 v1, 0\n s_mov_b64 s[2:3], 0");
    expect_unchanged(insert_waits, kGfx12, "global_load_b32 v1, v0, s[2:3]\n v_mov_b32 v0, 0\n s_mov_b64 s[2:3], 0");
}

TEST(Waits, KeepHalfRegisterLoadsInOrder) {
    expect_pass(insert_waits, kGfx11, "global_load_d16_b16 v1, v0, s[2:3]\n global_load_d16_hi_b16 v1, v0, s[2:3]",
                "global_load_d16_b16 v1, v0, s[2:3]\n s_waitcnt vmcnt(0)\n global_load_d16_hi_b16 v1, v0, s[2:3]");
}

TEST(Waits, SeeTheOldValueOfAnAccumulator) {
    expect_pass(insert_waits, kGfx11, "global_load_b32 v1, v0, s[2:3]\n v_fmac_f32 v1, v2, v3",
                "global_load_b32 v1, v0, s[2:3]\n s_waitcnt vmcnt(0)\n v_fmac_f32 v1, v2, v3");
}

TEST(Waits, CountAReturningAtomicAsALoadAndAnotherAsAStore) {
    expect_pass(insert_waits, kGfx11, "global_atomic_add_u32 v1, v0, v2, s[2:3] glc\n v_mov_b32 v3, v1",
                "global_atomic_add_u32 v1, v0, v2, s[2:3] glc\n s_waitcnt vmcnt(0)\n v_mov_b32 v3, v1");
    expect_pass(
        insert_waits, kGfx11,
        "global_load_b32 v1, v0, s[2:3]\n global_atomic_add_u32 v0, v2, s[2:3]\n global_store_b32 v0, v2, s[2:3]\n"
        "v_mov_b32 v3, v1",
        "global_load_b32 v1, v0, s[2:3]\n global_atomic_add_u32 v0, v2, s[2:3]\n global_store_b32 v0, v2, s[2:3]\n"
        "s_waitcnt vmcnt(0)\n v_mov_b32 v3, v1");
}

TEST(Waits, WaitForBothCountersOfAFlatLoad) {
    expect_pass(insert_waits, kGfx11, "flat_load_b32 v2, v[0:1]\n global_load_b32 v3, v0, s[2:3]\n v_mov_b32 v4, v2",
                "flat_load_b32 v2, v[0:1]\n global_load_b32 v3, v0, s[2:3]\n s_waitcnt vmcnt(1) lgkmcnt(0)\n"
                "v_mov_b32 v4, v2");
}

// As LLVM 19 and 22 insert (si-insert-waitcnts).
TEST(Waits, CountLoadsThroughFlatInBothCounters) {
    const std::string two = "flat_load_b32 v2, v[0:1]\n flat_load_b32 v3, v[0:1]\n", use = "v_mov_b32 v4, v2";
    expect_pass(insert_waits, kGfx11, two + use, two + "s_waitcnt vmcnt(1) lgkmcnt(1)\n" + use);
    expect_pass(insert_waits, kGfx12, two + use, two + "s_wait_loadcnt_dscnt 0x101\n" + use);
    const std::string lds = "ds_load_b32 v2, v5\n flat_store_b32 v[0:1], v5\n";
    expect_pass(insert_waits, kGfx11, lds + use, lds + "s_waitcnt lgkmcnt(1)\n" + use);
    const std::string scalar = "flat_load_b32 v2, v[0:1]\n s_load_b32 s4, s[2:3], 0x0\n";
    expect_pass(insert_waits, kGfx11, scalar + use, scalar + "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + use);
}

TEST(Waits, PrecedeALoadThroughFlatIntoAPendingRegister) {
    const std::string flat = "flat_load_b32 v2, v[0:1]\n", global = "global_load_b32 v2, v0, s[2:3]\n";
    expect_pass(insert_waits, kGfx11, flat + global, flat + "s_waitcnt lgkmcnt(0)\n" + global);
    expect_pass(insert_waits, kGfx11, global + flat, global + "s_waitcnt vmcnt(0)\n" + flat);
    expect_pass(insert_waits, kGfx11, flat + flat, flat + "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + flat);
}

TEST(Waits, TakeTheStricterOfTwoPaths) {
    // Through the branch no load is younger than v1's; past it there is one.
    const std::string head =
        "global_load_b32 v1, v0, s[2:3]\n s_cbranch_scc1 -> L0\n global_load_b32 v2, v0, s[2:3]\n L0:\n";
    expect_pass(insert_waits, kGfx11, head + "v_mov_b32 v3, v1",
                head.substr(0, head.size() - 4) + "L0:\n s_waitcnt vmcnt(0)\n v_mov_b32 v3, v1");
}

TEST(Waits, FollowALoadOverTheBackEdge) {
    expect_pass(insert_waits, kGfx11,
                "L0:\n v_mov_b32 v3, v1\n global_load_b32 v1, v0, s[2:3]\n s_cbranch_scc1 -> L0\n s_endpgm",
                "L0:\n s_waitcnt vmcnt(0)\n v_mov_b32 v3, v1\n global_load_b32 v1, v0, s[2:3]\n s_cbranch_scc1 -> L0\n"
                "s_endpgm");
    // Two rounds old when it is used: one younger load may stay.
    expect_pass(insert_waits, kGfx12,
                "L0:\n v_mov_b32 v3, v1\n v_mov_b32 v1, v2\n global_load_b32 v2, v0, s[2:3]\n s_cbranch_scc1 -> L0",
                "L0:\n v_mov_b32 v3, v1\n s_wait_loadcnt 0x0\n v_mov_b32 v1, v2\n global_load_b32 v2, v0, s[2:3]\n"
                "s_cbranch_scc1 -> L0");
}

TEST(Waits, AddNothingToStraightCodeWithoutMemory) {
    for (const Target target : {kGfx10, kGfx11, kGfx12})
        expect_unchanged(insert_waits, target, "v_mov_b32 v0, 1\n v_add_f32 v1, v0, v0\n s_mov_b32 s0, 1\n s_endpgm");
}

TEST(Waits, LeaveStoresUnderWayAtTheEnd) {
    expect_unchanged(insert_waits, kGfx11, "global_store_b32 v0, v1, s[2:3]\n s_endpgm");
}

// A load's result that is never waited for is not an error: 62 younger ones are as far as the counter tells apart.
TEST(Waits, NeverAskForMoreThanTheCounterHolds) {
    std::string loads = "global_load_b32 v1, v0, s[2:3]\n";
    for (int i = 2; i < 90; ++i) loads += "global_load_b32 v" + std::to_string(i) + ", v0, s[2:3]\n";
    expect_pass(insert_waits, kGfx12, loads + "v_mov_b32 v100, v1", loads + "s_wait_loadcnt 0x3e\n v_mov_b32 v100, v1");
}

class SmallKernel final : public KernelAssembler {
public:
    explicit SmallKernel(Target target) : KernelAssembler({target}, "test") {}
    std::string listing(PassOptions options) { return text_of(finish(options).program); }
};

std::string barrier_listing(Target target, Exchange exchange) {
    SmallKernel kernel(target);
    const Vgpr lane = kernel.launch_lane(), loaded = kernel.vgpr();
    const Sgpr base = kernel.launch_args();
    kernel.global_load_b32(loaded, lane, base);
    kernel.ds_store_b32(lane, lane);
    kernel.global_store_b32(lane, lane, base, 64);
    kernel.barrier(exchange);
    kernel.ds_store_b32(lane, loaded);
    kernel.end();
    return kernel.listing(PassOptions::without({Pass::release_vgprs}));
}

TEST(Waits, LetLoadsPassABarrierThatExchangesLds) {
    EXPECT_EQ(
        barrier_listing(kGfx11, Exchange::lds),
        normalized(kGfx11, WaveSize::wave32,
                   "global_load_b32 v1, v0, s[0:1]\n ds_store_b32 v0, v0\n global_store_b32 v0, v0, s[0:1] offset:64\n"
                   "s_waitcnt lgkmcnt(0)\n s_barrier\n s_waitcnt vmcnt(0)\n ds_store_b32 v0, v1\n s_endpgm"));
    EXPECT_EQ(
        barrier_listing(kGfx12, Exchange::lds),
        normalized(kGfx12, WaveSize::wave32,
                   "global_load_b32 v1, v0, s[0:1]\n ds_store_b32 v0, v0\n global_store_b32 v0, v0, s[0:1] offset:64\n"
                   "s_wait_dscnt 0x0\n s_barrier_signal -1\n s_barrier_wait -1\n s_wait_loadcnt 0x0\n"
                   "ds_store_b32 v0, v1\n s_endpgm"));
}

TEST(Waits, FinishStoresBeforeABarrierThatExchangesGlobalData) {
    EXPECT_EQ(
        barrier_listing(kGfx10, Exchange::lds_and_global),
        normalized(
            kGfx10, WaveSize::wave32,
            "global_load_dword v1, v0, s[0:1]\n ds_write_b32 v0, v0\n global_store_dword v0, v0, s[0:1] offset:64\n"
            "s_waitcnt vmcnt(0) lgkmcnt(0)\n s_waitcnt_vscnt null, 0x0\n s_barrier\n buffer_gl0_inv\n"
            "ds_write_b32 v0, v1\n s_endpgm"));
    EXPECT_EQ(
        barrier_listing(kGfx12, Exchange::lds_and_global),
        normalized(kGfx12, WaveSize::wave32,
                   "global_load_b32 v1, v0, s[0:1]\n ds_store_b32 v0, v0\n global_store_b32 v0, v0, s[0:1] offset:64\n"
                   "s_wait_loadcnt_dscnt 0x0\n global_wb scope:SCOPE_SE\n s_wait_storecnt 0x0\n s_barrier_signal -1\n"
                   "s_barrier_wait -1\n global_inv scope:SCOPE_SE\n ds_store_b32 v0, v1\n s_endpgm"));
}

TEST(Waits, CanBeLeftOut) {
    SmallKernel kernel(kGfx11);
    const Vgpr loaded = kernel.vgpr();
    kernel.global_load_b32(loaded, kernel.launch_lane(), kernel.launch_args());
    kernel.v_add_f32(loaded, loaded, loaded);
    kernel.end();
    EXPECT_EQ(
        kernel.listing(PassOptions::without({Pass::waits})),
        normalized(kGfx11, WaveSize::wave32, "global_load_b32 v0, v0, s[0:1]\n v_add_f32_e32 v0, v0, v0\n s_endpgm"));
}

}  // namespace waits_test
}  // namespace riftjit::rdna

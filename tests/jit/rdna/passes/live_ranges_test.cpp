// How long vector registers are held where exec changes: told by the number of VGPRs that a kernel gets. On gfx10,
// where no register is chosen for the sake of its bank.
#include <gtest/gtest.h>

#include <functional>

#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna {
namespace live_ranges_test {

class MaskedKernel final : public KernelAssembler {
public:
    explicit MaskedKernel(WaveSize wave) : KernelAssembler({Target::gfx1030, wave}, "masked") {}

    const Sgpr in = sgpr(2), counter = sgpr(), inside = lane_mask(), other = lane_mask();
    const Vgpr lane = launch_lane();

    // `body` goes round a loop whose masks are there before it.
    void in_loop(const std::function<void()>& body) {
        s_load_b64(in, launch_args());
        v_cmp_gt_u32(inside, 20, lane);
        v_cmp_lt_u32(other, 10, lane);
        loop(counter, 0, 4, 1, body);
    }
    // Writes and reads `count` temporaries at once.
    void use_temporaries(unsigned count) {
        const Vgpr temporaries = vgpr(count);
        for (unsigned i = 0; i < count; ++i) v_mov_b32(temporaries[i], i);
        for (unsigned i = 0; i < count; ++i) global_store_b32(lane, temporaries[i], in);
    }
};

uint32_t vgprs(const std::function<void(MaskedKernel&)>& body, WaveSize wave = WaveSize::wave32) {
    MaskedKernel kernel(wave);
    body(kernel);
    kernel.end();
    const auto code = link(kernel.finish(PassOptions::without({Pass::schedule})));
    EXPECT_TRUE(code) << code.error().message;
    return code ? code->resources.vgprs : 0;
}

// Two masked parts with eight temporaries each and a part for all lanes with four. When every write behind a change of
// exec kept the old value alive, all 20 were live all round the loop: 22 VGPRs with the lane and the sum. Now the parts
// share their registers.
TEST(LiveRanges, EndWithinTheRoundOfAMaskedLoop) {
    for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
        const uint32_t count = vgprs(
            [](MaskedKernel& k) {
                const Vgpr sum = k.vgpr();
                k.v_mov_b32(sum, 0);
                k.in_loop([&] {
                    k.if_lanes(k.inside, [&] { k.use_temporaries(8); });
                    k.use_temporaries(4);
                    k.if_lanes(k.other, [&] { k.use_temporaries(8); });
                    k.v_add_nc_u32(sum, 1, sum);
                });
                k.global_store_b32(k.lane, sum, k.in);
            },
            wave);
        EXPECT_EQ(count, 10u);
    }
}

TEST(LiveRanges, EndWithinNestedMasks) {
    EXPECT_EQ(vgprs([](MaskedKernel& k) {
                  k.in_loop([&] {
                      k.if_lanes(k.inside, [&] {
                          const Vgpr outer = k.vgpr();
                          k.v_mov_b32(outer, 1);
                          k.if_lanes(k.other, [&] { k.use_temporaries(4); });
                          k.global_store_b32(k.lane, outer, k.in);
                          k.use_temporaries(5);
                      });
                  });
              }),
              6u);
}

// --- where the old value must stay: each kernel holds `value` over the four temporaries that follow, or loses nothing

constexpr uint32_t kShared = 5, kApart = 6;  // the lane, four temporaries, and perhaps `value`

TEST(LiveRanges, LastAroundTheLoopWhereMoreLanesAreReadThanWritten) {
    const auto body = [](bool reads_all) {
        return [=](MaskedKernel& k) {
            const Vgpr value = k.vgpr();
            k.v_mov_b32(value, 0);
            k.in_loop([&] {
                k.if_lanes(k.inside, [&] {
                    k.v_mov_b32(value, 1);
                    if (!reads_all) k.global_store_b32(k.lane, value, k.in);
                });
                if (reads_all) k.global_store_b32(k.lane, value, k.in);
                k.use_temporaries(4);
            });
        };
    };
    EXPECT_EQ(vgprs(body(false)), kShared);
    EXPECT_EQ(vgprs(body(true)), kApart);
}

TEST(LiveRanges, LastAroundTheLoopWhereTheRoundReadsBeforeItWrites) {
    EXPECT_EQ(vgprs([](MaskedKernel& k) {
                  const Vgpr value = k.vgpr();
                  k.v_mov_b32(value, 0);
                  k.in_loop([&] {
                      k.if_lanes(k.inside, [&] { k.v_add_nc_u32(value, 1, value); });
                      k.use_temporaries(4);
                  });
              }),
              kApart);
}

// The same mask, but computed anew in each round: lanes of the last round's are read in this one.
TEST(LiveRanges, TellTheMaskOfOneRoundFromTheNext) {
    const auto body = [](bool same_region) {
        return [=](MaskedKernel& k) {
            const Vgpr value = k.vgpr();
            k.v_mov_b32(value, 0);
            k.in_loop([&] {
                k.if_lanes(k.inside, [&] {
                    k.v_mov_b32(value, 1);
                    if (same_region) k.global_store_b32(k.lane, value, k.in);
                });
                if (!same_region) k.if_lanes(k.inside, [&] { k.global_store_b32(k.lane, value, k.in); });
                k.use_temporaries(4);
            });
        };
    };
    EXPECT_EQ(vgprs(body(true)), kShared);
    EXPECT_EQ(vgprs(body(false)), kApart);
}

TEST(LiveRanges, LastAroundTheLoopWhereOtherLanesAreReadAcross) {
    const auto body = [](bool across) {
        return [=](MaskedKernel& k) {
            const Vgpr value = k.vgpr();
            const Sgpr read = k.sgpr();
            k.v_mov_b32(value, 0);
            k.in_loop([&] {
                k.if_lanes(k.inside, [&] {
                    k.v_mov_b32(value, 1);
                    if (across)
                        k.v_readlane_b32(read, value, 31);
                    else
                        k.global_store_b32(k.lane, value, k.in);
                });
                k.use_temporaries(4);
            });
        };
    };
    EXPECT_EQ(vgprs(body(false)), kShared);
    EXPECT_EQ(vgprs(body(true)), kApart);
}

// exec comes back from a register that something else was written to: nobody knows which lanes are on then.
TEST(LiveRanges, TakeAnOverwrittenMaskForAnyLanes) {
    const auto body = [](bool overwritten) {
        return [=](MaskedKernel& k) {
            const Vgpr value = k.vgpr();
            const Sgpr saved = k.lane_mask();
            k.v_mov_b32(value, 0);
            k.in_loop([&] {
                k.v_mov_b32(value, 1);
                k.s_and_saveexec_b32(saved, k.inside);
                if (overwritten) k.s_mov_mask(saved, k.other);
                k.s_mov_mask(k.exec(), saved);
                k.global_store_b32(k.lane, value, k.in);
                k.use_temporaries(4);
            });
        };
    };
    EXPECT_EQ(vgprs(body(false)), kShared);
    EXPECT_EQ(vgprs(body(true)), kApart);
}

// A loop that lanes leave: each round has fewer, and what a round writes it reads for no more than these.
TEST(LiveRanges, EndWithinTheRoundOfALoopThatLanesLeave) {
    const auto body = [](bool reads_before) {
        return [=](MaskedKernel& k) {
            const Vgpr value = k.vgpr();
            k.v_mov_b32(value, 0);
            k.in_loop([&] {
                if (reads_before) k.global_store_b32(k.lane, value, k.in);
                k.v_mov_b32(value, 1);
                k.s_and_mask(k.exec(), k.exec(), k.inside);
                k.global_store_b32(k.lane, value, k.in);
                k.use_temporaries(4);
            });
        };
    };
    EXPECT_EQ(vgprs(body(false)), kShared);
    EXPECT_EQ(vgprs(body(true)), kApart);
}

// The other half of a condition is no part of the first.
TEST(LiveRanges, LastOverTheOtherBranchOfACondition) {
    EXPECT_EQ(vgprs([](MaskedKernel& k) {
                  const Vgpr value = k.vgpr();
                  const Sgpr saved = k.lane_mask();
                  k.v_mov_b32(value, 0);
                  k.in_loop([&] {
                      k.s_and_saveexec_b32(saved, k.inside);
                      k.v_mov_b32(value, 1);
                      k.s_and_not1_b32(k.exec(), saved, k.exec());
                      k.global_store_b32(k.lane, value, k.in);
                      k.s_mov_mask(k.exec(), saved);
                      k.use_temporaries(4);
                  });
              }),
              kApart);
}

}  // namespace live_ranges_test
}  // namespace riftjit::rdna

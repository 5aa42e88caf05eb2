#include "jit/x86/emit/wide.h"

#include "tests/jit/x86/emit/probe.h"

namespace riftjit::x86 {
namespace wide_test {

TEST(Wide, PartialLoadsTouchNothingBeyondAndZeroTheRest) {
    for (Isa isa : machine_isas())
        for (uint32_t count = 1; count <= 16; ++count) {
            const auto in = counted(count);  // an unmapped page follows
            GuardedBuffer<float> out(16);
            run(isa, {in.data(), out.data()}, [&](Probe& p) {
                p.load_lanes(p.wide(3), p.in, count);
                p.vmovups(p.lanes_at(p.out), p.wide(3));
            });
            for (uint32_t lane = 0; lane < 16; ++lane)
                EXPECT_EQ(out[lane], lane < count ? float(lane + 1) : 0.0f) << name(isa) << " " << count;
        }
}

TEST(Wide, PartialStoresTouchNothingBeyond) {
    const auto in = counted(16);
    for (Isa isa : machine_isas())
        for (uint32_t count = 1; count <= 16; ++count) {
            GuardedBuffer<float> out(count);
            run(isa, {in.data(), out.data()}, [&](Probe& p) {
                p.vmovups(p.wide(0), p.lanes_at(p.in));
                p.store_lanes(p.out, p.wide(0), count, p.wide(1));
            });
            for (uint32_t lane = 0; lane < count; ++lane) EXPECT_EQ(out[lane], in[lane]) << name(isa) << " " << count;
        }
}

TEST(Wide, ClearingLanesRemovesEvenNan) {
    for (Isa isa : machine_isas())
        for (uint32_t count = 0; count <= 16; ++count) {
            GuardedBuffer<float> in(16), out(16);  // all NaN
            for (uint32_t lane = 0; lane < count; ++lane) in[lane] = float(lane);
            run(isa, {in.data(), out.data()}, [&](Probe& p) {
                p.vmovups(p.wide(0), p.lanes_at(p.in));
                p.clear_lanes_from(p.wide(0), count);
                p.vmovups(p.lanes_at(p.out), p.wide(0));
            });
            for (uint32_t lane = 0; lane < 16; ++lane) EXPECT_EQ(out[lane], lane < count ? float(lane) : 0.0f);
        }
}

TEST(Wide, FoldsLanesInTheOrderEightFourTwoOne) {
    Random random(3);
    for (int trial = 0; trial < 20; ++trial) {
        GuardedBuffer<float> in(16), out(1);
        for (uint32_t lane = 0; lane < 16; ++lane) in[lane] = random.normal(1e3);
        float lanes[16];
        std::memcpy(lanes, in.data(), sizeof lanes);
        for (uint32_t distance = 8; distance >= 1; distance /= 2)
            for (uint32_t lane = 0; lane < distance; ++lane) lanes[lane] += lanes[lane + distance];
        for (Isa isa : machine_isas()) {
            run(isa, {in.data(), out.data()}, [&](Probe& p) {
                p.vmovups(p.wide(2), p.lanes_at(p.in));
                p.fold_sum(p.xmm5, p.wide(2), p.xmm1);
                p.vmovss(p.ptr[p.out], p.xmm5);
            });
            EXPECT_EQ(out[0], lanes[0]) << name(isa);
        }
    }
}

TEST(Wide, VisitsEveryGroupOfARowOnce) {
    for (Isa isa : machine_isas())
        for (uint32_t width : {1u, 16u, 17u, 63u, 64u, 65u, 128u, 200u, 511u})
            for (int unroll : {1, 2, 4}) {
                GuardedBuffer<float> out(width);
                for (uint32_t i = 0; i < width; ++i) out[i] = float(i);
                run(isa, {out.data(), out.data()}, [&](Probe& p) {
                    p.for_each_group(p.offset, width, unroll, [&](int group, uint32_t count) {
                        p.load_lanes(p.wide(0), p.in + p.offset + 64 * group, count);
                        p.vaddps(p.wide(0), p.wide(0), p.splat(1000.0f));
                        p.store_lanes(p.out + p.offset + 64 * group, p.wide(0), count, p.wide(1));
                    });
                });
                for (uint32_t i = 0; i < width; ++i) ASSERT_EQ(out[i], float(i) + 1000.0f) << name(isa) << " " << width;
            }
}

TEST(Wide, SelectsAndKeepsByComparison) {
    GuardedBuffer<float> in(16), out(32);
    for (uint32_t lane = 0; lane < 16; ++lane) in[lane] = lane % 5 == 4 ? NAN : float(int(lane) - 7);
    for (Isa isa : machine_isas()) {
        run(isa, {in.data(), out.data()}, [](Probe& p) {
            const LaneMask mask = p.lane_mask(2, p.wide(4));
            p.vmovups(p.wide(0), p.lanes_at(p.in));
            p.vbroadcastss(p.wide(1), p.constant(100.0f));
            p.compare(mask, p.wide(0), p.splat(0.0f), Compare::not_less);
            p.select(p.wide(2), mask, p.wide(1), p.wide(0));
            p.vmovups(p.lanes_at(p.out), p.wide(2));
            p.keep(p.wide(2), mask, p.wide(0));
            p.vmovups(p.lanes_at(p.out + 64), p.wide(2));
        });
        for (uint32_t lane = 0; lane < 16; ++lane) {
            const bool holds = !(in[lane] < 0.0f);  // and for NaN
            EXPECT_EQ(out[lane], holds ? 100.0f : in[lane]);
            if (std::isnan(in[lane])) {
                EXPECT_TRUE(std::isnan(out[16 + lane]));
            } else {
                EXPECT_EQ(out[16 + lane], holds ? in[lane] : 0.0f);
            }
        }
    }
}

}  // namespace wide_test
}  // namespace riftjit::x86

// Conversions to 8-bit floats over lanes at every number half-way between two of them, and beside it.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "jit/rdna/emulator/valu/valu_float8.h"
#include "tests/jit/rdna/emulator/lanes/lane_reference.h"

namespace riftjit::rdna::emulator {
namespace lanes_float8_test {

// Each 8-bit number and the middles of neighbours, a little less, a little more; zeros, what overflows, what vanishes.
std::vector<uint32_t> limits(Float8 type) {
    std::vector<uint32_t> all = {0,          1,          0x007FFFFF, 0x00800000, 0x30000000,
                                 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000};
    const auto about = [&](float value) {
        for (const uint32_t away : {-2u, -1u, 0u, 1u, 2u}) all.push_back(std::bit_cast<uint32_t>(value) + away);
    };
    for (uint8_t byte = 1; byte < 0x7C; ++byte) {
        const auto value = [&](unsigned code) {
            return std::bit_cast<float>(static_cast<uint32_t>(float8_to_f32(type, static_cast<uint8_t>(code))));
        };
        about(value(byte));
        about((value(byte) + value(byte - 1u)) / 2);
    }
    for (const float overflowing : {448.0F, 464.0F, 480.0F, 57344.0F, 61440.0F, 65536.0F}) about(overflowing);
    while (all.size() % kLanes != 0) all.push_back(0x3F800000);
    return all;
}

class Float8Lanes : public testing::TestWithParam<LaneIsa> {
protected:
    void compare(Opcode opcode, uint8_t variant, const Words (&sources)[3]) {
        const auto kernel = lane_kernel(GetParam(), opcode, variant, kLanes);
        ASSERT_TRUE(kernel.has_value());
        Words d{};
        const Expected expected = by_lane_functions(*kernel, opcode, variant, d, sources, 0xFFFFFFFF, kLanes);
        EXPECT_EQ(kernel->function(d.data(), sources[0].data(), sources[1].data(), sources[2].data(), 0xFFFFFFFF), 0u);
        ASSERT_EQ(d, expected.words) << info(opcode).name;
    }
    std::mt19937 random_{31};
};

TEST_P(Float8Lanes, RoundAsOneLaneDoes) {
    if (GetParam() > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    const std::pair<Float8, std::array<Opcode, 2>> kCases[] = {
        {Float8::fp8, {Opcode::v_cvt_pk_fp8_f32, Opcode::v_cvt_sr_fp8_f32}},
        {Float8::bf8, {Opcode::v_cvt_pk_bf8_f32, Opcode::v_cvt_sr_bf8_f32}}};
    for (const auto& [type, opcodes] : kCases) {
        const std::vector<uint32_t> values = limits(type);
        for (size_t first = 0; first < values.size(); first += kLanes)
            for (const Opcode opcode : opcodes)
                for (const uint8_t variant : lane_kernel_variants(opcode)) {
                    Words sources[3]{};
                    for (unsigned lane = 0; lane < kLanes; ++lane) {
                        sources[0][lane] = values[first + lane] ^ (random_() & 0x80000000);
                        sources[1][lane] = opcode == opcodes[0] ? values[first + lane] : random_();
                        sources[2][lane] = random_();
                    }
                    compare(opcode, variant, sources);
                    if (HasFatalFailure()) return;
                }
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Float8Lanes, testing::Values(LaneIsa::avx2, LaneIsa::avx512),
                         [](const auto& level) { return level.param == LaneIsa::avx2 ? "Avx2" : "Avx512"; });

}  // namespace lanes_float8_test
}  // namespace riftjit::rdna::emulator

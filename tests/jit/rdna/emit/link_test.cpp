#include <gtest/gtest.h>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/encode/encoding.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace link_test {

constexpr Target kTarget = Target::gfx1101;

class SmallKernel final : public KernelAssembler {
public:
    SmallKernel() : KernelAssembler({kTarget}, "small") {}
};

TEST(Link, ResolvesBranchesBothWaysOverInstructionsOfAnySize) {
    SmallKernel kernel;
    const Vgpr value = kernel.launch_lane();
    const Label back = kernel.label(), forward = kernel.label();
    kernel.bind(back);
    kernel.v_add_f32(value, 3.0f, value);         // two words: a literal
    kernel.s_cbranch_scc1(forward);               // one
    kernel.v_fma_f32(value, value, 3.0f, value);  // three
    kernel.s_branch(back);                        // one
    kernel.bind(forward);
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_TRUE(code) << code.error().message;
    ASSERT_EQ(code->code.size(), 8u);
    EXPECT_EQ(code->code[2] & 0xFFFFu, 4u);                       // over fma and branch
    EXPECT_EQ(static_cast<int16_t>(code->code[6] & 0xFFFF), -7);  // to the start
}

TEST(Link, RefusesABranchBeyondItsReach) {
    SmallKernel kernel;
    const Label far = kernel.label();
    kernel.s_cbranch_scc1(far);
    for (int i = 0; i < 32768; ++i) kernel.s_nop(0);
    kernel.bind(far);
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_FALSE(code);
    EXPECT_EQ(
        code.error().message,
        "small: instruction 0, s_cbranch_scc1 on gfx1101: the target is 32768 words away, a branch reaches -32768 to "
        "32767");
}

TEST(Link, ReachesAsFarAsABranchCan) {
    SmallKernel kernel;
    const Label far = kernel.label();
    kernel.s_cbranch_scc1(far);
    for (int i = 0; i < 32767; ++i) kernel.s_nop(0);
    kernel.bind(far);
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_TRUE(code);
    EXPECT_EQ(code->code[0] & 0xFFFFu, 32767u);
}

TEST(Link, CountsRegistersFromTheFinishedCode) {
    SmallKernel kernel;
    const Vgpr high = kernel.fixed_vgpr(100, 4);
    const Sgpr pair = kernel.fixed_sgpr(40, 2);
    kernel.s_load_b64(pair, kernel.launch_args());
    kernel.global_load_b128(high, kernel.launch_lane(), pair);
    kernel.lds(100);
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(code->resources.vgprs, 104u);
    EXPECT_EQ(code->resources.sgprs, 42u);
    EXPECT_EQ(code->resources.lds_bytes, 100u);
}

// vcc, exec and the trap registers are no numbered SGPRs.
TEST(Link, CountsNoSpecialRegisters) {
    SmallKernel kernel;
    kernel.v_cmp_eq_u32(kernel.vcc(), 0, kernel.launch_lane());
    kernel.s_and_mask(kernel.exec(), kernel.exec(), kernel.vcc());
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(code->resources.sgprs, 0u);
    EXPECT_EQ(code->resources.vgprs, 1u);
}

TEST(Link, NamesKernelAndInstructionOfARefusal) {
    SmallKernel kernel;
    kernel.global_load_b32(kernel.vgpr(), kernel.launch_lane(), kernel.launch_args(), 100'000);  // 13 bits on gfx11
    kernel.end();
    const auto code = link(kernel.finish({}));
    ASSERT_FALSE(code);
    EXPECT_TRUE(code.error().message.starts_with("small: instruction 0: ")) << code.error().message;
    EXPECT_NE(code.error().message.find("global_load_b32"), std::string::npos) << code.error().message;
}

}  // namespace link_test
}  // namespace riftjit::rdna

// Listings: labels where branches go, words that are no instruction, and text that assembles to the same words.
#include "jit/rdna/text/listing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/rdna/assembly/assembly_file.h"

namespace riftjit::rdna {
namespace listing_test {

// s_mov_b32 s0, 0; s_add_u32 s0, s0, 0x12345; s_cbranch_scc1 back to it; s_branch over one word; a word that is
// nothing; s_endpgm
const std::vector<uint32_t> kCode = {0xBE800080, 0x8000FF00, 0x00012345, 0xBFA2FFFD,
                                     0xBFA00001, 0xFFFFFFFF, 0xBFB00000};

TEST(Listing, NamesBranchTargets) {
    const auto listed = list_instructions(Target::gfx1100, WaveSize::wave32, kCode, 0x100);
    ASSERT_EQ(listed.size(), 6U);
    EXPECT_EQ(listed[1].label, "L0");
    EXPECT_EQ(listed[1].address, 0x104U);
    EXPECT_EQ(listed[1].words.size(), 2U);
    EXPECT_EQ(listed[1].mnemonic, "s_add_u32");
    EXPECT_EQ(listed[1].operands, (std::vector<std::string>{"s0", "s0", "0x12345"}));
    EXPECT_EQ(listed[2].text, "s_cbranch_scc1 L0");
    EXPECT_EQ(listed[3].text, "s_branch L1");
    EXPECT_EQ(listed[5].label, "L1");
    EXPECT_TRUE(listed[0].label.empty());
}

TEST(Listing, ShowsWordsThatAreNoInstruction) {
    const auto listed = list_instructions(Target::gfx1100, WaveSize::wave32, kCode, 0);
    EXPECT_FALSE(listed[4].is_instruction);
    EXPECT_EQ(listed[4].text, ".long 0xffffffff");
    EXPECT_FALSE(listed[4].comment.empty());
}

TEST(Listing, KeepsTheNumberOfABranchThatLeaves) {
    const std::vector<uint32_t> code = {0xBFA00005};
    EXPECT_EQ(list_instructions(Target::gfx1100, WaveSize::wave32, code, 0)[0].text, "s_branch 5");
}

TEST(Listing, AssemblesToTheSameWords) {
    const std::string text = format_listing(list_instructions(Target::gfx1100, WaveSize::wave32, kCode, 0));
    const Result<AssembledFile> file = assemble(".globl k\nk:\n" + text, "k.s", Target::gfx1100);
    // The word that is nothing keeps it from being a kernel, so the message is the proof that all else was read.
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, "k.s: kernel k: no instruction at byte 20");
    std::vector<uint32_t> code = kCode;
    code[5] = 0xBF800000;  // s_nop 0
    const std::string whole = format_listing(list_instructions(Target::gfx1100, WaveSize::wave32, code, 0));
    const Result<AssembledFile> again = assemble(".globl k\nk:\n" + whole, "k.s", Target::gfx1100);
    ASSERT_TRUE(again) << again.error().message;
    const Result<std::vector<KernelCode>> kernels = kernel_codes(*again);
    ASSERT_TRUE(kernels) << kernels.error().message;
    EXPECT_EQ(kernels->at(0).code, code);
}

}  // namespace listing_test
}  // namespace riftjit::rdna

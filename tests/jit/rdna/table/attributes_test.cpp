// A row that lacks an attribute would be missed by every rule that asks for it, so the mnemonics are asked here, once.
#include <gtest/gtest.h>

#include <string>

#include "jit/rdna/table/accesses.h"

namespace riftjit::rdna {
namespace attributes_test {

bool starts(const InstructionInfo& row, std::string_view text) { return row.name.starts_with(text); }
bool ends(const InstructionInfo& row, std::string_view text) { return row.name.ends_with(text); }
bool has(const InstructionInfo& row, std::string_view text) { return row.name.find(text) != std::string_view::npos; }

bool computes_in_floats(const InstructionInfo& row) {
    for (const std::string_view type : {"_f16", "_bf16", "_f32", "_f64"})
        if (ends(row, type)) return true;
    return has(row, "_fmin") || has(row, "_fmax") || has(row, "_fcmpswap");
}

uint32_t stored_bits(const InstructionInfo& row) {
    if (row.memory != MemoryKind::store) return 0;
    const bool is_half = ends(row, "_b16") || ends(row, "_b16_d16_hi") || ends(row, "d16_hi_format_x");
    return ends(row, "_b8") || ends(row, "_b8_d16_hi") ? 8 : is_half ? 16 : 0;
}

bool moves_between_lanes(const InstructionInfo& row) {
    return starts(row, "v_read") || starts(row, "v_writelane") || has(row, "permute") || has(row, "swizzle");
}

TEST(Attributes, AreOnEveryRowWhoseMnemonicSaysSo) {
    for (const InstructionInfo& row : all_instructions()) {
        SCOPED_TRACE(std::string(row.name));
        EXPECT_EQ(row.cross_lane, moves_between_lanes(row) || row.permlane || row.wmma);
        EXPECT_EQ(row.permlane, starts(row, "v_permlane"));
        EXPECT_EQ(row.wmma, starts(row, "v_wmma") || starts(row, "v_swmmac"));
        EXPECT_EQ(row.sparse, starts(row, "v_swmmac"));
        EXPECT_EQ(row.mixed, starts(row, "v_fma_mix"));
        EXPECT_EQ(row.wide_mad, starts(row, "v_mad_co_"));
        EXPECT_EQ(row.wait, starts(row, "s_wait"));
        EXPECT_EQ(row.barrier, starts(row, "s_barrier"));
        EXPECT_EQ(row.relative, has(row, "_movrel") || has(row, "_swaprel"));
        EXPECT_EQ(row.float_atomic, row.memory == MemoryKind::atomic && computes_in_floats(row));
        EXPECT_EQ(row.two_offsets, has(row, "2addr"));
        EXPECT_EQ(row.thread_addressed, has(row, "addtid"));
        EXPECT_EQ(row.stores, stored_bits(row));
        EXPECT_EQ(row.stores_high, row.memory == MemoryKind::store && has(row, "d16_hi"));
        EXPECT_EQ(row.half_register, row.memory == MemoryKind::load && has(row, "d16"));
    }
}

// Where the first destination's old value takes part: by `+`, or by a source that is tied to it.
TEST(Attributes, TieOneSourceAtMostAndToADestination) {
    for (const InstructionInfo& row : all_instructions()) {
        unsigned tied = 0;
        for (const OperandInfo& source : row.source_operands()) tied += source.tied;
        EXPECT_LE(tied, 1u) << row.name;
        if (tied == 0) continue;
        const OperandInfo& source = row.operands[*row.tied_source()];
        ASSERT_GT(row.destinations, 0u) << row.name;
        EXPECT_FALSE(row.operands[0].reads) << row.name << " says it twice";
        EXPECT_EQ(source.size(WaveSize::wave32), row.operands[0].size(WaveSize::wave32)) << row.name;
    }
}

}  // namespace attributes_test
}  // namespace riftjit::rdna

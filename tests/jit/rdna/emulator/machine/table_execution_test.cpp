// Every row of the instruction table on every generation that has it, through encoder, decoder and Program: the machine
// executes it, or refuses it by name and with a reason. Nothing passes in silence.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/scalar/salu.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/object/code_object.h"
#include "jit/rdna/object/loader.h"
#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/emulator/valu/refused_rows.h"
#include "tests/jit/rdna/encode/random_instruction.h"

namespace riftjit::rdna::emulator {
namespace table_execution_test {

struct Row {
    const InstructionInfo* info;
    uint64_t offset;  // of its instruction, in the kernel
};
struct Table {
    std::vector<Row> rows;
    LoadedObject object;
};

// Without modifiers that are refused whatever the row, and with operands that name something.
void make_plain(Instruction& instruction, Target target) {
    constexpr uint16_t kMode = 1 | 31 << 11, kInterrupt = 1, kGetRealtime = 0x83;
    const InstructionInfo& row = info(instruction.opcode);
    const bool wants_gds =
        row.name.starts_with("ds_gws_") || row.name == "ds_ordered_count" || row.name.ends_with("gs_reg_rtn");
    if (!wants_gds) instruction.address.gds = false;
    instruction.address.lds = instruction.address.tfe = false;
    if (row.format == Format::VOP3P || row.format == Format::VOP3) instruction.neg = instruction.abs = 0;
    const bool is_dot = row.format == Format::VOP3P && row.name.starts_with("v_dot");
    if (is_dot) instruction.op_sel = 0, instruction.op_sel_hi = 7;
    const std::string_view name = row.name;
    if (name.ends_with("getreg_b32") || name.starts_with("s_setreg")) instruction.simm16 = kMode;
    if (name == "s_sendmsg") instruction.simm16 = kInterrupt;
    if (name.starts_with("s_sendmsg_rtn")) instruction.operands[1] = {kGetRealtime};
    const bool is_mix = name.starts_with("v_fma_mix");
    if (row.format == Format::VOP3P && !is_dot && !is_mix && generation(target) != Generation::gfx10)
        instruction.op_sel_hi = 7;
}

// One kernel with an instruction of every row.
Table table_of(Target target) {
    Table table;
    RandomInstructions random(target, WaveSize::wave32, 7);
    KernelCode kernel;
    kernel.name = "table";
    kernel.resources = {.vgprs = 256, .sgprs = 100};
    for (const InstructionInfo& row : all_instructions()) {
        std::optional<Instruction> instruction;
        for (const Encoding form : {Encoding::native, Encoding::e64})
            if (!instruction) instruction = random.next(row, form);
        if (!instruction) continue;  // absent on this target
        make_plain(*instruction, target);
        const Result<EncodedInstruction> encoded = encode(target, WaveSize::wave32, *instruction);
        if (!encoded) {
            ADD_FAILURE() << encoded.error().message;
            continue;
        }
        table.rows.push_back({&row, kernel.code.size() * 4});
        for (const uint32_t word : encoded->span()) kernel.code.push_back(word);
    }
    auto object = write_code_object(target, CodeObjectVersion::v5, {&kernel, 1});
    if (!object) ADD_FAILURE() << object.error().message;
    auto loaded = load_code_object(*object, target);
    if (!loaded) ADD_FAILURE() << loaded.error().message;
    table.object = std::move(*loaded);
    return table;
}

// Refused on some target that has it, besides memory's; the reason is the machine's to say.
const std::set<std::string_view> kRefused = {
    // Graphics.
    "s_endpgm_ordered_ps_done",
    // The kernel driver, the host, a debugger.
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
    "s_rfe_b64",
    "s_sethalt",
    "s_sendmsghalt",
    // In the waves of 32 lanes that this test runs: they have no halves.
    "s_subvector_loop_begin",
    "s_subvector_loop_end",
    // Faults of a program that comes to them.
    "s_trap",
    "s_code_end",
};

class TableExecution : public testing::TestWithParam<Target> {};

TEST_P(TableExecution, IsOfEveryRowOrRefusedByName) {
    const Table table = table_of(GetParam());
    const Program program(table.object, WaveSize::wave32);
    size_t executed = 0, refused = 0;
    for (const Row& row : table.rows) {
        const std::string_view name = row.info->name;
        SCOPED_TRACE(name);
        const Op* op = program.at(table.object.kernels[0].code.address + row.offset);
        ASSERT_NE(op, nullptr);
        ASSERT_EQ(op->instruction.opcode, row.info->opcode) << op->text();
        const bool is_refused = op->kind == OpKind::fault;
        EXPECT_EQ(is_refused, kRefused.contains(name) || kRefusedMemoryRows.contains(name)) << op->detail;
        ++(is_refused ? refused : executed);
        if (!is_refused || op->fault != FindingKind::unsupported_instruction) continue;
        EXPECT_TRUE(op->detail.starts_with(mnemonic(row.info->opcode, generation(GetParam())))) << op->detail;
        EXPECT_EQ(op->detail.find("not implemented"), std::string::npos) << op->detail;
    }
    size_t had = 0;
    for (const InstructionInfo& row : all_instructions()) had += has(GetParam(), row.opcode);
    EXPECT_EQ(executed + refused, had);
    std::cout << name(GetParam()) << ": of " << had << " rows " << executed << " are executed, " << refused
              << " refused by name\n";
}

// What has no effect that a program could see, on purpose: hints, counters of tools, waits for what the machine has
// not.
const std::set<std::string_view> kWithoutEffect = {
    "s_nop",          "s_version",        "s_clause",      "s_delay_alu",      "s_wait_alu",
    "s_wait_event",   "s_singleuse_vdst", "s_setprio",     "s_setkill",        "s_set_inst_prefetch_distance",
    "s_incperflevel", "s_decperflevel",   "s_ttracedata",  "s_ttracedata_imm", "s_icache_inv",
    "s_wakeup",       "s_waitcnt_expcnt", "s_wait_expcnt", "s_wait_samplecnt", "s_wait_bvhcnt",
};

TEST(TableExecutionOfScalars, HasNoOtherInstructionWithoutEffect) {
    const ScalarFunction nothing = scalar_function(Opcode::s_nop);
    ASSERT_NE(nothing, nullptr);
    for (const InstructionInfo& row : all_instructions()) {
        if (const ScalarFunction function = scalar_function(row.opcode)) {
            EXPECT_EQ(function == nothing, kWithoutEffect.contains(row.name)) << row.name;
        }
    }
}

TEST(TableExecutionOfScalars, RefusesRegistersAndMessagesThatAreNotModelled) {
    const auto why = [](Target target, std::string_view text) {
        const auto parsed = parse(target, WaveSize::wave32, text);
        EXPECT_TRUE(parsed) << text;
        return parsed ? why_not_modelled(parsed->instruction, generation(target)) : std::string();
    };
    EXPECT_EQ(why(Target::gfx1100, "s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS)"), "hardware register 3 is not modelled");
    EXPECT_EQ(why(Target::gfx1100, "s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0"), "hardware register 3 is not modelled");
    EXPECT_EQ(why(Target::gfx1100, "s_getreg_b32 s0, hwreg(HW_REG_MODE)"), "");
    EXPECT_EQ(why(Target::gfx1030, "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s0"), "");
    EXPECT_EQ(why(Target::gfx1030, "s_sendmsg 3"), "message 3 is not modelled") << "GS_DONE";
    EXPECT_EQ(why(Target::gfx1100, "s_sendmsg 3"), "");
    EXPECT_EQ(why(Target::gfx1100, "s_sendmsg_rtn_b32 s0, 0x80"), "message 128 is not modelled");
    EXPECT_EQ(why(Target::gfx1100, "s_sendmsg_rtn_b64 s[0:1], 0x83"), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, TableExecution,
                         testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace table_execution_test
}  // namespace riftjit::rdna::emulator

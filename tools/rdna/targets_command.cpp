#include "tools/rdna/targets_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "jit/rdna/table/opcode.h"
#include "jit/rdna/table/target.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;
using rdna::Opcode;

// What a user asks of a chip, by an instruction that is there or not. Where generations differ in the operands they
// have a row each.
struct Ability {
    std::string_view name;
    Opcode witness, other = witness;
};
constexpr Ability kAbilities[] = {
    {"dot2-f16", Opcode::v_dot2_f32_f16},
    {"dot2-bf16", Opcode::v_dot2_f32_bf16},
    {"dot4-i8", Opcode::v_dot4_i32_i8},
    {"dot4-iu8", Opcode::v_dot4_i32_iu8},
    {"dot8-i4", Opcode::v_dot8_i32_i4},
    {"dot8-iu4", Opcode::v_dot8_i32_iu4},
    {"dot4-fp8", Opcode::v_dot4_f32_fp8_fp8},
    {"wmma-f16", Opcode::v_wmma_f32_16x16x16_f16, Opcode::v_wmma_f32_16x16x16_f16_gfx11},
    {"wmma-iu8", Opcode::v_wmma_i32_16x16x16_iu8, Opcode::v_wmma_i32_16x16x16_iu8_gfx11},
    {"wmma-fp8", Opcode::v_wmma_f32_16x16x16_fp8_fp8},
    {"swmmac", Opcode::v_swmmac_f32_16x16x32_f16},
    {"fp8-conversions", Opcode::v_cvt_pk_fp8_f32},
    {"atomic-add-f32", Opcode::global_atomic_add_f32},
    {"atomic-pk-add-f16", Opcode::global_atomic_pk_add_f16},
    {"scalar-float", Opcode::s_add_f32},
    {"permlane64", Opcode::v_permlane64_b32},
    {"split-barriers", Opcode::s_barrier_signal},
    {"transposing-loads", Opcode::global_load_tr_b128},
    {"delay-hints", Opcode::s_delay_alu},
};

bool has_dual_instructions(rdna::Generation generation) {
    return std::ranges::any_of(rdna::dual_instructions(), [generation](const rdna::DualInfo& half) {
        return half.first <= generation && generation <= half.last;
    });
}

bool has_sdwa(rdna::Target target) {
    const auto at = static_cast<size_t>(rdna::generation(target));
    return std::ranges::any_of(rdna::all_instructions(), [&](const rdna::InstructionInfo& row) {
        return rdna::has(target, row.opcode) && row.modifiers[at].sdwa;
    });
}

std::vector<std::string_view> abilities(rdna::Target target) {
    std::vector<std::string_view> names;
    for (const Ability& ability : kAbilities)
        if (rdna::has(target, ability.witness) || rdna::has(target, ability.other)) names.push_back(ability.name);
    if (has_dual_instructions(rdna::generation(target))) names.emplace_back("vopd");
    if (has_sdwa(target)) names.emplace_back("sdwa");
    return names;
}

size_t table_rows(rdna::Target target) {
    return static_cast<size_t>(
        std::ranges::count_if(rdna::all_instructions(),
                              [target](const rdna::InstructionInfo& row) { return rdna::has(target, row.opcode); }));
}

void print_json() {
    ordered_json targets = ordered_json::array();
    for (const rdna::TargetInfo& chip : rdna::all_targets())
        targets.push_back({{"name", chip.name},
                           {"generation", rdna::name(chip.generation)},
                           {"rows", table_rows(chip.target)},
                           {"vgpr_file", chip.vgpr_file},
                           {"vgpr_granule", chip.vgpr_granule},
                           {"has", abilities(chip.target)}});
    write_output(json_text(targets, 2) + "\n");
}

// Chips that have the same are listed together below the table.
void print_table() {
    std::string text =
        fmt::format("{:<8} {:<10} {:>5} {:>6} {:>8}\n", "TARGET", "GENERATION", "ROWS", "VGPRS", "GRANULE");
    std::vector<std::pair<std::vector<std::string_view>, std::string>> groups;
    for (const rdna::TargetInfo& chip : rdna::all_targets()) {
        text += fmt::format("{:<8} {:<10} {:>5} {:>6} {:>8}\n", chip.name, rdna::name(chip.generation),
                            table_rows(chip.target), chip.vgpr_file, chip.vgpr_granule);
        const auto names = abilities(chip.target);
        auto group = std::ranges::find(groups, names, &decltype(groups)::value_type::first);
        if (group == groups.end()) group = groups.insert(groups.end(), {names, ""});
        group->second += (group->second.empty() ? "" : ", ") + std::string(chip.name);
    }
    for (const auto& [names, chips] : groups) text += fmt::format("\n{}:\n  {}\n", chips, fmt::join(names, " "));
    write_output(text);
}

constexpr const char* kTargetsExamples =
    "Examples:\n"
    "  riftjit targets                                    a line per chip, then what they have\n"
    "  riftjit targets --json | jq -r '.[] | select(.has | index(\"wmma-fp8\")) | .name'\n"
    "ROWS counts instructions of the table, VGPRS the registers of a SIMD in wave32, GRANULE the steps they are\n"
    "allotted in. Nothing here was measured: it is what the instruction table says.";

}  // namespace

void add_targets_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("targets", "List the AMD GPUs that code can be generated for");
    command->footer(kTargetsExamples);
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "print one JSON array");
    on_chosen(*command, chosen, [json] {
        if (*json)
            print_json();
        else
            print_table();
        return kExitDone;
    });
}

}  // namespace riftjit::tools

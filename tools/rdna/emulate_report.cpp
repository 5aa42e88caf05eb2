#include "tools/rdna/emulate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/json_text.h"

namespace riftjit::tools {

namespace {

namespace emulator = rdna::emulator;
using nlohmann::ordered_json;

// What a finding of this kind asks its reader to know. Empty for most.
std::string_view advice(emulator::FindingKind kind) {
    switch (kind) {
        case emulator::FindingKind::run_limit:
            return "a run that is only long ends with a larger --limit";
        case emulator::FindingKind::sgpr_read:
            return "compilers before LLVM 20 do not know this rule of gfx12 and break it throughout: their code is "
                   "checked for all the rest with --check all,-hazard-sgpr-read";
        case emulator::FindingKind::valu_mask_rewrite:
            return "compilers as old as LLVM 19 do not know this rule of gfx11's wave64: their code is checked for all "
                   "the rest with --check all,-hazard-valu-mask-rewrite";
        case emulator::FindingKind::vopd_interlock:
            return "compilers before September 2026 do not know this rule of gfx11: their code is checked for all the "
                   "rest with --check all,-hazard-vopd-interlock";
        case emulator::FindingKind::valu_partial_forwarding:
            return "compilers know this rule and still miss it in some loops; --check "
                   "all,-hazard-valu-partial-forwarding leaves it out";
        default:
            return "";
    }
}

struct NamedCount {
    std::string_view name;
    uint64_t count;
};
std::vector<NamedCount> memory_counts(const emulator::Counts& counts) {
    return {{"global_bytes_loaded", counts.global_bytes_loaded},
            {"global_bytes_stored", counts.global_bytes_stored},
            {"scalar_bytes_loaded", counts.scalar_bytes_loaded},
            {"lds_bytes_loaded", counts.lds_bytes_loaded},
            {"lds_bytes_stored", counts.lds_bytes_stored},
            {"scratch_bytes_loaded", counts.scratch_bytes_loaded},
            {"scratch_bytes_stored", counts.scratch_bytes_stored},
            {"lds_bank_conflicts", counts.lds_bank_conflicts},
            {"cache_lines", counts.cache_lines}};
}

std::vector<NamedCount> instruction_counts(const emulator::Counts& counts) {
    std::vector<NamedCount> classes;
    for (size_t i = 0; i < counts.instructions.size(); ++i)
        classes.push_back({emulator::name(static_cast<emulator::InstructionClass>(i)), counts.instructions[i]});
    return classes;
}

ordered_json to_json(const std::vector<NamedCount>& counts) {
    ordered_json json = ordered_json::object();
    for (const NamedCount& each : counts) json[std::string(each.name)] = each.count;
    return json;
}

ordered_json to_json(const emulator::Finding& finding) {
    ordered_json json = {
        {"kind", emulator::name(finding.kind)}, {"kernel", finding.kernel}, {"offset", finding.code_offset},
        {"instruction", finding.instruction},   {"group", finding.group},   {"wave", finding.wave}};
    if (finding.lane != emulator::kNoLane) json["lane"] = finding.lane;
    json["detail"] = finding.detail;
    json["times"] = finding.times;
    if (const std::string_view text = advice(finding.kind); !text.empty()) json["advice"] = text;
    return json;
}

// Those that are not 0: "valu 12, lds 3".
std::string listed(const std::vector<NamedCount>& counts) {
    std::string text;
    for (const NamedCount& each : counts)
        if (each.count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.name, each.count);
    return text.empty() ? "none" : text;
}

}  // namespace

std::string json_report(const EmulatedLaunch& launch, const emulator::RunReport& report) {
    ordered_json findings = ordered_json::array();
    for (const emulator::Finding& finding : report.findings) findings.push_back(to_json(finding));
    ordered_json json = {{"kernel", launch.kernel},
                         {"target", launch.target},
                         {"grid", launch.grid},
                         {"group", launch.group},
                         {"schedule", launch.schedule},
                         {"seed", report.seed},
                         {"checks", launch.checks},
                         {"completed", report.completed},
                         {"findings", findings},
                         {"instructions", to_json(instruction_counts(report.counts))},
                         {"memory", to_json(memory_counts(report.counts))}};
    if (!report.interrupted_at.empty()) json["interrupted_at"] = report.interrupted_at;
    return json_text(json) + "\n";
}

std::string text_report(const EmulatedLaunch& launch, const emulator::RunReport& report) {
    std::string text =
        fmt::format("{} on {}: grid {}, group {}, schedule {}, seed {}, checks {}\n", launch.kernel, launch.target,
                    launch.grid, launch.group, launch.schedule, report.seed, launch.checks);
    text += fmt::format("instructions  {}: {}\n", report.counts.total_instructions(),
                        listed(instruction_counts(report.counts)));
    text += fmt::format("memory        {}\n", listed(memory_counts(report.counts)));
    text +=
        fmt::format("findings      {}{}\n", report.findings.empty() ? "none" : std::to_string(report.findings.size()),
                    report.completed ? "" : "; not every wave reached its end");
    for (const emulator::Finding& finding : report.findings) text += fmt::format("  {}\n", finding.text());
    std::vector<emulator::FindingKind> advised;
    for (const emulator::Finding& finding : report.findings) {
        if (advice(finding.kind).empty() || std::ranges::find(advised, finding.kind) != advised.end()) continue;
        text += fmt::format("{}: {}\n", emulator::name(finding.kind), advice(finding.kind));
        advised.push_back(finding.kind);
    }
    if (!report.interrupted_at.empty()) text += fmt::format("interrupted: {}\n", report.interrupted_at);
    return text;
}

}  // namespace riftjit::tools

#include "jit/rdna/emulator/report.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "jit/rdna/emulator/checks.h"
#include "jit/rdna/emulator/program.h"
#include "jit/rdna/emulator/wave.h"

namespace riftjit::rdna::emulator {
namespace {

struct KindInfo {
    std::string_view name;
    bool fault;
};
constexpr KindInfo kKinds[] = {
#define FINDING(kind, text) {text, false},
#define FAULT(kind, text) {text, true},
#include "jit/rdna/emulator/findings.def"
#undef FINDING
#undef FAULT
};

constexpr std::string_view kClassNames[] = {
    "salu",          "valu", "transcendental", "wmma",   "scalar-memory", "vector-load", "vector-store",
    "vector-atomic", "lds",  "scratch",        "branch", "wait",          "barrier",     "other",
};
static_assert(std::size(kClassNames) == static_cast<size_t>(InstructionClass::count));

}  // namespace

std::string_view name(FindingKind kind) { return kKinds[static_cast<size_t>(kind)].name; }
bool is_fault(FindingKind kind) { return kKinds[static_cast<size_t>(kind)].fault; }
std::string_view name(InstructionClass kind) { return kClassNames[static_cast<size_t>(kind)]; }

std::string Finding::text() const {
    std::string where = instruction.empty()  // of the launch as a whole
                            ? fmt::format("{}: {}", kernel, name(kind))
                            : fmt::format("{}+{:#x}: {}: {}: group {}, wave {}", kernel, code_offset, instruction,
                                          name(kind), group, wave);
    if (lane != kNoLane) where += fmt::format(", lane {}", lane);
    where += fmt::format(": {}", detail);
    if (times > 1) where += fmt::format(" ({} times)", times);
    return where;
}

void Findings::report(FindingKind kind, const WaveState& wave, int lane, std::string detail) {
    const Op& op = *wave.op;
    reported_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t key = op.address << 8 | static_cast<uint64_t>(kind);
    const std::lock_guard lock(mutex_);
    if (const auto [known, is_new] = known_.try_emplace(key, findings_.size()); !is_new) {
        ++findings_[known->second].times;
        return;
    }
    const CodeLocation location = op.program->locate(op.address);
    if (kind >= FindingKind::undefined_address && kind <= FindingKind::undefined_lds && wave.tracking &&
        wave.tracking->upper_half_lost) {
        const Op& multiply = *wave.tracking->upper_half_lost;
        const CodeLocation at = multiply.program->locate(multiply.address);
        detail += fmt::format("; {} at {}+{:#x} overlaps its addend, and its upper half is lost", multiply.text(),
                              at.function, at.offset);
    }
    findings_.push_back({kind, std::string(location.function), location.offset, op.text(), wave.group_number,
                         wave.index, lane, std::move(detail)});
}

void Findings::report(Finding finding) {
    const std::lock_guard lock(mutex_);
    findings_.push_back(std::move(finding));
}

std::vector<Finding> Findings::take() {
    const std::lock_guard lock(mutex_);
    known_.clear();
    return std::exchange(findings_, {});
}

bool Findings::empty() const {
    const std::lock_guard lock(mutex_);
    return findings_.empty();
}

uint64_t Counts::total_instructions() const {
    return std::accumulate(instructions.begin(), instructions.end(), uint64_t{0});
}

Counts& Counts::operator+=(const Counts& other) {
    for (size_t i = 0; i < instructions.size(); ++i) instructions[i] += other.instructions[i];
    global_bytes_loaded += other.global_bytes_loaded;
    global_bytes_stored += other.global_bytes_stored;
    lds_bytes_loaded += other.lds_bytes_loaded;
    lds_bytes_stored += other.lds_bytes_stored;
    scalar_bytes_loaded += other.scalar_bytes_loaded;
    scratch_bytes_loaded += other.scratch_bytes_loaded;
    scratch_bytes_stored += other.scratch_bytes_stored;
    lds_bank_conflicts += other.lds_bank_conflicts;
    cache_lines += other.cache_lines;
    return *this;
}

}  // namespace riftjit::rdna::emulator

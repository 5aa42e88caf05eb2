#include "jit/rdna/emulator/machine/report.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {
namespace {

struct KindInfo {
    std::string_view name;
    bool fault;
};
constexpr KindInfo kKinds[] = {
#define FINDING(kind, text) {text, false},
#define FAULT(kind, text) {text, true},
#include "jit/rdna/emulator/machine/findings.def"
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

std::string scalar_name(unsigned code) {
    if (code < 106) return fmt::format("s{}", code);
    if (code < 108) return code == 106 ? "vcc_lo" : "vcc_hi";
    if (code < 124) return fmt::format("ttmp{}", code - 108);
    if (code < 126) return "m0";  // one of the two is null, which holds nothing
    return code == 126 ? "exec_lo" : "exec_hi";
}

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
    List& list = list_of(wave.group_number);
    if (list.count_again(key, 1)) return;
    const CodeLocation location = op.program->locate(op.address);
    if (kind >= FindingKind::undefined_address && kind <= FindingKind::undefined_lds && wave.tracking &&
        reads_lost_half(wave, op)) {
        const Op& multiply = *wave.tracking->lost_half.multiply;
        const CodeLocation at = multiply.program->locate(multiply.address);
        detail += fmt::format("; {} at {}+{:#x} overlaps its addend, and its upper half is lost", multiply.text(),
                              at.function, at.offset);
    }
    list.add({kind, std::string(location.function), location.offset, op.text(), wave.group_number, wave.index, lane,
              std::move(detail)},
             key);
}

void Findings::report(Finding finding) {
    const std::lock_guard lock(mutex_);
    List& list = list_of(finding.group);
    list.add(std::move(finding), kNoKey);
}

Findings::List& Findings::list_of(uint32_t group) {
    if (order_ == Order::as_reported) return findings_;
    any_pending_ = true;
    return pending_[group];
}

bool Findings::List::count_again(uint64_t key, uint64_t times) {
    const auto found = known.find(key);
    if (key == kNoKey || found == known.end()) return false;
    findings[found->second].times += times;
    return true;
}

void Findings::List::add(Finding finding, uint64_t key) {
    known.try_emplace(key, findings.size());
    findings.push_back(std::move(finding));
    keys.push_back(key);
}

void Findings::keep(Order order) {
    const std::lock_guard lock(mutex_);
    order_ = order;
}

void Findings::commit(uint32_t group) {
    if (!any_pending_) return;
    const std::lock_guard lock(mutex_);
    auto committed = pending_.extract(group);
    if (committed.empty()) return;
    List& list = committed.mapped();
    for (size_t i = 0; i < list.findings.size(); ++i)
        if (!findings_.count_again(list.keys[i], list.findings[i].times))
            findings_.add(std::move(list.findings[i]), list.keys[i]);
}

void Findings::drop_pending() {
    const std::lock_guard lock(mutex_);
    pending_.clear();
}

std::vector<Finding> Findings::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(findings_, {}).findings;
}

bool Findings::empty() const {
    const std::lock_guard lock(mutex_);
    return findings_.findings.empty() && pending_.empty();
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
    lines_loaded += other.lines_loaded;
    lines_stored += other.lines_stored;
    lines_loaded_of_own += other.lines_loaded_of_own;
    return *this;
}

}  // namespace riftjit::rdna::emulator

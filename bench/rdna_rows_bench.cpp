// How fast the software RDNA machine executes each vector instruction that it knows: a loop of nothing else, wave32,
// one core, without checks and with every check. Prints per target how many rows reach which rate, and the slow ones.
//
//   rdna_rows_bench [TARGET] [MNEMONIC...]     # with mnemonics, or "all": a line for each
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/emulator/valu/valu.h"
#include "jit/rdna/encode/encoding.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kCopies = 32, kRounds = 250;
constexpr int kRuns = 3;
constexpr unsigned kDestination = 32, kFirstSource = 64, kSourceStride = 16;  // registers
// An ordinary number as f32, as either f16, and as the upper half of f64.
constexpr uint32_t kWord = 0x3FC03E00;

// Vector registers where the row takes them, scalar ones where bit i of `scalars` says so, none for operand `tied`:
// some rows have one that the destination stands for.
Instruction candidate(const InstructionInfo& row, Encoding encoding, unsigned scalars, unsigned tied) {
    Instruction made;
    made.opcode = row.opcode;
    made.encoding = encoding;
    for (unsigned i = 0; i < row.destinations + row.sources; ++i) {
        const bool is_source = i >= row.destinations;
        const OperandType type =
            is_source ? row.source_operands()[i - row.destinations].type : row.destination_operands()[i].type;
        if (i == tied || type == OperandType::exec || type == OperandType::k16 || type == OperandType::k32) continue;
        const unsigned source = i - row.destinations;
        if (type == OperandType::mask)
            made.operands[i] = sgpr(Operand::kVcc);
        else if ((scalars >> i & 1) != 0)
            made.operands[i] = sgpr(is_source ? 8 + 2 * source : 20);
        else
            made.operands[i] = is_source ? vgpr(kFirstSource + kSourceStride * source) : vgpr(kDestination);
    }
    if (row.format == Format::VOP3P) made.op_sel_hi = 7;
    return made;
}

std::optional<EncodedInstruction> encoded(Target target, const InstructionInfo& row) {
    const unsigned operands = row.destinations + row.sources;
    for (unsigned tied = operands + 1; tied-- > row.destinations;)
        for (unsigned scalars = 0; scalars < 1u << operands; ++scalars)
            for (const Encoding encoding : {Encoding::native, Encoding::e64})
                for (const bool has_literal : {false, true}) {
                    Instruction made = candidate(row, encoding, scalars, tied);
                    made.has_literal = has_literal;
                    if (has_literal) made.literal = 0x3E00;
                    if (const auto words = encode(target, WaveSize::wave32, made)) return *words;
                }
    return std::nullopt;
}

std::string source_of(const InstructionInfo& row, const EncodedInstruction& instruction) {
    std::string text = "    .globl row\nrow:\n";
    for (unsigned i = 0; i < 128; ++i) text += fmt::format("    v_mov_b32 v{}, {:#x}\n", i, kWord);
    for (unsigned i = 8; i < 24; ++i) text += fmt::format("    s_mov_b32 s{}, 1\n", i);
    text += fmt::format("    s_mov_b32 vcc_lo, 0\n    s_mov_b32 m0, 0\n    s_movk_i32 s4, {}\nagain:\n", kRounds);
    for (unsigned copy = 0; copy < kCopies; ++copy) {
        for (const uint32_t word : instruction.span()) text += fmt::format("    .long {:#x}\n", word);
        if (row.name.starts_with("v_cmpx")) text += "    s_mov_b32 exec_lo, -1\n";
    }
    return text + "    s_sub_u32 s4, s4, 1\n    s_cmp_lg_u32 s4, 0\n    s_cbranch_scc1 again\n    s_endpgm\n";
}

double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Measured {
    double rate = 0;      // instructions per second, of the best run
    std::string finding;  // the first
};
Result<Measured> measure(Target target, const std::vector<std::byte>& object, const Checks& checks) {
    Machine machine(target, {.checks = checks});
    RIFTJIT_TRY_VOID(machine.load(object));
    Measured measured;
    for (int run = 0; run <= kRuns; ++run) {  // the first one decodes, and is not counted
        const double start = thread_seconds();
        RIFTJIT_TRY(report, machine.launch("row", {1}, {32}, {}));
        const double rate = kCopies * kRounds / (thread_seconds() - start);
        if (run > 0) measured.rate = std::max(measured.rate, rate);
        if (!report.findings.empty()) measured.finding = report.findings.front().text();
    }
    return measured;
}

struct RowRates {
    std::string_view name;
    double plain, checked;
    std::string finding;
};

std::vector<RowRates> measure_rows(Target target, const std::vector<std::string_view>& wanted) {
    std::vector<RowRates> rates;
    for (const InstructionInfo& row : all_instructions()) {
        const ValuKind kind = valu_kind(row.opcode);
        if (!has(target, row.opcode) || kind == ValuKind::not_a_valu || kind == ValuKind::unsupported) continue;
        if (!wanted.empty() && std::ranges::find(wanted, row.name) == wanted.end()) continue;
        const auto instruction = encoded(target, row);
        if (!instruction) {
            fmt::print(stderr, "{}: not measured, no operands of this program fit it\n", row.name);
            continue;
        }
        const auto assembly = assemble(source_of(row, *instruction), "row", target);
        if (!assembly) {
            fmt::print(stderr, "{}: not measured: {}\n", row.name, assembly.error().message);
            continue;
        }
        const auto object = write_code_object(*assembly);
        if (!object) continue;
        const auto plain = measure(target, *object, Checks::none()), checked = measure(target, *object, Checks{});
        if (plain && checked)
            rates.push_back({row.name, plain->rate, checked->rate, checked->finding});
        else
            fmt::print(stderr, "{}: not measured: {}\n", row.name, (plain ? checked : plain).error().message);
    }
    return rates;
}

void print_rows(const std::vector<RowRates>& rates) {
    fmt::print("| instruction | no checks: M/s | every check: M/s |\n|---|---:|---:|\n");
    for (const RowRates& row : rates)
        fmt::print("| {} | {:.1f} | {:.2f} |{}\n", row.name, 1e-6 * row.plain, 1e-6 * row.checked,
                   row.finding.empty() ? "" : " " + row.finding);
}

void print_summary(Target target, std::vector<RowRates> rates) {
    constexpr double kPlainBar = 30e6, kCheckedBar = 5e6;
    const auto count = [&](double RowRates::* rate, double bar) {
        return std::ranges::count_if(rates, [&](const RowRates& row) { return row.*rate >= bar; });
    };
    const auto quantile = [&](double RowRates::* rate, double part) {
        std::ranges::sort(rates, {}, rate);
        return 1e-6 * (rates[static_cast<size_t>(part * static_cast<double>(rates.size() - 1))].*rate);
    };
    fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {} | {:.2f} | {:.2f} | {:.2f} |\n", name(target),
               rates.size(), count(&RowRates::plain, kPlainBar), quantile(&RowRates::plain, 0.1),
               quantile(&RowRates::plain, 0.5), quantile(&RowRates::plain, 0.9), count(&RowRates::checked, kCheckedBar),
               quantile(&RowRates::checked, 0.1), quantile(&RowRates::checked, 0.5), quantile(&RowRates::checked, 0.9));
    std::fflush(stdout);
}

int run(std::vector<std::string_view> words) {
    std::vector<Target> targets = {Target::gfx1030, Target::gfx1100, Target::gfx1201};
    if (!words.empty())
        if (const auto target = target_from_name(words.front())) {
            targets = {*target};
            words.erase(words.begin());
        }
    if (!words.empty()) {
        for (const std::string_view word : words)
            if (word != "all" && std::ranges::find(all_instructions(), word, &InstructionInfo::name) ==
                                     std::ranges::end(all_instructions())) {
                fmt::print(stderr, "usage: rdna_rows_bench [TARGET] [all | INSTRUCTION...]   {} is none\n", word);
                return 1;
            }
        if (words.front() == "all") words.clear();
        for (const Target target : targets) print_rows(measure_rows(target, words));
        return 0;
    }
    fmt::print(
        "wave32, one core; a loop of one instruction; million instructions per second: the tenth part, the half and "
        "nine "
        "tenths of the rows are slower\n\n"
        "| target | rows | no checks: >= 30 M/s | 10 % | 50 % | 90 % | every check: >= 5 M/s | 10 % | 50 % | 90 % |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const Target target : targets) print_summary(target, measure_rows(target, {}));
    return 0;
}

}  // namespace
}  // namespace riftjit::rdna::emulator

int main(int argc, char** argv) { return riftjit::rdna::emulator::run({argv + 1, argv + argc}); }

#include "tools/run/predictions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model_files.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "runtime/rdna/prediction.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace riftjit::tools {
namespace {

using rdna::emulator::Counts;
using rdna::emulator::InstructionClass;
using runtime::Card;
using runtime::PredictedKernel;

constexpr uint32_t kUsualContext = 1024;
constexpr const char* kWhatItIs =
    "bounds from counts, not measurements: the kernels ran in the software machine, cards are known by data sheet";

struct Sums {
    uint32_t launches = 0;
    uint64_t least = 0, asked = 0, lines = 0;
    Counts counts;
};
Sums sums_of(std::span<const PredictedKernel> kernels) {
    Sums sums;
    for (const PredictedKernel& kernel : kernels) {
        sums.launches += kernel.launches;
        sums.least += kernel.least_bytes;
        sums.asked += kernel.bytes_asked_for();
        sums.lines += kernel.line_bytes();
        sums.counts += kernel.counts;
    }
    return sums;
}

// Of the bytes that a token reads, how many are read by kernels that keep this card's memory busy.
double share_busy(std::span<const PredictedKernel> kernels, const Card& card) {
    double busy = 0, all = 0;
    for (const PredictedKernel& kernel : kernels) {
        all += double(kernel.least_bytes);
        if (kernel.bytes_in_flight_on(card) >= card.bytes_in_flight()) busy += double(kernel.least_bytes);
    }
    return busy / all;
}

std::vector<Card> cards_of(rdna::Target chip) {
    std::vector<Card> found;
    std::ranges::copy_if(runtime::cards(), std::back_inserter(found),
                         [chip](const Card& card) { return card.chip == chip; });
    return found;
}

// Classes that have a column of their own; the rest is one.
constexpr InstructionClass kColumns[] = {InstructionClass::valu,          InstructionClass::transcendental,
                                         InstructionClass::salu,          InstructionClass::scalar_memory,
                                         InstructionClass::vector_load,   InstructionClass::vector_store,
                                         InstructionClass::vector_atomic, InstructionClass::lds};

std::string slots_text(const Counts& counts) {
    std::string text;
    uint64_t others = counts.total_instructions();
    for (const InstructionClass kind : kColumns) {
        text += fmt::format(" {:>9}", counts[kind]);
        others -= counts[kind];
    }
    return text + fmt::format(" {:>9}", others);
}

std::string bytes_text(uint64_t least, uint64_t lines, uint64_t asked) {
    const auto ratio = [least](uint64_t bytes) { return least == 0 ? 0 : double(bytes) / double(least); };
    return fmt::format("{:>12} {:>12} {:>6.3f} {:>12} {:>5.2f}", least, lines, ratio(lines), asked, ratio(asked));
}

std::string table(rdna::Target chip, std::span<const PredictedKernel> kernels) {
    std::string text = fmt::format("\n{}\n{:>8} {:>12} {:>12} {:>6} {:>12} {:>5}", name(chip), "LAUNCHES", "LEAST",
                                   "LINES", "RATIO", "ASKED", "RATIO");
    for (const char* column : {"VALU", "TRANS", "SALU", "SMEM", "LOAD", "STORE", "ATOMIC", "LDS", "OTHER"})
        text += fmt::format(" {:>9}", column);
    text += fmt::format(" {:>5} {:>4} {:>6} {:>6}  KERNEL\n", "VGPRS", "/SIMD", "WAVES", "FLIGHT");
    for (const PredictedKernel& kernel : kernels)
        text += fmt::format("{:>8} {}{} {:>5} {:>5} {:>6} {:>6}  {}\n", kernel.launches,
                            bytes_text(kernel.least_bytes, kernel.line_bytes(), kernel.bytes_asked_for()),
                            slots_text(kernel.counts), kernel.vgprs, kernel.waves_per_simd, kernel.waves,
                            kernel.bytes_in_flight, kernel.text);
    const Sums sums = sums_of(kernels);
    text += fmt::format("{:>8} {}{}{:26}  a token\n", sums.launches, bytes_text(sums.least, sums.lines, sums.asked),
                        slots_text(sums.counts), "");
    const std::vector<Card> cards = cards_of(chip);
    if (cards.empty()) return text + fmt::format("no card of {} is in the table\n", name(chip));
    text += fmt::format("{:<12} {:>5} {:>6} {:>6} {:>11} {:>11} {:>11} {:>9}\n", "CARD", "GB/S", "SIMDS", "GHZ",
                        "MEMORY, US", "ISSUE, US", "EITHER, US", "BUSY");
    for (const Card& card : cards) {
        const runtime::TimeBound bound = time_bound(kernels, card);
        text += fmt::format("{:<12} {:>5} {:>6} {:>6.2f} {:>11.1f} {:>11.1f} {:>11.1f} {:>7.0f} %\n", card.name,
                            card.gb_per_second, card.simds(), card.ghz, bound.memory, bound.issue, bound.either,
                            100 * share_busy(kernels, card));
    }
    return text;
}

constexpr const char* kLegend =
    "\nLEAST   bytes of weights, rows and cache, each read or written once; RATIO: to it\n"
    "LINES   of 128 bytes that a launch loads or stores, each once: what memory must give and take if caches hold all "
    "of\n"
    "        a launch and nothing from one to the next; ASKED by instructions, caches answer part\n"
    "VALU... instructions of all launches; /SIMD waves that fit, WAVES of one launch\n"
    "FLIGHT  most bytes that a wave has asked for before it waits, loops not followed\n"
    "MEMORY  least bytes at the card's bandwidth, as if no cache kept any between tokens\n"
    "ISSUE   slots of the busiest unit, spread evenly over the SIMDs at the boost clock (TRANS takes four)\n"
    "EITHER  the larger of both, kernel by kernel: no token is sooner; launches, waits and latencies come on top\n"
    "BUSY    share of the bytes read by kernels with enough under way for 700 ns of latency\n";

nlohmann::ordered_json json_of(const runtime::TimeBound& bound) {
    return {{"memory_us", bound.memory}, {"issue_us", bound.issue}, {"either_us", bound.either}};
}

nlohmann::ordered_json json_of(const Counts& counts) {
    nlohmann::ordered_json slots;
    for (size_t i = 0; i < counts.instructions.size(); ++i)
        slots[std::string(name(static_cast<InstructionClass>(i)))] = counts.instructions[i];
    return slots;
}

nlohmann::ordered_json json_of(rdna::Target chip, std::span<const PredictedKernel> kernels) {
    auto rows = nlohmann::ordered_json::array(), cards = nlohmann::ordered_json::array();
    for (const PredictedKernel& kernel : kernels)
        rows.push_back({{"kernel", kernel.name},
                        {"spec", kernel.text},
                        {"launches", kernel.launches},
                        {"least_bytes", kernel.least_bytes},
                        {"line_bytes", kernel.line_bytes()},
                        {"asked_bytes", kernel.bytes_asked_for()},
                        {"slots", json_of(kernel.counts)},
                        {"lds_bank_conflicts", kernel.counts.lds_bank_conflicts},
                        {"vgprs", kernel.vgprs},
                        {"lds_bytes", kernel.lds_bytes},
                        {"scratch_bytes", kernel.scratch_bytes},
                        {"waves_per_simd", kernel.waves_per_simd},
                        {"waves", kernel.waves},
                        {"bytes_in_flight_per_wave", kernel.bytes_in_flight}});
    for (const Card& card : cards_of(chip)) {
        auto by_kernel = nlohmann::ordered_json::array();
        for (const PredictedKernel& kernel : kernels) {
            nlohmann::ordered_json bound = json_of(time_bound(kernel, card));
            bound["bytes_in_flight"] = kernel.bytes_in_flight_on(card);
            by_kernel.push_back(std::move(bound));
        }
        cards.push_back({{"card", card.name},
                         {"gb_per_second", card.gb_per_second},
                         {"simds", card.simds()},
                         {"ghz", card.ghz},
                         {"bytes_in_flight_wanted", card.bytes_in_flight()},
                         {"token", json_of(time_bound(kernels, card))},
                         {"kernels", std::move(by_kernel)}});
    }
    const Sums sums = sums_of(kernels);
    return {{"target", name(chip)},
            {"kernels", std::move(rows)},
            {"token",
             {{"launches", sums.launches},
              {"least_bytes", sums.least},
              {"line_bytes", sums.lines},
              {"asked_bytes", sums.asked},
              {"slots", json_of(sums.counts)}}},
            {"cards", std::move(cards)}};
}

Result<std::vector<rdna::Target>> chips_of(std::span<const Target> targets) {
    if (targets.empty())
        return fail(ErrorKind::Usage,
                    "--predict: expected a number of tokens, or --target with the GPUs to predict for");
    std::vector<rdna::Target> chips;
    for (const Target& target : targets) {
        const auto chip = rdna::target_from_name(name(target));
        if (target.architecture != Architecture::rdna || !chip)
            return fail(ErrorKind::Usage, "--target {}: --predict is of GPUs; riftjit bench measures processors",
                        name(target));
        if (std::ranges::find(chips, *chip) == chips.end()) chips.push_back(*chip);
    }
    return chips;
}

}  // namespace

Result<int> print_predictions(const engine::EngineOptions& options, std::span<const Target> targets, bool as_json,
                              Reporter& reporter) {
    RIFTJIT_TRY(chips, chips_of(targets));
    RIFTJIT_TRY(model, engine::open_model(options.model, reporter.warner(), options.adapters));
    RIFTJIT_TRY(graph, model.build());
    const uint32_t context =
        options.context != 0 ? options.context : std::min(kUsualContext, model.hyperparameters.context_length);
    const auto kernels = engine::open_kernel_cache(options.cache_directory, options.cache_mode, reporter.warner());
    std::string text =
        fmt::format("{}\n{}: one token at position {} (-c {}), keys {}, values {}\n", kWhatItIs,
                    model.file.path().string(), context - 1, context, name(options.key_type), name(options.value_type));
    auto predictions = nlohmann::ordered_json::array();
    for (const rdna::Target chip : chips) {
        const auto predicted = [&] {
            const Progress progress(fmt::format("counting for {}", name(chip)));
            return runtime::predict_token(graph, {context, 1, options.key_type, options.value_type, options.passes, 1},
                                          chip, *kernels);
        }();
        if (!predicted) return std::unexpected(predicted.error());
        if (as_json)
            predictions.push_back(json_of(chip, *predicted));
        else
            text += table(chip, *predicted);
    }
    if (as_json)
        text = json_text(nlohmann::ordered_json{{"what", kWhatItIs},
                                                {"model", model.file.path().string()},
                                                {"position", context - 1},
                                                {"cache_type_k", name(options.key_type)},
                                                {"cache_type_v", name(options.value_type)},
                                                {"predictions", std::move(predictions)}}) +
               "\n";
    else
        text += kLegend;
    write_output(text);
    return kExitDone;
}

}  // namespace riftjit::tools

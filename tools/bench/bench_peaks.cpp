#include "tools/bench/bench_peaks.h"

#include <fmt/format.h>

#include "engine/machine.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "jit/cache/kept_file.h"
#include "jit/x86/detect.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

constexpr const char* kFileName = "peaks.json";

void print_table(const runtime::Peaks& peaks) {
    fmt::print("{:<18} {:>14} {:>14}\n", fmt::format("level {}", name(peaks.isa)), "1 thread",
               fmt::format("{} threads", peaks.threads));
    for (size_t i = 0; i < runtime::kPeaks.size(); ++i)
        if (const auto& value = peaks.values[i])
            fmt::print("{:<18} {:>14.2f} {:>14.2f}\n", runtime::name(runtime::kPeaks[i]), value->one_thread,
                       value->all_threads);
}

}  // namespace

ordered_json to_json(const runtime::Peaks& peaks, const std::string& processor) {
    ordered_json object = {{"isa", name(peaks.isa)}, {"threads", peaks.threads}, {"processor", processor}};
    for (size_t i = 0; i < runtime::kPeaks.size(); ++i)
        if (const auto& value = peaks.values[i])
            object[std::string(runtime::name(runtime::kPeaks[i]))] = {{"one_thread", value->one_thread},
                                                                      {"all_threads", value->all_threads}};
    return object;
}

std::optional<ordered_json> load_peaks(const std::string& cache_directory) {
    const auto text = load_kept(cache_directory, kFileName);
    if (!text) return std::nullopt;
    ordered_json object = parse_json<ordered_json>(*text);
    if (!object.is_object()) return std::nullopt;
    return object;
}

std::optional<double> rate_of_all_threads(const ordered_json& peaks, x86::Peak peak) {
    const auto found = peaks.find(std::string(runtime::name(peak)));
    if (found == peaks.end() || !found->contains("all_threads")) return std::nullopt;
    const ordered_json& rate = (*found)["all_threads"];
    if (!rate.is_number() || !(rate.get<double>() > 0)) return std::nullopt;
    return rate.get<double>();
}

Result<ordered_json> kept_or_measured_peaks(const KernelChoice& kernels, uint32_t threads, Reporter& reporter) {
    RIFTJIT_TRY(isa, engine::select_isa(kernels.max_isa));
    const std::string processor = x86::detect().name;
    const auto kept = load_peaks(kernels.cache_directory);
    const auto says = [&kept](const char* key, const ordered_json& value) {
        return kept && kept->contains(key) && (*kept)[key] == value;
    };
    const bool is_of_processor = says("processor", processor);
    if (is_of_processor && says("isa", name(isa)) && says("threads", threads) &&
        rate_of_all_threads(*kept, x86::Peak::read) && rate_of_all_threads(*kept, x86::Peak::f32_fma))
        return *kept;
    RIFTJIT_TRY(peaks, runtime::measure_peaks(isa, threads));
    const ordered_json measured = to_json(peaks, processor);
    if (is_of_processor || kernels.cache_mode != "rw") return measured;
    if (const auto saved = keep(kernels.cache_directory, kFileName, json_text(measured, 2) + "\n"); !saved)
        reporter.warn("the peaks are not kept: " + saved.error().message);
    return measured;
}

Result<int> run_peaks(const BenchOptions& options, Reporter& reporter) {
    RIFTJIT_TRY(isa, engine::select_isa(options.kernels.max_isa));
    const uint32_t threads = options.threads.empty() ? default_threads() : options.threads.front();
    RIFTJIT_TRY(peaks, runtime::measure_peaks(isa, threads));
    const std::string text = json_text(to_json(peaks, x86::detect().name), 2) + "\n";
    if (options.peaks_json)
        fmt::print("{}", text);
    else
        print_table(peaks);
    if (options.kernels.cache_mode != "rw") return kExitDone;
    if (const auto kept = keep(options.kernels.cache_directory, kFileName, text); !kept)
        reporter.warn("the peaks are not kept: " + kept.error().message);
    return kExitDone;
}

}  // namespace riftjit::tools

#include "tools/bench/bench_peaks.h"

#include <fmt/format.h>

#include <span>

#include "engine/machine.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "jit/cache/cache_directory.h"
#include "jit/cache/disk_cache.h"
#include "jit/x86/detect.h"
#include "tools/cli/input_file.h"
#include "tools/cli/output_file.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

// Beside the entries, so that the cache's own commands never meet it.
constexpr const char* kFileName = "peaks.json";

// Written whole or not at all: readers may look at any time. The cache's own resolver makes the directory private:
// others' write permission would make the cache refuse it.
Result<void> keep(const std::string& cache_directory, const std::string& text) {
    RIFTJIT_TRY(place, locate_cache(cache_directory));
    RIFTJIT_TRY_VOID(open_cache_directory(place, Absent::create));
    return write_file((place.root / kFileName).string(), std::as_bytes(std::span(text)));
}

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

std::optional<std::filesystem::path> peaks_path(const std::string& cache_directory, std::string& reason) {
    const auto entries = resolve_cache_directory(cache_directory, reason);
    if (!entries) return std::nullopt;
    return entries->parent_path() / kFileName;
}

std::optional<ordered_json> load_peaks(const std::string& cache_directory) {
    std::string reason;
    const auto path = peaks_path(cache_directory, reason);
    if (!path) return std::nullopt;
    constexpr size_t kMostBytes = 1 << 16;
    const auto text = read_text_bytes(path->string(), kMostBytes);
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
    if (const auto saved = keep(kernels.cache_directory, json_text(measured, 2) + "\n"); !saved)
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
    if (const auto kept = keep(options.kernels.cache_directory, text); !kept)
        reporter.warn("the peaks are not kept: " + kept.error().message);
    return kExitDone;
}

}  // namespace riftjit::tools

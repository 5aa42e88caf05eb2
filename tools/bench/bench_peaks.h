// `riftjit bench --peaks`: measures the machine's limits, prints them, and keeps them in the cache directory.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/cpu/peaks.h"
#include "tools/bench/bench_options.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

// Keys: isa, threads, processor, and per peak {"one_thread", "all_threads"} in 10^9 per second.
nlohmann::ordered_json to_json(const runtime::Peaks& peaks, const std::string& processor);

// The kept measurement; nullopt when there is none that can be read.
std::optional<nlohmann::ordered_json> load_peaks(const std::string& cache_directory);

// 10^9 bytes or operations per second; nullopt where a measurement has none.
std::optional<double> rate_of_all_threads(const nlohmann::ordered_json& peaks, x86::Peak peak);

// The kept measurement where it is of this processor, level and number of threads. Else one made now, which is kept
// where there is none of this processor and the cache may be written.
Result<nlohmann::ordered_json> kept_or_measured_peaks(const KernelChoice& kernels, uint32_t threads,
                                                      Reporter& reporter);

Result<int> run_peaks(const BenchOptions& options, Reporter& reporter);

}  // namespace riftjit::tools

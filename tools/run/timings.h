// Where a run's time went, as lines for stderr and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/generation.h"
#include "jit/cache/kernel_cache.h"

namespace riftjit::tools {

struct RunTimings {
    double load_ms = 0, kernels_ms = 0, total_ms = 0;
    engine::Timings generation;  // of all answers
    bool drafts = false;         // whether guesses were asked for
};

// llama.cpp's block of lines, "common_perf_print: ...".
std::string timing_block(const RunTimings& timings, const CacheStatistics& cache);
nlohmann::ordered_json to_json(const RunTimings& timings);

}  // namespace riftjit::tools

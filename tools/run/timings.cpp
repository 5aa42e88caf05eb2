#include "tools/run/timings.h"

#include <fmt/format.h>

namespace riftjit::tools {

std::string timing_block(const RunTimings& timings, const CacheStatistics& cache) {
    const engine::Timings& t = timings.generation;
    const auto rate = [](double ms, uint32_t count, const char* what) {
        return fmt::format("{:10.2f} ms / {:5} {:<6} ({:8.2f} ms per token, {:9.2f} tokens per second)", ms, count,
                           what, count == 0 ? 0.0 : ms / count, ms == 0.0 ? 0.0 : 1000.0 * count / ms);
    };
    std::string text;
    const auto line = [&](const char* what, const std::string& value) {
        text += fmt::format("common_perf_print: {:>18} = {}\n", what, value);
    };
    line("load time", fmt::format("{:10.2f} ms", timings.load_ms));
    line("jit compile time",
         fmt::format("{:10.2f} ms / {} cache hits, {} misses", timings.kernels_ms, cache.hits, cache.misses));
    line("sampling time", rate(t.sample_ms, t.sampled_tokens, "tokens"));
    line("prompt eval time", rate(t.prompt_ms, t.prompt_tokens, "tokens"));
    line("eval time", rate(t.generation_ms, t.generation_runs, "runs"));
    line("total time", fmt::format("{:10.2f} ms / {:5} tokens", timings.total_ms, t.prompt_tokens + t.generation_runs));
    line("unaccounted time", fmt::format("{:10.2f} ms", timings.total_ms - timings.load_ms - timings.kernels_ms -
                                                            t.sample_ms - t.prompt_ms - t.generation_ms));
    return text;
}

nlohmann::ordered_json to_json(const RunTimings& timings) {
    const engine::Timings& t = timings.generation;
    const auto rate = [](uint32_t count, double ms) { return ms > 0 ? 1000.0 * count / ms : 0.0; };
    return {{"load_ms", timings.load_ms},
            {"prompt_n", t.prompt_tokens},
            {"prompt_ms", t.prompt_ms},
            {"prompt_per_second", rate(t.prompt_tokens, t.prompt_ms)},
            {"predicted_n", t.generation_runs},
            {"predicted_ms", t.generation_ms},
            {"predicted_per_second", rate(t.generation_runs, t.generation_ms)},
            {"sample_ms", t.sample_ms},
            {"total_ms", timings.total_ms}};
}

}  // namespace riftjit::tools

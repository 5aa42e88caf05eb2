#include "tools/run/timings.h"

#include <fmt/format.h>

namespace riftjit::tools {

namespace {

double share(uint32_t part, uint32_t whole) { return whole == 0 ? 0 : static_cast<double>(part) / whole; }

// "; by place 0.91 0.82 0.70"
std::string by_place(const engine::Timings& t) {
    std::string text;
    for (size_t place = 0; place < t.drafted_at.size(); ++place)
        text += fmt::format("{}{:.2f}", text.empty() ? "; by place " : " ",
                            share(place < t.accepted_at.size() ? t.accepted_at[place] : 0, t.drafted_at[place]));
    return text;
}

}  // namespace

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
    if (timings.drafts) {
        const uint32_t drafted = t.drafted(), accepted = t.accepted();
        line("draft time", rate(t.draft_ms, drafted, "tokens"));
        line("draft acceptance", fmt::format("{:10.5f}    / {:5} of {} tokens in {} steps{}", share(accepted, drafted),
                                             accepted, drafted, t.generation_steps, by_place(t)));
    }
    line("total time", fmt::format("{:10.2f} ms / {:5} tokens", timings.total_ms, t.prompt_tokens + t.generation_runs));
    line("unaccounted time", fmt::format("{:10.2f} ms", timings.total_ms - timings.load_ms - timings.kernels_ms -
                                                            t.sample_ms - t.prompt_ms - t.generation_ms - t.draft_ms));
    return text;
}

nlohmann::ordered_json to_json(const RunTimings& timings) {
    const engine::Timings& t = timings.generation;
    const auto rate = [](uint32_t count, double ms) { return ms > 0 ? 1000.0 * count / ms : 0.0; };
    nlohmann::ordered_json json = {{"load_ms", timings.load_ms},
                                   {"prompt_n", t.prompt_tokens},
                                   {"prompt_ms", t.prompt_ms},
                                   {"prompt_per_second", rate(t.prompt_tokens, t.prompt_ms)},
                                   {"predicted_n", t.generation_runs},
                                   {"predicted_ms", t.generation_ms},
                                   {"predicted_per_second", rate(t.generation_runs, t.generation_ms)},
                                   {"sample_ms", t.sample_ms},
                                   {"total_ms", timings.total_ms}};
    if (timings.drafts)
        json.update({{"draft_n", t.drafted()},
                     {"draft_n_accepted", t.accepted()},
                     {"draft_ms", t.draft_ms},
                     {"draft_n_by_place", t.drafted_at},
                     {"draft_n_accepted_by_place", t.accepted_at},
                     {"predicted_steps", t.generation_steps}});
    return json;
}

}  // namespace riftjit::tools

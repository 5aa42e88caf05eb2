// The token loop: a prompt in, text out piece by piece, with timings.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/logits_hash.h"
#include "runtime/sampling/sampler.h"
#include "tools/run/engine.h"

namespace riftjit::tools {

enum class StopReason { end_of_generation, stop_word, length, interrupted };
const char* name(StopReason reason);  // "eos", "word", "length", "interrupted"

struct GenerationOptions {
    int64_t max_tokens = -1;  // -1, -2: until something else stops it
    std::vector<std::string> stop_words;
    models::Tokenizer::ShowControl show_control = models::Tokenizer::ShowControl::no;
    uint32_t batch = 512;  // prompt tokens between looks at Ctrl-C
};

struct Timings {
    double load_ms = 0, kernels_ms = 0, sample_ms = 0, prompt_ms = 0, generation_ms = 0, total_ms = 0;
    uint32_t prompt_tokens = 0, sampled_tokens = 0, generation_runs = 0;  // runs: decode steps after the first token
};

struct Generation {
    std::vector<int32_t> ids;  // without the end token
    std::string text;
    StopReason reason = StopReason::length;
};

// Appends `prompt` to the session's context, then samples. `print` gets whole UTF-8 characters as they are ready; false
// from it (the reader left) stops the generation.
using Print = std::function<bool(std::string_view)>;
Result<Generation> generate(Engine& engine, runtime::Sampler& sampler, runtime::LogitsHash* hash,
                            std::span<const int32_t> prompt, const GenerationOptions& options, const Print& print,
                            Timings& timings);

// llama.cpp's block of lines, "common_perf_print: ...", for stderr.
std::string timing_block(const Timings& timings, const CacheStatistics& cache);
uint64_t peak_rss_bytes();

}  // namespace riftjit::tools

#include "tools/bench/bench_record.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

bool fits_last_level_cache(uint64_t bytes) {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 && bytes <= uint64_t(cache);
}

// Of what llama-bench reports, the part that says nothing about a program of one device keeps its neutral values.
ordered_json setup_json(const BenchResult& r) {
    const BenchSetup& setup = r.test.setup;
    return {
        {"build_commit", r.build},
        {"build_number", r.build_number},
        {"cpu_info", r.processor},
        {"gpu_info", r.device},
        {"backends", r.device.empty()                   ? "CPU"
                     : r.device.starts_with("emulate:") ? "software machine"
                                                        : "HIP"},
        {"model_filename", r.model.filename},
        {"model_type", r.model.type},
        {"model_size", r.model.size_bytes},
        {"model_n_params", r.model.parameters},
        {"n_batch", setup.batch},
        {"n_ubatch", setup.ubatch},
        {"n_threads", setup.threads},
        {"cpu_mask", "0x0"},
        {"cpu_strict", false},
        {"poll", 50},
        {"type_k", name(setup.type_k)},
        {"type_v", name(setup.type_v)},
        {"n_gpu_layers", r.device.empty() ? 0 : -1},
        {"n_cpu_moe", 0},
        {"split_mode", "none"},
        {"main_gpu", 0},
        {"no_kv_offload", false},
        {"flash_attn", 1},
        {"devices", r.device.empty() ? "none" : r.device},
        {"tensor_split", "0.00"},
        {"tensor_buft_overrides", "none"},
        {"load_mode", "mmap"},
        {"lazy_mode", "off"},
        {"embeddings", false},
        {"no_op_offload", 0},
        {"no_host", false},
        {"repack", true},
        {"fit_target", 0},
        {"fit_min_ctx", 0},
    };
}

}  // namespace

Statistics statistics(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    const size_t count = samples.size();
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / double(count);
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    return {mean, count > 1 ? std::sqrt(squares / double(count - 1)) : 0.0,
            (samples[(count - 1) / 2] + samples[count / 2]) / 2, samples.front()};
}

std::vector<double> BenchResult::tokens_per_second() const {
    std::vector<double> speeds;
    for (const uint64_t ns : samples_ns) speeds.push_back(1e9 * (test.prompt + test.generate) / double(ns));
    return speeds;
}

ordered_json to_json(const BenchResult& r) {
    ordered_json object = setup_json(r);
    const Statistics times = statistics({r.samples_ns.begin(), r.samples_ns.end()});
    const Statistics speeds = statistics(r.tokens_per_second());
    const double median_speed = 1e9 * (r.test.prompt + r.test.generate) / times.median;
    object.update(ordered_json{
        {"n_prompt", r.test.prompt},
        {"n_gen", r.test.generate},
        {"n_depth", r.test.depth},
        {"test_time", r.test_time},
        {"avg_ns", uint64_t(times.mean)},
        {"stddev_ns", uint64_t(times.deviation)},
        {"avg_ts", speeds.mean},
        {"stddev_ts", speeds.deviation},
        {"median_ns", uint64_t(times.median)},
        {"min_ns", uint64_t(times.least)},
        {"isa", r.isa},
        {"prompt_isa", r.prompt_isa},
        {"jit_compile_ns", r.jit_compile_ns},
        {"cache_hits", r.cache_hits},
        {"cache_misses", r.cache_misses},
        {"bytes_per_token", uint64_t(r.bytes_per_token)},
        {"pct_membw",
         r.peak_read_bytes_per_second == 0 ? 0 : 100 * median_speed * r.bytes_per_token / r.peak_read_bytes_per_second},
        {"gflops", median_speed * r.flops_per_token * 1e-9},
        {"logits_hash", r.logits_hash},
        {"peak_rss_bytes", r.peak_rss_bytes},
        {"ic_resident", fits_last_level_cache(r.weight_bytes)},
        {"queued_pct", 100 * r.queued},
        {"samples_ns", r.samples_ns},
        {"samples_ts", r.tokens_per_second()},
    });
    for (const KernelTime& kernel : r.profile)
        object["profile"].push_back({{"op", kernel.op},
                                     {"steps", kernel.steps},
                                     {"thread_seconds", kernel.seconds},
                                     {"waiting_seconds", kernel.waiting}});
    return object;
}

}  // namespace riftjit::tools

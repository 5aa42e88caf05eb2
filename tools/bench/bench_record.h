// One line of a benchmark: what was run, on what, how long it took, and how that compares with the machine's limits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tools/bench/bench_options.h"

namespace riftjit::tools {

// Of the samples; deviations are those of a sample (n - 1), as llama-bench has them.
struct Statistics {
    double mean = 0, deviation = 0, median = 0, least = 0;
};
Statistics statistics(std::vector<double> samples);

struct BenchModel {
    std::string filename, type;
    uint64_t size_bytes, parameters;
};

// One kernel's time in one more run of the test, which is not among the samples.
struct KernelTime {
    std::string op;               // "matmul q4_k 1024x1024, tile form"
    uint32_t steps;               // of the plan that are this kernel
    std::vector<double> seconds;  // by thread
    double waiting;               // of all threads, for the others behind it
    double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
};

// The same of one plan, with what it computed and read.
struct KernelWork {
    std::string op;
    double operations, bytes;
    double seconds;  // of the slowest thread
    double share;    // of all threads' time in the test, waiting included
};
struct PlanWork {
    bool is_decode;  // the plan of one row
    std::vector<KernelWork> kernels;
};

struct BenchResult {
    BenchTest test;
    BenchModel model;
    std::string processor, device, isa, prompt_isa, build, test_time;  // device: empty on the processor
    uint32_t build_number;
    std::vector<uint64_t> samples_ns;  // one per repetition
    std::string logits_hash;
    uint64_t jit_compile_ns;
    uint32_t cache_hits, cache_misses;
    uint64_t peak_rss_bytes;
    // Per token of the test, on average: what has to be read, and arithmetic.
    double bytes_per_token, flops_per_token;
    double peak_read_bytes_per_second;  // 0: not measured; a plain read of the same weights by the same threads, in the
                                        // same run
    uint64_t weight_bytes;              // read for one token
    std::vector<KernelTime> profile;    // --profile; the longest first
    std::vector<PlanWork> work;         // --roofline; of the plans that ran
    double queued;                      // share of the threads' time that they waited for a CPU, because other work ran

    std::vector<double> tokens_per_second() const;
};

// Every key of llama-bench, then ours; arrays last.
nlohmann::ordered_json to_json(const BenchResult& result);

}  // namespace riftjit::tools

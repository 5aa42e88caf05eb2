// A picture of benchmarks: tokens per second over threads.
#pragma once

#include <span>
#include <string>

#include "host/result.h"
#include "tools/bench/bench_record.h"

namespace riftjit::tools {

// Results that differ in nothing but the threads are a line.
struct ThreadLine {
    std::string label;  // "qwen3-0.6b-q8_0: pp512"
    struct Point {
        uint32_t threads;
        double rate, deviation;  // tokens per second
    };
    std::vector<Point> points;  // by threads
};
std::vector<ThreadLine> thread_lines(std::span<const BenchResult> results);

// Both axes are logarithmic, so that a test of ten tokens per second and one of thousands are read alike: what gains as
// much as it has threads is a straight line, which is drawn thin from each line's first point. Replaces the file.
Result<void> write_thread_plot(const std::string& path, std::span<const BenchResult> results);

}  // namespace riftjit::tools

// A picture of where each kernel of a test stands against this machine's limits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "tools/bench/bench_record.h"

namespace riftjit::tools {

struct Roof {
    std::string label;  // "f32 FMA 96 GOP/s"
    double rate;        // 10^9 operations per second
};
struct Roofs {
    std::string read_label;
    double read;                   // 10^9 bytes per second
    std::vector<Roof> arithmetic;  // the lowest first
};
// Of what to_json() made of all threads' peaks: the reads, and the arithmetic that kernels of this level are made of. A
// tile multiplies codes of 16 bits in digits, two or three products for one of the model's: such a matmul stays below
// that part of its roof.
Roofs roofs_of(const nlohmann::ordered_json& peaks);

// Intensity is operations per byte, both axes are logarithmic, and a square's area is the share of the time; those of
// 3 % and more have a name. A colour is a plan of a test. A kernel whose rows come from caches may lie above the reads.
// Replaces the file.
Result<void> write_roofline(const std::string& path, const Roofs& roofs, std::span<const BenchResult> results);

}  // namespace riftjit::tools

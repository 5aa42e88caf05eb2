// What the launches of a test compute and what they read: counted from the plans, for --roofline.
#pragma once

#include <vector>

#include "graph/plan.h"
#include "tools/bench/bench_record.h"

namespace riftjit::tools {

// One walk of a plan.
struct PlanRun {
    uint32_t rows, position;  // the latter of the first row
    bool has_output;          // logits of the last row are wanted
};
// Those of a test, in order; one of a single row walks the decode plan.
std::vector<PlanRun> plan_runs(const BenchTest& test);

// An addition and a multiplication are two operations, of integers too. Bytes are those that a launch cannot do
// without: weights, keys and values, and the rows that it takes, each once.
struct Work {
    double operations = 0, bytes = 0;
};
Work work_of(const graph::Step& step, const PlanRun& run, const Backend& backend);

}  // namespace riftjit::tools

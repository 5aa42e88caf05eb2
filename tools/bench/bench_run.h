// Runs one test after the other on one loaded model.
#pragma once

#include <functional>

#include "engine/context.h"
#include "engine/engine.h"
#include "tools/bench/bench_record.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

// A model loaded for tests of one setup.
class BenchSession {
public:
    // context: the most positions that any test of this setup needs.
    static Result<BenchSession> open(const BenchSetup& setup, uint32_t context, const BenchOptions& options,
                                     Reporter& reporter);

    using Progress = std::function<void(const std::string&)>;
    // The timed repetitions with everything that is said of them. Fails when repetitions give different logits.
    Result<BenchResult> measure(const BenchTest& test, const BenchOptions& options, const Progress& progress);

private:
    struct Sample {
        uint64_t nanoseconds;
        double queued;
        std::string logits_hash;
    };

    Result<void> warm_up(const BenchTest& test);
    Result<std::span<const float>> evaluate(uint32_t count);  // of the synthetic tokens, the next ones
    Result<void> fill(uint32_t depth, uint32_t batch);
    Result<Sample> time_once(const BenchTest& test);
    Result<void> profile(const BenchTest& test, const BenchOptions& options, BenchResult& result);
    std::vector<KernelTime> kernel_times() const;
    std::vector<PlanWork> plan_work(const BenchTest& test) const;
    void describe_work(const BenchTest& test, BenchResult& result) const;

    BenchSession(engine::LoadedModel loaded, BenchModel model)
        : model_(std::move(model)), loaded_(std::move(loaded)), context_(*loaded_.session) {}

    BenchModel model_;
    engine::LoadedModel loaded_;
    engine::Context context_;
    double peak_read_bytes_per_second_ = 0;
    uint64_t kv_bytes_per_position_ = 0;
    std::vector<int32_t> tokens_;  // synthetic, the same in every run
};

}  // namespace riftjit::tools

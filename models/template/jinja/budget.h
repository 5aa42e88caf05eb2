// What one rendering may use. Templates come with downloaded models: they must not be able to hang or fill the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "models/template/jinja/error.h"

namespace riftjit::models::jinja {

inline constexpr size_t kMaxTemplateBytes = 1 << 20;
inline constexpr uint32_t kMaxNesting = 192;      // of blocks and expressions in the source
inline constexpr uint32_t kMaxDepth = 800;        // of evaluations, so also of macro calls
inline constexpr uint32_t kMaxDataNesting = 200;  // of lists and dictionaries, when printed or compared
inline constexpr uint64_t kMaxIterations = 500'000;
inline constexpr uint64_t kMaxWork = 10'000'000;  // evaluated nodes; 64 bytes of text count as one
inline constexpr int64_t kMaxRange = 100'000;     // as in jinja2's sandbox

class Budget {
public:
    // Every byte of the conversation may be copied a few dozen times, whatever its length.
    explicit Budget(size_t input_bytes, uint64_t most_output_bytes = UINT64_MAX)
        : memory_limit_(std::min<uint64_t>((96ull << 20) + 64ull * input_bytes, 1ull << 30)),
          work_limit_(kMaxWork + input_bytes),
          output_limit_(most_output_bytes) {}

    void iterate() {
        if (++iterations_ > kMaxIterations) refuse("more than {} loop iterations and macro calls", kMaxIterations);
        work(1);
    }
    void work(uint64_t units) {
        work_ += units;
        if (work_ > work_limit_) refuse("more than {} steps", work_limit_);
    }
    void memory(uint64_t bytes) {
        memory_ += bytes;
        if (bytes > memory_limit_ || memory_ > memory_limit_) refuse("more than {} bytes of values", memory_limit_);
        work(bytes / 64);
    }

    // What the rendering would have by now, before it is put there.
    void output(uint64_t bytes) const {
        if (bytes > output_limit_)
            refuse("the text has {} bytes by now, more than the {} that fit", bytes, output_limit_);
    }

    // One level of evaluation, for as long as it lives.
    class Level {
    public:
        explicit Level(Budget& budget) : budget_(budget) {
            if (++budget_.depth_ > kMaxDepth) {
                --budget_.depth_;
                refuse("evaluation nests deeper than {} levels", kMaxDepth);
            }
        }
        ~Level() { --budget_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Budget& budget_;
    };

private:
    uint64_t memory_limit_, work_limit_, output_limit_;
    uint64_t iterations_ = 0, work_ = 0, memory_ = 0;
    uint32_t depth_ = 0;
};

}  // namespace riftjit::models::jinja

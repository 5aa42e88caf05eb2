// The tokens that may still be sampled, with what the stages of the chain ask of them. No allocation once reserved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace riftjit::runtime {

struct Candidate {
    int32_t id;
    float logit;
    float probability;  // as of the last softmax()
    float score;        // scratch of one stage
};

class Candidates {
public:
    void reserve(size_t count) { entries_.reserve(count); }

    void clear() { entries_.clear(), ranked_ = 0; }
    void add(int32_t id, float logit) { entries_.push_back({id, logit, 0, 0}); }

    size_t size() const { return entries_.size(); }
    Candidate& operator[](size_t index) { return entries_[index]; }
    std::span<Candidate> all() { return entries_; }

    // Makes the first `count` the most probable ones, in falling order; of equal logits the lower id comes first.
    void rank(size_t count);
    // To be called after logits were changed in a way that may change their order.
    void forget_ranks() { ranked_ = 0; }
    // The same by score, the lowest first. Forgets the ranks.
    void rank_by_score(size_t count);

    void keep_first(size_t count);
    void drop_first(size_t count);
    void drop_below(float logit);

    float highest_logit() const;
    void softmax();  // fills probability

private:
    std::vector<Candidate> entries_;
    size_t ranked_ = 0;  // this many at the front are in order, and none of the others belongs before them
};

}  // namespace riftjit::runtime

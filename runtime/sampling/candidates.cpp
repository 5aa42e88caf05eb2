#include "runtime/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace riftjit::runtime {
namespace {

bool more_probable(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

bool lower_score(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : more_probable(a, b);
}

// Sorts the first `count` of [begin, end), none of the rest belonging before them. Unlike std::partial_sort it takes
// linear time for the rest even when the range is nearly in rising order.
template <class Less>
void sort_front(std::span<Candidate> range, size_t count, Less less) {
    if (count < range.size()) std::nth_element(range.begin(), range.begin() + count, range.end(), less);
    std::sort(range.begin(), range.begin() + count, less);
}

}  // namespace

void Candidates::rank(size_t count) {
    count = std::min(count, entries_.size());
    if (count <= ranked_) return;
    sort_front(std::span(entries_).subspan(ranked_), count - ranked_, more_probable);
    ranked_ = count;
}

void Candidates::rank_by_score(size_t count) {
    sort_front(std::span(entries_), std::min(count, entries_.size()), lower_score);
    ranked_ = 0;
}

void Candidates::keep_first(size_t count) {
    if (count < entries_.size()) entries_.resize(count);
    ranked_ = std::min(ranked_, entries_.size());
}

void Candidates::drop_first(size_t count) {
    entries_.erase(entries_.begin(), entries_.begin() + count);
    ranked_ -= std::min(ranked_, count);
}

void Candidates::drop_below(float logit) {
    std::erase_if(entries_, [logit](const Candidate& candidate) { return candidate.logit < logit; });
    ranked_ = std::min(ranked_, entries_.size());  // if a ranked one went, so did everything behind it
}

float Candidates::highest_logit() const {
    if (ranked_ > 0) return entries_.front().logit;
    float highest = -std::numeric_limits<float>::infinity();
    for (const Candidate& candidate : entries_) highest = std::max(highest, candidate.logit);
    return highest;
}

void Candidates::softmax() {
    const float highest = highest_logit();
    double sum = 0;
    for (Candidate& candidate : entries_) {
        candidate.probability = std::exp(candidate.logit - highest);
        sum += candidate.probability;
    }
    const float inverse = float(1 / sum);
    for (Candidate& candidate : entries_) candidate.probability *= inverse;
}

}  // namespace riftjit::runtime

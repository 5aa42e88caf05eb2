// The stages of the sampler's chain, each a function over the candidates. Definitions are those of llama.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/random.h"

namespace riftjit::runtime::stages {

// Truncations. Each leaves at least one candidate, and at least min_keep of them if there are as many.
void top_k(Candidates& candidates, size_t count);
void top_p(Candidates& candidates, float p, size_t min_keep);      // the fewest whose probabilities reach p
void min_p(Candidates& candidates, float p, size_t min_keep);      // those with p times the best's probability
void typical_p(Candidates& candidates, float p, size_t min_keep);  // nearest to the entropy, until they exceed p
void top_n_sigma(Candidates& candidates, float n);                 // within n standard deviations of the best
void xtc(Candidates& candidates, float probability, float threshold, size_t min_keep, Random& random);

void temperature(Candidates& candidates, float temperature);
// Between temperature - range and temperature + range, by the normalised entropy to the power of `exponent`.
void dynamic_temperature(Candidates& candidates, float temperature, float range, float exponent);

// Choices: the index of the sampled candidate.
size_t draw(Candidates& candidates, Random& random);

// Mirostat (Basu et al. 2020, arXiv:2007.14966) keeps the surprise of the text near tau bits.
class MirostatState {
public:
    MirostatState(float tau, float eta) : tau_(tau), eta_(eta), mu_(2 * tau) {}
    size_t draw_v1(Candidates& candidates, uint32_t vocabulary,
                   Random& random);                          // estimates Zipf's exponent, then top-k
    size_t draw_v2(Candidates& candidates, Random& random);  // cuts at a surprise of mu

private:
    size_t draw_and_learn(Candidates& candidates, Random& random);
    float tau_, eta_, mu_;
};

// Prefers tokens whose probability is near a target that moves so that the average of the chosen ones meets it.
class AdaptiveP {
public:
    AdaptiveP(float target, float decay)
        : target_(target), decay_(decay), weighted_sum_(target / (1 - decay)), total_weight_(1 / (1 - decay)) {}
    size_t draw(Candidates& candidates, Random& random);
    void accept(int32_t id);  // only the token drawn last moves the target

private:
    float target_, decay_, weighted_sum_, total_weight_;
    int32_t drawn_id_ = -1;
    float drawn_probability_ = 0;
};

}  // namespace riftjit::runtime::stages

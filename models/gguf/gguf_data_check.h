// The optional look at the weights themselves (--check-tensors): values that are not numbers, and holes of zeros.
#pragma once

#include <string>
#include <vector>

#include "models/gguf/gguf.h"

namespace riftjit::models {

enum class FindingLevel : uint8_t {
    note,     // legal and decoded exactly, but worth a look: subnormal or negative-zero block scales
    warning,  // legal and suspicious: a run of zeros, as an interrupted download leaves
    error,    // NaN or infinity: every output that it reaches is NaN
};

struct Finding {
    FindingLevel level;
    std::string tensor;
    std::string message;  // "model.gguf: tensor 'T' (info at byte N): block 17 (at byte M): scale is NaN; ..."
};

// Reads every byte of every tensor; of quantised blocks only scales and minima can be wrong.
std::vector<Finding> check_tensors(const Gguf& file);

}  // namespace riftjit::models

// What a model's graph ends with.
#pragma once

#include "models/architectures/block_parts.h"

namespace riftjit::models {

// Of rows that are normed already, as the model's output says: their logits, by output.weight or `table`, that of the
// tokens; the rows as they are; or the scores of the classifier (cls.weight behind a tanh, then cls.output.weight;
// either may be missing).
Result<graph::TensorId> add_output_head(const BlockParts& parts, graph::TensorId x, graph::TensorId table);

}  // namespace riftjit::models

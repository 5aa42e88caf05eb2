// What a model's matrices are multiplied by, over a text: sums of squares by column, as llama-imatrix gathers them.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "models/quantize/importance.h"
#include "runtime/device.h"

namespace riftjit::engine {

enum class OutputMatrix : uint8_t { left_out, counted };

class ImportanceCollector {
public:
    // `graph`: of the model whose session it will look at, which runs without passes. Counted are matrices of layers.
    ImportanceCollector(const graph::Graph& graph, OutputMatrix output);

    runtime::ProductObserver observer();  // the collector must outlive it
    // Of everything so far, without texts and chunks.
    models::ImportanceMatrix matrix() const;

private:
    struct Sums {
        std::string name;
        std::vector<double> squares;   // [matrix][width]
        std::vector<uint64_t> counts;  // of rows; one for all heads of an attention
    };
    void add(const runtime::ProductInput& input);

    std::vector<Sums> sums_;
    std::vector<size_t> sums_of_;  // by tensor id
};

}  // namespace riftjit::engine

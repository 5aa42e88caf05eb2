#include "engine/importance_collector.h"

#include <set>

namespace riftjit::engine {

namespace {

constexpr size_t kNotCounted = SIZE_MAX;

// Parts of a matrix, rows of it, have its name with "[what]" behind it.
std::string name_in_file(const std::string& name) { return name.substr(0, name.find('[')); }

}  // namespace

ImportanceCollector::ImportanceCollector(const graph::Graph& graph, OutputMatrix output) {
    std::set<graph::TensorId> products_of_heads;
    for (const graph::Node& node : graph.nodes)
        if (const auto* product = std::get_if<graph::HeadProductOp>(&node.op))
            products_of_heads.insert(product->weight);
    std::set<std::string> names;
    for (graph::TensorId id = 0; id < graph.tensors.size(); ++id) {
        const graph::Tensor& tensor = graph.tensor(id);
        const std::string name = name_in_file(tensor.name);
        const bool is_wanted =
            tensor.kind == graph::TensorKind::weight &&
            (name.starts_with("blk.") || (output == OutputMatrix::counted && name == "output.weight"));
        // Parts of one matrix are multiplied by the same rows.
        if (!is_wanted || !names.insert(name).second) {
            sums_of_.push_back(kNotCounted);
            continue;
        }
        sums_of_.push_back(sums_.size());
        const size_t counts = products_of_heads.contains(id) ? 1 : tensor.matrices;
        sums_.push_back(
            {name, std::vector<double>(size_t(tensor.matrices) * tensor.width), std::vector<uint64_t>(counts)});
    }
}

runtime::ProductObserver ImportanceCollector::observer() {
    return [this](const runtime::ProductInput& input) { add(input); };
}

void ImportanceCollector::add(const runtime::ProductInput& input) {
    const size_t index = sums_of_[input.weight];
    if (index == kNotCounted) return;
    Sums& sums = sums_[index];
    double* const squares = sums.squares.data() + input.matrix * input.row.size();
    for (size_t i = 0; i < input.row.size(); ++i) squares[i] += double(input.row[i]) * double(input.row[i]);
    // Heads have a row each of every token, which counts once.
    if (sums.counts.size() > 1 || input.matrix == 0) ++sums.counts[sums.counts.size() > 1 ? input.matrix : 0];
}

models::ImportanceMatrix ImportanceCollector::matrix() const {
    models::ImportanceMatrix matrix;
    for (const Sums& sums : sums_) {
        models::ImportanceEntry entry;
        uint64_t rows = 0;
        for (const double each : sums.squares) entry.sums.push_back(float(each));
        for (const uint64_t each : sums.counts) {
            entry.counts.push_back(float(each));
            rows += each;
        }
        if (rows > 0) matrix.entries.emplace(sums.name, std::move(entry));  // vectors are weights too
    }
    return matrix;
}

}  // namespace riftjit::engine

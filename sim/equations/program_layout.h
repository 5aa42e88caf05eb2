// Columns and scalars of a program by name, and the program from what is stored to them.
#pragma once

#include <string>
#include <vector>

#include "sim/equations/model.h"
#include "sim/equations/value_graph.h"

namespace riftjit::sim {

class ProgramLayout {
public:
    explicit ProgramLayout(ValueGraph& graph, Precision precision) : graph_(graph), precision_(precision) {}

    uint32_t column(ColumnRole role, const std::string& name);
    Value load(ColumnRole role, const std::string& name) { return graph_.load(column(role, name)); }
    Value scalar(const std::string& name);
    void store(ColumnRole role, const std::string& name, Value value);

    // Only what the program touches stays.
    Result<LoweredProgram> finish(Value fires) const;

private:
    ColumnType type(ColumnRole role) const;

    ValueGraph& graph_;
    Precision precision_;
    std::vector<ColumnBinding> columns_;
    std::vector<std::string> scalars_;
    std::vector<ColumnStore> stores_;
};

}  // namespace riftjit::sim

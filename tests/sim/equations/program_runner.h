// Runs lowered programs with the reference interpreter, one neuron or synapse at a time, columns by name.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "jit/columns/column_reference.h"
#include "sim/equations/model_file.h"

namespace riftjit::sim {

template <class T>
T value_or_fail(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}

inline NeuronModel neuron_model(const std::string& name) {
    return value_or_fail(NeuronModel::parse(value_or_fail(builtin_neuron_model(name))));
}
inline SynapseModel synapse_model(const std::string& name) {
    return value_or_fail(SynapseModel::parse(value_or_fail(builtin_synapse_model(name))));
}

// One element.
class ProgramRunner {
public:
    explicit ProgramRunner(LoweredProgram program) : program_(std::move(program)) {}

    double& operator()(ColumnRole role, const std::string& name = "") { return values_[{role, name}]; }
    double& state(const std::string& name) { return values_[{ColumnRole::state, name}]; }
    double& scalar(const std::string& name) { return scalars_[name]; }
    const LoweredProgram& program() const { return program_; }

    bool run(uint64_t step = 0) {  // whether it fires
        std::vector<std::array<double, 1>> storage(program_.columns.size());
        std::vector<void*> columns;
        for (size_t i = 0; i < storage.size(); ++i) {
            set(program_.spec.columns[i], storage[i].data(), values_[program_.columns[i]]);
            columns.push_back(storage[i].data());
        }
        std::vector<double> scalars;
        for (const std::string& name : program_.scalars) scalars.push_back(scalars_[name]);
        std::array<uint32_t, 1 + kColumnPadding> fired{};
        ColumnProgramArgs args{.columns = columns.data(),
                               .scalars = scalars.data(),
                               .fired = fired.data(),
                               .elements = 1,
                               .first_id = id,
                               .key = 12345,
                               .step = step};
        run_column_program(program_.spec, args, 0, 1);
        for (size_t i = 0; i < storage.size(); ++i)
            values_[program_.columns[i]] = get(program_.spec.columns[i], storage[i].data());
        return args.fired_count == 1;
    }

    uint64_t id = 0;

private:
    static void set(ColumnType type, void* at, double value) {
        if (type == ColumnType::u16)
            *static_cast<uint16_t*>(at) = static_cast<uint16_t>(value);
        else if (type == ColumnType::f32)
            *static_cast<float*>(at) = static_cast<float>(value);
        else
            *static_cast<double*>(at) = value;
    }
    static double get(ColumnType type, const void* at) {
        if (type == ColumnType::u16) return *static_cast<const uint16_t*>(at);
        if (type == ColumnType::f32) return *static_cast<const float*>(at);
        return *static_cast<const double*>(at);
    }

    LoweredProgram program_;
    std::map<ColumnBinding, double> values_;
    std::map<std::string, double> scalars_;
};

// At its initial values.
inline ProgramRunner neuron(const NeuronModel& model, const PopulationSetup& setup) {
    ProgramRunner runner(value_or_fail(lower(model, setup)));
    for (const auto& [name, value] : value_or_fail(initial_values(model, setup))) runner.state(name) = value;
    return runner;
}
inline ProgramRunner neuron(const std::string& model, const PopulationSetup& setup) {
    return neuron(neuron_model(model), setup);
}

}  // namespace riftjit::sim

// The columns of all populations. What arrives lies in one array for all receptors of all populations, so that one
// 32-bit index says where a synapse ends.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "host/pages.h"
#include "host/thread_pool.h"
#include "sim/engine/blueprint.h"
#include "sim/engine/slices.h"

namespace riftjit::sim {

double read_column(const void* column, ColumnType type, uint32_t element);
void write_column(void* column, ColumnType type, uint32_t element, double value);

class NeuronState {
public:
    static uint64_t bytes(const Blueprint& blueprint);
    // Each thread fills, and so first touches, its own slices.
    static Result<NeuronState> create(const Blueprint& blueprint, const Slices& slices, ThreadPool& pool);

    // In the order of the program's columns; empty for populations without a program.
    const std::vector<void*>& columns(uint32_t population) const { return columns_[population]; }

    double* arrivals() const { return memory_.as<double>(); }
    uint64_t arrivals_count() const { return arrivals_count_; }
    // Index of element 0; unset: no such receptor. Relays have one receptor, whatever its name.
    std::optional<uint32_t> first_arrival(uint32_t population, std::string_view receptor) const;

private:
    struct Receptor {
        uint32_t population;
        std::string name;
        uint32_t first;
    };

    Result<void> add_receptors(const Blueprint& blueprint);
    Result<void> place_columns(const Blueprint& blueprint);
    void fill(const Blueprint& blueprint, const Slices& slices, uint32_t thread) const;
    // Runs the population's initial program over a slice.
    void start(const BlueprintPopulation& population, uint32_t index, Slice slice) const;

    uint64_t arrivals_count_ = 0;
    std::vector<Receptor> receptors_;
    Pages memory_;  // arrivals, then the columns of all populations
    std::vector<std::vector<void*>> columns_;
};

}  // namespace riftjit::sim

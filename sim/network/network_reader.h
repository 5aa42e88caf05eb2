// A network file from its tables to the description: what the parts of the reader share.
#pragma once

#include <map>
#include <span>
#include <string>

#include "sim/network/description.h"
#include "sim/network/file_values.h"

namespace riftjit::sim {

struct NetworkReader {
    Network network;
    Scope names;            // [constants] and built-in names
    std::string directory;  // of the file, with a slash or empty: paths in it are relative to it
    double record_interval_ms = 1;
    std::map<std::string, NeuronModel> neuron_models;    // of the file, and built-in ones once used
    std::map<std::string, SynapseModel> synapse_models;  // likewise

    // Each reads the tables of one key of the file, where it has them.
    Result<void> read_models(toml::table& root);
    Result<void> read_populations(const toml::table& root);
    Result<void> read_projections(const toml::table& root);
    Result<void> read_inputs(const toml::table& root);
    Result<void> read_recorders(const toml::table& root);

    // By name, from the file or built in. `node` names it in the file.
    Result<NeuronModel> neuron_model(const toml::node& node, const std::string& name);
    Result<SynapseModel> synapse_model(const toml::node& node, const std::string& name);
    Result<uint32_t> population(const toml::node& node, const std::string& name) const;

    std::string resolved(const std::string& path) const;
    void keep_file(TableReader& reader);  // the file that a table names with 'file', if it does, among those read
    void note(std::string text) { network.notes.push_back(std::move(text)); }
    // Where times are no whole numbers of steps. `owner`: "projection A -> B"; `kind`: "delay".
    void note_rounded(const std::string& owner, std::string_view kind, std::span<const double> times_ms);
    // Where changes (`what`: "input dc -> E") count from a later step's start.
    void note_shifted(const std::string& what, std::span<const double> times_ms);
    // Notes the same of start and stop. A window shorter than a step may hold no step's start: it is refused.
    Result<void> check_window(const toml::node* stop, const std::string& what, const Window& window);
    // Likewise of times of change, which ascend.
    Result<void> check_changes(const toml::node& times, const std::string& what, const std::vector<double>& times_ms);
};

// The entries of [[projection]] and the like.
Result<std::vector<const toml::table*>> tables_of(const toml::table& root, std::string_view key);
// Calls read(name, table) for the tables of [population.NAME] and the like, in the order of the file.
Result<std::vector<std::pair<std::string, const toml::table*>>> named_tables_of(const toml::table& root,
                                                                                std::string_view key);

// Finds a variable of a model by name, or fails naming the near ones. `what`: "parameter".
Result<const Variable*> variable_named(const std::vector<Variable>& variables, const std::string& name,
                                       std::string_view what, std::string_view model, const SourceText& place);

}  // namespace riftjit::sim

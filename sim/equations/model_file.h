// Models in TOML: the files of share/sim/models, and tables of the same form in network files.
//
//   name, kind = "neuron" | "synapse", description, equations, [parameters], [initial]
//   neuron:  threshold, reset, refractory, update, method, [receptors]
//   synapse: on_pre, on_post
//
// method: "automatic", "exact", "exponential_euler", "rk4", "euler".
#pragma once

#include <toml++/toml.h>

#include <string>
#include <variant>
#include <vector>

#include "sim/equations/model.h"

namespace riftjit::sim {

using ModelSource = std::variant<NeuronModelSource, SynapseModelSource>;
// Refuses unknown keys and values of another type; names the place in `file`.
Result<ModelSource> read_model_table(const toml::table& table, const std::string& file);

// By name: "iaf_psc_exp", "stdp".
Result<NeuronModelSource> builtin_neuron_model(const std::string& name);
Result<SynapseModelSource> builtin_synapse_model(const std::string& name);
std::vector<std::string> builtin_neuron_model_names();
std::vector<std::string> builtin_synapse_model_names();

Result<Method> parse_method(const SourceText& text);

// A string or number of a file as text, with the place of its first character.
SourceText source_text(const toml::node& value, const std::string& file);

}  // namespace riftjit::sim

#include <gtest/gtest.h>

#include "tests/sim/equations/program_runner.h"

namespace riftjit::sim {
namespace builtin_models_test {

TEST(BuiltinModels, AllParseAndLower) {
    const auto neurons = builtin_neuron_model_names(), synapses = builtin_synapse_model_names();
    EXPECT_EQ(neurons, (std::vector<std::string>{"aeif_cond_exp", "gamma", "hh_cond_exp_traub", "iaf_cond_exp",
                                                 "iaf_psc_alpha", "iaf_psc_delta", "iaf_psc_exp", "izhikevich",
                                                 "izhikevich_2003", "lif_coba", "lif_cuba"}));
    EXPECT_EQ(synapses,
              (std::vector<std::string>{"mongillo", "stdp", "stdp_nn_pre_centered", "stdp_nn_restr", "stdp_nn_symm",
                                        "stdp_pl", "stdp_triplet", "tsodyks", "vogels_sprekeler"}));
    for (const std::string& name : neurons)
        for (const Compat compat : {Compat::nest, Compat::brian2}) {
            const NeuronModel model = neuron_model(name);
            EXPECT_EQ(model.name(), name);
            EXPECT_FALSE(model.description().empty());
            const PopulationSetup setup{.step_ms = 0.1, .compat = compat};
            const Result<LoweredProgram> program = lower(model, setup);
            ASSERT_TRUE(program.has_value()) << name << ": " << program.error().message;
            ASSERT_TRUE(initial_values(model, setup).has_value()) << name;
        }
    for (const std::string& name : synapses) {
        const SynapseModel model = synapse_model(name);
        EXPECT_EQ(model.name(), name);
        const Result<SynapsePrograms> programs = lower(model, {}, 0.1);
        ASSERT_TRUE(programs.has_value()) << name << ": " << programs.error().message;
        EXPECT_EQ(programs->on_post.spec.steps.empty(), !model.has_post_events());
        ASSERT_TRUE(initial_values(model, std::map<std::string, double>{}).has_value()) << name;
    }
}

}  // namespace builtin_models_test
}  // namespace riftjit::sim

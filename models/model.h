// A model file understood: hyperparameters checked, and the graph that its architecture builds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "models/gguf/gguf.h"

namespace riftjit::models {

struct Hyperparameters {
    std::string architecture, name;
    uint32_t context_length, width, layers, ffn_width, heads, kv_heads, head_dim, vocabulary, rotary_dims;
    float norm_epsilon, rope_base, rope_scale;  // rope_scale = 1 / factor
    RopePairing pairing;
    bool tied_output;
};

// Norm gains and biases that the file stores as f16 or bf16, by tensor name: the graph wants them as f32.
using ConvertedVectors = std::unordered_map<std::string_view, std::vector<float>>;

struct Model {
    Gguf file;
    Hyperparameters hyperparameters;
    std::vector<std::string> ignored_tensors;
    std::vector<std::string> warnings;  // each one line, for the caller to print
    std::shared_ptr<const ConvertedVectors> converted_vectors;

    // Builds the graph; weights point into the file (and the converted vectors).
    Result<graph::Graph> build() const;
};

// Every key and every tensor's shape has been checked when this succeeds: build() succeeds too.
Result<Model> load_model(const std::filesystem::path& path);

struct BuiltGraph {
    graph::Graph graph;
    std::unordered_set<std::string_view> used_tensors;  // names
};

// An architecture: reads its keys and builds its graph. One small file each in models/architectures/.
struct Architecture {
    std::string_view name;  // value of general.architecture
    Result<Hyperparameters> (*read)(const Gguf&);
    Result<BuiltGraph> (*build)(const Model&);
};
std::span<const Architecture> architectures();

}  // namespace riftjit::models

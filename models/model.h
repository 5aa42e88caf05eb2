// A model file understood: hyperparameters checked, and the graph that its architecture builds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "models/gguf/gguf.h"
#include "models/lora.h"

namespace riftjit::models {

// What may differ from one layer to the next.
struct LayerTraits {
    // What mixes a row with those before it.
    enum class Mixer : uint8_t {
        attention,
        none,               // the layer is a feed-forward block alone
        linear,             // a product of each row by itself
        short_convolution,  // of LFM2: gated on both sides
        mamba,
        mamba2,
        attention_and_mamba2,  // side by side, added
        delta_net,
        plamo2,  // Mamba 2 with norms over its parameters
        rwkv6,
        rwkv7,
    } mixer = Mixer::attention;
    bool has_feed_forward = true;
    uint32_t heads = 0, kv_heads = 0, head_dim = 0, ffn_width = 0;
    uint32_t window = 0, chunk = 0;    // of attention (jit/kernel_spec.h); 0: none
    std::optional<uint32_t> kv_layer;  // an earlier one, whose keys and values it reads
    bool is_local = false;             // rotates by local_rope
    bool rotates = true, is_tempered = true;
    Xielu xielu = {};
    std::optional<float> gate_deviations;  // how many above their mean gates must be to count (gemma3n)
};

// Of layers that have a router; graph::ExpertTraits says what each is.
struct ExpertHyperparameters {
    uint32_t count = 0, used = 0;  // 0: none
    Scoring scoring = Scoring::softmax;
    bool is_normed = false;
    float scale = 1.0f;
    uint32_t groups = 1, groups_used = 1;
    bool weighs_inputs = false;
    bool averages_shared = false;  // the mean of what is chosen and the shared one, instead of their sum
};

// Of latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1): keys and values of all heads come from one row of kv_rank
// elements and rotated_dims rotated ones, which is what the cache keeps.
struct LatentHyperparameters {
    uint32_t q_rank = 0, kv_rank = 0;     // q_rank 0: queries come straight from the row; kv_rank 0: no such attention
    uint32_t key_dim = 0, value_dim = 0;  // of a head, the rotated elements of keys included
    uint32_t rotated_dims = 0;
    bool is_expanded = false;  // the cache keeps keys and values of all heads: files whose two tables are one
};

// Of layers that keep a running state: what they convolve, and of Mamba and of delta nets the rest.
struct StateSpace {
    uint32_t taps = 0;              // of the convolution
    uint32_t inner = 0;             // channels
    uint32_t states = 0;            // numbers of each
    uint32_t heads = 0;             // of Mamba 1 the rank of its times
    uint32_t groups = 1;            // of heads
    bool norms_parameters = false;  // times, B and C of Mamba 1, without gains
};

// What of a text's rows its vector is (llama.cpp's pooling_type, by number).
enum class Pooling : uint8_t {
    none,  // each row's own
    mean,
    cls,   // the first row
    last,  // the last row
    rank,  // the classifier's scores of a row
};
inline constexpr std::array<std::string_view, 5> kPoolingNames = {"none", "mean", "cls", "last", "rank"};
std::optional<Pooling> pooling_from_name(std::string_view name);
// Queries times 1 + factor ln(1 + floor((position + offset) / length)), in layers that are tempered; factor 0: none.
struct QueryTemperature {
    float factor = 0;
    uint32_t offset = 0, length = 1;
};

struct Hyperparameters {
    std::string architecture, name;
    // Of heads and widths, which may differ from layer to layer (LayerTraits), the largest.
    uint32_t context_length, width, layers, ffn_width, heads, kv_heads, head_dim, vocabulary;
    float norm_epsilon;
    RopePairing pairing;
    graph::RopeAngles rope, local_rope;
    bool needs_rope_factors = false;  // rope.scaling.type is longrope
    bool tied_output;
    std::vector<LayerTraits> layer;  // one per layer
    StateSpace state_space;
    float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;  // factors
    float attention_scale;                                                    // 1 / sqrt(head_dim) where no key says
    float attention_softcap = 0.0f, logit_softcap = 0.0f;                     // 0: none
    float max_alibi_bias = 0.0f;                                              // 0: none
    float qkv_limit = 0.0f;  // of magnitudes of queries, keys and values, as they are made; 0: none
    ExpertHyperparameters experts;
    LatentHyperparameters latent;
    Pooling pooling = Pooling::none;
    bool is_encoder = false;           // rows see their whole text, and there are no logits of a next token
    bool has_shares_of_ranks = false;  // the classifier's scores are shares, by a softmax
    QueryTemperature query_temperature;
    struct {
        uint32_t count = 1, active = 0;
    } streams;                       // of rows, side by side (gemma3n)
    uint32_t layer_input_width = 0;  // of the row of each layer that a token has beside its embedding; 0: none
};

// What the graph wants otherwise than the file has it, by tensor name: norm gains and biases of f16 or bf16 as f32, and
// tensors with several numbers for each channel by channel (jit/kernel_spec.h).
using ConvertedVectors = std::unordered_map<std::string_view, std::vector<float>>;

// What the rows that a graph's step brings are.
enum class GraphOutput : uint8_t {
    logits,  // of the next token
    rows,    // the text's rows behind the last layer, normed
    ranks,   // the classifier's scores of these
};

struct Model {
    Gguf file;
    Hyperparameters hyperparameters;
    GraphOutput output;
    std::vector<std::string> ignored_tensors;
    std::vector<std::string> warnings;  // each one line, for the caller to print
    std::shared_ptr<const ConvertedVectors> converted_vectors;
    std::vector<Lora> adapters;  // each applied beside the others

    // Builds the graph; weights point into the file (and the converted vectors).
    Result<graph::Graph> build() const;
    // Names of the file's and the adapters' tensors that the graph has.
    Result<std::unordered_set<std::string_view>> used_tensors() const;
};

// What a model is opened for: to write text, or to make vectors or scores of texts, by the file's pooling or another.
struct Purpose {
    bool embeds = false;
    bool embeds_encoders = false;  // the former, of models that cannot do the latter
    std::optional<Pooling> pooling;
    bool ranks_by_words = false;  // a causal model whose file has no classifier to rank by is opened to write
};

// Every key and every tensor's shape has been checked when this succeeds: build() succeeds too. An encoder, which has
// no logits, gives rows in their place.
Result<Model> load_model(const std::filesystem::path& path, const Purpose& purpose = {});

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
std::span<const Architecture* const> architectures();

}  // namespace riftjit::models

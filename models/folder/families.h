// Families of models by the name of their class in transformers: how their configuration and their tensors are told in
// GGUF's words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/folder/keys.h"

namespace riftjit::models::folder {

class Rewriter;

// What is done with a tensor's rows, so that they stand as in GGUF files.
enum class Change : uint8_t {
    none,
    pair_q,  // the halves of each head interleaved: rotary pairs become adjacent
    pair_k,
    split_qkv,      // rows of Q, K and V, in this order, become three tensors
    split_gate_up,  // rows of gate and up become two
    by_head,        // (head, q k v) becomes (q k v, head)
    by_group,       // (group, its queries, k, v) becomes (all queries, all k, all v)
    split_groups,   // the same as three tensors, Q and K paired
    transposed,
    whole_name,  // as it is; the name has no ".weight" or ".bias", and ours is the whole
};

struct NameRule {
    // Without ".weight" and ".bias"; # is the number of a layer. No name of ours: it is left out.
    std::string_view theirs, ours;
    Change change = Change::none;
};

struct Family {
    std::string_view classes;       // divided by spaces
    std::string_view architecture;  // general.architecture
    Result<void> (*set_keys)(Keys& keys);
    std::span<const NameRule> rules;                        // these first, then those that most families share
    bool pairs_heads = false;                               // q_proj and k_proj are pair_q and pair_k
    bool adds_one = false;                                  // to the gains of norms
    Result<void> (*rewrite)(Rewriter& rewriter) = nullptr;  // of what is stored otherwise
    // Of a family whose configuration decides: general.architecture.
    Result<std::string_view> (*architecture_of)(const Config& config) = nullptr;
};

// For rows: whether heads are paired, or gains get their one.
inline constexpr bool kPairsHeads = true, kAddsOne = true, kAsStored = false;

std::span<const Family> families();
const Family* find_family(std::string_view model_class);
std::span<const NameRule> shared_rules();

}  // namespace riftjit::models::folder

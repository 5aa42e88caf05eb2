#include "models/quantize/file_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace riftjit::models {

namespace {

constexpr auto kFileTypes = std::to_array<FileType>({
    {"Q1_0", FileKind::Q1_0, DType::Q1_0},
    {"Q2_0", FileKind::Q2_0, DType::Q2_0},
    {"Q4_0", FileKind::Q4_0, DType::Q4_0},
    {"Q4_1", FileKind::Q4_1, DType::Q4_1},
    {"MXFP4_MOE", FileKind::MXFP4_MOE, DType::MXFP4},
    {"Q5_0", FileKind::Q5_0, DType::Q5_0},
    {"Q5_1", FileKind::Q5_1, DType::Q5_1},
    {"IQ2_XXS", FileKind::IQ2_XXS, DType::IQ2_XXS},
    {"IQ2_XS", FileKind::IQ2_XS, DType::IQ2_XS},
    {"IQ2_S", FileKind::IQ2_S, DType::IQ2_XS},
    {"IQ2_M", FileKind::IQ2_M, DType::IQ2_S},
    {"IQ1_S", FileKind::IQ1_S, DType::IQ1_S},
    {"IQ1_M", FileKind::IQ1_M, DType::IQ1_M},
    {"TQ1_0", FileKind::TQ1_0, DType::TQ1_0},
    {"TQ2_0", FileKind::TQ2_0, DType::TQ2_0},
    {"Q2_K", FileKind::Q2_K, DType::Q2_K},
    {"Q2_K_S", FileKind::Q2_K_S, DType::Q2_K},
    {"IQ3_XXS", FileKind::IQ3_XXS, DType::IQ3_XXS},
    {"IQ3_S", FileKind::IQ3_S, DType::IQ3_S},
    {"IQ3_M", FileKind::IQ3_M, DType::IQ3_S},
    {"Q3_K", FileKind::Q3_K_M, DType::Q3_K},
    {"IQ3_XS", FileKind::IQ3_XS, DType::IQ3_S},
    {"Q3_K_S", FileKind::Q3_K_S, DType::Q3_K},
    {"Q3_K_M", FileKind::Q3_K_M, DType::Q3_K},
    {"Q3_K_L", FileKind::Q3_K_L, DType::Q3_K},
    {"IQ4_NL", FileKind::IQ4_NL, DType::IQ4_NL},
    {"IQ4_XS", FileKind::IQ4_XS, DType::IQ4_XS},
    {"Q4_K", FileKind::Q4_K_M, DType::Q4_K},
    {"Q4_K_S", FileKind::Q4_K_S, DType::Q4_K},
    {"Q4_K_M", FileKind::Q4_K_M, DType::Q4_K},
    {"Q5_K", FileKind::Q5_K_M, DType::Q5_K},
    {"Q5_K_S", FileKind::Q5_K_S, DType::Q5_K},
    {"Q5_K_M", FileKind::Q5_K_M, DType::Q5_K},
    {"Q6_K", FileKind::Q6_K, DType::Q6_K},
    {"Q8_0", FileKind::Q8_0, DType::Q8_0},
    {"F16", FileKind::F16, DType::F16},
    {"BF16", FileKind::BF16, DType::BF16},
    {"F32", FileKind::F32, DType::F32},
    {"COPY", FileKind::F32, DType::F32, true},
});

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// GGML's count of dimensions: without those of 1 at the end.
size_t dimensions(const GgufTensor& tensor) {
    size_t count = tensor.ne.size();
    while (count > 0 && tensor.ne[count - 1] <= 1) --count;
    return count;
}

// Small, or too sensitive: these stay as they are.
constexpr std::string_view kKept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

bool is_kept(const GgufTensor& tensor, const TypeOptions& options) {
    const std::string_view name = tensor.name;
    if (options.file_type.only_copies || dimensions(tensor) < 2 || !name.ends_with("weight")) return true;
    if (!options.quantizes_output && name == "output.weight") return true;
    if (name == "position_embd.weight" || name == "token_types.weight") return true;
    return std::ranges::any_of(kKept, [&](std::string_view part) { return has_part(name, part); });
}

struct ModelFacts {
    std::string architecture;
    uint32_t layers = 0, heads = 0, kv_heads = 0, experts = 0;

    uint32_t queries_per_key() const { return kv_heads == 0 ? 0 : heads / kv_heads; }
    bool is_falcon() const { return architecture == "falcon"; }
    // What llama.cpp calls a 70B model: eight queries to a key.
    bool is_70b() const {
        return layers == 80 &&
               ((architecture == "llama" && heads != kv_heads) || architecture == "olmo" || architecture == "qwen2");
    }
};

// Of layers that differ, the first one's.
Result<uint32_t> first_of(const Gguf& file, const std::string& key, uint32_t absent) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return absent;
    if (entry->type != GgufType::array) {
        RIFTJIT_TRY(value, file.integer(key, 0, UINT32_MAX));
        return uint32_t(*value);
    }
    RIFTJIT_TRY(values, file.integers(key));
    return values->empty() ? absent : uint32_t(values->front());
}

Result<ModelFacts> facts_of(const Gguf& file) {
    ModelFacts facts;
    RIFTJIT_TRY(architecture, file.require_string("general.architecture"));
    facts.architecture = architecture;
    RIFTJIT_TRY(layers, file.require_integer(facts.architecture + ".block_count", 0, 1 << 20));
    facts.layers = uint32_t(layers);
    RIFTJIT_TRY(heads, first_of(file, facts.architecture + ".attention.head_count", 0));
    RIFTJIT_TRY(kv_heads, first_of(file, facts.architecture + ".attention.head_count_kv", heads));
    RIFTJIT_TRY(experts, file.integer(facts.architecture + ".expert_count", 0, UINT32_MAX));
    facts.heads = heads;
    facts.kv_heads = kv_heads;
    facts.experts = uint32_t(experts.value_or(0));
    return facts;
}

bool is_value(TensorRole role) {
    return role == TensorRole::value || role == TensorRole::fused_qkv || role == TensorRole::latent_values;
}

template <class... Kinds>
bool is_any(FileKind kind, Kinds... kinds) {
    return ((kind == kinds) || ...);
}

// Walks the tensors of a model in order, as llama-quantize does.
class Mixture {
    using enum FileKind;

public:
    Mixture(const TypeOptions& options, ModelFacts facts, std::span<const GgufTensor* const> tensors)
        : options_(options), kind_(options.file_type.kind), facts_(std::move(facts)) {
        for (const GgufTensor* tensor : tensors) {
            value_layers_ += is_value(role_of(tensor->name));
            is_tied_ = is_tied_ && tensor->name != "output.weight";
        }
    }

    Result<DType> type_of(const GgufTensor& tensor, TensorRole role) {
        const DType usual = options_.file_type.type;
        if (role == TensorRole::output || (is_tied_ && role == TensorRole::embedding)) return output_type(tensor);
        if (kind_ == MXFP4_MOE) return tensor.ne.size() > 2 && tensor.ne[2] > 1 ? DType::MXFP4 : DType::Q8_0;
        if (role == TensorRole::embedding) return embedding_type();
        if (is_tiny()) return tiny_type(role);
        if (is_value(role)) return value_type();
        switch (role) {
            case TensorRole::key:
                if (facts_.experts == 8) return DType::Q8_0;
                [[fallthrough]];
            case TensorRole::query:
                return kind_ == IQ3_XS ? DType::IQ3_XXS : kind_ == IQ3_XXS ? DType::IQ2_S : usual;
            case TensorRole::attention_output:
                return attention_output_type();
            case TensorRole::ffn_down: {
                RIFTJIT_TRY(layer, layer_index(tensor, downs_++));
                return ffn_down_type(layer);
            }
            case TensorRole::ffn_gate:
            case TensorRole::ffn_up: {
                RIFTJIT_TRY(layer, layer_index(tensor, role == TensorRole::ffn_up ? ups_++ : gates_++));
                const bool is_inner = layer >= facts_.layers / 8 && layer < 7 * facts_.layers / 8;
                return kind_ == IQ3_XS && is_inner ? DType::IQ3_XXS : usual;
            }
            default:
                return usual;
        }
    }

private:
    // The first and last eighth, and every third layer between them.
    static bool gets_more_bits(uint32_t layer, uint32_t layers) {
        return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
    }

    // Experts of a layer may lie anywhere in a file: there the name says the layer.
    Result<uint32_t> layer_index(const GgufTensor& tensor, uint32_t counted) const {
        if (facts_.experts <= 1) return counted;
        const auto layer = layer_of(tensor.name);
        if (!layer || *layer >= facts_.layers)
            return fail(ErrorKind::Format, "tensor '{}': is of no layer below {}", printable(tensor.name),
                        facts_.layers);
        return *layer;
    }

    bool is_tiny() const { return is_any(kind_, IQ2_XXS, IQ2_XS, IQ2_S, IQ2_M, IQ1_S, IQ1_M); }

    DType output_type(const GgufTensor& tensor) const {
        if (options_.output_type) return *options_.output_type;
        const DType usual = options_.file_type.type;
        if (kind_ == MXFP4_MOE || facts_.is_falcon() || tensor.width() % traits(usual).block_elements != 0)
            return DType::Q8_0;
        if (is_any(kind_, IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ2_S, IQ2_M, IQ1_M)) return DType::Q5_K;
        return usual == DType::Q8_0 ? usual : DType::Q6_K;
    }

    DType embedding_type() const {
        if (is_any(kind_, IQ2_XXS, IQ2_XS, IQ1_S, IQ1_M)) return DType::Q2_K;
        if (is_any(kind_, IQ2_S, IQ2_M, IQ3_XXS)) return DType::IQ3_S;
        if (is_any(kind_, TQ1_0, TQ2_0, Q2_0)) return DType::Q4_K;
        return options_.file_type.type;
    }

    DType tiny_type(TensorRole role) {
        const bool is_larger = is_any(kind_, IQ2_S, IQ2_M);
        const DType more = is_larger ? DType::IQ3_S : DType::Q2_K;
        if (is_value(role)) {
            ++values_;
            return facts_.queries_per_key() >= 4 || facts_.experts >= 4 ? DType::Q4_K : more;
        }
        if (role == TensorRole::key && facts_.experts == 8) return DType::Q4_K;
        if (role == TensorRole::ffn_down && downs_++ < facts_.layers / 8) return more;
        if (role == TensorRole::attention_output) {
            if (facts_.experts == 8) return DType::Q5_K;
            if (is_any(kind_, IQ1_S, IQ1_M)) return DType::IQ2_XXS;
            if (is_larger) return DType::IQ3_S;
        }
        return options_.file_type.type;
    }

    DType value_type() {
        const uint32_t layer = values_++;
        const bool are_shared = facts_.queries_per_key() >= 4;
        DType type = options_.file_type.type;
        switch (kind_) {
            case Q2_K:
                type = are_shared ? DType::Q4_K : DType::Q3_K;
                break;
            case Q2_K_S:
                if (are_shared) type = DType::Q4_K;
                break;
            case IQ3_XXS:
                type = are_shared ? DType::Q4_K : options_.has_importance ? DType::IQ3_XXS : DType::IQ3_S;
                break;
            case IQ3_XS:
            case IQ3_S:
                if (are_shared) type = DType::Q4_K;
                break;
            case IQ3_M:
                type = DType::Q4_K;
                break;
            case Q3_K_M:
                type = layer < 2 ? DType::Q5_K : DType::Q4_K;
                break;
            case Q3_K_L:
                type = DType::Q5_K;
                break;
            case IQ4_NL:
            case IQ4_XS:
                if (are_shared) type = DType::Q5_K;
                break;
            case Q4_K_M:
            case Q5_K_M:
                if (gets_more_bits(layer, value_layers_)) type = DType::Q6_K;
                break;
            case Q4_K_S:
                if (layer < 4) type = DType::Q5_K;
                break;
            default:
                break;
        }
        if (facts_.is_70b() && (type == DType::Q3_K || type == DType::Q4_K)) type = DType::Q5_K;
        return facts_.experts == 8 ? DType::Q8_0 : type;
    }

    DType attention_output_type() const {
        const DType usual = options_.file_type.type;
        if (facts_.is_falcon()) return kind_ == Q3_K_L ? DType::Q4_K : usual;
        if (facts_.experts == 8)
            return is_any(kind_, Q2_K, IQ3_XS, IQ3_XXS, Q3_K_S, Q3_K_M, IQ4_NL, Q4_K_S, Q4_K_M, IQ3_S, IQ3_M, IQ4_XS)
                       ? DType::Q5_K
                       : usual;
        switch (kind_) {
            case Q2_K:
                return DType::Q3_K;
            case IQ3_XXS:
                return DType::IQ3_S;
            case Q3_K_M:
            case IQ3_M:
                return DType::Q4_K;
            case Q3_K_L:
                return DType::Q5_K;
            default:
                return usual;
        }
    }

    DType ffn_down_type(uint32_t layer) const {
        const DType usual = options_.file_type.type;
        const uint32_t layers = facts_.layers;
        const bool is_first = layer < layers / 8, has_more = gets_more_bits(layer, layers);
        const bool has_importance = options_.has_importance, is_falcon = facts_.is_falcon();
        switch (kind_) {
            case Q2_K:
                return DType::Q3_K;
            case Q2_K_S:
                return is_first ? DType::Q4_K : usual;
            case IQ3_XXS:
                return has_importance ? usual : is_first ? DType::Q4_K : DType::Q3_K;
            case Q3_K_M:
                return layer < layers / 16 ? DType::Q5_K : !is_falcon || has_more ? DType::Q4_K : DType::Q3_K;
            case IQ3_M:
                return is_first || (facts_.experts == 8 && has_more) ? DType::Q4_K : usual;
            case Q3_K_L:
                return is_falcon ? DType::Q4_K : DType::Q5_K;
            case Q4_K_M:
                if (!is_falcon) return has_more ? DType::Q6_K : usual;
                return layer < layers / 16 ? DType::Q6_K : has_more ? DType::Q5_K : DType::Q4_K;
            case IQ4_NL:
            case IQ4_XS:
                return is_first && !has_importance ? DType::Q5_K : usual;
            case Q5_K_M:
                return has_more ? DType::Q6_K : usual;
            case Q4_K_S:
                return is_first && !is_falcon ? DType::Q5_K : usual;
            case Q4_0:
                return is_first && has_importance ? DType::Q4_1 : usual;
            case Q5_0:
                return is_first && has_importance ? DType::Q5_1 : usual;
            default:
                return usual;
        }
    }

    const TypeOptions& options_;
    FileKind kind_;
    ModelFacts facts_;
    uint32_t value_layers_ = 0;                              // in all
    uint32_t values_ = 0, downs_ = 0, gates_ = 0, ups_ = 0;  // so far
    bool is_tied_ = true;                                    // output and embedding are one
};

// Where blocks of 256 do not divide the width, blocks of 32 of a little more bits; f16 where these do not either.
DType divisible_type(DType type, uint64_t width) {
    if (width % traits(type).block_elements == 0) return type;
    DType smaller = type;
    switch (type) {
        case DType::IQ1_S:
        case DType::IQ1_M:
        case DType::IQ2_XXS:
        case DType::IQ2_XS:
        case DType::IQ2_S:
        case DType::IQ3_XXS:
        case DType::IQ3_S:
        case DType::IQ4_XS:
            smaller = DType::IQ4_NL;
            break;
        case DType::Q1_0:
        case DType::Q2_0:
        case DType::Q2_K:
        case DType::Q3_K:
        case DType::TQ1_0:
        case DType::TQ2_0:
            smaller = DType::Q4_0;
            break;
        case DType::Q4_K:
            smaller = DType::Q5_0;
            break;
        case DType::Q5_K:
            smaller = DType::Q5_1;
            break;
        case DType::Q6_K:
            smaller = DType::Q8_0;
            break;
        default:
            break;
    }
    return width % traits(smaller).block_elements == 0 ? smaller : DType::F16;
}

// Of types so small that without importance the result is of no use.
bool needs_importance(TensorRole role, DType type, FileKind kind) {
    if (role == TensorRole::embedding || role == TensorRole::output) return false;
    switch (type) {
        case DType::IQ3_XXS:
        case DType::IQ2_XXS:
        case DType::IQ2_XS:
        case DType::IQ2_S:
        case DType::IQ1_M:
        case DType::IQ1_S:
            return true;
        case DType::Q2_K:
            return kind == FileKind::Q2_K_S;
        default:
            return false;
    }
}

Result<std::vector<std::regex>> compile(std::span<const TensorRule> rules) {
    std::vector<std::regex> patterns;
    for (const TensorRule& rule : rules) {
        try {
            patterns.emplace_back(rule.pattern);
        } catch (const std::regex_error& error) {
            return fail(ErrorKind::Usage, "--tensor-type {}: is no regular expression: {}", printable(rule.pattern),
                        error.what());
        }
    }
    return patterns;
}

}  // namespace

std::span<const FileType> file_types() { return kFileTypes; }

std::optional<FileType> find_file_type(std::string_view text) {
    const auto equals = [](std::string_view a, std::string_view b) {
        return std::ranges::equal(a, b,
                                  [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
    };
    for (const FileType& type : kFileTypes)
        if (equals(type.name, text)) return type;
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    for (const FileType& type : kFileTypes)
        if (uint32_t(type.kind) == number) return type;
    return std::nullopt;
}

TensorRole role_of(std::string_view name) {
    using enum TensorRole;
    if (name == "output.weight") return output;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return embedding;
    constexpr std::pair<std::string_view, TensorRole> kParts[] = {{"attn_qkv.weight", fused_qkv},
                                                                  {"attn_kv_b.weight", latent_values},
                                                                  {"attn_v.weight", value},
                                                                  {"attn_k.weight", key},
                                                                  {"attn_q.weight", query},
                                                                  {"attn_output.weight", attention_output},
                                                                  {"ffn_up", ffn_up},
                                                                  {"ffn_gate", ffn_gate},
                                                                  {"ffn_down", ffn_down}};
    for (const auto& [part, role] : kParts)
        if (has_part(name, part)) return role;
    return other;
}

std::optional<uint32_t> layer_of(std::string_view name) {
    constexpr std::string_view kPrefix = "blk.";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
    return layer;
}

std::vector<const GgufTensor*> tensors_in_order(const Gguf& file) {
    std::vector<const GgufTensor*> tensors;
    for (const GgufTensor& tensor : file.tensors()) tensors.push_back(&tensor);
    const auto layer = [](const GgufTensor* tensor) {
        const auto found = layer_of(tensor->name);
        return found ? int64_t(*found) : -1;
    };
    std::ranges::sort(tensors, [&](const GgufTensor* a, const GgufTensor* b) {
        return layer(a) != layer(b) ? layer(a) < layer(b) : a->name < b->name;
    });
    return tensors;
}

Result<std::vector<ChosenType>> choose_types(const Gguf& file, std::span<const GgufTensor* const> tensors,
                                             const TypeOptions& options) {
    RIFTJIT_TRY(facts, facts_of(file));
    RIFTJIT_TRY(patterns, compile(options.rules));
    const auto rule_for = [&](std::string_view name) -> const TensorRule* {
        for (size_t i = 0; i < patterns.size(); ++i)
            if (std::regex_search(name.begin(), name.end(), patterns[i])) return &options.rules[i];
        return nullptr;
    };
    Mixture mixture(options, facts, tensors);
    std::vector<ChosenType> chosen;
    for (const GgufTensor* tensor : tensors) {
        const TensorRole role = role_of(tensor->name);
        if (is_kept(*tensor, options)) {
            chosen.push_back({tensor->type});
            continue;
        }
        const TensorRule* rule = rule_for(tensor->name);
        // A table of layers is large and may be named by itself.
        const bool is_named = rule != nullptr && tensor->name == "per_layer_token_embd.weight";
        DType wanted = options.file_type.type;
        if (role == TensorRole::embedding && options.embedding_type && !is_named) {
            wanted = *options.embedding_type;
        } else if (role == TensorRole::output && options.output_type) {
            wanted = *options.output_type;
        } else if (is_quantized(wanted)) {
            if (rule != nullptr) {
                wanted = rule->type;
            } else if (!options.pure) {
                RIFTJIT_TRY(mixed, mixture.type_of(*tensor, role));
                wanted = mixed;
            }
        }
        const DType type = divisible_type(wanted, tensor->width());
        chosen.push_back({type, type != wanted, needs_importance(role, type, options.file_type.kind)});
    }
    return chosen;
}

}  // namespace riftjit::models

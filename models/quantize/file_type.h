// Kinds of quantised files by llama-quantize's names, and which type each tensor of a model then gets.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf/gguf.h"

namespace riftjit::models {

// Values are those of general.file_type (llama.h, enum llama_ftype).
enum class FileKind : uint8_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q8_0 = 7,
    Q5_0 = 8,
    Q5_1 = 9,
    Q2_K = 10,
    Q3_K_S = 11,
    Q3_K_M = 12,
    Q3_K_L = 13,
    Q4_K_S = 14,
    Q4_K_M = 15,
    Q5_K_S = 16,
    Q5_K_M = 17,
    Q6_K = 18,
    IQ2_XXS = 19,
    IQ2_XS = 20,
    Q2_K_S = 21,
    IQ3_XS = 22,
    IQ3_XXS = 23,
    IQ1_S = 24,
    IQ4_NL = 25,
    IQ3_S = 26,
    IQ3_M = 27,
    IQ2_S = 28,
    IQ2_M = 29,
    IQ4_XS = 30,
    IQ1_M = 31,
    BF16 = 32,
    TQ1_0 = 36,
    TQ2_0 = 37,
    MXFP4_MOE = 38,
    Q1_0 = 40,
    Q2_0 = 41,
};

struct FileType {
    std::string_view name;  // "Q4_K_M"
    FileKind kind;
    DType type;  // of most tensors
    bool only_copies = false;
};
std::span<const FileType> file_types();
// By name in any case, or by number.
std::optional<FileType> find_file_type(std::string_view text);

// What a name says of a tensor's use.
enum class TensorRole : uint8_t {
    embedding,
    query,
    value,
    key,
    fused_qkv,
    latent_values,
    attention_output,
    ffn_up,
    ffn_gate,
    ffn_down,
    output,
    other
};
TensorRole role_of(std::string_view name);

struct TensorRule {
    std::string pattern;  // found anywhere in the name, an ECMAScript expression
    DType type;
};

struct TypeOptions {
    FileType file_type;
    bool pure = false;             // no mixture
    bool quantizes_output = true;  // output.weight
    bool has_importance = false;
    std::optional<DType> output_type, embedding_type;
    std::vector<TensorRule> rules;
};

struct ChosenType {
    DType type;
    bool is_fallback = false;  // another was meant, whose blocks do not divide the width
    bool needs_importance = false;
};

// Of `tensors` in their order, which counts: some layers get more bits than others. Fails on an expression that is
// none.
Result<std::vector<ChosenType>> choose_types(const Gguf& file, std::span<const GgufTensor* const> tensors,
                                             const TypeOptions& options);

// All tensors as llama.cpp's loader keeps them, and its quantiser counts and writes them: those of no layer, then layer
// by layer, by name.
std::vector<const GgufTensor*> tensors_in_order(const Gguf& file);

// "blk.12.attn_q.weight": 12
std::optional<uint32_t> layer_of(std::string_view name);

}  // namespace riftjit::models

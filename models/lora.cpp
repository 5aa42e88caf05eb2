#include "models/lora.h"

#include <cmath>

#include "models/gguf/gguf_text.h"
#include "models/model.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kA = ".lora_a", kB = ".lora_b";

Result<void> expect_word(const Gguf& file, std::string_view key, std::string_view word, std::string_view what) {
    RIFTJIT_TRY(found, file.require_string(key));
    if (found == word) return {};
    return fail(ErrorKind::Unsupported, "{} is '{}'; expected '{}', {}", file.place_of(*file.find(key)),
                printable(found), word, what);
}

// Both halves of each pair are there, and have one rank.
Result<void> check_pairs(const Gguf& file) {
    for (const GgufTensor& tensor : file.tensors()) {
        const bool is_a = tensor.name.ends_with(kA);
        if (!is_a && !tensor.name.ends_with(kB))
            return fail(ErrorKind::Unsupported, "{}: an adapter's tensors end in {} or {}", file.place_of(tensor), kA,
                        kB);
        const std::string other =
            std::string(tensor.name.substr(0, tensor.name.size() - kA.size())) + std::string(is_a ? kB : kA);
        const GgufTensor* const pair = file.find_tensor(other);
        if (pair == nullptr)
            return fail(ErrorKind::Format, "{}: tensor '{}' is missing", file.place_of(tensor), printable(other));
        const uint64_t rank = is_a ? tensor.rows() : tensor.width(), other_rank = is_a ? pair->width() : pair->rows();
        if (tensor.ne.size() > 2 || rank == 0 || rank != other_rank)
            return fail(ErrorKind::Format, "{}: shape [{}] has rank {}; '{}' has rank {}", file.place_of(tensor),
                        fmt::join(tensor.ne, ", "), rank, printable(other), other_rank);
    }
    return {};
}

}  // namespace

Result<void> add_lora(Model& model, const LoraRequest& request) {
    RIFTJIT_TRY(file, Gguf::open(request.path));
    RIFTJIT_TRY_VOID(expect_word(file, "general.type", "adapter", "as LoRA adapters have it"));
    RIFTJIT_TRY_VOID(expect_word(file, "adapter.type", "lora", "the one type of adapters that is implemented"));
    RIFTJIT_TRY_VOID(
        expect_word(file, "general.architecture", model.hyperparameters.architecture, "as the model has it"));
    if (file.tensors().empty())
        return fail(ErrorKind::Format, "{}: the adapter has no tensors", printable_path(request.path));
    RIFTJIT_TRY_VOID(check_pairs(file));
    RIFTJIT_TRY(alpha, file.number("adapter.lora.alpha"));
    const bool has_alpha = alpha.value_or(0) != 0;
    const double scale = has_alpha ? request.scale * *alpha : double(request.scale);
    if (!std::isfinite(scale) || std::abs(scale) > 1e6)
        return fail(ErrorKind::Format, "{}: a scale of {} ({} times adapter.lora.alpha)", printable_path(request.path),
                    scale, request.scale);
    model.adapters.push_back({file, static_cast<float>(scale), has_alpha});
    RIFTJIT_TRY(used, model.used_tensors());
    for (const GgufTensor& tensor : file.tensors())
        if (!used.contains(tensor.name))
            return fail(ErrorKind::Unsupported,
                        "{}: the model has no product by the tensor that it adapts, or one that adapters cannot join",
                        file.place_of(tensor));
    return {};
}

}  // namespace riftjit::models

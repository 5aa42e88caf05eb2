#include "models/model.h"

#include <algorithm>
#include <array>

#include "graph/dequantize.h"
#include "models/architectures/architectures.h"
#include "models/architectures/hyperparameters.h"
#include "models/architectures/key_check.h"
#include "models/architectures/tensor_check.h"
#include "models/folder/model_file.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

// The order of messages and lists.
const std::array kArchitectures = {
    &kLlama,         &kQwen2,        &kQwen3,        &kGemma,       &kGemma2,         &kGemma3,       &kPhi3,
    &kArcee,         &kSeedOss,      &kInternlm2,    &kXverse,      &kExaone,         &kErnie45,      &kSmollm3,
    &kGranite,       &kMinicpm,      &kOlmo2,        &kGlm4,        &kExaone4,        &kHunyuanDense, &kCommandR,
    &kCohere2,       &kPhi2,         &kFalcon,       &kGptneox,     &kStablelm,       &kStarcoder2,   &kNemotron,
    &kOrion,         &kMistral3,     &kBloom,        &kMpt,         &kGpt2,           &kStarcoder,    &kQwen3moe,
    &kQwen2moe,      &kOlmoe,        &kGptOss,       &kGlm4moe,     &kMinimaxM2,      &kDots1,        &kErnie45Moe,
    &kHunyuanMoe,    &kDeepseek,     &kBailingmoe,   &kBailingmoe2, &kGraniteMoe,     &kDeepseek2,    &kOlmo,
    &kApertus,       &kLfm2,         &kMamba,        &kMamba2,      &kGraniteHybrid,  &kFalconH1,     &kNemotronH,
    &kJamba,         &kQwen35,       &kQwen35Moe,    &kQwen3Next,   &kLfm2Moe,        &kExaoneMoe,    &kMaincoder,
    &kPanguEmbedded, &kQwen,         &kBaichuan,     &kChatglm,     &kCodeshell,      &kRefact,       &kJais,
    &kJais2,         &kQwen2vl,      &kQwen3vl,      &kQwen3vlmoe,  &kPaddleocr,      &kHunyuanVl,    &kHyV3,
    &kMellum,        &kPlamo,        &kPlamo3,       &kAfmoe,       &kBitnet,         &kGrok,         &kArctic,
    &kDbrx,          &kSmallthinker, &kOpenelm,      &kDeci,        &kMinicpm3,       &kPlm,          &kCogvlm,
    &kCohere2moe,    &kMistral4,     &kNemotronHMoe, &kLlama4,      &kGemma4,         &kGemma3n,      &kPlamo2,
    &kPhimoe,        &kRwkv6,        &kRwkv7,        &kArwkv7,      &kGemmaEmbedding, &kLlamaEmbed,   &kEurobert,
    &kBert,          &kNomicBert,    &kNomicBertMoe, &kJinaBertV2,  &kJinaBertV3,     &kModernBert,
};

const Architecture* find_architecture(std::string_view name) {
    for (const Architecture* architecture : kArchitectures)
        if (architecture->name == name) return architecture;
    return nullptr;
}

// Architectures of another kind than what is run here, and what they are.
struct OtherKind {
    std::string_view name, kind;
};
constexpr auto kOtherKinds = std::to_array<OtherKind>({
    {"dream", "a diffusion model: its text is not written from left to right"},
    {"llada", "a diffusion model: its text is not written from left to right"},
    {"llada-moe", "a diffusion model: its text is not written from left to right"},
    {"rnd1", "a diffusion model: its text is not written from left to right"},
    {"t5", "an encoder with a decoder"},
    {"t5encoder", "an encoder without a decoder"},
    {"clip", "what turns pictures or sounds into rows for another model"},
    {"wavtokenizer-dec", "what turns tokens into sound"},
    {"eagle3", "a draft for another model"},
    {"dflash", "a draft for another model"},
    {"gemma4-assistant", "a draft for another model"},
});

Result<const Architecture*> architecture_of(const Gguf& file) {
    RIFTJIT_TRY(name, file.require_string("general.architecture"));
    if (const Architecture* architecture = find_architecture(name)) return architecture;
    if (const auto* other = std::ranges::find(kOtherKinds, name, &OtherKind::name); other != kOtherKinds.end())
        return fail(ErrorKind::Unsupported, "{} is '{}', {}; such models are unsupported",
                    file.place_of(*file.find("general.architecture")), name, other->kind);
    std::string known;
    for (const Architecture* architecture : kArchitectures)
        known += (known.empty() ? "" : ", ") + std::string(architecture->name);
    return fail(ErrorKind::Unsupported, "{}: unknown model architecture: '{}'; known are {}",
                file.place_of(*file.find("general.architecture")), printable(name), known);
}

Result<void> require_model(const Gguf& file) {
    RIFTJIT_TRY(type, file.string("general.type"));
    if (!type || *type == "model") return {};
    return fail(ErrorKind::Unsupported, "{} is '{}'; only files of type 'model' can be run",
                file.place_of(*file.find("general.type")), printable(*type));
}

constexpr uint64_t kMostNumbers = 1u << 28;  // of all channels of a layer, as kernels take them

// Rows of numbers, one row per channel: of convolutions, and the decays of Mamba 1.
bool is_by_channel(const GgufTensor& tensor) {
    const bool is_convolution =
        tensor.name.ends_with(".shortconv.conv.weight") || tensor.name.ends_with(".ssm_conv1d.weight");
    return (is_convolution || tensor.name.ends_with(".ssm_a")) && tensor.ne.size() == 2 &&
           traits(tensor.type).is_weight && !is_quantized(tensor.type) && tensor.width() > 1 &&
           tensor.width() <= kMaxStates && tensor.rows() <= kMaxWidth && tensor.width() * tensor.rows() <= kMostNumbers;
}

std::vector<float> by_channel(const GgufTensor& tensor) {
    const auto numbers = static_cast<uint32_t>(tensor.width()), channels = static_cast<uint32_t>(tensor.rows());
    std::vector<float> row(numbers), values(size_t(channel_blocks(channels)) * kChannelBlock * numbers);
    for (uint32_t channel = 0; channel < channels; ++channel) {
        graph::dequantize_row(tensor.type, tensor.data.data() + channel * row_bytes(tensor.type, numbers), numbers,
                              row.data());
        for (uint32_t i = 0; i < numbers; ++i) values[channel_place(channel, i, numbers)] = row[i];
    }
    return values;
}

std::vector<float> first_row(const GgufTensor& tensor) {
    std::vector<float> values(tensor.width());
    graph::dequantize_row(tensor.type, tensor.data.data(), static_cast<uint32_t>(tensor.width()), values.data());
    return values;
}

// Shares that mix a row with the one before it: one or several vectors in a tensor.
bool is_shift(const GgufTensor& tensor) {
    return (tensor.name.contains(".time_mix_lerp_") || tensor.name.contains(".channel_mix_lerp_")) &&
           traits(tensor.type).is_weight && !is_quantized(tensor.type) && tensor.width() <= kMaxWidth &&
           tensor.rows() <= 16;
}

// For each vector m the taps [m, 1 - m] of each channel, by channel.
std::vector<float> shifts(const GgufTensor& tensor) {
    const auto width = static_cast<uint32_t>(tensor.width()), rows = static_cast<uint32_t>(tensor.rows());
    const size_t each = size_t(channel_blocks(width)) * kChannelBlock * 2;
    std::vector<float> row(width), values(rows * each);
    for (uint32_t index = 0; index < rows; ++index) {
        graph::dequantize_row(tensor.type, tensor.data.data() + index * row_bytes(tensor.type, width), width,
                              row.data());
        for (uint32_t channel = 0; channel < width; ++channel) {
            values[index * each + channel_place(channel, 0, 2)] = row[channel];
            values[index * each + channel_place(channel, 1, 2)] = 1 - row[channel];
        }
    }
    return values;
}

ConvertedVectors convert_vectors(const Gguf& file) {
    ConvertedVectors vectors;
    for (const GgufTensor& tensor : file.tensors()) {
        if (is_by_channel(tensor)) vectors[tensor.name] = by_channel(tensor);
        if (is_shift(tensor)) {
            vectors[tensor.name] = shifts(tensor);
            continue;
        }
        if (tensor.name == "token_types.weight" && traits(tensor.type).is_weight && tensor.width() <= kMaxWidth)
            vectors[tensor.name] = first_row(tensor);
        const bool is_half = tensor.type == DType::F16 || tensor.type == DType::BF16;
        if (is_half && tensor.rows() == 1 && tensor.width() <= kMaxWidth) vectors[tensor.name] = first_row(tensor);
    }
    return vectors;
}

GraphOutput output_of(const Gguf& file, const Hyperparameters& hyper, const Purpose& purpose) {
    const bool embeds = purpose.embeds || (purpose.embeds_encoders && hyper.is_encoder);
    if (!embeds) return hyper.is_encoder ? GraphOutput::rows : GraphOutput::logits;
    const bool has_classifier =
        file.find_tensor("cls.weight") != nullptr || file.find_tensor("cls.output.weight") != nullptr;
    if (hyper.pooling == Pooling::rank && purpose.ranks_by_words && !has_classifier && !hyper.is_encoder)
        return GraphOutput::logits;
    return hyper.pooling == Pooling::rank ? GraphOutput::ranks : GraphOutput::rows;
}

// Tensors that the graph uses with any of its outputs: what leaves out one of them leaves out no part of the rest.
Result<std::unordered_set<std::string_view>> tensors_of_outputs(const Architecture& architecture, Model model) {
    RIFTJIT_TRY(built, architecture.build(model));
    if (model.hyperparameters.is_encoder || model.output == GraphOutput::logits) return std::move(built.used_tensors);
    model.output = GraphOutput::logits;
    RIFTJIT_TRY(with_logits, architecture.build(model));
    built.used_tensors.merge(with_logits.used_tensors);
    return std::move(built.used_tensors);
}

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

std::optional<Pooling> pooling_from_name(std::string_view name) {
    const auto found = std::ranges::find(kPoolingNames, name);
    if (found == kPoolingNames.end()) return std::nullopt;
    return Pooling(found - kPoolingNames.begin());
}

Result<Model> load_model(const std::filesystem::path& path, const Purpose& purpose) {
    RIFTJIT_TRY(file, open_model_file(path));
    RIFTJIT_TRY(architecture, architecture_of(file));
    RIFTJIT_TRY_VOID(require_model(file));
    if (file.tensors().empty())
        return fail(ErrorKind::Unsupported, "{}: the file holds no tensors, only metadata and perhaps a vocabulary",
                    printable_path(path));
    RIFTJIT_TRY(hyperparameters, architecture->read(file));

    if (purpose.pooling) hyperparameters.pooling = *purpose.pooling;
    const GraphOutput output = output_of(file, hyperparameters, purpose);
    Model model{file, hyperparameters, output, {}, {}, std::make_shared<ConvertedVectors>(convert_vectors(file)), {}};
    RIFTJIT_TRY(used, tensors_of_outputs(*architecture, model));
    RIFTJIT_TRY(ignored, unused_tensors(file, hyperparameters, used));
    model.ignored_tensors = std::move(ignored);
    model.warnings.assign(file.warnings().begin(), file.warnings().end());
    std::ranges::move(key_warnings(file, architecture->name, output), std::back_inserter(model.warnings));
    return model;
}

Result<std::unordered_set<std::string_view>> Model::used_tensors() const {
    RIFTJIT_TRY(built, find_architecture(hyperparameters.architecture)->build(*this));
    return std::move(built.used_tensors);
}

Result<graph::Graph> Model::build() const {
    const Architecture* architecture = find_architecture(hyperparameters.architecture);
    check(architecture != nullptr, "a loaded model has a known architecture");
    RIFTJIT_TRY(built, architecture->build(*this));
    return std::move(built.graph);
}

}  // namespace riftjit::models

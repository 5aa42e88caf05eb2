#include "models/folder/tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>

#include "host/half.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

constexpr size_t kMostGgufDimensions = 4;

// ---- names ----

struct TheirName {
    std::string stem;  // without prefix and suffix; the layer's number is #
    std::string suffix;
    std::optional<uint64_t> layer;
};

TheirName parse_their_name(std::string name) {
    TheirName result;
    if (const size_t at = name.find("language_model."); at != std::string::npos) name.erase(at, 15);
    for (const std::string_view prefix : {"model.", "transformer.", "gpt_neox.", "ernie.", "bert.", "backbone."})
        if (name.starts_with(prefix)) {
            name.erase(0, prefix.size());
            break;
        }
    for (const std::string_view suffix : {".weight", ".bias"})
        if (name.ends_with(suffix)) {
            result.suffix = suffix;
            name.resize(name.size() - suffix.size());
        }
    for (size_t begin = 0; begin < name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        const std::string part = name.substr(begin, end - begin);
        const bool is_number =
            !part.empty() && part.size() <= 6 && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        if (is_number && !result.layer) result.layer = std::stoull(part);
        result.stem += (begin == 0 ? "" : ".") + (is_number && begin > 0 ? "#" : part);
        begin = end + 1;
    }
    return result;
}

std::string with_layer(std::string_view name, std::optional<uint64_t> layer) {
    const size_t mark = name.find('#');
    if (mark == std::string_view::npos) return std::string(name);
    return fmt::format("{}{}{}", name.substr(0, mark), layer.value_or(0), name.substr(mark + 1));
}

const NameRule* find_rule(const Family& family, std::string_view stem) {
    for (const std::span<const NameRule> rules : {family.rules, shared_rules()})
        for (const NameRule& rule : rules)
            if (rule.theirs == stem) return &rule;
    return nullptr;
}

// Buffers of older files: masks and frequencies, which follow from the configuration.
bool is_buffer(std::string_view name) {
    return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attention.masked_bias") ||
           name.ends_with(".attention.bias") || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool is_left_out(const Family& family, const std::string& name) {
    const NameRule* const rule = find_rule(family, parse_their_name(name).stem);
    return rule != nullptr && rule->ours.empty();
}

bool is_of_images(std::string_view name) {
    return name.starts_with("visual.") || name.starts_with("model.visual.") || name.starts_with("vision_tower.") ||
           name.starts_with("model.vision_tower.") || name.starts_with("vision_model.") ||
           name.starts_with("multi_modal_projector.") || name.starts_with("model.multi_modal_projector.");
}

// ---- rows ----

// Rows [0, count) in another order: result row i is row order[i].
using RowOrder = std::vector<uint32_t>;

// Each head's two halves become pairs: i, d/2 + i.
void append_paired(RowOrder& order, uint32_t first, uint32_t heads, uint32_t dim) {
    for (uint32_t head = 0; head < heads; ++head)
        for (uint32_t i = 0; i < dim / 2; ++i)
            for (uint32_t half = 0; half < 2; ++half) order.push_back(first + head * dim + half * (dim / 2) + i);
}

void append_run(RowOrder& order, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) order.push_back(first + i);
}

// One of the tensors that a stored one becomes.
struct Part {
    std::string name;
    RowOrder order;  // empty: all rows as they are
    bool is_transposed = false;
};

DType dtype_of(StoredType type) {
    return type == StoredType::f16 ? DType::F16 : type == StoredType::bf16 ? DType::BF16 : DType::F32;
}

class TensorTeller {
public:
    TensorTeller(const Family& family, const HeadSizes& sizes, GgufWriter& writer, GgufPresentation& presentation)
        : family_(family), sizes_(sizes), writer_(writer), presentation_(presentation) {}

    Result<void> add(const StoredTensor& tensor) {
        const TheirName name = parse_their_name(tensor.name);
        const NameRule* const rule = find_rule(family_, name.stem);
        const bool is_named = rule != nullptr && name.suffix.empty() == (rule->change == Change::whole_name);
        const bool is_tensor =
            is_named && (!rule->ours.contains('#') || name.layer.value_or(UINT64_MAX) < sizes_.layers);
        if (!is_tensor)
            return fail(ErrorKind::Unsupported,
                        "{}: {} of {} layers has no such tensor, and leaving it out would change the output",
                        tensor.place, family_.classes.substr(0, family_.classes.find(' ')), sizes_.layers);
        if (tensor.gguf_type) {
            add_blocks(tensor, with_layer(rule->ours, name.layer) + name.suffix);
            return {};
        }
        const bool is_float = tensor.type == StoredType::f32 || tensor.type == StoredType::f16 ||
                              tensor.type == StoredType::bf16 || tensor.type == StoredType::f64;
        if (!is_float)
            return fail(ErrorKind::Unsupported,
                        "{}: dtype {} is unsupported for a weight; supported are F32, F16, "
                        "BF16 and F64",
                        tensor.place, folder::name(tensor.type));
        if (tensor.shape.size() > kMostGgufDimensions)
            return fail(ErrorKind::Format, "{}: shape [{}] has more than {} dimensions", tensor.place,
                        fmt::join(tensor.shape, ", "), kMostGgufDimensions);
        RIFTJIT_TRY(parts, parts_of(tensor, *rule, with_layer(rule->ours, name.layer), name));
        for (const Part& part : parts) RIFTJIT_TRY_VOID(add_part(tensor, part));
        return {};
    }

    void add_values(const std::string& name, const std::vector<float>& values, std::string place) {
        const std::array<uint64_t, 1> ne = {values.size()};
        std::byte* const bytes = own(values.size() * sizeof(float));
        std::memcpy(bytes, values.data(), values.size() * sizeof(float));
        writer_.add_tensor(name, DType::F32, ne, values.size() * sizeof(float));
        presentation_.tensors.push_back({{bytes, values.size() * sizeof(float)}, 0, std::move(place)});
    }

    // One norm for each head, stored one by one (StableLM): a matrix of them.
    Result<void> add_stacked(const std::string& name, const std::vector<const StoredTensor*>& rows) {
        const uint64_t width = rows.front()->width();
        std::vector<float> values;
        for (const StoredTensor* row : rows) {
            if (row->shape.size() != 1 || row->width() != width)
                return fail(ErrorKind::Format, "{}: shape [{}]; expected is [{}], as of the first head", row->place,
                            fmt::join(row->shape, ", "), width);
            for (uint64_t i = 0; i < width; ++i)
                values.push_back(as_float(row->type, row->data.data() + i * element_bytes(row->type)));
        }
        const std::array<uint64_t, 2> ne = {width, rows.size()};
        std::byte* const bytes = own(values.size() * sizeof(float));
        std::memcpy(bytes, values.data(), values.size() * sizeof(float));
        writer_.add_tensor(name, DType::F32, ne, values.size() * sizeof(float));
        presentation_.tensors.push_back({{bytes, values.size() * sizeof(float)}, 0, rows.front()->place});
        return {};
    }

    const std::optional<uint64_t>& embedding_rows() const { return embedding_rows_; }

private:
    void add_blocks(const StoredTensor& tensor, const std::string& name) {
        const std::vector<uint64_t> ne(tensor.shape.rbegin(), tensor.shape.rend());
        writer_.add_tensor(name, *tensor.gguf_type, ne, tensor.data.size());
        presentation_.tensors.push_back(
            {tensor.data, tensor.offset_bytes, fmt::format("{} (as {})", tensor.place, name)});
    }

    std::unexpected<Error> wrong_rows(const StoredTensor& tensor, uint64_t expected, std::string_view what) const {
        return fail(ErrorKind::Format, "{}: shape [{}]; expected are {} rows: {}", tensor.place,
                    fmt::join(tensor.shape, ", "), expected, what);
    }

    Result<std::vector<Part>> parts_of(const StoredTensor& tensor, const NameRule& rule, const std::string& ours,
                                       const TheirName& theirs) const {
        const uint32_t heads = sizes_.heads, groups = sizes_.kv_heads, dim = sizes_.head_dim;
        const std::string name = ours + theirs.suffix;
        const uint64_t rows = tensor.shape.empty() ? 1 : tensor.shape.front();
        const bool is_q = theirs.stem == "layers.#.self_attn.q_proj", is_k = theirs.stem == "layers.#.self_attn.k_proj";
        Change change = rule.change;
        if (family_.pairs_heads && is_q) change = Change::pair_q;
        if (family_.pairs_heads && is_k) change = Change::pair_k;
        if (change == Change::transposed && theirs.suffix != ".weight") change = Change::none;
        // Names of the parts of blk.N.attn_qkv and blk.N.ffn_gate_up.
        const auto sister = [&](std::string_view last) {
            return ours.substr(0, ours.rfind('.') + 1) + std::string(last) + theirs.suffix;
        };
        const std::string sizes_text = fmt::format("{} heads and {} of keys, of {}", heads, groups, dim);
        const uint64_t fused_rows = uint64_t{heads + 2 * groups} * dim;
        std::vector<Part> parts = {{name, {}}};
        RowOrder& order = parts.front().order;
        switch (change) {
            case Change::none:
            case Change::whole_name:
                break;
            case Change::pair_q:
            case Change::pair_k: {
                const uint32_t count = change == Change::pair_q ? heads : groups;
                // Granite's head_dim is not told by some configurations, and is rows by heads in any.
                if (rows != uint64_t{count} * dim || dim % 2 != 0)
                    return wrong_rows(tensor, uint64_t{count} * dim, sizes_text);
                append_paired(order, 0, count, dim);
                break;
            }
            case Change::split_qkv:
                if (rows != fused_rows) return wrong_rows(tensor, fused_rows, sizes_text);
                parts = {{sister("attn_q"), {}}, {sister("attn_k"), {}}, {sister("attn_v"), {}}};
                append_run(parts[0].order, 0, heads * dim);
                append_run(parts[1].order, heads * dim, groups * dim);
                append_run(parts[2].order, (heads + groups) * dim, groups * dim);
                break;
            case Change::split_gate_up:
                if (rows % 2 != 0) return wrong_rows(tensor, rows + 1, "two halves");
                parts = {{sister("ffn_gate"), {}}, {sister("ffn_up"), {}}};
                append_run(parts[0].order, 0, static_cast<uint32_t>(rows / 2));
                append_run(parts[1].order, static_cast<uint32_t>(rows / 2), static_cast<uint32_t>(rows / 2));
                break;
            case Change::by_head:
                if (rows != uint64_t{3} * heads * dim) return wrong_rows(tensor, uint64_t{3} * heads * dim, sizes_text);
                for (uint32_t part = 0; part < 3; ++part)
                    for (uint32_t head = 0; head < heads; ++head) append_run(order, (3 * head + part) * dim, dim);
                break;
            case Change::by_group:
            case Change::split_groups: {
                if (rows != fused_rows || heads % groups != 0) return wrong_rows(tensor, fused_rows, sizes_text);
                const uint32_t queries = heads / groups, stride = (queries + 2) * dim;
                const bool is_split = change == Change::split_groups;
                if (is_split && dim % 2 != 0) return wrong_rows(tensor, fused_rows, sizes_text);
                if (is_split) parts = {{sister("attn_q"), {}}, {sister("attn_k"), {}}, {sister("attn_v"), {}}};
                for (uint32_t part = 0; part < 3; ++part) {
                    RowOrder& target = parts[is_split ? part : 0].order;
                    const uint32_t first = part == 0 ? 0 : (queries + part - 1) * dim;
                    const uint32_t count = part == 0 ? queries : 1;
                    for (uint32_t group = 0; group < groups; ++group) {
                        if (is_split && part < 2)
                            append_paired(target, group * stride + first, count, dim);
                        else
                            append_run(target, group * stride + first, count * dim);
                    }
                }
                break;
            }
            case Change::transposed:
                if (tensor.shape.size() != 2) return wrong_rows(tensor, rows, "a matrix");
                parts.front().is_transposed = true;
                break;
        }
        return parts;
    }

    Result<void> add_part(const StoredTensor& tensor, const Part& part) {
        std::vector<uint64_t> ne(tensor.shape.rbegin(), tensor.shape.rend());
        if (part.is_transposed) std::swap(ne[0], ne[1]);
        if (!part.order.empty()) ne.back() = part.order.size();
        const bool adds_one = family_.adds_one && tensor.name.ends_with("norm.weight");
        const bool is_f32 = is_kept_as_f32(part.name, ne.size()) || tensor.type == StoredType::f64;
        const DType type = is_f32 ? DType::F32 : dtype_of(tensor.type);
        const uint64_t stored_bytes = element_bytes(tensor.type);
        const uint64_t elements = std::accumulate(ne.begin(), ne.end(), uint64_t{1}, std::multiplies{});
        const uint64_t bytes = elements * traits(type).block_bytes;
        std::span<const std::byte> data = tensor.data;
        const bool is_aligned = reinterpret_cast<uintptr_t>(data.data()) % stored_bytes == 0;
        const bool is_run = !part.order.empty() && part.order.back() - part.order.front() + 1 == part.order.size() &&
                            std::ranges::is_sorted(part.order);
        if (is_run) {  // some rows of the mapping
            const uint64_t row = tensor.data.size() / tensor.shape.front();
            data = data.subspan(part.order.front() * row, part.order.size() * row);
        }
        uint64_t offset = tensor.offset_bytes + static_cast<uint64_t>(data.data() - tensor.data.data());
        const bool is_moved = part.is_transposed || (!part.order.empty() && !is_run);
        if (is_moved || !is_aligned) {
            data = moved(tensor, part, data);
            offset = 0;
        }
        if (type != dtype_of(tensor.type) || tensor.type == StoredType::f64 || adds_one) {
            data = as_floats(tensor.type, data, elements, adds_one ? 1.0f : 0.0f);
            offset = 0;
        }
        check(data.size() == bytes, "a tensor that was rewritten has its size");
        if (part.name == "token_embd.weight") embedding_rows_ = tensor.rows();
        writer_.add_tensor(part.name, type, ne, bytes);
        presentation_.tensors.push_back({data, offset, fmt::format("{} (as {})", tensor.place, part.name)});
        return {};
    }

    std::byte* own(uint64_t bytes) {
        return presentation_.owned.emplace_back(new std::byte[std::max<uint64_t>(bytes, 1)]).get();
    }

    // The elements that the part wants, in its order, as they are stored.
    std::span<const std::byte> moved(const StoredTensor& tensor, const Part& part, std::span<const std::byte> data) {
        std::byte* const result = own(data.size());
        const uint64_t element = element_bytes(tensor.type);
        if (part.is_transposed) {
            const uint64_t rows = tensor.shape[0], width = tensor.shape[1];
            for (uint64_t row = 0; row < rows; ++row)
                for (uint64_t column = 0; column < width; ++column)
                    std::memcpy(result + (column * rows + row) * element,
                                data.data() + (row * width + column) * element, element);
            return {result, data.size()};
        }
        const uint64_t row_bytes = tensor.data.size() / (tensor.shape.empty() ? 1 : tensor.shape.front());
        const uint64_t rows = data.size() / row_bytes;
        if (part.order.empty() || rows != tensor.shape.front()) {  // only not aligned
            std::memcpy(result, data.data(), data.size());
            return {result, data.size()};
        }
        for (size_t i = 0; i < part.order.size(); ++i)
            std::memcpy(result + i * row_bytes, data.data() + part.order[i] * row_bytes, row_bytes);
        return {result, part.order.size() * row_bytes};
    }

    std::span<const std::byte> as_floats(StoredType type, std::span<const std::byte> data, uint64_t elements,
                                         float added) {
        std::byte* const result = own(elements * sizeof(float));
        for (uint64_t i = 0; i < elements; ++i) {
            float value = as_float(type, data.data() + i * element_bytes(type)) + added;
            // GGUF files have the sum as it is in the stored type.
            if (added != 0 && type == StoredType::f16) value = half_to_float(float_to_half(value));
            std::memcpy(result + i * sizeof(float), &value, sizeof(float));
        }
        return {result, elements * sizeof(float)};
    }

    const Family& family_;
    const HeadSizes& sizes_;
    GgufWriter& writer_;
    GgufPresentation& presentation_;
    std::optional<uint64_t> embedding_rows_;
};

// ---- tensors that follow from the configuration ----

// Llama 3's: low frequencies are divided by a factor, high ones are not, and those in between in part.
Result<std::vector<float>> llama3_factors(const Keys& keys, const HeadSizes& sizes) {
    const Json& rope = keys.global_rope();
    const auto number = [&](std::string_view key, double usual) -> Result<double> {
        RIFTJIT_TRY(value, keys.rope_number(rope, key));
        if (value.value_or(usual) <= 0)
            return fail(ErrorKind::Format, "{}: {} is {}; allowed are numbers above 0",
                        keys.config().place("rope_parameters"), key, *value);
        return value.value_or(usual);
    };
    RIFTJIT_TRY(base, number("rope_theta", 10000.0));
    RIFTJIT_TRY(factor, number("factor", keys.architecture() == "exaone4" ? 16.0 : 8.0));
    RIFTJIT_TRY(low, number("low_freq_factor", 1.0));
    RIFTJIT_TRY(high, number("high_freq_factor", 4.0));
    RIFTJIT_TRY(original, number("original_max_position_embeddings", 8192.0));
    if (low == high)
        return fail(ErrorKind::Format, "{}: low_freq_factor and high_freq_factor are both {}",
                    keys.config().place("rope_parameters"), low);
    std::vector<float> factors;
    for (uint32_t i = 0; i < sizes.head_dim; i += 2) {
        // In f32 and with reciprocals, as published files have them computed.
        const float exponent = static_cast<float>(i) / static_cast<float>(sizes.head_dim);
        const float frequency = 1.0f / std::pow(static_cast<float>(base), exponent);
        const float wavelength = 1.0f / frequency * static_cast<float>(2 * std::numbers::pi);
        if (wavelength < original / high) {
            factors.push_back(1.0f);
        } else if (wavelength > original / low) {
            factors.push_back(static_cast<float>(factor));
        } else {
            const float periods = 1.0f / wavelength * static_cast<float>(original);
            const float smooth = (periods - static_cast<float>(low)) / static_cast<float>(high - low);
            factors.push_back(1.0f / ((1.0f - smooth) / static_cast<float>(factor) + smooth));
        }
    }
    return factors;
}

Result<std::vector<float>> long_factors(const Keys& keys, std::string_view key, uint64_t count) {
    const std::string place = keys.config().place("rope_parameters");
    const Json* const list = find(keys.rope(), key);
    if (list == nullptr || !list->is_array() || list->size() != count)
        return fail(ErrorKind::Format, "{}: {} is {}; expected are {} numbers", place, key,
                    list == nullptr ? "absent" : shown(*list), count);
    std::vector<float> factors;
    for (const Json& factor : *list) {
        if (!factor.is_number() || !(std::abs(factor.get<double>()) <= 1e30))
            return fail(ErrorKind::Format, "{}: {} has {}; allowed are numbers up to 1e30", place, key, shown(factor));
        factors.push_back(factor.get<float>());
    }
    return factors;
}

Result<void> add_rope_factors(const Keys& keys, const HeadSizes& sizes, TensorTeller& teller) {
    const Json* const type = find(keys.global_rope(), "rope_type");
    if (type == nullptr) return {};
    const std::string place = keys.config().place("rope_parameters");
    if (*type == Json("llama3")) {
        RIFTJIT_TRY(factors, llama3_factors(keys, sizes));
        teller.add_values("rope_freqs.weight", factors, place + " (as rope_freqs.weight)");
    }
    if (*type != Json("longrope") && *type != Json("su")) return {};
    RIFTJIT_TRY(part, keys.rope_number(keys.rope(), "partial_rotary_factor"));
    const double factor = part.value_or(1.0);
    const uint64_t dims = factor > 0 && factor <= 1 ? static_cast<uint64_t>(factor * sizes.head_dim) : 0;
    RIFTJIT_TRY(longs, long_factors(keys, "long_factor", dims / 2));
    RIFTJIT_TRY(shorts, long_factors(keys, "short_factor", dims / 2));
    teller.add_values("rope_factors_long.weight", longs, place + " (as rope_factors_long.weight)");
    teller.add_values("rope_factors_short.weight", shorts, place + " (as rope_factors_short.weight)");
    return {};
}

// ---- norms of single heads ----

struct HeadNorm {
    std::string name;  // of the matrix
    uint64_t head;
};

// "model.layers.3.self_attn.q_layernorm.norms.2.weight" -> {"blk.3.attn_q_norm.weight", 2}
std::optional<HeadNorm> parse_head_norm(const std::string& name) {
    const size_t at = name.find("_layernorm.norms.");
    if (at == std::string::npos || at == 0 || !name.ends_with(".weight")) return std::nullopt;
    const char which = name[at - 1];
    const TheirName theirs = parse_their_name(name);
    const std::string number = name.substr(at + 17, name.size() - 7 - (at + 17));
    const bool is_number = !number.empty() && number.size() <= 6 &&
                           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if ((which != 'q' && which != 'k') || !is_number || !theirs.layer) return std::nullopt;
    return HeadNorm{fmt::format("blk.{}.attn_{}_norm.weight", *theirs.layer, which), std::stoull(number)};
}

}  // namespace

bool is_kept_as_f32(std::string_view name, size_t dimensions) {
    for (const char* part : {"ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight",
                             "shortconv.conv.weight", "altup_correct_coef.weight", "altup_predict_coef.weight"})
        if (name.ends_with(part)) return true;
    return dimensions <= 1 || name.ends_with("_norm.weight") || !name.ends_with(".weight") ||
           name == "position_embd.weight" || name == "token_types.weight";
}

Result<uint64_t> tell_tensors(const Family& family, const Keys& keys, const Weights& weights, GgufWriter& writer,
                              GgufPresentation& presentation) {
    RIFTJIT_TRY(sizes, read_head_sizes(keys.config()));
    TensorTeller teller(family, sizes, writer, presentation);
    RIFTJIT_TRY_VOID(add_rope_factors(keys, sizes, teller));
    RIFTJIT_TRY(is_tied, keys.config().boolean({"tie_word_embeddings"}));
    const bool skips_head = is_tied.value_or(family.architecture.starts_with("gemma"));
    const bool has_images = keys.config().find({"vision_config"}).value != nullptr;
    bool has_head = false;
    size_t left_out = 0;
    std::map<std::string, std::map<uint64_t, const StoredTensor*>> head_norms;
    for (const StoredTensor& tensor : weights.tensors) {
        if (is_buffer(tensor.name) || is_left_out(family, tensor.name)) continue;
        if (has_images && is_of_images(tensor.name)) {
            ++left_out;
            continue;
        }
        const bool is_head = tensor.name.ends_with("lm_head.weight");
        if (is_head && skips_head) continue;  // the table of embeddings is used
        has_head = has_head || is_head || tensor.name.ends_with("embed_out.weight") || tensor.name == "output.weight";
        if (const auto norm = parse_head_norm(tensor.name); norm && family.architecture == "stablelm") {
            head_norms[norm->name][norm->head] = &tensor;
            continue;
        }
        RIFTJIT_TRY_VOID(teller.add(tensor));
    }
    for (const auto& [name, norms] : head_norms) {
        std::vector<const StoredTensor*> rows;
        for (const auto& [head, tensor] : norms) rows.push_back(tensor);
        if (norms.rbegin()->first + 1 != norms.size())
            return fail(ErrorKind::Format, "{}: {} heads have norms, but one of head {} is there", rows.back()->place,
                        norms.size(), norms.rbegin()->first);
        RIFTJIT_TRY_VOID(teller.add_stacked(name, rows));
    }
    if (is_tied && !*is_tied && !has_head)
        return fail(ErrorKind::Format, "{} is false, but there is no tensor 'lm_head.weight'",
                    keys.config().place("tie_word_embeddings"));
    if (left_out > 0)
        presentation.warnings.push_back(fmt::format("{}: {} tensors for images are left out: text alone is understood",
                                                    printable_path(presentation.path), left_out));
    if (!teller.embedding_rows())
        return fail(ErrorKind::Format, "{}: no tensor is the table of embeddings", printable_path(presentation.path));
    return *teller.embedding_rows();
}

}  // namespace riftjit::models::folder

// A family's tiny file with wider rows: blocks of 256 elements divide them, so that its matrices can be of any type.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/gguf/gguf_writer.h"
#include "models/model.h"
#include "tests/models/gguf/gguf_builder.h"

namespace riftjit::runtime {

inline constexpr uint32_t kWidestBlock = 256;
// Encoders make vectors, or scores where they have a classifier.
inline constexpr models::Purpose kPurpose{.embeds_encoders = true};

// "blk.2.attn_q.weight": "attn_q.weight"
inline std::string part_of(std::string_view name) {
    if (!name.starts_with("blk.")) return std::string(name);
    return std::string(name.substr(name.find('.', 4) + 1));
}

struct WideTensor {
    std::string name;
    DType type;
    std::vector<uint64_t> ne;
    const models::GgufTensor* tiny;
    bool is_fitted = false;  // the loader said this shape, not that of another layer's
};

// Heads, channels and widths are multiplied, what a head is stays as it was. Which shapes follow from the keys the
// loader says: it refuses a file without data until they all fit.
class WideFile {
public:
    explicit WideFile(const std::filesystem::path& tiny) : tiny_(take(models::Gguf::open(tiny))) {
        architecture_ = take(tiny_.require_string("general.architecture"));
        set_keys();
        for (const models::GgufTensor& tensor : tiny_.tensors())
            tensors_.push_back({std::string(tensor.name), tensor.type, tensor.ne, &tensor, false});
        set_free_extents();
        for (size_t tries = 0; fit_one(); ++tries)
            if (tries > tensors_.size()) throw std::runtime_error("no shapes fit");
    }

    const std::string& architecture() const { return architecture_; }
    const std::vector<WideTensor>& tensors() const { return tensors_; }

    // A file of these types; data lies where the index says.
    models::GgufIndex index(const std::vector<DType>& types) const {
        models::GgufWriter writer = keys_;
        for (size_t i = 0; i < tensors_.size(); ++i)
            writer.add_tensor(tensors_[i].name, types[i], tensors_[i].ne, bytes_of(tensors_[i].ne, types[i]));
        return writer.finish();
    }
    static uint64_t bytes_of(const std::vector<uint64_t>& ne, DType type) {
        return row_bytes(type, ne[0]) * std::accumulate(ne.begin() + 1, ne.end(), uint64_t{1}, std::multiplies());
    }
    std::vector<DType> tiny_types() const {
        std::vector<DType> types;
        for (const WideTensor& tensor : tensors_) types.push_back(tensor.type);
        return types;
    }

    template <class T>
    static T take(Result<T> result) {
        if (!result) throw std::runtime_error(result.error().message);
        return std::move(*result);
    }

private:
    // By how much a width is multiplied so that blocks divide it.
    static uint32_t factor_of(uint64_t width) { return kWidestBlock / uint32_t(std::gcd(width, kWidestBlock)); }
    static uint32_t rounded(uint64_t width) { return uint32_t(round_up(width, kWidestBlock)); }

    // The same for all layers, whose widths may differ.
    uint32_t factor_of_part(std::string_view part) const {
        uint32_t factor = 1;
        for (const models::GgufTensor& tensor : tiny_.tensors())
            if (part_of(tensor.name) == part) factor = std::lcm(factor, factor_of(tensor.width()));
        return factor;
    }

    template <class Change>
    void change(const std::string& suffix, Change&& changed) {
        const std::string key = architecture_ + "." + suffix;
        const models::GgufEntry* entry = tiny_.find(key);
        if (entry == nullptr) return;
        if (entry->type != models::GgufType::array)
            return keys_.set_u32(key, changed(uint32_t(*take(tiny_.integer(key, 0, UINT32_MAX)))));
        std::vector<int32_t> values;
        const std::vector<int64_t> old = *take(tiny_.integers(key));
        for (const int64_t value : old) values.push_back(int32_t(changed(uint32_t(value))));
        keys_.set_i32s(key, values);
    }

    void set_keys() {
        for (const models::GgufEntry& entry : tiny_.entries()) keys_.copy(entry);
        const auto times = [](uint32_t factor) { return [factor](uint32_t value) { return factor * value; }; };
        // The only family whose key counts a block's two matrices together.
        const uint32_t counted = architecture_ == "qwen" ? 2 : 1;
        const auto to_blocks = [=](uint32_t value) { return counted * rounded(value / counted); };
        // The only family with rows of a sixteenth of its width, which blocks have to divide, too.
        const uint32_t divided = architecture_ == "plamo2" ? 16 : 1;
        change("embedding_length",
               times(divided * factor_of(*take(tiny_.integer(architecture_ + ".embedding_length", 1, 1 << 20)))));
        for (const char* width : {"feed_forward_length", "expert_feed_forward_length",
                                  "expert_shared_feed_forward_length", "embedding_length_per_layer_input"})
            change(width, to_blocks);
        const uint32_t scan = factor_of_part("ssm_out.weight");
        change("ssm.inner_size", times(scan));
        const models::GgufTensor* const times_of_heads = tiny_.find_tensor("blk.0.ssm_dt.weight");
        if (times_of_heads != nullptr &&  // a rank, of Mamba 1
            int64_t(times_of_heads->width()) == *take(tiny_.integer(architecture_ + ".ssm.time_step_rank", 1, 1 << 20)))
            change("ssm.time_step_rank", to_blocks);
        else
            change("ssm.time_step_rank", times(scan));
        if (tiny_.find(architecture_ + ".attention.kv_lora_rank") != nullptr) return set_latent_keys();
        set_heads(factor_of_part("attn_output.weight"));
    }
    // One head of keys stays one: the family may not know another number.
    void set_heads(uint32_t factor) {
        change("attention.head_count", [&](uint32_t heads) { return factor * heads; });
        change("attention.head_count_kv", [&](uint32_t heads) { return heads == 1 ? 1 : factor * heads; });
    }
    // Latent attention: ranks and the parts of a head that matrices multiply.
    void set_latent_keys() {
        const auto to = [](uint32_t value) { return [value](uint32_t) { return value; }; };
        const auto rotated = uint32_t(*take(tiny_.integer(architecture_ + ".rope.dimension_count", 1, 1 << 10)));
        change("attention.q_lora_rank", to(kWidestBlock));
        change("attention.kv_lora_rank", to(kWidestBlock));
        if (tiny_.find(architecture_ + ".attention.key_length_mla") == nullptr)
            return set_heads(factor_of_part("attn_output.weight"));
        change("attention.key_length", to(kWidestBlock + rotated));
        change("attention.value_length", to(kWidestBlock));
        change("attention.key_length_mla", to(kWidestBlock + rotated));
        change("attention.value_length_mla", to(kWidestBlock / 4));
    }

    // Where the loader takes a table's rows from the file.
    void set_free_extents() {
        for (WideTensor& tensor : tensors_) {
            const std::string part = part_of(tensor.name);
            for (const char* free :
                 {"ffn_up_exps.weight", "ffn_gate_exps.weight", "ffn_up_shexp.weight", "ffn_latent_down.weight",
                  "laurel_l.weight", "cls.weight", "dense_2.weight", "dense_3.weight"})
                if (part == free) tensor.ne[1] = rounded(tensor.ne[1]);
            if (part == "ffn_gate_up_exps.weight") tensor.ne[1] = 2 * rounded(tensor.ne[1] / 2);
        }
    }

    // Has the loader refuse one shape more, if there is one; others of that part are as this one.
    bool fit_one() {
        models::test::MemoryFile file;
        const models::GgufIndex header = index(tiny_types());
        file.write(0, {reinterpret_cast<const char*>(header.header.data()), header.header.size()});
        file.resize(header.file_bytes);
        for (size_t i = 0; i < tensors_.size(); ++i)  // factors of frequencies, which must not be zeros
            if (tensors_[i].name.starts_with("rope_"))
                file.write(header.offsets_bytes[i], {reinterpret_cast<const char*>(tensors_[i].tiny->data.data()),
                                                     tensors_[i].tiny->data.size()});
        const auto model = models::load_model(file.path(), kPurpose);
        if (model) return false;
        static const std::regex shape(R"(tensor '([^']*)' has wrong shape; expected \[([^\]]*)\])");
        std::smatch found;
        if (!std::regex_search(model.error().message, found, shape)) throw std::runtime_error(model.error().message);
        std::vector<uint64_t> expected;
        std::istringstream numbers(found[2]);
        for (std::string number; std::getline(numbers, number, ',');) expected.push_back(std::stoull(number));
        const auto wrong = std::ranges::find(tensors_, found[1].str(), &WideTensor::name);
        const std::vector<uint64_t> old = wrong->ne, old_tiny = wrong->tiny->ne;
        for (WideTensor& tensor : tensors_)
            if (!tensor.is_fitted && part_of(tensor.name) == part_of(wrong->name) && tensor.tiny->ne == old_tiny &&
                tensor.ne == old)
                tensor.ne = expected;
        wrong->ne = expected;
        wrong->is_fitted = true;
        return true;
    }
    models::Gguf tiny_;
    std::string architecture_;
    models::GgufWriter keys_;
    std::vector<WideTensor> tensors_;
};

}  // namespace riftjit::runtime

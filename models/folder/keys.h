// A GGUF file's metadata made of a folder's configuration. What was read where is kept for messages.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "models/folder/json_file.h"
#include "models/gguf/gguf_writer.h"

namespace riftjit::models::folder {

using Places = std::unordered_map<std::string, std::string>;

class Keys {
public:
    Keys(const Config& config, std::string_view architecture, GgufWriter& writer, Places& places);

    const Config& config() const { return config_; }
    const std::string& architecture() const { return architecture_; }
    const Json& rope() const { return rope_; }  // rope_parameters, or the older rope_scaling with what stands around it
    const Json& global_rope() const;            // of the layers that see everything

    // `suffix` stands behind the architecture: "block_count".
    void set(std::string_view suffix, uint32_t value, std::string_view from = "");
    void set(std::string_view suffix, float value, std::string_view from = "");
    void set(std::string_view suffix, bool value, std::string_view from = "");
    void set_text(std::string_view suffix, std::string_view value, std::string_view from = "");
    void set_integers(std::string_view suffix, const std::vector<int32_t>& values, std::string_view from = "");
    void set_numbers(std::string_view suffix, const std::vector<float>& values, std::string_view from = "");
    void set_flags(std::string_view suffix, const std::vector<uint8_t>& values, std::string_view from = "");
    bool has(std::string_view suffix) const { return writer_.has(full(suffix)); }

    // The first of the names that the configuration has, if it has one.
    Result<void> copy_integer(std::string_view suffix, Config::Names names);
    Result<void> copy_number(std::string_view suffix, Config::Names names);
    Result<void> require_integer(std::string_view suffix, Config::Names names);
    Result<void> require_number(std::string_view suffix, Config::Names names);

    // A number of rope().
    Result<std::optional<double>> rope_number(const Json& rope, std::string_view key) const;
    // Whether the configuration asks for anything but `allowed`, of which each is text, number or flag as JSON.
    Result<void> allow_only(Config::Names names, std::initializer_list<Json> allowed) const;

private:
    std::string full(std::string_view suffix) const { return architecture_ + "." + std::string(suffix); }
    void note(std::string_view suffix, std::string_view from);

    const Config& config_;
    std::string architecture_;
    GgufWriter& writer_;
    Places& places_;
    Json rope_;
};

// Sizes that changes of tensors depend on.
struct HeadSizes {
    uint32_t width, layers, heads, kv_heads, head_dim;
};
Result<HeadSizes> read_head_sizes(const Config& config);

// What transformers' decoders share: sizes, epsilons, rotation.
Result<void> set_decoder_keys(Keys& keys);

}  // namespace riftjit::models::folder

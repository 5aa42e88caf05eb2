// JSON files of a model's folder, read with every value checked: messages name file, key and value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::models::folder {

using Json = nlohmann::json;  // its objects find a key in logarithmic time, which vocabularies want

// `text` as JSON: an object without keys that stand twice. `name` is the file's in messages.
Result<Json> parse_object(std::string_view name, std::string_view text);
// Refuses what is longer than `most` bytes before reading it.
Result<Json> read_object(const std::filesystem::path& path, uint64_t most);
Result<std::string> read_text(const std::filesystem::path& path, uint64_t most);

// The entry of an object; null for one that is absent, or null in the file.
const Json* find(const Json& object, std::string_view key);

// A value for messages: one line, cut.
std::string shown(const Json& value);

// Configurations look a value up under several names, and in the part that tells of the text model first.
class Config {
public:
    using Names = std::initializer_list<std::string_view>;

    Config(std::string file, Json root) : file_(std::move(file)), root_(std::move(root)) {}

    const std::string& file() const { return file_; }
    const Json& root() const { return root_; }

    struct Found {
        std::string_view key;
        const Json* value = nullptr;
        explicit operator bool() const { return value != nullptr; }
    };
    Found find(Names names) const;
    // "config.json: key 'hidden_size'"
    std::string place(std::string_view key) const;

    Result<std::optional<uint64_t>> integer(Names names, uint64_t low = 0, uint64_t high = UINT32_MAX) const;
    Result<uint64_t> require_integer(Names names, uint64_t low = 0, uint64_t high = UINT32_MAX) const;
    Result<std::optional<double>> number(Names names) const;
    Result<double> require_number(Names names) const;
    Result<std::optional<bool>> boolean(Names names) const;
    Result<std::optional<std::string>> string(Names names) const;

private:
    std::string file_;
    Json root_;
};

}  // namespace riftjit::models::folder

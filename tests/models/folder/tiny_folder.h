// A copy of one of tests/data/folders that a test may change.
#pragma once

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/folder/model_file.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/models/expect_message.h"

namespace riftjit::models::test {

inline std::string whole_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class TinyFolder {
public:
    using Json = nlohmann::ordered_json;

    explicit TinyFolder(const std::string& name = "qwen3") {
        const std::filesystem::path source = std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/folders" / name;
        for (const auto& entry : std::filesystem::directory_iterator(source))
            if (entry.path().filename() != "expected.json") set(entry.path().filename(), whole_file(entry.path()));
    }

    const std::filesystem::path& path() const { return directory_.path(); }
    std::string get(const std::string& name) const { return whole_file(path() / name); }
    TinyFolder& set(const std::string& name, std::string_view bytes) {
        directory_.write(name, bytes);
        return *this;
    }
    TinyFolder& remove(const std::string& name) {
        std::filesystem::remove(path() / name);
        return *this;
    }
    TinyFolder& edit(const std::string& name, const std::function<void(Json&)>& change) {
        Json json = Json::parse(get(name));
        change(json);
        return set(name, json.dump());
    }

    // What opening it fails with; empty: it opens, and so does its tokenizer.
    std::string message() const {
        const auto model = load_model(path());
        if (!model) return model.error().message;
        const auto tokenizer = Tokenizer::from_gguf(model->file);
        return tokenizer ? "" : tokenizer.error().message;
    }

private:
    TemporaryDirectory directory_;
};

// A safetensors file taken apart, so that any of it can be made wrong.
struct SafetensorsParts {
    nlohmann::ordered_json header;
    std::string data;

    explicit SafetensorsParts(const std::string& bytes) {
        uint64_t length = 0;
        std::memcpy(&length, bytes.data(), sizeof length);
        header = nlohmann::ordered_json::parse(bytes.substr(8, length));
        data = bytes.substr(8 + length);
    }
    static std::string joined(const std::string& header, const std::string& data) {
        return raw(uint64_t{header.size()}) + header + data;
    }
    std::string bytes() const { return joined(header.dump(), data); }

    // Only these tensors, with their data behind one another.
    SafetensorsParts only(const std::function<bool(size_t number)>& takes) const {
        SafetensorsParts part = *this;
        part.header = nlohmann::ordered_json::object();
        part.data.clear();
        size_t number = 0;
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__" || !takes(number++)) continue;
            const std::array<uint64_t, 2> place = entry.at("data_offsets");
            part.header[name] = entry;
            part.header[name]["data_offsets"] = {part.data.size(), part.data.size() + place[1] - place[0]};
            part.data += data.substr(place[0], place[1] - place[0]);
        }
        return part;
    }
};

}  // namespace riftjit::models::test

// Reads the goldens: 8 bytes of header length, a JSON header, then tensors (safetensors format). For tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace riftjit {

class Safetensors {
public:
    explicit Safetensors(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error("cannot open " + path);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        uint64_t header_bytes = 0;
        std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
        data_offset_ = sizeof header_bytes + header_bytes;
        header_ = nlohmann::json::parse(bytes_.begin() + sizeof header_bytes, bytes_.begin() + data_offset_);
    }

    std::vector<int32_t> i32(const std::string& name) const { return read<int32_t, int32_t>(name, "I32"); }

    // F32 or F64.
    std::vector<double> real(const std::string& name) const {
        return dtype(name) == "F64" ? read<double, double>(name, "F64") : read<float, double>(name, "F32");
    }

    // The bytes of a tensor as they lie in the file.
    std::string bytes(const std::string& name) const {
        const std::vector<uint64_t> offsets = header_.at(name).at("data_offsets");
        return {bytes_.data() + data_offset_ + offsets[0], bytes_.data() + data_offset_ + offsets[1]};
    }

    std::vector<uint64_t> shape(const std::string& name) const { return header_.at(name).at("shape"); }
    std::string dtype(const std::string& name) const { return header_.at(name).at("dtype"); }

private:
    template <class Stored, class Value>
    std::vector<Value> read(const std::string& name, const char* expected) const {
        if (dtype(name) != expected) throw std::runtime_error(name + " is not " + expected);
        const std::vector<uint64_t> offsets = header_.at(name).at("data_offsets");
        std::vector<Stored> stored((offsets[1] - offsets[0]) / sizeof(Stored));
        std::memcpy(stored.data(), bytes_.data() + data_offset_ + offsets[0], offsets[1] - offsets[0]);
        return {stored.begin(), stored.end()};
    }

    std::vector<char> bytes_;
    size_t data_offset_ = 0;
    nlohmann::json header_;
};

}  // namespace riftjit

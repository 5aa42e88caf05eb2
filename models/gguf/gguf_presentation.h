// A model that is stored in other files, told as a GGUF file would tell it: what Gguf::present() takes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/gguf/gguf_mapping.h"
#include "models/gguf/gguf_writer.h"

namespace riftjit::models {

struct PresentedFile {
    std::filesystem::path path;
    uint64_t file_bytes;
    Mapping data;
};

struct PresentedTensor {
    std::span<const std::byte> data;  // in one of the files, or owned
    uint64_t data_offset_bytes = 0;   // in its file
    std::string place;                // how messages about it begin: "model.safetensors: tensor 'lm_head.weight'"
};

struct GgufPresentation {
    std::filesystem::path path;
    std::string format;  // "safetensors"
    std::vector<PresentedFile> files;
    GgufIndex index;
    std::vector<PresentedTensor> tensors;                     // parallel to the index
    std::vector<std::unique_ptr<std::byte[]>> owned;          // data of those that are not as they lie in a file
    std::unordered_map<std::string, std::string> key_places;  // how messages about keys begin
    std::vector<std::string> warnings;
};

}  // namespace riftjit::models

// What a Gguf holds: the parts' mappings and parsed contents, and hash indexes over them. Private to models/gguf*.cpp.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "models/gguf/gguf.h"
#include "models/gguf/gguf_mapping.h"
#include "models/gguf/gguf_parser.h"
#include "models/gguf/gguf_presentation.h"

namespace riftjit::models {

struct LoadedPart {
    std::filesystem::path path;
    std::string name;  // the path, escaped
    uint64_t file_bytes;
    Mapping head, data;
    GgufPart content;
};

struct Gguf::Impl {
    std::filesystem::path path;
    std::vector<LoadedPart> parts;  // the first one's metadata is the model's
    std::vector<GgufTensor> tensors;
    std::vector<size_t> tensor_parts;  // parallel: index of the part that holds it
    std::unordered_map<std::string_view, size_t> tensor_indexes, entry_indexes;
    std::vector<std::string> warnings;
    GgufPresentation presented;  // without files, which are parts; empty for a GGUF file

    const std::string& name() const { return parts.front().name; }
    Result<void> add_part(LoadedPart part);
};

}  // namespace riftjit::models

// What `riftjit inspect` prints: an inspected file as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/gguf/gguf.h"
#include "models/gguf/gguf_data_check.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"

namespace riftjit::tools {

struct Inspection {
    models::Gguf file;
    std::optional<models::Model> model;                    // absent: only the file was looked at
    std::optional<models::Tokenizer> tokenizer;            // absent: only the file was looked at
    std::optional<std::vector<models::Finding>> findings;  // absent: tensor data was not read
};

std::string to_text(const Inspection& inspection);
nlohmann::ordered_json to_json(const Inspection& inspection);

}  // namespace riftjit::tools

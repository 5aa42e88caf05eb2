// Vectors of texts, and the scores that a reranker gives them.
//
// Texts are read side by side, several in a step. Since a row's bits do not depend on its neighbours, what a text gets
// does not depend on those that are read with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace riftjit::engine {

struct Embedding {
    std::vector<float> values;  // [vectors][width]
    uint32_t vectors = 1;       // one for each token where nothing is pooled
    uint32_t tokens = 0;        // that were read
};

// A query and a document in the form that the file has for rerankers ({query}, {document}); nullopt: it has none.
Result<std::optional<std::string>> rank_text(const models::Gguf& file, std::string_view query,
                                             std::string_view document);

class Embedder {
public:
    // The engine was opened to embed (EngineOptions::purpose) and must outlive it.
    static Result<std::unique_ptr<Embedder>> create(const Engine& engine);

    models::Pooling pooling() const { return engine_.model.hyperparameters.pooling; }
    uint32_t width() const;        // of a vector; of ranks the number of scores
    uint32_t most_tokens() const;  // of a text
    // The scores' names; empty where the file has none. Fails where its key is no list of as many names.
    Result<std::vector<std::string>> labels() const;

    // A text as it is embedded, with the tokens that the vocabulary puts around it.
    Result<std::vector<int32_t>> tokens_of(std::string_view text) const;
    // A query and a document as rerankers read them: by the file's template for that, or with the vocabulary's tokens
    // between them.
    Result<std::vector<int32_t>> tokens_of_pair(std::string_view query, std::string_view document) const;

    // One for each text, none of them normalised. Fails, before anything is computed, on an empty text and on one that
    // is too long. May be called from several threads; their texts take turns. `is_wanted`, asked now and then, may end
    // it, with ErrorKind::Usage: nobody waits for the result any more.
    Result<std::vector<Embedding>> embed(std::span<const std::vector<int32_t>> texts,
                                         const std::function<bool()>& is_wanted = nullptr);

private:
    Embedder(const Engine& engine, runtime::Sequences sequences);

    Result<void> check(std::span<const std::vector<int32_t>> texts) const;
    size_t count_together(std::span<const std::vector<int32_t>> texts) const;
    Result<void> read_together(std::span<const std::vector<int32_t>> texts, std::span<Embedding> out);
    bool wants(size_t row, size_t rows) const;

    const Engine& engine_;
    std::mutex mutex_;
    runtime::Sequences sequences_;
    std::vector<runtime::StepRow> rows_;
};

// In place, as llama.cpp counts the ways: -1 not at all, 0 to the largest of 32760, 1 by the sum of sizes, 2 to
// Euclidean length 1, p above to the p-norm 1. Zeros stay as they are.
void normalize(std::span<float> vector, int way);
// Of two vectors of one width; 0 where one is all zeros, 1 where both are.
double cosine(std::span<const float> one, std::span<const float> other);

}  // namespace riftjit::engine

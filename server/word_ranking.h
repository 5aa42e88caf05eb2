// Documents ranked by a model that writes, without a classifier: asked whether a document answers a query, how likely
// it says yes and not no. So do monoT5 (arXiv 2003.06713) and Qwen3-Reranker (arXiv 2506.05176, 3), whose words are
// used where the file has none of its own; of other models it is as good as their answers.
#pragma once

#include "server/service.h"

namespace riftjit::server {

struct Ranked {
    std::vector<float> scores;  // of each document; of words between 0 and 1
    uint64_t tokens = 0;        // that were read
};

// Fails on a document that does not fit, before any is read, and when the client left.
Outcome<Ranked> rank_by_words(const Service& service, const std::string& query,
                              const std::vector<std::string>& documents, const HttpRequest& request);

}  // namespace riftjit::server

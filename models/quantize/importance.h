// How much each column of a model's matrices matters: the mean squares of what it is multiplied by, over a text, as
// llama-imatrix measures them. GGUF files of it have NAME.in_sum2 [width, experts] and NAME.counts [1, experts].
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/gguf/gguf.h"
#include "models/gguf/gguf_writer.h"

namespace riftjit::models {

struct ImportanceEntry {
    std::vector<float> sums;    // of squares, [experts][width]
    std::vector<float> counts;  // rows that were summed, of each expert

    size_t width() const { return sums.size() / counts.size(); }
    std::vector<float> means() const;  // 1 for an expert that no row reached
};

struct ImportanceMatrix {
    std::vector<std::string> datasets = {};  // names of the texts
    uint32_t chunk_count = 0, chunk_size = 0;
    std::map<std::string, ImportanceEntry> entries = {};  // by the matrix's name

    // Fails on what is no such file, on widths that do not fit, and on sums that are no numbers or below 0.
    static Result<ImportanceMatrix> open(const std::filesystem::path& path);

    // Adds what another text's rows gave. Fails, with `path` in the message, on a matrix of another shape.
    Result<void> add(const ImportanceMatrix& other, const std::string& path);
    // All bytes of its file, in order.
    Result<void> write(const Append& append) const;
};

}  // namespace riftjit::models

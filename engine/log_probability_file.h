// What a model says of every scored token of a text, kept for comparison with other models: llama-perplexity's base
// files (--kl-divergence-base).
//
// "_logits_", i32 context, vocabulary and chunks, then the i32 tokens of all chunks, and for each scored row a record
// of u16: f32 scale and lowest log-probability, then a code for each token, padded to an even number. The logarithm of
// a probability is scale * code + lowest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "engine/perplexity.h"

namespace riftjit::engine {

struct LogProbabilityHeader {
    uint32_t context = 0, vocabulary = 0, chunks = 0;
    std::vector<int32_t> tokens = {};  // as they were before a begin token took the place of a chunk's first

    TextWindows windows() const { return {context, context, context / 2, chunks}; }
    size_t record_size() const { return 4 + (size_t(vocabulary) + 1) / 2 * 2; }  // in u16
    std::vector<std::byte> bytes() const;
};

// A record as values. Codes reach 16 units below the highest logit; what lies deeper has code 0.
void encode_record(const LogitRow& row, std::span<uint16_t> record);

class LogRecord {
public:
    explicit LogRecord(std::span<const uint16_t> record);
    double log_probability(size_t token) const { return scale_ * codes_[token] + lowest_; }

private:
    std::span<const uint16_t> codes_;
    float scale_, lowest_;
};

class LogProbabilityFile {
public:
    // Fails on what is no such file, or is longer or shorter than it says.
    static Result<LogProbabilityFile> open(const std::string& path);

    const LogProbabilityHeader& header() const { return header_; }
    // Of the next chunk, row by row.
    Result<std::span<const uint16_t>> next_chunk();

private:
    std::string path_;
    std::ifstream stream_;
    LogProbabilityHeader header_;
    std::vector<uint16_t> records_;
};

}  // namespace riftjit::engine

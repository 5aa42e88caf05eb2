#include "models/tokenizer/tokenizer_merges.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace riftjit::models {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr size_t kMaxJoinedBytes = 1024;  // merges_by_id tries each cut of a token; published ones have 128 bytes

// Turns merges into pairs of ids, a block at a time: each step of a block's searches waits for memory that the step
// before has asked for. One after the other they would take three times as long.
class MergeReader {
public:
    MergeReader(const Gguf& file, const Vocabulary& vocabulary, std::span<const std::string_view> merges)
        : file_(file), vocabulary_(vocabulary), texts_(merges), merges_(merges.size()) {}

    Result<BpeMerges> read() {
        for (size_t begin = 0; begin < texts_.size(); begin += kBlock)
            RIFTJIT_TRY_VOID(read_block(begin, std::min(begin + kBlock, texts_.size())));
        return std::move(merges_);
    }

private:
    static constexpr size_t kBlock = 64;
    struct Entry {
        TokenIndex::Search left, right, joined;
        std::string text;  // of joined
        int32_t left_id, right_id, result;
    };

    Result<void> read_block(size_t begin, size_t end) {
        const TokenIndex& index = vocabulary_.index();
        const auto block = std::span(block_).first(end - begin);
        for (size_t i = begin; i < end; ++i) RIFTJIT_TRY_VOID(start(i, block[i - begin]));
        for (Entry& entry : block) {
            index.look_up(entry.left);
            index.look_up(entry.right);
        }
        for (const Entry& entry : block) {
            index.approach(entry.left);
            index.approach(entry.right);
        }
        for (size_t i = begin; i < end; ++i) RIFTJIT_TRY_VOID(join(i, block[i - begin]));
        for (Entry& entry : block)
            if (entry.result < 0) index.look_up(entry.joined);
        for (const Entry& entry : block)
            if (entry.result < 0) index.approach(entry.joined);
        for (size_t i = begin; i < end; ++i) RIFTJIT_TRY_VOID(finish(i, block[i - begin]));
        for (size_t i = begin; i < end; ++i) {
            const Entry& entry = block[i - begin];
            merges_.add(entry.left_id, entry.right_id, {static_cast<uint32_t>(i), entry.result});
        }
        return {};
    }

    Result<void> start(size_t i, Entry& entry) const {
        const std::string_view merge = texts_[i];
        const size_t space = merge.find(' ', 1);  // a left part may begin with a space
        if (merge.empty() || space == std::string_view::npos) return refuse(i, "has no space between two parts");
        const std::string_view right = merge.substr(space + 1);
        if (right.empty()) return refuse(i, "has no second part");
        if (right.contains(' ')) return refuse(i, "has more than two parts");
        entry.left = vocabulary_.index().start(merge.substr(0, space));
        entry.right = vocabulary_.index().start(right);
        return {};
    }

    Result<void> join(size_t i, Entry& entry) {
        const auto left = vocabulary_.index().finish(entry.left), right = vocabulary_.index().finish(entry.right);
        if (!left) return refuse_part(i, "left part", entry.left.text);
        if (!right) return refuse_part(i, "right part", entry.right.text);
        merges_.prefetch(*left, *right);
        entry.left_id = *left;
        entry.right_id = *right;
        entry.text.assign(entry.left.text);
        entry.text += entry.right.text;
        entry.result = guess_joined(entry.text);
        if (entry.result >= 0) {
            previous_result_ = entry.result;
        } else {
            entry.joined = vocabulary_.index().start(entry.text);
        }
        return {};
    }

    // Vocabularies list the results of merges in their order, so it often is the next token, or the same as before
    // where each way to cut a token has its merge. -1: neither.
    int32_t guess_joined(std::string_view text) const {
        for (int32_t id = std::max(previous_result_, 0); id <= previous_result_ + 1; ++id)
            if (id < static_cast<int32_t>(vocabulary_.size()) && vocabulary_.text(id) == text) return id;
        return -1;
    }

    Result<void> finish(size_t i, Entry& entry) {
        if (entry.result >= 0) return {};
        const auto result = vocabulary_.index().finish(entry.joined);
        if (!result) return refuse_part(i, "result", entry.text);
        entry.result = previous_result_ = *result;
        return {};
    }

    std::unexpected<Error> refuse(size_t i, std::string_view why) const {
        return fail(ErrorKind::Format, "{}: merge {} '{}' {}", file_.place_of(*file_.find(kMergesKey)), i,
                    printable(texts_[i]), why);
    }
    std::unexpected<Error> refuse_part(size_t i, std::string_view which, std::string_view part) const {
        return refuse(i, fmt::format("has a {} '{}' that is no token", which, printable(part)));
    }

    const Gguf& file_;
    const Vocabulary& vocabulary_;
    const std::span<const std::string_view> texts_;
    BpeMerges merges_;
    std::array<Entry, kBlock> block_;
    int32_t previous_result_ = -1;
};

}  // namespace

Result<BpeMerges> read_merges(const Gguf& file, const Vocabulary& vocabulary, std::string_view pretokenizer) {
    RIFTJIT_TRY(merges, file.strings(kMergesKey));
    if (!merges) {
        if (pretokenizer == "kimi-k2") return merges_by_id(vocabulary);
        return fail(ErrorKind::Format, "{}: missing key {}: a byte-level vocabulary needs its merges",
                    printable(file.path().native()), kMergesKey);
    }
    if (merges->size() >= BpeMerges::kNoRank)
        return fail(ErrorKind::Format, "{} has {} merges; allowed are fewer than {}",
                    file.place_of(*file.find(kMergesKey)), merges->size(), BpeMerges::kNoRank);
    return MergeReader(file, vocabulary, *merges).read();
}

BpeMerges merges_by_id(const Vocabulary& vocabulary) {
    BpeMerges merges(vocabulary.size());
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
        const std::string_view text = vocabulary.text(id);
        if (text.size() > kMaxJoinedBytes || !vocabulary.find_plain(text)) continue;
        for (size_t cut = 1; cut < text.size(); ++cut) {
            const auto left = vocabulary.find_plain(text.substr(0, cut));
            const auto right = vocabulary.find_plain(text.substr(cut));
            if (left && right) merges.add(*left, *right, {static_cast<uint32_t>(id), id});
        }
    }
    return merges;
}

}  // namespace riftjit::models

// A fingerprint of logits: equal bits give equal text, so that a fast wrong kernel is noticed in any report.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace riftjit::runtime {

// XXH3-128 over the bytes of every logit given so far, in order; how they were split over calls does not matter.
class LogitsHash {
public:
    LogitsHash();
    LogitsHash(LogitsHash&&) noexcept;
    LogitsHash& operator=(LogitsHash&&) noexcept;
    ~LogitsHash();

    void add(std::span<const float> logits);
    std::string hex() const;  // 32 digits, the canonical (big-endian) form

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit::runtime

#include "runtime/logits_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "host/result.h"

namespace riftjit::runtime {

struct LogitsHash::Impl {
    XXH3_state_t* const state = XXH3_createState();
    Impl() { check(state != nullptr && XXH3_128bits_reset(state) == XXH_OK, "a hash state can be made"); }
    ~Impl() { XXH3_freeState(state); }
};

LogitsHash::LogitsHash() : impl_(std::make_unique<Impl>()) {}
LogitsHash::LogitsHash(LogitsHash&&) noexcept = default;
LogitsHash& LogitsHash::operator=(LogitsHash&&) noexcept = default;
LogitsHash::~LogitsHash() = default;

void LogitsHash::add(std::span<const float> logits) {
    XXH3_128bits_update(impl_->state, logits.data(), logits.size_bytes());
}

std::string LogitsHash::hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(impl_->state);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace riftjit::runtime

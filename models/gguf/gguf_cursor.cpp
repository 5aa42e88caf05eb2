#include "models/gguf/gguf_cursor.h"

#include <bit>

#include "models/gguf/gguf.h"

namespace riftjit::models {

static_assert(std::endian::native == std::endian::little, "values are copied from little-endian files");

namespace {
constexpr uint64_t kMaxStringBytes = 1ull << 30;  // as in the format's reference reader (ggml: gguf.cpp)
}

std::string Subject::text() const { return name ? fmt::format("{} '{}'", what, printable(*name)) : std::string(what); }

std::unexpected<Error> GgufCursor::ends_inside(const Subject& subject) const {
    if (head_.size() < file_bytes_)
        return fail(ErrorKind::Unsupported,
                    "{}: {} (at byte {}): metadata and index are longer than the {} bytes that this build reads", file_,
                    subject.text(), position_, head_.size());
    return fail(ErrorKind::Format,
                "{}: file ends at byte {} inside {} (at byte {}); if it was cut off, download it again", file_,
                file_bytes_, subject.text(), position_);
}

Result<std::span<const std::byte>> GgufCursor::take(uint64_t bytes, const Subject& subject) {
    if (!has(bytes)) return ends_inside(subject);
    const std::span taken = head_.subspan(position_, bytes);
    position_ += bytes;
    return taken;
}

Result<std::string_view> GgufCursor::read_string(const Subject& subject) {
    const uint64_t start = position_;
    RIFTJIT_TRY(length, read<uint64_t>(subject));
    if (length > kMaxStringBytes)
        return fail(ErrorKind::Format, "{}: {} (at byte {}): string length {} exceeds the limit of {}; {} bytes remain",
                    file_, subject.text(), start, length, kMaxStringBytes, remaining_bytes());
    if (length > remaining_bytes())
        return fail(ErrorKind::Format,
                    "{}: {} (at byte {}): string length {} exceeds the {} bytes remaining; file ends at byte {} inside "
                    "it; if it was cut off, download it again",
                    file_, subject.text(), start, length, remaining_bytes(), file_bytes_);
    RIFTJIT_TRY(bytes, take(length, subject));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool GgufCursor::pass_string() {
    uint64_t length = 0;
    if (!has(sizeof length)) return false;
    std::memcpy(&length, head_.data() + position_, sizeof length);
    if (length > kMaxStringBytes || !has(sizeof length + length)) return false;
    position_ += sizeof length + length;
    return true;
}

Result<std::span<const std::byte>> GgufCursor::take_strings(uint64_t count, std::string_view key) {
    const uint64_t start = position_;
    for (uint64_t i = 0; i < count; ++i) {
        if (pass_string()) continue;
        const std::string what = fmt::format("string {} of key", i);
        RIFTJIT_TRY_VOID(read_string({what, key}));  // fails where pass_string() does, and says how
    }
    return head_.subspan(start, position_ - start);
}

Result<uint64_t> GgufCursor::read_count(const Subject& subject, uint64_t min_bytes, uint64_t max_count) {
    const uint64_t start = position_;
    RIFTJIT_TRY(count, read<int64_t>(subject));
    const uint64_t fitting = remaining_bytes() / min_bytes;
    if (count < 0 || static_cast<uint64_t>(count) > fitting)
        return fail(ErrorKind::Format,
                    "{}: {} (at byte {}) is {}; allowed are 0 to {}, as each takes at least {} of the {} bytes "
                    "remaining",
                    file_, subject.text(), start, count, fitting, min_bytes, remaining_bytes());
    if (static_cast<uint64_t>(count) > max_count)
        return fail(ErrorKind::Unsupported, "{}: {} (at byte {}) is {}; this build reads at most {}", file_,
                    subject.text(), start, count, max_count);
    return static_cast<uint64_t>(count);
}

}  // namespace riftjit::models

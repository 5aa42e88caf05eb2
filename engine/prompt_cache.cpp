#include "engine/prompt_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <type_traits>
#include <variant>

#include "host/file_descriptor.h"
#include "host/little_endian.h"

namespace riftjit::engine {
namespace {

constexpr std::string_view kTextMagic{"riftjit text 1\n\0", 16};
constexpr uint64_t kTextHeaderBytes = 48, kTextChecksumBytes = 16;
constexpr uint64_t kTensorBytes = 4096;  // of each, for the identity

std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class Value>
std::span<const std::byte> bytes_of_value(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string_view>)
        return bytes_in(value);
    else if constexpr (std::is_same_v<Value, models::GgufArray>)
        return value.bytes;
    else
        return std::as_bytes(std::span(&value, 1));
}

class TextChecksum {
public:
    TextChecksum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
    void add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
    std::array<std::byte, 16> value() const {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
        std::array<std::byte, 16> bytes;
        std::memcpy(bytes.data(), canonical.digest, bytes.size());
        return bytes;
    }

private:
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

// A file from its beginning, or an error in words.
struct SavedText::Reader {
    static Result<Reader> open(const std::filesystem::path& path) {
        Reader reader;
        reader.file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        struct stat status{};
        if (!reader.file_ || fstat(reader.file_.get(), &status) != 0)
            return fail(ErrorKind::Io, "{}", std::strerror(errno));
        if (!S_ISREG(status.st_mode)) return fail(ErrorKind::Io, "no regular file");
        reader.bytes_ = static_cast<uint64_t>(status.st_size);
        return reader;
    }

    uint64_t bytes() const { return bytes_; }
    void seek(uint64_t at) { at_ = at; }

    Result<void> read(std::span<std::byte> to) {
        while (!to.empty()) {
            const ssize_t count = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at_));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return fail(ErrorKind::Io, "{}", std::strerror(errno));
            if (count == 0) return fail(ErrorKind::Format, "it ends at {} bytes", at_);
            at_ += static_cast<uint64_t>(count);
            to = to.subspan(static_cast<size_t>(count));
        }
        return {};
    }

    Result<void> check_sum();

private:
    FileDescriptor file_;
    uint64_t bytes_ = 0, at_ = 0;
};

Result<void> SavedText::Reader::check_sum() {
    TextChecksum sum;
    std::vector<std::byte> room(1 << 20);
    at_ = 0;
    for (uint64_t left = bytes_ - kTextChecksumBytes; left > 0;) {
        const auto piece = std::span(room).first(std::min<uint64_t>(left, room.size()));
        RIFTJIT_TRY_VOID(read(piece));
        sum.add(piece);
        left -= piece.size();
    }
    std::array<std::byte, kTextChecksumBytes> stored{};
    RIFTJIT_TRY_VOID(read(stored));
    if (stored != sum.value()) return fail(ErrorKind::Format, "its checksum does not match");
    return {};
}

TextIdentity text_identity(const Engine& engine, const EngineOptions& options) {
    TextChecksum sum;
    const models::Gguf& file = engine.model.file;
    for (const models::GgufTensor& tensor : file.tensors()) {
        sum.add(bytes_in(fmt::format("{} {} {} {}\n", tensor.name, traits(tensor.type).name, fmt::join(tensor.ne, "x"),
                                     tensor.size_bytes)));
        sum.add(tensor.data.first(std::min<uint64_t>(tensor.data.size(), kTensorBytes)));
    }
    for (const models::GgufEntry& entry : file.entries()) {
        sum.add(bytes_in(fmt::format("{} {}\n", entry.key, int(entry.type))));
        std::visit([&](const auto& value) { sum.add(bytes_of_value(value)); }, entry.value);
    }
    sum.add(bytes_in(fmt::format("{} {} {} {} {} {}\n", engine.device, name(engine.isa), traits(options.key_type).name,
                                 traits(options.value_type).name, int(options.activations), options.passes)));
    return sum.value();
}

Result<void> save_text(const HeldText& text, const TextIdentity& identity, const runtime::Sequences::Sink& sink) {
    TextChecksum sum;
    const runtime::Sequences::Sink write = [&](std::span<const std::byte> bytes) {
        sum.add(bytes);
        return sink(bytes);
    };
    std::vector<std::byte> header(kTextHeaderBytes);
    std::memcpy(header.data(), kTextMagic.data(), kTextMagic.size());
    std::memcpy(header.data() + kTextMagic.size(), identity.data(), identity.size());
    put_little_endian<uint64_t>(header, 32, text.ids.size());
    put_little_endian<uint64_t>(header, 40, text.payload_bytes);
    RIFTJIT_TRY_VOID(write(header));
    RIFTJIT_TRY_VOID(write(std::as_bytes(text.ids)));
    RIFTJIT_TRY_VOID(text.save(write));
    return sink(sum.value());
}

Result<void> save_text(const Context& context, uint32_t length, const TextIdentity& identity,
                       const runtime::Sequences::Sink& sink) {
    const runtime::Session& session = context.session();
    const auto save = [&](const runtime::Sequences::Sink& to) { return session.save(length, to); };
    return save_text(HeldText{context.ids().first(length), session.saved_bytes(length), save}, identity, sink);
}

Result<SavedText> SavedText::open(const std::filesystem::path& path, const TextIdentity& identity,
                                  const Limits& limits) {
    RIFTJIT_TRY(opened, Reader::open(path));
    auto file = std::make_shared<Reader>(std::move(opened));
    std::array<std::byte, kTextHeaderBytes> header{};
    if (file->bytes() < kTextHeaderBytes + kTextChecksumBytes) return fail(ErrorKind::Format, "no text of riftjit's");
    RIFTJIT_TRY_VOID(file->read(header));
    if (std::memcmp(header.data(), kTextMagic.data(), kTextMagic.size()) != 0)
        return fail(ErrorKind::Format, "no text of riftjit's");
    if (std::memcmp(header.data() + kTextMagic.size(), identity.data(), identity.size()) != 0)
        return fail(ErrorKind::Format, "of another model, or of other settings (cache types, level, activations)");
    const auto count = get_little_endian<uint64_t>(header, 32), payload = get_little_endian<uint64_t>(header, 40);
    if (count > limits.positions)
        return fail(ErrorKind::Format, "its {} tokens exceed the context of {} (-c)", count, limits.positions);
    if (payload != limits.payload_bytes(static_cast<uint32_t>(count)) ||
        file->bytes() != kTextHeaderBytes + count * sizeof(int32_t) + payload + kTextChecksumBytes)
        return fail(ErrorKind::Format, "{} bytes are not those of {} tokens", file->bytes(), count);
    RIFTJIT_TRY_VOID(file->check_sum());
    std::vector<int32_t> ids(count);
    file->seek(kTextHeaderBytes);
    RIFTJIT_TRY_VOID(file->read(std::as_writable_bytes(std::span(ids))));
    for (const int32_t id : ids)
        if (id < 0 || uint32_t(id) >= limits.tokens)
            return fail(ErrorKind::Format, "token {} is outside the vocabulary of {}", id, limits.tokens);
    return SavedText(std::move(file), std::move(ids));
}

uint64_t SavedText::bytes() const { return reader_->bytes(); }

runtime::Sequences::Source SavedText::payload() const {
    return [reader = reader_](std::span<std::byte> to) { return reader->read(to); };
}

Result<void> load_text(Context& context, const std::filesystem::path& path, const TextIdentity& identity) {
    const runtime::Session& session = context.session();
    const auto payload_bytes = [&](uint32_t length) { return session.saved_bytes(length); };
    RIFTJIT_TRY(file, SavedText::open(path, identity, {session.context(), session.token_limit(), payload_bytes}));
    return context.restore(file.ids(), file.payload());
}

}  // namespace riftjit::engine

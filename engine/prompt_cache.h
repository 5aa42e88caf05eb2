// The text that a context holds, with its keys and values, in a file: a later run goes on from it without reading the
// text again (--prompt-cache).
//
//   "riftjit text 1\n\0"                  16 bytes
//   what it belongs to (text_identity)    16
//   tokens, payload bytes                  8 + 8, little-endian
//   tokens                                 4 each
//   payload                                Sequences::save()
//   checksum of all before it             16, XXH3
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "engine/context.h"
#include "engine/engine.h"

namespace riftjit::engine {

using TextIdentity = std::array<std::byte, 16>;

// Of all that a text's keys and values depend on: metadata and tensors of the model (of each tensor its first 4 KiB,
// so that a large file is not read whole), types and context of the cache, target, activations.
TextIdentity text_identity(const Engine& engine, const EngineOptions& options);

// A text, and what a sequence holds of it.
struct HeldText {
    std::span<const int32_t> ids;
    uint64_t payload_bytes;
    std::function<Result<void>(const runtime::Sequences::Sink&)> save;  // the payload
};
Result<void> save_text(const HeldText& text, const TextIdentity& identity, const runtime::Sequences::Sink& sink);
// The first `length` tokens of the context's text.
Result<void> save_text(const Context& context, uint32_t length, const TextIdentity& identity,
                       const runtime::Sequences::Sink& sink);

// A file's text, of which all was checked but what the payload means. Errors say why in words without the path:
// another model's or setting's, damage, more tokens than a text has positions.
class SavedText {
public:
    struct Limits {
        uint32_t positions, tokens;
        std::function<uint64_t(uint32_t length)> payload_bytes;  // of so long a text
    };
    static Result<SavedText> open(const std::filesystem::path& path, const TextIdentity& identity,
                                  const Limits& limits);

    const std::vector<int32_t>& ids() const { return ids_; }
    uint64_t bytes() const;
    runtime::Sequences::Source payload() const;  // once; valid without this

private:
    struct Reader;
    SavedText(std::shared_ptr<Reader> reader, std::vector<int32_t> ids)
        : reader_(std::move(reader)), ids_(std::move(ids)) {}

    std::shared_ptr<Reader> reader_;
    std::vector<int32_t> ids_;
};

// Makes the file's text the context's. An error, as SavedText's, changes nothing but that the context is empty.
Result<void> load_text(Context& context, const std::filesystem::path& path, const TextIdentity& identity);

}  // namespace riftjit::engine

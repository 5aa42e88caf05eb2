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

#include "engine/context.h"
#include "engine/engine.h"

namespace riftjit::engine {

using TextIdentity = std::array<std::byte, 16>;

// Of all that a text's keys and values depend on: metadata and tensors of the model (of each tensor its first 4 KiB,
// so that a large file is not read whole), types and context of the cache, target, activations.
TextIdentity text_identity(const Engine& engine, const EngineOptions& options);

// The first `length` tokens of the context's text.
Result<void> save_text(const Context& context, uint32_t length, const TextIdentity& identity,
                       const runtime::Sequences::Sink& sink);

// Makes the file's text the context's. An error, which says why in words without the path, changes nothing but that the
// context is empty: another model's or setting's, damage, more tokens than the context has positions.
Result<void> load_text(Context& context, const std::filesystem::path& path, const TextIdentity& identity);

}  // namespace riftjit::engine

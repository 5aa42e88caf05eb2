// Reads the messages that opening or loading a file fails with.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "models/model.h"
#include "tests/models/gguf/gguf_builder.h"

namespace riftjit::models::test {

// Empty when the file opens.
inline std::string open_message(std::string_view bytes) {
    const MemoryFile file(bytes);
    const auto result = Gguf::open(file.path());
    return result ? "" : result.error().message;
}
inline std::string open_message(const GgufBuilder& builder) { return open_message(builder.bytes()); }

// Empty when the model loads.
inline std::string load_message(std::string_view bytes) {
    const MemoryFile file(bytes);
    const auto result = load_model(file.path());
    return result ? "" : result.error().message;
}
inline std::string load_message(const GgufBuilder& builder) { return load_message(builder.bytes()); }

// Every part occurs in the message, which is one line.
inline ::testing::AssertionResult says(std::string_view message, std::initializer_list<std::string_view> parts) {
    if (message.empty()) return ::testing::AssertionFailure() << "there was no error";
    if (message.find('\n') != std::string_view::npos)
        return ::testing::AssertionFailure() << "more than one line: " << message;
    for (const std::string_view part : parts)
        if (message.find(part) == std::string_view::npos)
            return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << message;
    return ::testing::AssertionSuccess();
}

}  // namespace riftjit::models::test

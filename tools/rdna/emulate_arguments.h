// What a kernel is launched with, from the command line: --buffer and --scalar in their order, and --out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/loader.h"

namespace riftjit::tools {

// "in.bin", "zero:4096", "undefined:4096".
struct BufferArgument {
    std::vector<std::byte> bytes;
    uint64_t size = 0;
    bool is_undefined = false;  // garbage that nothing may rely on
};
Result<BufferArgument> parse_buffer(const std::string& text);

// "u32:7", "f16:0.5", "hex:00ff": the bytes as they lie in memory.
Result<std::vector<std::byte>> parse_scalar(std::string_view text);

// "1:y.bin"
struct SavedBuffer {
    size_t buffer = 0;
    std::string path;
};
Result<SavedBuffer> parse_saved_buffer(std::string_view text, size_t buffers);

// One value as it is passed: a buffer's address or a scalar.
struct PassedValue {
    std::vector<std::byte> bytes;
    bool is_buffer = false;
};

// What a kernel is to be given, in order: "--buffer x, --scalar n (4 bytes)".
std::string argument_list(const rdna::LoadedKernel& kernel);

// The kernel's explicit arguments, laid out as its metadata says; without metadata one after the other, each aligned to
// its size. Refused, with what the kernel takes: too many, too few, a size that differs, a scalar for a pointer to
// memory.
Result<std::vector<std::byte>> lay_out_arguments(const rdna::LoadedKernel& kernel, std::span<const PassedValue> values);

}  // namespace riftjit::tools

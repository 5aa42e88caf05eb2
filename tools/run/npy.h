// Writes NumPy .npy files (format version 1.0): f32, C order, two axes, row after row.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>

#include "host/result.h"

namespace riftjit::tools {

class NpyWriter {
public:
    static Result<NpyWriter> create(const std::filesystem::path& path, size_t rows, size_t columns);
    Result<void> add(std::span<const float> values);
    Result<void> finish();  // everything is with the operating system, or an error

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    explicit NpyWriter(std::filesystem::path path) : path_(std::move(path)) {}
    Result<void> put(const void* bytes, size_t size);

    std::filesystem::path path_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace riftjit::tools

// Writes NumPy .npy files (format version 1.0): f32, C order, two axes, row after row.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/cli/output_file.h"

namespace riftjit::tools {

class NpyWriter {
public:
    static Result<NpyWriter> create(const std::string& path, size_t rows, size_t columns);
    Result<void> add(std::span<const float> values);
    Result<void> finish();  // only now the file bears its name

private:
    NpyWriter(std::string path, ReplacedFile file) : path_(std::move(path)), file_(std::move(file)) {}
    Result<void> told(Result<void> done) const;  // an error, with the file's name

    std::string path_;
    ReplacedFile file_;
};

}  // namespace riftjit::tools

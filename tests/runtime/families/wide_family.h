// A family's wide file with matrices of any type, and data for it.
#pragma once

#include "graph/dequantize.h"
#include "models/quantize/file_type.h"
#include "tests/runtime/families/type_blocks.h"
#include "tests/runtime/families/wide_file.h"

namespace riftjit::runtime {

template <class T>
double root_mean_square(const std::vector<T>& values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares / double(values.size()));
}

inline std::vector<float> values_of(const models::GgufTensor& tensor) {
    std::vector<float> values(tensor.width() * tensor.rows());
    const uint64_t bytes = row_bytes(tensor.type, tensor.width());
    for (uint64_t row = 0; row < tensor.rows(); ++row)
        graph::dequantize_row(tensor.type, tensor.data.data() + row * bytes, uint32_t(tensor.width()),
                              values.data() + row * tensor.width());
    return values;
}

// A family's wide file, written anew for each type.
class WideFamily {
public:
    explicit WideFamily(const std::filesystem::path& tiny) : wide_(tiny) {
        for (const WideTensor& tensor : wide_.tensors()) values_.push_back(values_of(*tensor.tiny));
    }

    const WideFile& wide() const { return wide_; }

    // The types that riftjit's quantiser gives the tensors when asked for this one alone.
    std::vector<DType> types_for(DType type) const {
        models::test::MemoryFile file;
        write_header(file, wide_.index(wide_.tiny_types()));
        const models::Gguf gguf = WideFile::take(models::Gguf::open(file.path()));
        std::vector<const models::GgufTensor*> tensors;
        for (const models::GgufTensor& tensor : gguf.tensors()) tensors.push_back(&tensor);
        const models::TypeOptions options{.file_type = {name(type), models::FileKind::Q8_0, type}, .pure = true};
        std::vector<DType> types;
        for (const models::ChosenType& chosen : WideFile::take(models::choose_types(gguf, tensors, options)))
            types.push_back(chosen.type);
        return types;
    }

    void write(models::test::MemoryFile& file, const std::vector<DType>& types, TypeBlocks& blocks,
               uint32_t seed) const {
        const models::GgufIndex index = wide_.index(types);
        write_header(file, index);
        std::mt19937 random(seed);
        for (size_t i = 0; i < types.size(); ++i) {
            const std::vector<std::byte> data = data_of(i, types[i], blocks, random);
            file.write(index.offsets_bytes[i], {reinterpret_cast<const char*>(data.data()), data.size()});
        }
    }

private:
    static void write_header(models::test::MemoryFile& file, const models::GgufIndex& index) {
        file.resize(index.file_bytes);
        file.write(0, {reinterpret_cast<const char*>(index.header.data()), index.header.size()});
    }

    // Matrices are random, with sums as large as the tiny file's. What is none, and small tables that are never
    // quantised, is the tiny file's over again: decays keep their sign, gains are near one.
    std::vector<std::byte> data_of(size_t number, DType type, TypeBlocks& blocks, std::mt19937& random) const {
        const WideTensor& tensor = wide_.tensors()[number];
        const uint64_t width = tensor.ne[0], bytes = row_bytes(type, width);
        std::vector<std::byte> data(WideFile::bytes_of(tensor.ne, type));
        if (tensor.ne.size() > 1 && width % kWidestBlock == 0 && tensor.type != DType::F32) {
            const bool is_table = tensor.name.starts_with("token_embd") || tensor.name.starts_with("position_embd");
            const double shrink = is_table ? 1 : std::sqrt(double(tensor.tiny->width()) / double(width));
            const double deviation = root_mean_square(values_[number]) * shrink;
            for (size_t at = 0; at < data.size(); at += bytes)
                blocks.fill(type, deviation, std::span(data).subspan(at, bytes), random);
            return data;
        }
        std::vector<float> row(width);
        for (uint64_t at = 0; at * bytes < data.size(); ++at) {
            const float* const tiny = tiny_row(number, at);
            for (uint64_t i = 0; i < width; ++i) row[i] = tiny[i % tensor.tiny->width()];
            graph::encode_row(type, row, {}, data.data() + at * bytes);
        }
        return data;
    }
    const float* tiny_row(size_t number, uint64_t row) const {
        const WideTensor& tensor = wide_.tensors()[number];
        uint64_t tiny = 0, rows = 1;
        for (size_t axis = 1; axis < tensor.ne.size(); ++axis) {
            const uint64_t tiny_extent = axis < tensor.tiny->ne.size() ? tensor.tiny->ne[axis] : 1;
            tiny += row % tensor.ne[axis] % tiny_extent * rows;
            rows *= tiny_extent;
            row /= tensor.ne[axis];
        }
        return values_[number].data() + tiny * tensor.tiny->width();
    }

    WideFile wide_;
    std::vector<std::vector<float>> values_;  // of the tiny file's tensors
};

}  // namespace riftjit::runtime

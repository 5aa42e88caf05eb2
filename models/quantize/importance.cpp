#include "models/quantize/importance.h"

#include <cmath>
#include <cstring>

#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

Result<std::vector<float>> sums_or_counts(const Gguf& file, const GgufTensor& tensor) {
    if (tensor.type != DType::F32)
        return fail(ErrorKind::Format, "{}: is {}, expected f32", file.place_of(tensor), name(tensor.type));
    if (tensor.data.empty()) return fail(ErrorKind::Format, "{}: has no values", file.place_of(tensor));
    std::vector<float> values(tensor.data.size() / sizeof(float));
    std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]) || values[i] < 0)
            return fail(ErrorKind::Format, "{}: value {} is {}, expected a number from 0 on", file.place_of(tensor), i,
                        values[i]);
    return values;
}

Result<uint32_t> count_key(const Gguf& file, const char* key) {
    RIFTJIT_TRY(value, file.integer(key, 0, UINT32_MAX));
    return uint32_t(value.value_or(0));
}

}  // namespace

std::vector<float> ImportanceEntry::means() const {
    std::vector<float> values(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
        const float count = counts[i / width()];
        values[i] = count > 0 ? sums[i] / count : 1;
    }
    return values;
}

Result<ImportanceMatrix> ImportanceMatrix::open(const std::filesystem::path& path) {
    RIFTJIT_TRY(file, Gguf::open(path));
    ImportanceMatrix matrix;
    RIFTJIT_TRY(datasets, file.strings("imatrix.datasets"));
    if (!datasets || file.find("imatrix.chunk_count") == nullptr || file.find("imatrix.chunk_size") == nullptr)
        return fail(ErrorKind::Format,
                    "{}: is no importance matrix: imatrix.datasets, imatrix.chunk_count and imatrix.chunk_size are "
                    "expected",
                    printable_path(path));
    matrix.datasets.assign(datasets->begin(), datasets->end());
    RIFTJIT_TRY(chunks, count_key(file, "imatrix.chunk_count"));
    RIFTJIT_TRY(size, count_key(file, "imatrix.chunk_size"));
    matrix.chunk_count = chunks;
    matrix.chunk_size = size;
    for (const GgufTensor& tensor : file.tensors()) {
        if (!tensor.name.ends_with(kSums)) continue;
        const std::string name(tensor.name.substr(0, tensor.name.size() - kSums.size()));
        const GgufTensor* counted = file.find_tensor(name + std::string(kCounts));
        if (counted == nullptr)
            return fail(ErrorKind::Format, "{}: there is no {}{}", file.place_of(tensor), printable(name), kCounts);
        RIFTJIT_TRY(sums, sums_or_counts(file, tensor));
        RIFTJIT_TRY(counts, sums_or_counts(file, *counted));
        if (sums.size() % counts.size() != 0)
            return fail(ErrorKind::Format, "{}: has {} values for {} experts", file.place_of(tensor), sums.size(),
                        counts.size());
        matrix.entries.emplace(name, ImportanceEntry{std::move(sums), std::move(counts)});
    }
    if (matrix.entries.empty())
        return fail(ErrorKind::Format, "{}: holds no tensor NAME{}", printable_path(path), kSums);
    return matrix;
}

Result<void> ImportanceMatrix::add(const ImportanceMatrix& other, const std::string& path) {
    for (const auto& [name, entry] : other.entries) {
        const auto [place, is_new] = entries.emplace(name, entry);
        ImportanceEntry& mine = place->second;
        if (is_new) continue;
        if (mine.sums.size() != entry.sums.size() || mine.counts.size() != entry.counts.size())
            return fail(ErrorKind::Format, "{}: {} has {} values of {} matrices, expected {} of {}", path,
                        printable(name), entry.sums.size(), entry.counts.size(), mine.sums.size(), mine.counts.size());
        for (size_t i = 0; i < mine.sums.size(); ++i) mine.sums[i] += entry.sums[i];
        for (size_t i = 0; i < mine.counts.size(); ++i) mine.counts[i] += entry.counts[i];
    }
    datasets.insert(datasets.end(), other.datasets.begin(), other.datasets.end());
    chunk_count += other.chunk_count;
    if (chunk_size == 0) chunk_size = other.chunk_size;
    return {};
}

Result<void> ImportanceMatrix::write(const Append& append) const {
    GgufWriter writer;
    writer.set_string("general.type", "imatrix");
    writer.set_strings("imatrix.datasets", datasets);
    writer.set_u32("imatrix.chunk_count", chunk_count);
    writer.set_u32("imatrix.chunk_size", chunk_size);
    std::vector<std::span<const float>> tensors;
    const auto add_tensor = [&](const std::string& name, std::span<const float> values, size_t matrices) {
        std::vector<uint64_t> ne = {values.size() / matrices};
        if (matrices > 1) ne.push_back(matrices);
        writer.add_tensor(name, DType::F32, ne, values.size_bytes());
        tensors.push_back(values);
    };
    for (const auto& [name, entry] : entries) {
        add_tensor(name + std::string(kSums), entry.sums, entry.counts.size());
        add_tensor(name + std::string(kCounts), entry.counts, entry.counts.size());
    }
    const GgufIndex index = writer.finish();
    RIFTJIT_TRY_VOID(append(index.header));
    uint64_t written = index.header.size();
    for (size_t i = 0; i < tensors.size(); ++i) {
        RIFTJIT_TRY_VOID(append(std::vector<std::byte>(index.offsets_bytes[i] - written)));
        RIFTJIT_TRY_VOID(append(std::as_bytes(tensors[i])));
        written = index.offsets_bytes[i] + tensors[i].size_bytes();
    }
    return append(std::vector<std::byte>(index.file_bytes - written));
}

}  // namespace riftjit::models

#include "engine/log_probability_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "host/little_endian.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::engine {

namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr size_t kFixedBytes = 20;
constexpr float kDeepest = 16;  // below the highest logit
constexpr float kMostCode = 65535;

}  // namespace

std::vector<std::byte> LogProbabilityHeader::bytes() const {
    std::vector<std::byte> bytes(kFixedBytes + tokens.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
    put_little_endian(bytes, 8, context);
    put_little_endian(bytes, 12, vocabulary);
    put_little_endian(bytes, 16, chunks);
    for (size_t i = 0; i < tokens.size(); ++i)
        put_little_endian(bytes, kFixedBytes + i * sizeof(int32_t), uint32_t(tokens[i]));
    return bytes;
}

void encode_record(const LogitRow& row, std::span<uint16_t> record) {
    const float highest = row.logits[size_t(row.best)];
    const float deepest = std::max(std::ranges::min(row.logits), highest - kDeepest);
    const auto lowest = float(deepest - row.log_sum);
    const float scale = (highest - deepest) / kMostCode;
    const std::array<float, 2> factors = {scale, lowest};
    std::memcpy(record.data(), factors.data(), sizeof factors);
    const std::span codes = record.subspan(4);
    std::ranges::fill(codes, uint16_t(0));
    if (scale == 0) return;
    const float inverse = 1 / scale;
    for (size_t i = 0; i < row.logits.size(); ++i)
        if (row.logits[i] > deepest)
            codes[i] = uint16_t(std::min(std::nearbyint(inverse * (row.logits[i] - deepest)), kMostCode));
}

LogRecord::LogRecord(std::span<const uint16_t> record) : codes_(record.subspan(4)) {
    std::memcpy(&scale_, record.data(), sizeof scale_);
    std::memcpy(&lowest_, record.data() + 2, sizeof lowest_);
}

Result<LogProbabilityFile> LogProbabilityFile::open(const std::string& path) {
    const std::string name = models::printable_path(path);
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(path, error);
    if (error && error != std::errc::no_such_file_or_directory)
        return fail(ErrorKind::Io, "{}: {}", name, error.message());
    if (!is_file)
        return fail(ErrorKind::Io, "{}: {}", name,
                    std::filesystem::exists(path, error) ? "is no regular file" : "No such file or directory");
    const uint64_t size = std::filesystem::file_size(path, error);
    LogProbabilityFile file;
    file.path_ = path;
    file.stream_.open(path, std::ios::binary);
    if (!file.stream_) return fail(ErrorKind::Io, "{}: {}", name, std::strerror(errno));
    std::array<std::byte, kFixedBytes> fixed{};
    file.stream_.read(reinterpret_cast<char*>(fixed.data()), fixed.size());
    if (!file.stream_ || std::memcmp(fixed.data(), kMagic.data(), kMagic.size()) != 0)
        return fail(ErrorKind::Format, "{}: does not begin with \"{}\": no file of log-probabilities", name, kMagic);
    LogProbabilityHeader& header = file.header_;
    header.context = get_little_endian<uint32_t>(fixed, 8);
    header.vocabulary = get_little_endian<uint32_t>(fixed, 12);
    header.chunks = get_little_endian<uint32_t>(fixed, 16);
    constexpr uint32_t kMost = 1 << 24;  // of each: products fit 64 bits in bytes, but not three of them
    if (header.context < 4 || header.vocabulary == 0 || header.chunks == 0 || header.context > kMost ||
        header.vocabulary > kMost || header.chunks > kMost)
        return fail(ErrorKind::Format, "{}: {} chunks of {} tokens of a vocabulary of {} cannot be", name,
                    header.chunks, header.context, header.vocabulary);
    const auto expected =
        (unsigned __int128)header.chunks *
            (header.context * sizeof(int32_t) +
             header.windows().scored() * (unsigned __int128)(header.record_size() * sizeof(uint16_t))) +
        kFixedBytes;
    if (expected != size)
        return fail(ErrorKind::Format, "{}: has {} bytes, and {} for {} chunks of {} tokens of a vocabulary of {}",
                    name, size, expected > UINT64_MAX ? "far more" : std::to_string(uint64_t(expected)), header.chunks,
                    header.context, header.vocabulary);
    std::vector<std::byte> tokens(size_t(header.chunks) * header.context * sizeof(int32_t));
    file.stream_.read(reinterpret_cast<char*>(tokens.data()), std::streamsize(tokens.size()));
    if (!file.stream_) return fail(ErrorKind::Io, "{}: cannot be read: {}", name, std::strerror(errno));
    header.tokens.resize(tokens.size() / sizeof(int32_t));
    for (size_t i = 0; i < header.tokens.size(); ++i)
        header.tokens[i] = get_little_endian<int32_t>(tokens, i * sizeof(int32_t));
    file.records_.resize(header.record_size() * header.windows().scored());
    return file;
}

Result<std::span<const uint16_t>> LogProbabilityFile::next_chunk() {
    stream_.read(reinterpret_cast<char*>(records_.data()), std::streamsize(records_.size() * sizeof(uint16_t)));
    if (!stream_)
        return fail(ErrorKind::Io, "{}: cannot be read: {}", models::printable_path(path_), std::strerror(errno));
    return std::span<const uint16_t>(records_);
}

}  // namespace riftjit::engine

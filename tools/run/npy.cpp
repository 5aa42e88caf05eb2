#include "tools/run/npy.h"

#include <cerrno>
#include <cstring>

#include "jit/kernel_spec.h"

namespace riftjit::tools {

Result<NpyWriter> NpyWriter::create(const std::filesystem::path& path, size_t rows, size_t columns) {
    NpyWriter writer(path);
    writer.file_.reset(std::fopen(path.c_str(), "wb"));
    if (!writer.file_) return fail(ErrorKind::Io, "{}: {}", path.string(), std::strerror(errno));
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
    constexpr size_t kPreamble = 10;  // magic, version, header length
    header.resize(round_up(kPreamble + header.size() + 1, 64) - kPreamble - 1, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    const std::string preamble =
        std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8);
    RIFTJIT_TRY_VOID(writer.put(preamble.data(), preamble.size()));
    RIFTJIT_TRY_VOID(writer.put(header.data(), header.size()));
    return writer;
}

Result<void> NpyWriter::put(const void* bytes, size_t size) {
    if (size == 0 || std::fwrite(bytes, size, 1, file_.get()) == 1) return {};
    return fail(ErrorKind::Io, "{}: {}", path_.string(), std::strerror(errno));
}

Result<void> NpyWriter::add(std::span<const float> values) { return put(values.data(), values.size_bytes()); }

Result<void> NpyWriter::finish() {
    if (std::fflush(file_.get()) == 0) return {};
    return fail(ErrorKind::Io, "{}: {}", path_.string(), std::strerror(errno));
}

}  // namespace riftjit::tools

#include "tools/run/npy.h"

#include "host/round_up.h"

namespace riftjit::tools {

Result<NpyWriter> NpyWriter::create(const std::string& path, size_t rows, size_t columns) {
    auto file = ReplacedFile::create(path);
    if (!file) return fail(file.error().kind, "{}: {}", path, file.error().message);
    NpyWriter writer(path, *std::move(file));
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
    constexpr size_t kPreamble = 10;  // magic, version, header length
    header.resize(round_up(kPreamble + header.size() + 1, 64) - kPreamble - 1, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    header.insert(
        0, std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8));
    RIFTJIT_TRY_VOID(writer.told(writer.file_.append(std::as_bytes(std::span(header)))));
    return writer;
}

Result<void> NpyWriter::told(Result<void> done) const {
    if (done) return done;
    return fail(done.error().kind, "{}: {}", path_, done.error().message);
}

Result<void> NpyWriter::add(std::span<const float> values) { return told(file_.append(std::as_bytes(values))); }

Result<void> NpyWriter::finish() { return told(file_.finish()); }

}  // namespace riftjit::tools

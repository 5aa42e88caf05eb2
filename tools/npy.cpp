#include "tools/npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "jit/kernel_spec.h"

namespace riftjit::tools {

Result<void> write_npy(const std::filesystem::path& path, std::span<const float> values, size_t columns) {
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                                     values.size() / columns, columns);
    constexpr size_t kPreamble = 10;  // magic, version, header length
    header.resize(round_up(kPreamble + header.size() + 1, 64) - kPreamble - 1, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    const std::string preamble =
        std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8);

    const auto close = [](std::FILE* file) { std::fclose(file); };
    std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wb"), close);
    const auto put = [&](const void* bytes, size_t size) {
        return size == 0 || std::fwrite(bytes, size, 1, file.get()) == 1;
    };
    if (!file || !put(preamble.data(), preamble.size()) || !put(header.data(), header.size()) ||
        !put(values.data(), values.size_bytes()) || std::fflush(file.get()) != 0)
        return fail(ErrorKind::Io, "{}: {}", path.string(), std::strerror(errno));
    return {};
}

}  // namespace riftjit::tools

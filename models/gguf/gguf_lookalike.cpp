#include "models/gguf/gguf_lookalike.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace riftjit::models {

namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view prefix;
    std::string_view meaning;
};
constexpr auto kSignatures = std::to_array<Signature>({
    {"version https://git-lfs"sv, "this is a Git-LFS pointer; fetch the real file (git lfs pull)"},
    {"PK\x03\x04"sv, "this is a ZIP archive (or a PyTorch checkpoint)"},
    {"PK\x05\x06"sv, "this is an empty ZIP archive"},
    {"\x80\x02"sv, "this is a Python pickle (a PyTorch checkpoint)"},
    {"\x1f\x8b"sv, "this is gzip data; decompress it first"},
    {"\3757zXZ"sv, "this is xz data; decompress it first"},
    {"\x28\xb5\x2f\xfd"sv, "this is zstd data; decompress it first"},
    {"\177ELF"sv, "this is an ELF program or library"},
    {"%PDF"sv, "this is a PDF document"},
    {"FUGG"sv, "this is GGUF with the magic in reversed byte order"},
    {"tjgg"sv, "this is GGJT, a predecessor of GGUF; convert it"},
    {"fmgg"sv, "this is GGMF, a predecessor of GGUF; convert it"},
    {"lmgg"sv, "this is GGML, a predecessor of GGUF; convert it"},
    {"{"sv, "this is JSON text, perhaps the error message of a download"},
    {"["sv, "this is JSON text, perhaps the error message of a download"},
    {"<"sv, "this is an HTML or XML page, perhaps the error page of a download"},
    {"\0\0\0\0"sv, "this begins with zeros, as a download does that was reserved but not received"},
});

// u64 header length, then the JSON header (safetensors, "Format").
bool is_safetensors(std::span<const std::byte> head) {
    if (head.size() < 9 || static_cast<char>(head[8]) != '{') return false;
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, head.data(), sizeof header_bytes);
    return header_bytes >= 2 && header_bytes <= 100'000'000;
}

std::string_view match(std::string_view text) {
    for (const Signature& signature : kSignatures)
        if (text.starts_with(signature.prefix)) return signature.meaning;
    return "";
}

std::string_view without_leading_space(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

}  // namespace

std::string describe_lookalike(std::span<const std::byte> head) {
    if (is_safetensors(head)) return "this is a safetensors file";
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (const std::string_view meaning = match(text); !meaning.empty()) return std::string(meaning);
    return std::string(match(without_leading_space(text)));
}

}  // namespace riftjit::models

#include "models/gguf/gguf_layout.h"

#include <algorithm>
#include <utility>

namespace riftjit::models {

namespace {

// Bytes that may follow the last tensor: padding to a file system's or a download's block, a signature. More means that
// the index was written for another file.
constexpr uint64_t kMaxTrailingBytes = 1ull << 20;

// Of a file that was cut off, as the index has it; UINT64_MAX where that is no size.
uint64_t whole_file_bytes(const GgufPart& part) {
    uint64_t whole = part.data_offset_bytes;
    for (size_t i = 0; i < part.tensors.size(); ++i) {
        uint64_t end = 0;
        if (__builtin_add_overflow(part.tensor_offsets_bytes[i], part.tensors[i].size_bytes, &end) ||
            __builtin_add_overflow(part.data_offset_bytes, end, &end))
            return UINT64_MAX;
        whole = std::max(whole, end);
    }
    return whole;
}

Result<void> check_range(const GgufPart& part, size_t index, uint64_t alignment, std::string_view file,
                         uint64_t file_bytes) {
    const GgufTensor& tensor = part.tensors[index];
    const uint64_t offset = part.tensor_offsets_bytes[index];
    const uint64_t section_bytes = file_bytes - part.data_offset_bytes;
    if (offset > section_bytes || tensor.size_bytes > section_bytes - offset)
        return fail(
            ErrorKind::Format,
            "{}: offset {} + {} bytes is outside the data section of {} bytes (file ends at byte {}): data is "
            "not within the file bounds, model is corrupted or incomplete: the file has {} of the {} bytes that "
            "its index tells of; if it was cut off, download it again",
            tensor_text(file, tensor), offset, tensor.size_bytes, section_bytes, file_bytes, file_bytes,
            whole_file_bytes(part));
    if (offset % alignment != 0)
        return fail(ErrorKind::Format,
                    "{}: offset {} of {} bytes in the data section of {} bytes is not a multiple of general.alignment "
                    "{}",
                    tensor_text(file, tensor), offset, tensor.size_bytes, section_bytes, alignment);
    return {};
}

// Gaps and any order are allowed; a byte that belongs to two tensors is not.
Result<void> check_overlaps(const GgufPart& part, std::string_view file) {
    std::vector<size_t> order;
    for (size_t i = 0; i < part.tensors.size(); ++i)
        if (part.tensors[i].size_bytes > 0) order.push_back(i);
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(part.tensor_offsets_bytes[i], i); });
    for (size_t i = 1; i < order.size(); ++i) {
        // All pairs before this one were disjoint, so of all that precede `right`, `left` ends last.
        const GgufTensor &left = part.tensors[order[i - 1]], &right = part.tensors[order[i]];
        const uint64_t left_begin = part.tensor_offsets_bytes[order[i - 1]];
        const uint64_t right_begin = part.tensor_offsets_bytes[order[i]];
        if (left_begin + left.size_bytes > right_begin)
            return fail(ErrorKind::Format,
                        "{}: its bytes {} to {} of the data section overlap bytes {} to {} of tensor '{}' (info at "
                        "byte {})",
                        tensor_text(file, right), right_begin, right_begin + right.size_bytes, left_begin,
                        left_begin + left.size_bytes, printable(left.name), left.info_offset_bytes);
    }
    return {};
}

}  // namespace

std::string tensor_text(std::string_view file, const GgufTensor& tensor) {
    return fmt::format("{}: tensor '{}' (info at byte {})", file, printable(tensor.name), tensor.info_offset_bytes);
}

Result<void> place_tensors(GgufPart& part, uint64_t alignment, std::string_view file, uint64_t file_bytes) {
    part.data_offset_bytes = part.header_bytes;
    if (!part.tensors.empty()) part.data_offset_bytes = (part.header_bytes + alignment - 1) / alignment * alignment;
    if (part.data_offset_bytes > file_bytes)
        return fail(ErrorKind::Format,
                    "{}: file ends at byte {} inside the padding: general.alignment {} (a power of two, at least {}) "
                    "puts the tensor data at byte {}",
                    file, file_bytes, alignment, kMinAlignment, part.data_offset_bytes);
    for (size_t i = 0; i < part.tensors.size(); ++i) {
        RIFTJIT_TRY_VOID(check_range(part, i, alignment, file, file_bytes));
        part.tensors[i].data_offset_bytes = part.data_offset_bytes + part.tensor_offsets_bytes[i];
        part.data_bytes = std::max(part.data_bytes, part.tensor_offsets_bytes[i] + part.tensors[i].size_bytes);
    }
    RIFTJIT_TRY_VOID(check_overlaps(part, file));

    const uint64_t needed_bytes = part.data_offset_bytes + part.data_bytes;
    const uint64_t allowed_bytes = std::max(kMaxTrailingBytes, alignment);
    if (file_bytes - needed_bytes <= allowed_bytes) return {};
    return fail(ErrorKind::Format,
                "{}: the file has {} bytes, but header, index and tensors need only {} and at most {} may follow: the "
                "index was written for another file",
                file, file_bytes, needed_bytes, allowed_bytes);
}

}  // namespace riftjit::models

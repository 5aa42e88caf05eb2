#include "models/gguf/gguf.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "models/gguf/gguf_impl.h"
#include "models/gguf/gguf_layout.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

Result<LoadedPart> load_part(const std::filesystem::path& path) {
    RIFTJIT_TRY(file, RegularFile::open(path));
    RIFTJIT_TRY(head, file.map(0, std::min(file.size_bytes(), kMaxHeaderBytes)));
    RIFTJIT_TRY(content, parse_gguf(file.name(), head.bytes(), file.size_bytes()));
    head.shrink(content.header_bytes);
    RIFTJIT_TRY(data, file.map(content.data_offset_bytes, content.data_bytes));
    for (GgufTensor& tensor : content.tensors)
        tensor.data = data.bytes().subspan(tensor.data_offset_bytes - content.data_offset_bytes, tensor.size_bytes);
    return LoadedPart{path, file.name(), file.size_bytes(), std::move(head), std::move(data), std::move(content)};
}

// ---- split sets: PREFIX-00001-of-00003.gguf (gguf-split's naming) ----

std::string split_suffix(uint64_t number, uint64_t count) { return fmt::format("-{:05}-of-{:05}.gguf", number, count); }

Result<std::optional<uint64_t>> split_key(const LoadedPart& part, std::string_view key) {
    const auto entry = std::ranges::find(part.content.entries, key, &GgufEntry::key);
    if (entry == part.content.entries.end()) return std::nullopt;
    if (const auto* value = std::get_if<uint64_t>(&entry->value)) return *value;
    if (const auto* value = std::get_if<int64_t>(&entry->value); value != nullptr && *value >= 0)
        return static_cast<uint64_t>(*value);
    return fail(ErrorKind::Format, "{}: key {} (at byte {}) has wrong type {} or is negative but expected a count",
                part.name, key, entry->offset_bytes, type_name(entry->type));
}

Result<uint64_t> require_split_key(const LoadedPart& part, std::string_view key) {
    RIFTJIT_TRY(value, split_key(part, key));
    if (!value) return fail(ErrorKind::Format, "{}: missing key {} in GGUF split {}", part.name, key, part.name);
    return *value;
}

Result<void> check_split_position(const LoadedPart& part, uint64_t index, uint64_t count) {
    RIFTJIT_TRY(found_index, require_split_key(part, "split.no"));
    if (found_index != index)
        return fail(ErrorKind::Format, "{}: invalid split file idx: split.no is {}, expected {} (part {} of {})",
                    part.name, found_index, index, index + 1, count);
    RIFTJIT_TRY(found_count, require_split_key(part, "split.count"));
    if (found_count != count)
        return fail(ErrorKind::Format, "{}: split.count is {}, expected {} as in the first part", part.name,
                    found_count, count);
    return {};
}

// Of all parts together; those behind the first need not say it.
Result<void> check_split_total(const LoadedPart& part, const LoadedPart& first) {
    RIFTJIT_TRY(expected, require_split_key(first, "split.tensors.count"));
    RIFTJIT_TRY(found, split_key(part, "split.tensors.count"));
    if (found && *found != expected)
        return fail(ErrorKind::Format, "{}: split.tensors.count is {}, expected {} as in {}", part.name, *found,
                    expected, first.name);
    return {};
}

// What precedes "-00001-of-00003.gguf".
Result<std::string> split_prefix(const LoadedPart& first, const std::string& path, uint64_t count) {
    RIFTJIT_TRY(index, require_split_key(first, "split.no"));
    if (index != 0)
        return fail(ErrorKind::Usage,
                    "{}: illegal split file idx: {} (part {} of {}), model must be loaded with the first split, whose "
                    "name ends in {}",
                    first.name, index, index + 1, count, split_suffix(1, count));
    const std::string suffix = split_suffix(1, count);
    if (!path.ends_with(suffix))
        return fail(ErrorKind::Usage,
                    "{}: invalid split file name: {}; the first of {} parts must have a name that ends in {}",
                    first.name, first.name, count, suffix);
    return path.substr(0, path.size() - suffix.size());
}

// The other parts, in order.
Result<std::vector<LoadedPart>> load_other_parts(const LoadedPart& first, const std::filesystem::path& path) {
    std::vector<LoadedPart> parts;
    RIFTJIT_TRY(count, split_key(first, "split.count"));
    if (count.value_or(0) <= 1) return parts;
    RIFTJIT_TRY(prefix, split_prefix(first, path.native(), *count));
    for (uint64_t index = 1; index < *count; ++index) {
        auto part = load_part(prefix + split_suffix(index + 1, *count));
        if (!part)
            return fail(part.error().kind, "{} (part {} of {} of the model {})", part.error().message, index + 1,
                        *count, first.name);
        RIFTJIT_TRY_VOID(check_split_position(*part, index, *count));
        RIFTJIT_TRY_VOID(check_split_total(*part, first));
        parts.push_back(std::move(*part));
    }
    return parts;
}

}  // namespace

Result<void> Gguf::Impl::add_part(LoadedPart part) {
    for (GgufTensor& tensor : part.content.tensors) {
        const auto [found, is_new] = tensor_indexes.emplace(tensor.name, tensors.size());
        if (!is_new) {
            const GgufTensor& earlier = tensors[found->second];
            return fail(ErrorKind::Format,
                        "{}: invalid model: tensor '{}' is duplicated; {} also holds it, info at byte {}",
                        tensor_text(part.name, tensor), printable(tensor.name), parts[tensor_parts[found->second]].name,
                        earlier.info_offset_bytes);
        }
        tensors.push_back(std::move(tensor));
        tensor_parts.push_back(parts.size());
    }
    part.content.tensors.clear();
    std::ranges::move(part.content.warnings, std::back_inserter(warnings));
    parts.push_back(std::move(part));
    return {};
}

Result<Gguf> Gguf::open(const std::filesystem::path& path) {
    auto impl = std::make_shared<Impl>();
    impl->path = path;
    RIFTJIT_TRY(first, load_part(path));
    RIFTJIT_TRY(others, load_other_parts(first, path));
    for (const GgufEntry& entry : first.content.entries)
        impl->entry_indexes.emplace(entry.key, impl->entry_indexes.size());
    RIFTJIT_TRY_VOID(impl->add_part(std::move(first)));
    for (LoadedPart& part : others) RIFTJIT_TRY_VOID(impl->add_part(std::move(part)));
    if (!others.empty()) {
        RIFTJIT_TRY(expected, require_split_key(impl->parts.front(), "split.tensors.count"));
        if (expected != impl->tensors.size())
            return fail(ErrorKind::Format,
                        "{}: corrupted model: {} tensors expected but {} found in {} parts (key split.tensors.count)",
                        impl->name(), expected, impl->tensors.size(), impl->parts.size());
    }
    Gguf file;
    file.impl_ = std::move(impl);
    return file;
}

Result<Gguf> Gguf::present(GgufPresentation presentation) {
    auto impl = std::make_shared<Impl>();
    impl->path = presentation.path;
    impl->presented = std::move(presentation);
    GgufPresentation& presented = impl->presented;
    const std::string name = printable_path(impl->path);
    RIFTJIT_TRY(content, parse_gguf(name, presented.index.header, presented.index.file_bytes));
    check(content.tensors.size() == presented.tensors.size(), "every tensor of the index is presented");
    for (size_t i = 0; i < content.tensors.size(); ++i) {
        GgufTensor& tensor = content.tensors[i];
        const PresentedTensor& stored = presented.tensors[i];
        check(tensor.size_bytes == stored.data.size(), "a tensor has the size that its index tells");
        tensor.data = stored.data;
        tensor.data_offset_bytes = stored.data_offset_bytes;
        tensor.info_offset_bytes = 0;
    }
    for (const GgufEntry& entry : content.entries) impl->entry_indexes.emplace(entry.key, impl->entry_indexes.size());
    RIFTJIT_TRY_VOID(impl->add_part({impl->path, name, 0, {}, {}, std::move(content)}));
    for (PresentedFile& file : presented.files)
        RIFTJIT_TRY_VOID(
            impl->add_part({file.path, printable_path(file.path), file.file_bytes, {}, std::move(file.data), {}}));
    presented.files.clear();
    std::ranges::move(presented.warnings, std::back_inserter(impl->warnings));
    Gguf file;
    file.impl_ = std::move(impl);
    return file;
}

std::vector<std::filesystem::path> Gguf::paths() const {
    std::vector<std::filesystem::path> paths;
    for (const LoadedPart& part : impl_->parts) paths.push_back(part.path);
    return paths;
}
const std::filesystem::path& Gguf::path() const { return impl_->path; }

uint32_t Gguf::version() const { return impl_->parts.front().content.version; }

std::string_view Gguf::format() const {
    return impl_->presented.format.empty() ? "GGUF" : std::string_view(impl_->presented.format);
}

uint64_t Gguf::file_bytes() const {
    return std::transform_reduce(impl_->parts.begin(), impl_->parts.end(), uint64_t{0}, std::plus{},
                                 [](const LoadedPart& part) { return part.file_bytes; });
}

std::span<const GgufEntry> Gguf::entries() const { return impl_->parts.front().content.entries; }

std::span<const GgufTensor> Gguf::tensors() const { return impl_->tensors; }

std::span<const std::string> Gguf::warnings() const { return impl_->warnings; }

const GgufTensor* Gguf::find_tensor(std::string_view name) const {
    const auto found = impl_->tensor_indexes.find(name);
    return found == impl_->tensor_indexes.end() ? nullptr : &impl_->tensors[found->second];
}

const GgufEntry* Gguf::find(std::string_view key) const {
    const auto found = impl_->entry_indexes.find(key);
    return found == impl_->entry_indexes.end() ? nullptr : &entries()[found->second];
}

size_t Gguf::part_count() const { return impl_->presented.tensors.empty() ? impl_->parts.size() : 1; }

size_t Gguf::part_of(const GgufTensor& tensor) const {
    const auto found = impl_->tensor_indexes.find(tensor.name);
    check(found != impl_->tensor_indexes.end(), "the tensor belongs to this file");
    return impl_->presented.tensors.empty() ? impl_->tensor_parts[found->second] : 0;
}

std::string Gguf::place_of(const GgufTensor& tensor) const {
    const auto found = impl_->tensor_indexes.find(tensor.name);
    check(found != impl_->tensor_indexes.end(), "the tensor belongs to this file");
    if (!impl_->presented.tensors.empty()) return impl_->presented.tensors[found->second].place;
    return tensor_text(impl_->parts[impl_->tensor_parts[found->second]].name, tensor);
}

std::string Gguf::place_of(const GgufEntry& entry) const {
    const auto place = impl_->presented.key_places.find(std::string(entry.key));
    if (place != impl_->presented.key_places.end()) return place->second;
    if (!impl_->presented.format.empty()) return fmt::format("{}: key '{}'", impl_->name(), printable(entry.key));
    return fmt::format("{}: key '{}' (at byte {})", impl_->name(), printable(entry.key), entry.offset_bytes);
}

void Gguf::drop_pages(std::span<const std::byte> range) const {
    // Weights that were converted lie on the heap, and heap pages would come back as zeros.
    const bool is_mapped = std::ranges::any_of(impl_->parts, [&](const LoadedPart& part) {
        const std::span<const std::byte> data = part.data.bytes();
        return range.data() >= data.data() && range.data() + range.size() <= data.data() + data.size();
    });
    if (is_mapped) Mapping::drop_pages(range);
}

uint64_t GgufTensor::rows() const {
    uint64_t product = 1;
    for (size_t i = 1; i < ne.size(); ++i) product *= ne[i];
    return product;
}

}  // namespace riftjit::models

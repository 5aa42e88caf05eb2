#include "jit/rdna/assembly_metadata.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "jit/rdna/parse_line.h"
#include "jit/rdna/symbolic.h"

namespace riftjit::rdna {
namespace {

// One "key: value" with the column of its key; a dash before it starts a new item of the list around it.
struct Entry {
    std::string key, value;
    size_t indent = 0, line = 1;
    bool starts_item = false;
    size_t dash_indent = 0;
};

std::string unquote(std::string_view text) {
    text = trim(text);
    const bool is_quoted =
        text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
    return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

Entry read_entry(const MetadataLine& source) {
    Entry entry;
    entry.line = source.line;
    std::string_view text = source.text;
    const auto skip_blanks = [&] {
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1), ++entry.indent;
    };
    skip_blanks();
    if (text.starts_with("- ")) {
        entry.starts_item = true;
        entry.dash_indent = entry.indent;
        text.remove_prefix(1), ++entry.indent;
        skip_blanks();
    }
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || (colon + 1 < text.size() && text[colon + 1] != ' ')) {
        entry.value = unquote(text);
    } else {
        entry.key = unquote(text.substr(0, colon));
        entry.value = unquote(text.substr(colon + 1));
    }
    return entry;
}

// Walks the entries: what is known of the kernel or argument at hand is filled in as it comes.
class MetadataReader {
public:
    explicit MetadataReader(std::string_view file_name) : file_name_(file_name) {}

    Result<void> read(const Entry& entry) {
        if (entry.indent == 0 && !entry.starts_item) {
            section_ = entry.key;
            list_.clear();
            if (entry.key == "amdhsa.target") metadata_.target = entry.value;
            return {};
        }
        if (section_ == "amdhsa.version") return read_version(entry);
        if (section_ != "amdhsa.kernels") return {};
        return read_kernel_entry(entry);
    }

    Result<Metadata> finish() {
        if (version_count_ != 2) return fail(ErrorKind::Format, "{}: metadata without amdhsa.version", file_name_);
        return std::move(metadata_);
    }

private:
    std::unexpected<Error> error(const Entry& entry, std::string_view what) const {
        return fail(ErrorKind::Format, "{}:{}:{}: {}", file_name_, entry.line, entry.indent + 1, what);
    }

    Result<void> number(const Entry& entry, uint32_t& into) const {
        const std::optional<int64_t> value = parse_integer(entry.value);
        if (!value || *value < 0 || *value > INT64_C(0xFFFFFFFF))
            return error(entry, entry.key + ": '" + entry.value + "' is no number of 32 bits");
        into = static_cast<uint32_t>(*value);
        return {};
    }

    bool truth(const Entry& entry) const { return entry.value == "true" || entry.value == "1"; }

    Result<void> read_version(const Entry& entry) {
        uint32_t value = 0;
        RIFTJIT_TRY_VOID(number(entry, value));
        if (version_count_++ == 0 || value == 2) return {};
        if (value != 1) return error(entry, "metadata version 1." + entry.value + " is unknown");
        metadata_.version = CodeObjectVersion::v4;
        return {};
    }

    // Kernels are the items at the outermost dashes, their arguments the items below .args.
    Result<void> read_kernel_entry(const Entry& entry) {
        if (metadata_.kernels.empty() || (entry.starts_item && entry.dash_indent <= kernel_dash_)) {
            if (!entry.starts_item) return error(entry, "a kernel's entry before its '-'");
            metadata_.kernels.emplace_back();
            kernel_dash_ = entry.dash_indent;
            kernel_indent_ = entry.indent;
            list_.clear();
        }
        if (entry.indent == kernel_indent_) {
            list_ = entry.value.empty() ? entry.key : "";
            return read_kernel_field(entry, metadata_.kernels.back());
        }
        if (list_ != ".args") return {};
        std::vector<KernelArgument>& args = metadata_.kernels.back().args;
        if (entry.starts_item) args.emplace_back();
        if (args.empty()) return error(entry, "an argument's entry before its '-'");
        return read_argument_field(entry, args.back());
    }

    Result<void> read_kernel_field(const Entry& entry, KernelMetadata& kernel) {
        struct Number {
            std::string_view key;
            uint32_t KernelMetadata::* field;
        };
        static constexpr Number kNumbers[] = {{".kernarg_segment_size", &KernelMetadata::kernarg_bytes},
                                              {".kernarg_segment_align", &KernelMetadata::kernarg_align},
                                              {".group_segment_fixed_size", &KernelMetadata::lds_bytes},
                                              {".private_segment_fixed_size", &KernelMetadata::scratch_bytes},
                                              {".sgpr_count", &KernelMetadata::sgpr_count},
                                              {".vgpr_count", &KernelMetadata::vgpr_count},
                                              {".max_flat_workgroup_size", &KernelMetadata::max_flat_workgroup_size},
                                              {".sgpr_spill_count", &KernelMetadata::sgpr_spill_count},
                                              {".vgpr_spill_count", &KernelMetadata::vgpr_spill_count}};
        for (const Number& known : kNumbers)
            if (known.key == entry.key) return number(entry, kernel.*known.field);
        if (entry.key == ".name") kernel.name = entry.value;
        if (entry.key == ".symbol") kernel.symbol = entry.value;
        if (entry.key == ".uses_dynamic_stack") kernel.uses_dynamic_stack = truth(entry);
        if (entry.key == ".workgroup_processor_mode") kernel.workgroup_processor_mode = truth(entry);
        if (entry.key == ".uniform_work_group_size") kernel.uniform_work_group_size = truth(entry);
        if (entry.key != ".wavefront_size") return {};
        if (entry.value != "32" && entry.value != "64") return error(entry, ".wavefront_size is neither 32 nor 64");
        kernel.wave_size = entry.value == "32" ? WaveSize::wave32 : WaveSize::wave64;
        return {};
    }

    Result<void> read_argument_field(const Entry& entry, KernelArgument& argument) {
        if (entry.key == ".offset") return number(entry, argument.offset);
        if (entry.key == ".size") return number(entry, argument.size);
        if (entry.key == ".name") argument.name = entry.value;
        if (entry.key == ".value_kind") {
            const std::optional<ValueKind> kind = value_kind_from_name(entry.value);
            if (!kind) return error(entry, ".value_kind: '" + entry.value + "' is unknown");
            argument.value_kind = *kind;
        }
        if (entry.key == ".address_space") {
            argument.address_space = address_space_from_name(entry.value);
            if (!argument.address_space) return error(entry, ".address_space: '" + entry.value + "' is unknown");
        }
        return {};
    }

    std::string_view file_name_;
    Metadata metadata_{.version = CodeObjectVersion::v5, .target = std::nullopt, .kernels = {}};
    std::string section_, list_;  // the key at the outermost column, and the kernel's key whose list is being read
    size_t kernel_dash_ = 0, kernel_indent_ = 0;
    unsigned version_count_ = 0;
};

std::string format_argument(const KernelArgument& argument) {
    std::string text = fmt::format("      - .offset: {}\n        .size: {}\n        .value_kind: {}\n", argument.offset,
                                   argument.size, name(argument.value_kind));
    if (argument.address_space) text += fmt::format("        .address_space: {}\n", name(*argument.address_space));
    if (!argument.name.empty()) text += fmt::format("        .name: '{}'\n", argument.name);
    return text;
}

std::string format_kernel(const KernelMetadata& kernel, CodeObjectVersion version) {
    std::string text = fmt::format("  - .name: '{}'\n    .symbol: '{}'\n", kernel.name, kernel.symbol);
    const auto add = [&text](std::string_view key, auto value) { text += fmt::format("    {}: {}\n", key, value); };
    if (!kernel.args.empty()) text += "    .args:\n";
    for (const KernelArgument& argument : kernel.args) text += format_argument(argument);
    add(".kernarg_segment_size", kernel.kernarg_bytes);
    add(".kernarg_segment_align", kernel.kernarg_align);
    add(".group_segment_fixed_size", kernel.lds_bytes);
    add(".private_segment_fixed_size", kernel.scratch_bytes);
    add(".wavefront_size", lanes(kernel.wave_size));
    add(".sgpr_count", kernel.sgpr_count);
    add(".sgpr_spill_count", kernel.sgpr_spill_count);
    add(".vgpr_count", kernel.vgpr_count);
    add(".vgpr_spill_count", kernel.vgpr_spill_count);
    add(".max_flat_workgroup_size", kernel.max_flat_workgroup_size);
    add(".workgroup_processor_mode", kernel.workgroup_processor_mode ? 1 : 0);
    if (kernel.uniform_work_group_size) add(".uniform_work_group_size", 1);
    if (version != CodeObjectVersion::v4) add(".uses_dynamic_stack", kernel.uses_dynamic_stack);
    return text;
}

}  // namespace

std::string format_metadata(const Metadata& metadata) {
    const int minor = metadata.version == CodeObjectVersion::v4 ? 1 : 2;
    std::string text = "---\namdhsa.kernels:\n";
    for (const KernelMetadata& kernel : metadata.kernels) text += format_kernel(kernel, metadata.version);
    if (metadata.target) text += fmt::format("amdhsa.target: {}\n", *metadata.target);
    return text + fmt::format("amdhsa.version:\n  - 1\n  - {}\n...\n", minor);
}

Result<Metadata> parse_metadata(std::span<const MetadataLine> lines, std::string_view file_name) {
    MetadataReader reader(file_name);
    for (const MetadataLine& line : lines) {
        const std::string_view text = trim(line.text);
        if (text.empty() || text == "---" || text == "...") continue;
        RIFTJIT_TRY_VOID(reader.read(read_entry(line)));
    }
    return reader.finish();
}

}  // namespace riftjit::rdna

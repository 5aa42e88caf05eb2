#include "jit/rdna/object/metadata.h"

#include <algorithm>
#include <array>
#include <limits>

namespace riftjit::rdna {
namespace {

constexpr std::array<std::string_view, 31> kValueKinds = {
    "by_value",
    "global_buffer",
    "dynamic_shared_pointer",
    "sampler",
    "image",
    "pipe",
    "queue",
    "hidden_none",
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_block_count_x",
    "hidden_block_count_y",
    "hidden_block_count_z",
    "hidden_group_size_x",
    "hidden_group_size_y",
    "hidden_group_size_z",
    "hidden_remainder_x",
    "hidden_remainder_y",
    "hidden_remainder_z",
    "hidden_grid_dims",
    "hidden_heap_v1",
    "hidden_dynamic_lds_size",
    "hidden_private_base",
    "hidden_shared_base",
    "hidden_queue_ptr",
};
static_assert(kValueKinds.size() == static_cast<size_t>(ValueKind::hidden_queue_ptr) + 1);

constexpr std::array<std::string_view, 6> kAddressSpaces = {"private", "global",  "constant",
                                                            "local",   "generic", "region"};
static_assert(kAddressSpaces.size() == static_cast<size_t>(AddressSpace::region) + 1);

template <class Enum, size_t count>
std::optional<Enum> from_name(const std::array<std::string_view, count>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

constexpr uint32_t minor_version(CodeObjectVersion version) { return version == CodeObjectVersion::v4 ? 1 : 2; }

template <class Value>
void add(MetadataValue::Map& map, std::string_view key, Value value) {
    map.push_back({std::string(key), {std::move(value)}});
}
void add(MetadataValue::Map& map, std::string_view key, uint32_t value) { add(map, key, uint64_t{value}); }
void add(MetadataValue::Map& map, std::string_view key, std::string_view value) { add(map, key, std::string(value)); }

MetadataValue finished(MetadataValue::Map map, const MetadataValue::Map& others) {
    map.insert(map.end(), others.begin(), others.end());
    std::ranges::sort(map, {}, &MetadataMember::key);
    return {std::move(map)};
}

MetadataValue to_value(const KernelArgument& argument) {
    MetadataValue::Map map;
    if (argument.address_space) add(map, ".address_space", name(*argument.address_space));
    if (!argument.name.empty()) add(map, ".name", argument.name);
    add(map, ".offset", argument.offset);
    add(map, ".size", argument.size);
    add(map, ".value_kind", name(argument.value_kind));
    return finished(std::move(map), argument.others);
}

// As LLVM does: version 4 does not know .uses_dynamic_stack nor, for what kernels commonly are,
// .workgroup_processor_mode; .uniform_work_group_size is written only where it is so.
MetadataValue to_value(const KernelMetadata& kernel, CodeObjectVersion version) {
    const bool from_v5 = version != CodeObjectVersion::v4;
    MetadataValue::Map map;
    MetadataValue::Array args;
    for (const KernelArgument& argument : kernel.args) args.push_back(to_value(argument));
    add(map, ".args", std::move(args));
    add(map, ".group_segment_fixed_size", kernel.lds_bytes);
    add(map, ".kernarg_segment_align", kernel.kernarg_align);
    add(map, ".kernarg_segment_size", kernel.kernarg_bytes);
    add(map, ".max_flat_workgroup_size", kernel.max_flat_workgroup_size);
    add(map, ".name", kernel.name);
    add(map, ".private_segment_fixed_size", kernel.scratch_bytes);
    if (kernel.required_workgroup_size) {
        MetadataValue::Array sizes;
        for (const uint32_t size : *kernel.required_workgroup_size) sizes.push_back({uint64_t{size}});
        add(map, ".reqd_workgroup_size", std::move(sizes));
    }
    add(map, ".sgpr_count", kernel.sgpr_count);
    add(map, ".sgpr_spill_count", kernel.sgpr_spill_count);
    add(map, ".symbol", kernel.symbol);
    if (kernel.uniform_work_group_size) add(map, ".uniform_work_group_size", 1U);
    if (from_v5 || kernel.uses_dynamic_stack) add(map, ".uses_dynamic_stack", kernel.uses_dynamic_stack);
    add(map, ".vgpr_count", kernel.vgpr_count);
    add(map, ".vgpr_spill_count", kernel.vgpr_spill_count);
    add(map, ".wavefront_size", lanes(kernel.wave_size));
    if (from_v5 || !kernel.workgroup_processor_mode)
        add(map, ".workgroup_processor_mode", kernel.workgroup_processor_mode ? 1U : 0U);
    return finished(std::move(map), kernel.others);
}

// A map whose members are taken by key; what is left in the end is kept as it is. `name`, of the kernel or argument,
// begins every message.
class MapReader {
public:
    static Result<MapReader> make(const MetadataValue& value, std::string_view file_name, std::string name) {
        MapReader reader(value, file_name, std::move(name));
        if (!value.get<MetadataValue::Map>()) return reader.error(value, "not a map");
        reader.map_ = value.get<MetadataValue::Map>();
        reader.is_taken_.resize(reader.map_->size());
        return reader;
    }
    void rename(std::string name) { name_ = std::move(name); }

    std::unexpected<Error> error(const MetadataValue& at, std::string_view what,
                                 ErrorKind kind = ErrorKind::Format) const {
        const std::string place = at.line == 0 ? "" : fmt::format("{}:{}:{}: ", file_name_, at.line, at.column);
        return fail(kind, "{}metadata: {}{}{}", place, name_, name_.empty() ? "" : ": ", what);
    }
    std::unexpected<Error> error(std::string_view what) const { return error(*whole_, what); }

    const MetadataValue* find(std::string_view key) {
        const auto found = std::ranges::find(*map_, key, &MetadataMember::key);
        if (found == map_->end()) return nullptr;
        is_taken_[static_cast<size_t>(found - map_->begin())] = true;
        return &found->value;
    }
    Result<const MetadataValue*> require(std::string_view key) {
        if (const MetadataValue* value = find(key)) return value;
        return error(fmt::format("{} is absent", key));
    }
    // Text without quotes is text whatever else it could stand for: an argument may be called y, or nan.
    Result<std::string> text(std::string_view key) {
        RIFTJIT_TRY(value, require(key));
        if (value->plain) return *value->plain;
        if (const auto* text = value->get<std::string>()) return *text;
        return error(*value, fmt::format("{} is not a string", key));
    }
    Result<std::string> text_or_empty(std::string_view key) {
        return find(key) ? text(key) : Result<std::string>(std::string());
    }
    Result<uint32_t> number(std::string_view key) {
        RIFTJIT_TRY(value, require(key));
        return number(*value, key);
    }
    Result<uint32_t> number(const MetadataValue& value, std::string_view key) const {
        const auto* number = value.get<uint64_t>();
        if (number && *number <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(*number);
        const std::string told = value.plain ? fmt::format("{} '{}'", key, *value.plain) : std::string(key);
        return error(value, fmt::format("{} is not a number of 32 bits", told));
    }
    Result<uint32_t> number_or(std::string_view key, uint32_t absent) {
        return find(key) ? number(key) : Result<uint32_t>(absent);
    }
    // Compilers write some flags as booleans and some as 0 and 1.
    Result<bool> flag_or(std::string_view key, bool absent) {
        const MetadataValue* value = find(key);
        if (!value) return absent;
        if (const auto* flag = value->get<bool>()) return *flag;
        if (const auto* number = value->get<uint64_t>(); number && *number <= 1) return *number == 1;
        return error(*value, fmt::format("{} is neither a boolean nor 0 or 1", key));
    }
    // The elements of an array, or none where the key is absent.
    Result<std::span<const MetadataValue>> array(std::string_view key) {
        const MetadataValue* value = find(key);
        if (!value) return std::span<const MetadataValue>();
        const auto* items = value->get<MetadataValue::Array>();
        if (!items) return error(*value, fmt::format("{} is not an array", key));
        return std::span<const MetadataValue>(*items);
    }
    MetadataValue::Map others() const {
        MetadataValue::Map left;
        for (size_t i = 0; i < map_->size(); ++i)
            if (!is_taken_[i]) left.push_back((*map_)[i]);
        std::ranges::sort(left, {}, &MetadataMember::key);
        return left;
    }
    const std::string& name() const { return name_; }
    std::string_view file_name() const { return file_name_; }

private:
    MapReader(const MetadataValue& whole, std::string_view file_name, std::string name)
        : whole_(&whole), file_name_(file_name), name_(std::move(name)) {}

    const MetadataValue* whole_;
    const MetadataValue::Map* map_ = nullptr;
    std::string_view file_name_;
    std::string name_;
    std::vector<bool> is_taken_;
};

Result<KernelArgument> read_argument(MapReader& map) {
    RIFTJIT_TRY(offset, map.number(".offset"));
    RIFTJIT_TRY(size, map.number(".size"));
    RIFTJIT_TRY(kind_name, map.text(".value_kind"));
    RIFTJIT_TRY(space_name, map.text_or_empty(".address_space"));
    RIFTJIT_TRY(argument_name, map.text_or_empty(".name"));
    const std::optional<ValueKind> kind = value_kind_from_name(kind_name);
    if (!kind)
        return map.error(*map.find(".value_kind"), fmt::format("unknown .value_kind \"{}\"", kind_name),
                         ErrorKind::Unsupported);
    const std::optional<AddressSpace> space = address_space_from_name(space_name);
    if (!space && !space_name.empty())
        return map.error(*map.find(".address_space"), fmt::format("unknown .address_space \"{}\"", space_name),
                         ErrorKind::Unsupported);
    return KernelArgument{offset, size, *kind, space, std::move(argument_name), map.others()};
}

Result<void> read_arguments(MapReader& map, KernelMetadata& kernel) {
    RIFTJIT_TRY(args, map.array(".args"));
    for (size_t i = 0; i < args.size(); ++i) {
        RIFTJIT_TRY(each, MapReader::make(args[i], map.file_name(), fmt::format("{}, argument {}", map.name(), i)));
        RIFTJIT_TRY(argument, read_argument(each));
        const uint64_t end = uint64_t{argument.offset} + argument.size;
        if (end > kernel.kernarg_bytes)
            return each.error(fmt::format("bytes {} to {} lie outside .kernarg_segment_size {}", argument.offset, end,
                                          kernel.kernarg_bytes));
        kernel.args.push_back(std::move(argument));
    }
    return {};
}

Result<void> read_required_workgroup_size(MapReader& map, KernelMetadata& kernel) {
    constexpr std::string_view kKey = ".reqd_workgroup_size";
    const MetadataValue* value = map.find(kKey);
    if (!value) return {};
    RIFTJIT_TRY(items, map.array(kKey));
    std::array<uint32_t, 3> sizes{};
    if (items.size() != sizes.size())
        return map.error(*value, fmt::format("{} holds {} numbers, not 3", kKey, items.size()));
    for (size_t i = 0; i < sizes.size(); ++i) {
        RIFTJIT_TRY(size, map.number(items[i], kKey));
        sizes[i] = size;
    }
    kernel.required_workgroup_size = sizes;
    return {};
}

struct NumberField {
    std::string_view key;
    uint32_t KernelMetadata::* field;
};
constexpr NumberField kRequired[] = {{".kernarg_segment_size", &KernelMetadata::kernarg_bytes},
                                     {".kernarg_segment_align", &KernelMetadata::kernarg_align},
                                     {".group_segment_fixed_size", &KernelMetadata::lds_bytes},
                                     {".private_segment_fixed_size", &KernelMetadata::scratch_bytes},
                                     {".sgpr_count", &KernelMetadata::sgpr_count},
                                     {".vgpr_count", &KernelMetadata::vgpr_count},
                                     {".max_flat_workgroup_size", &KernelMetadata::max_flat_workgroup_size}};

Result<void> read_optional(MapReader& map, KernelMetadata& kernel) {
    RIFTJIT_TRY(sgpr_spills, map.number_or(".sgpr_spill_count", 0));
    RIFTJIT_TRY(vgpr_spills, map.number_or(".vgpr_spill_count", 0));
    RIFTJIT_TRY(dynamic_stack, map.flag_or(".uses_dynamic_stack", false));
    RIFTJIT_TRY(wgp_mode, map.flag_or(".workgroup_processor_mode", true));
    RIFTJIT_TRY(uniform, map.flag_or(".uniform_work_group_size", false));
    kernel.sgpr_spill_count = sgpr_spills;
    kernel.vgpr_spill_count = vgpr_spills;
    kernel.uses_dynamic_stack = dynamic_stack;
    kernel.workgroup_processor_mode = wgp_mode;
    kernel.uniform_work_group_size = uniform;
    return read_required_workgroup_size(map, kernel);
}

Result<void> check_kernel(MapReader& map, const KernelMetadata& kernel) {
    const auto refuse = [&](std::string_view key, uint32_t value, std::string_view what) {
        return map.error(*map.find(key), fmt::format("{} {} is not {}", key, value, what));
    };
    if (kernel.max_flat_workgroup_size == 0 || kernel.max_flat_workgroup_size > 1024)
        return refuse(".max_flat_workgroup_size", kernel.max_flat_workgroup_size, "1 to 1024");
    if (kernel.kernarg_align == 0 || (kernel.kernarg_align & (kernel.kernarg_align - 1)) != 0)
        return refuse(".kernarg_segment_align", kernel.kernarg_align, "a power of two");
    return {};
}

Result<WaveSize> read_wave_size(MapReader& map) {
    constexpr std::string_view kKey = ".wavefront_size";
    RIFTJIT_TRY(wave_size, map.number(kKey));
    if (wave_size == 32) return WaveSize::wave32;
    if (wave_size == 64) return WaveSize::wave64;
    return map.error(*map.find(kKey), fmt::format("{} {} is neither 32 nor 64", kKey, wave_size));
}

Result<KernelMetadata> read_kernel(const MetadataValue& value, size_t index, std::string_view file_name) {
    RIFTJIT_TRY(map, MapReader::make(value, file_name, fmt::format("kernel {}", index)));
    KernelMetadata kernel;
    RIFTJIT_TRY(kernel_name, map.text(".name"));
    kernel.name = kernel_name;
    map.rename(fmt::format("kernel \"{}\"", kernel_name));
    RIFTJIT_TRY(symbol, map.text(".symbol"));
    kernel.symbol = std::move(symbol);
    for (const auto& [key, field] : kRequired) {
        RIFTJIT_TRY(number, map.number(key));
        kernel.*field = number;
    }
    RIFTJIT_TRY(wave_size, read_wave_size(map));
    kernel.wave_size = wave_size;
    RIFTJIT_TRY_VOID(check_kernel(map, kernel));
    RIFTJIT_TRY_VOID(read_optional(map, kernel));
    RIFTJIT_TRY_VOID(read_arguments(map, kernel));
    kernel.others = map.others();
    return kernel;
}

Result<CodeObjectVersion> read_version(MapReader& map) {
    RIFTJIT_TRY(value, map.require("amdhsa.version"));
    RIFTJIT_TRY(parts, map.array("amdhsa.version"));
    const auto is_number = [](const MetadataValue& part) { return part.get<uint64_t>() != nullptr; };
    if (parts.size() != 2 || !std::ranges::all_of(parts, is_number))
        return map.error(*value, "amdhsa.version is not two numbers");
    const uint64_t major = *parts[0].get<uint64_t>(), minor = *parts[1].get<uint64_t>();
    if (major == 1 && minor == minor_version(CodeObjectVersion::v4)) return CodeObjectVersion::v4;
    if (major == 1 && minor == minor_version(CodeObjectVersion::v5)) return CodeObjectVersion::v5;
    return map.error(*value, fmt::format("amdhsa.version is {}.{}, not 1.1 or 1.2", major, minor),
                     ErrorKind::Unsupported);
}

}  // namespace

std::string_view name(ValueKind kind) { return kValueKinds[static_cast<size_t>(kind)]; }
std::optional<ValueKind> value_kind_from_name(std::string_view name) { return from_name<ValueKind>(kValueKinds, name); }
std::string_view name(AddressSpace space) { return kAddressSpaces[static_cast<size_t>(space)]; }
std::optional<AddressSpace> address_space_from_name(std::string_view name) {
    return from_name<AddressSpace>(kAddressSpaces, name);
}

std::string target_id(Target target) { return fmt::format("amdgcn-amd-amdhsa--{}", name(target)); }

MetadataValue to_value(const Metadata& metadata) {
    MetadataValue::Map map;
    MetadataValue::Array kernels;
    for (const KernelMetadata& kernel : metadata.kernels) kernels.push_back(to_value(kernel, metadata.version));
    add(map, "amdhsa.kernels", std::move(kernels));
    if (metadata.target) add(map, "amdhsa.target", *metadata.target);
    add(map, "amdhsa.version", MetadataValue::Array{{uint64_t{1}}, {uint64_t{minor_version(metadata.version)}}});
    return finished(std::move(map), metadata.others);
}

std::vector<std::byte> write_metadata(const Metadata& metadata) { return pack_metadata(to_value(metadata)); }

Result<Metadata> metadata_from_value(const MetadataValue& root, std::string_view file_name) {
    RIFTJIT_TRY(map, MapReader::make(root, file_name, ""));
    RIFTJIT_TRY(version, read_version(map));
    Metadata metadata{.version = version, .target = std::nullopt, .kernels = {}};
    if (map.find("amdhsa.target")) {
        RIFTJIT_TRY(target, map.text("amdhsa.target"));
        metadata.target = std::move(target);
    }
    RIFTJIT_TRY_VOID(map.require("amdhsa.kernels"));
    RIFTJIT_TRY(kernels, map.array("amdhsa.kernels"));
    for (size_t i = 0; i < kernels.size(); ++i) {
        RIFTJIT_TRY(kernel, read_kernel(kernels[i], i, file_name));
        metadata.kernels.push_back(std::move(kernel));
    }
    metadata.others = map.others();
    return metadata;
}

Result<Metadata> read_metadata(std::span<const std::byte> bytes) {
    RIFTJIT_TRY(root, unpack_metadata(bytes));
    return metadata_from_value(root);
}

}  // namespace riftjit::rdna

#include "jit/rdna/metadata.h"

#include <algorithm>
#include <array>
#include <limits>
#include <msgpack.hpp>

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

using Packer = msgpack::packer<msgpack::sbuffer>;

void pack_text(Packer& packer, std::string_view text) {
    check(text.size() <= std::numeric_limits<uint32_t>::max(), "a name fits 32 bits of length");
    packer.pack_str(static_cast<uint32_t>(text.size()));
    packer.pack_str_body(text.data(), static_cast<uint32_t>(text.size()));
}
void pack_entry(Packer& packer, std::string_view key, uint32_t value) {
    pack_text(packer, key);
    packer.pack_uint32(value);
}
void pack_entry(Packer& packer, std::string_view key, std::string_view value) {
    pack_text(packer, key);
    pack_text(packer, value);
}

void pack_argument(Packer& packer, const KernelArgument& argument) {
    packer.pack_map(3 + (argument.address_space ? 1 : 0) + (argument.name.empty() ? 0 : 1));
    if (argument.address_space) pack_entry(packer, ".address_space", name(*argument.address_space));
    if (!argument.name.empty()) pack_entry(packer, ".name", argument.name);
    pack_entry(packer, ".offset", argument.offset);
    pack_entry(packer, ".size", argument.size);
    pack_entry(packer, ".value_kind", name(argument.value_kind));
}

// Version 4 does not know .uses_dynamic_stack; .uniform_work_group_size is written only where it is so, as LLVM does.
void pack_kernel(Packer& packer, const KernelMetadata& kernel, CodeObjectVersion version) {
    const bool from_v5 = version != CodeObjectVersion::v4;
    packer.pack_map(14 + (from_v5 ? 1 : 0) + (kernel.uniform_work_group_size ? 1 : 0));
    pack_text(packer, ".args");
    packer.pack_array(static_cast<uint32_t>(kernel.args.size()));
    for (const KernelArgument& argument : kernel.args) pack_argument(packer, argument);
    pack_entry(packer, ".group_segment_fixed_size", kernel.lds_bytes);
    pack_entry(packer, ".kernarg_segment_align", kernel.kernarg_align);
    pack_entry(packer, ".kernarg_segment_size", kernel.kernarg_bytes);
    pack_entry(packer, ".max_flat_workgroup_size", kernel.max_flat_workgroup_size);
    pack_entry(packer, ".name", kernel.name);
    pack_entry(packer, ".private_segment_fixed_size", kernel.scratch_bytes);
    pack_entry(packer, ".sgpr_count", kernel.sgpr_count);
    pack_entry(packer, ".sgpr_spill_count", kernel.sgpr_spill_count);
    pack_entry(packer, ".symbol", kernel.symbol);
    if (kernel.uniform_work_group_size) pack_entry(packer, ".uniform_work_group_size", 1U);
    if (from_v5) {
        pack_text(packer, ".uses_dynamic_stack");
        packer.pack(kernel.uses_dynamic_stack);
    }
    pack_entry(packer, ".vgpr_count", kernel.vgpr_count);
    pack_entry(packer, ".vgpr_spill_count", kernel.vgpr_spill_count);
    pack_entry(packer, ".wavefront_size", lanes(kernel.wave_size));
    pack_entry(packer, ".workgroup_processor_mode", kernel.workgroup_processor_mode ? 1U : 0U);
}

std::string_view text_of(const msgpack::object& object) { return {object.via.str.ptr, object.via.str.size}; }

// A map whose keys are looked up by name; `where` begins every message.
class MapReader {
public:
    static Result<MapReader> make(const msgpack::object& object, std::string where) {
        if (object.type != msgpack::type::MAP) return fail(ErrorKind::Format, "{}: not a map", where);
        return MapReader(object, std::move(where));
    }

    const msgpack::object* find(std::string_view key) const {
        for (const msgpack::object_kv& entry : std::span(map_->via.map.ptr, map_->via.map.size))
            if (entry.key.type == msgpack::type::STR && text_of(entry.key) == key) return &entry.val;
        return nullptr;
    }
    Result<const msgpack::object*> require(std::string_view key) const {
        if (const msgpack::object* value = find(key)) return value;
        return fail(ErrorKind::Format, "{}: {} is absent", where_, key);
    }
    Result<std::string> text(std::string_view key) const {
        RIFTJIT_TRY(value, require(key));
        if (value->type != msgpack::type::STR) return fail(ErrorKind::Format, "{}: {} is not a string", where_, key);
        return std::string(text_of(*value));
    }
    Result<std::string> text_or_empty(std::string_view key) const {
        return find(key) ? text(key) : Result<std::string>(std::string());
    }
    Result<uint32_t> number(std::string_view key) const {
        RIFTJIT_TRY(value, require(key));
        if (value->type != msgpack::type::POSITIVE_INTEGER || value->via.u64 > std::numeric_limits<uint32_t>::max())
            return fail(ErrorKind::Format, "{}: {} is not a number of 32 bits", where_, key);
        return static_cast<uint32_t>(value->via.u64);
    }
    Result<uint32_t> number_or(std::string_view key, uint32_t absent) const {
        return find(key) ? number(key) : Result<uint32_t>(absent);
    }
    // Compilers write some flags as booleans and some as 0 and 1.
    Result<bool> flag_or(std::string_view key, bool absent) const {
        const msgpack::object* value = find(key);
        if (!value) return absent;
        if (value->type == msgpack::type::BOOLEAN) return value->via.boolean;
        if (value->type == msgpack::type::POSITIVE_INTEGER && value->via.u64 <= 1) return value->via.u64 == 1;
        return fail(ErrorKind::Format, "{}: {} is neither a boolean nor 0 or 1", where_, key);
    }
    // The elements of an array, or none where the key is absent.
    Result<std::span<const msgpack::object>> array(std::string_view key) const {
        const msgpack::object* value = find(key);
        if (!value) return std::span<const msgpack::object>();
        if (value->type != msgpack::type::ARRAY) return fail(ErrorKind::Format, "{}: {} is not an array", where_, key);
        return std::span<const msgpack::object>(value->via.array.ptr, value->via.array.size);
    }
    const std::string& where() const { return where_; }

private:
    MapReader(const msgpack::object& map, std::string where) : map_(&map), where_(std::move(where)) {}

    const msgpack::object* map_;
    std::string where_;
};

Result<KernelArgument> read_argument(const msgpack::object& object, std::string where) {
    RIFTJIT_TRY(map, MapReader::make(object, std::move(where)));
    RIFTJIT_TRY(offset, map.number(".offset"));
    RIFTJIT_TRY(size, map.number(".size"));
    RIFTJIT_TRY(kind_name, map.text(".value_kind"));
    RIFTJIT_TRY(space_name, map.text_or_empty(".address_space"));
    RIFTJIT_TRY(argument_name, map.text_or_empty(".name"));
    const std::optional<ValueKind> kind = value_kind_from_name(kind_name);
    if (!kind) return fail(ErrorKind::Unsupported, "{}: unknown .value_kind \"{}\"", map.where(), kind_name);
    const std::optional<AddressSpace> space = address_space_from_name(space_name);
    if (!space && !space_name.empty())
        return fail(ErrorKind::Unsupported, "{}: unknown .address_space \"{}\"", map.where(), space_name);
    return KernelArgument{offset, size, *kind, space, std::move(argument_name)};
}

Result<void> read_arguments(const MapReader& map, KernelMetadata& kernel) {
    RIFTJIT_TRY(args, map.array(".args"));
    for (size_t i = 0; i < args.size(); ++i) {
        RIFTJIT_TRY(argument, read_argument(args[i], fmt::format("{}, argument {}", map.where(), i)));
        if (uint64_t(argument.offset) + argument.size > kernel.kernarg_bytes)
            return fail(ErrorKind::Format, "{}, argument {}: bytes {} to {} lie outside .kernarg_segment_size {}",
                        map.where(), i, argument.offset, uint64_t(argument.offset) + argument.size,
                        kernel.kernarg_bytes);
        kernel.args.push_back(std::move(argument));
    }
    return {};
}

Result<void> read_optional(const MapReader& map, KernelMetadata& kernel) {
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
    return {};
}

Result<void> check_kernel(const MapReader& map, const KernelMetadata& kernel, uint32_t wave_size) {
    if (wave_size != 32 && wave_size != 64)
        return fail(ErrorKind::Format, "{}: .wavefront_size {} is neither 32 nor 64", map.where(), wave_size);
    if (kernel.max_flat_workgroup_size == 0 || kernel.max_flat_workgroup_size > 1024)
        return fail(ErrorKind::Format, "{}: .max_flat_workgroup_size {} is not 1 to 1024", map.where(),
                    kernel.max_flat_workgroup_size);
    if (kernel.kernarg_align == 0 || (kernel.kernarg_align & (kernel.kernarg_align - 1)) != 0)
        return fail(ErrorKind::Format, "{}: .kernarg_segment_align {} is not a power of two", map.where(),
                    kernel.kernarg_align);
    return {};
}

Result<KernelMetadata> read_kernel(const msgpack::object& object, size_t index) {
    RIFTJIT_TRY(unnamed, MapReader::make(object, fmt::format("metadata: kernel {}", index)));
    RIFTJIT_TRY(kernel_name, unnamed.text(".name"));
    RIFTJIT_TRY(map, MapReader::make(object, fmt::format("metadata: kernel \"{}\"", kernel_name)));
    RIFTJIT_TRY(symbol, map.text(".symbol"));
    RIFTJIT_TRY(kernarg_bytes, map.number(".kernarg_segment_size"));
    RIFTJIT_TRY(kernarg_align, map.number(".kernarg_segment_align"));
    RIFTJIT_TRY(lds_bytes, map.number(".group_segment_fixed_size"));
    RIFTJIT_TRY(scratch_bytes, map.number(".private_segment_fixed_size"));
    RIFTJIT_TRY(wave_size, map.number(".wavefront_size"));
    RIFTJIT_TRY(sgpr_count, map.number(".sgpr_count"));
    RIFTJIT_TRY(vgpr_count, map.number(".vgpr_count"));
    RIFTJIT_TRY(max_workgroup, map.number(".max_flat_workgroup_size"));
    KernelMetadata kernel;
    kernel.name = std::move(kernel_name);
    kernel.symbol = std::move(symbol);
    kernel.kernarg_bytes = kernarg_bytes;
    kernel.kernarg_align = kernarg_align;
    kernel.lds_bytes = lds_bytes;
    kernel.scratch_bytes = scratch_bytes;
    kernel.wave_size = wave_size == 64 ? WaveSize::wave64 : WaveSize::wave32;
    kernel.sgpr_count = sgpr_count;
    kernel.vgpr_count = vgpr_count;
    kernel.max_flat_workgroup_size = max_workgroup;
    RIFTJIT_TRY_VOID(check_kernel(map, kernel, wave_size));
    RIFTJIT_TRY_VOID(read_optional(map, kernel));
    RIFTJIT_TRY_VOID(read_arguments(map, kernel));
    return kernel;
}

Result<CodeObjectVersion> read_version(const MapReader& map) {
    RIFTJIT_TRY_VOID(map.require("amdhsa.version"));
    RIFTJIT_TRY(parts, map.array("amdhsa.version"));
    const auto is_number = [](const msgpack::object& part) { return part.type == msgpack::type::POSITIVE_INTEGER; };
    if (parts.size() != 2 || !std::ranges::all_of(parts, is_number))
        return fail(ErrorKind::Format, "metadata: amdhsa.version is not two numbers");
    const uint64_t major = parts[0].via.u64, minor = parts[1].via.u64;
    if (major == 1 && minor == minor_version(CodeObjectVersion::v4)) return CodeObjectVersion::v4;
    if (major == 1 && minor == minor_version(CodeObjectVersion::v5)) return CodeObjectVersion::v5;
    return fail(ErrorKind::Unsupported, "metadata: amdhsa.version is {}.{}, not 1.1 or 1.2", major, minor);
}

Result<Metadata> read_root(const msgpack::object& root) {
    RIFTJIT_TRY(map, MapReader::make(root, "metadata"));
    RIFTJIT_TRY(version, read_version(map));
    Metadata metadata{.version = version, .target = std::nullopt, .kernels = {}};
    if (map.find("amdhsa.target")) {
        RIFTJIT_TRY(target, map.text("amdhsa.target"));
        metadata.target = std::move(target);
    }
    RIFTJIT_TRY_VOID(map.require("amdhsa.kernels"));
    RIFTJIT_TRY(kernels, map.array("amdhsa.kernels"));
    for (size_t i = 0; i < kernels.size(); ++i) {
        RIFTJIT_TRY(kernel, read_kernel(kernels[i], i));
        metadata.kernels.push_back(std::move(kernel));
    }
    return metadata;
}

}  // namespace

std::string_view name(ValueKind kind) { return kValueKinds[static_cast<size_t>(kind)]; }
std::optional<ValueKind> value_kind_from_name(std::string_view name) { return from_name<ValueKind>(kValueKinds, name); }
std::string_view name(AddressSpace space) { return kAddressSpaces[static_cast<size_t>(space)]; }
std::optional<AddressSpace> address_space_from_name(std::string_view name) {
    return from_name<AddressSpace>(kAddressSpaces, name);
}

std::string target_id(Target target) { return fmt::format("amdgcn-amd-amdhsa--{}", name(target)); }

std::vector<std::byte> write_metadata(const Metadata& metadata) {
    msgpack::sbuffer buffer;
    Packer packer(buffer);
    packer.pack_map(metadata.target ? 3 : 2);
    pack_text(packer, "amdhsa.kernels");
    packer.pack_array(static_cast<uint32_t>(metadata.kernels.size()));
    for (const KernelMetadata& kernel : metadata.kernels) pack_kernel(packer, kernel, metadata.version);
    if (metadata.target) pack_entry(packer, "amdhsa.target", *metadata.target);
    pack_text(packer, "amdhsa.version");
    packer.pack_array(2);
    packer.pack_uint32(1);
    packer.pack_uint32(minor_version(metadata.version));
    const auto* first = reinterpret_cast<const std::byte*>(buffer.data());
    return {first, first + buffer.size()};
}

Result<Metadata> read_metadata(std::span<const std::byte> bytes) {
    // An element takes at least a byte, and containers are allocated when their header is read: with these limits
    // memory stays below depth * bytes * sizeof(object_kv). Kernel metadata is five deep.
    constexpr size_t kMaxDepth = 16;
    const size_t most = bytes.size();
    const msgpack::unpack_limit limit(most, most, most, most, most, kMaxDepth);
    try {
        size_t end = 0;
        const msgpack::object_handle root =
            msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size(), end, nullptr, nullptr, limit);
        if (end != bytes.size())
            return fail(ErrorKind::Format, "metadata: {} bytes follow the map of {}", bytes.size() - end, end);
        return read_root(root.get());
    } catch (const msgpack::unpack_error& error) {
        return fail(ErrorKind::Format, "metadata: {} bytes are not MsgPack: {}", bytes.size(), error.what());
    }
}

}  // namespace riftjit::rdna

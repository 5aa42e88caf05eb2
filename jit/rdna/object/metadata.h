// What a code object says of its kernels to the runtime: a MsgPack map in the AMDGPU note (LLVM AMDGPU usage guide,
// "Code Object V4 Metadata" and later).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/metadata_value.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

enum class CodeObjectVersion : uint8_t { v4 = 4, v5 = 5, v6 = 6 };

// What the runtime stores in an argument's bytes. The hidden ones are asked for by compilers, never by our kernels.
enum class ValueKind : uint8_t {
    by_value,
    global_buffer,
    dynamic_shared_pointer,
    sampler,
    image,
    pipe,
    queue,
    hidden_none,
    hidden_global_offset_x,
    hidden_global_offset_y,
    hidden_global_offset_z,
    hidden_printf_buffer,
    hidden_hostcall_buffer,
    hidden_default_queue,
    hidden_completion_action,
    hidden_multigrid_sync_arg,
    // From version 5 on.
    hidden_block_count_x,
    hidden_block_count_y,
    hidden_block_count_z,
    hidden_group_size_x,
    hidden_group_size_y,
    hidden_group_size_z,
    hidden_remainder_x,
    hidden_remainder_y,
    hidden_remainder_z,
    hidden_grid_dims,
    hidden_heap_v1,
    hidden_dynamic_lds_size,
    hidden_private_base,
    hidden_shared_base,
    hidden_queue_ptr,
};
std::string_view name(ValueKind kind);
std::optional<ValueKind> value_kind_from_name(std::string_view name);
constexpr bool is_hidden(ValueKind kind) { return kind >= ValueKind::hidden_none; }

enum class AddressSpace : uint8_t { private_, global, constant, local, generic, region };
std::string_view name(AddressSpace space);
std::optional<AddressSpace> address_space_from_name(std::string_view name);

struct KernelArgument {
    uint32_t offset = 0;  // bytes from the start of the kernel's argument segment
    uint32_t size = 0;
    ValueKind value_kind = ValueKind::by_value;
    std::optional<AddressSpace> address_space = std::nullopt;  // of a pointer
    std::string name = {};                                     // may be empty
    MetadataValue::Map others = {};                            // what is kept without being read: .type_name, .is_const

    bool operator==(const KernelArgument&) const = default;
};

struct KernelMetadata {
    std::string name;
    std::string symbol;  // of the descriptor: "NAME.kd"
    std::vector<KernelArgument> args;
    uint32_t kernarg_bytes = 0;
    uint32_t kernarg_align = 8;
    uint32_t lds_bytes = 0;
    uint32_t scratch_bytes = 0;  // per lane
    WaveSize wave_size = WaveSize::wave32;
    uint32_t sgpr_count = 0;
    uint32_t vgpr_count = 0;
    uint32_t max_flat_workgroup_size = 0;
    uint32_t sgpr_spill_count = 0;
    uint32_t vgpr_spill_count = 0;
    bool uses_dynamic_stack = false;
    bool workgroup_processor_mode = true;
    bool uniform_work_group_size = false;
    std::optional<std::array<uint32_t, 3>> required_workgroup_size = std::nullopt;  // no other can be launched
    MetadataValue::Map others = {};                                                 // .language, .vec_type_hint

    bool operator==(const KernelMetadata&) const = default;
};

struct Metadata {
    CodeObjectVersion version;          // 5 and 6 are written alike: both are [1, 2], read as 5
    std::optional<std::string> target;  // "amdgcn-amd-amdhsa--gfx1100"
    std::vector<KernelMetadata> kernels;
    MetadataValue::Map others = {};  // amdhsa.printf

    bool operator==(const Metadata&) const = default;
};

std::string target_id(Target target);  // "amdgcn-amd-amdhsa--gfx1100"

// Deterministic: keys in ascending order, as LLVM writes them.
MetadataValue to_value(const Metadata& metadata);
std::vector<std::byte> write_metadata(const Metadata& metadata);
// Keys that are not known are kept; a required one that is absent or of another type is an error that names kernel and
// key. `file_name` is that of the assembly which the value was read from.
Result<Metadata> metadata_from_value(const MetadataValue& root, std::string_view file_name = {});
Result<Metadata> read_metadata(std::span<const std::byte> bytes);

}  // namespace riftjit::rdna

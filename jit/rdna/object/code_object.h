// Writes kernels into the ELF file that AMD's runtime loads (LLVM AMDGPU usage guide, "ELF Code Object").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/object/metadata.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

// Counted from the finished code: a VGPR that is used but not declared belongs to another wave.
struct KernelResources {
    uint32_t vgprs = 0;  // highest number used, plus one
    uint32_t sgprs = 0;  // the same, VCC apart; RDNA allots a fixed number, so this is for readers only
    uint32_t lds_bytes = 0;
    uint32_t scratch_bytes = 0;  // per lane
    uint32_t vgpr_spills = 0;
    uint32_t sgpr_spills = 0;
};

// One finished kernel and all that its first instruction relies on.
struct KernelCode {
    std::string name;
    std::vector<uint32_t> code;  // ends with s_endpgm; position-independent
    WaveSize wave_size = WaveSize::wave32;
    KernelResources resources;
    std::vector<KernelArgument> args;
    uint32_t kernarg_size = 0;  // covers every argument
    uint32_t max_flat_workgroup_size = 1024;
    WorkgroupIds workgroup_ids;
    WorkItemIds work_item_ids = WorkItemIds::x;
    UserSgprs user_sgprs = {.kernarg_ptr = true};
    FloatModes float_modes;
    WorkgroupMode workgroup_mode = WorkgroupMode::wgp;
    bool forward_progress = false;  // for kernels whose waves wait for each other
};

// What the hardware and the runtime are told of the kernel. entry_offset is left 0.
Result<KernelDescriptor> describe(const KernelCode& kernel, Target target);

// Several kernels in one object. Deterministic: equal arguments give equal bytes. An error names the kernel and the
// value that cannot be written.
Result<std::vector<std::byte>> write_code_object(Target target, CodeObjectVersion version,
                                                 std::span<const KernelCode> kernels);

inline constexpr uint32_t kCodeEnd = 0xBF9F0000;  // s_code_end
// s_code_end words after the last kernel: instruction fetch runs up to three cache lines ahead of execution.
size_t code_end_words(Generation generation);

}  // namespace riftjit::rdna

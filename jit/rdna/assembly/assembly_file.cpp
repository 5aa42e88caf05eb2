#include "jit/rdna/assembly/assembly_file.h"

#include "jit/rdna/assembly/assembly_lines.h"
#include "jit/rdna/assembly/assembly_reader.h"

namespace riftjit::rdna {

Result<AssembledFile> assemble(std::string_view source, std::string_view name, std::optional<Target> target) {
    RIFTJIT_TRY(statements, split_statements(source, name));
    return AssemblyReader(name, target).read(statements);
}

namespace {

std::unexpected<Error> cannot(const AssembledKernel& kernel, std::string_view what) {
    return fail(ErrorKind::Unsupported, "kernel {}: {}", kernel.name, what);
}

const KernelMetadata* metadata_of(const AssembledFile& file, const std::string& kernel) {
    if (!file.metadata) return nullptr;
    for (const KernelMetadata& metadata : file.metadata->kernels)
        if (metadata.name == kernel) return &metadata;
    return nullptr;
}

Result<KernelCode> kernel_code(const AssembledFile& file, const AssembledKernel& kernel) {
    const KernelDescriptor& descriptor = kernel.descriptor;
    const KernelMetadata* metadata = metadata_of(file, kernel.name);
    if (descriptor.traps != TrapMask{}) return cannot(kernel, "exceptions that trap");
    if (descriptor.uses_dynamic_stack) return cannot(kernel, "a stack of unknown size");
    KernelCode code;
    code.name = kernel.name;
    for (uint64_t at = kernel.code_offset; at < kernel.code_offset + kernel.code_size; at += 4) {
        uint32_t word = 0;
        for (unsigned i = 0; i < 4; ++i) word |= std::to_integer<uint32_t>(file.text().bytes[at + i]) << 8 * i;
        code.code.push_back(word);
    }
    code.wave_size = descriptor.wave_size;
    code.resources.vgprs = metadata != nullptr && metadata->vgpr_count != 0 ? metadata->vgpr_count : descriptor.vgprs();
    code.resources.sgprs = metadata != nullptr ? metadata->sgpr_count : kernel.sgprs;
    code.resources.lds_bytes = descriptor.lds_bytes;
    code.resources.scratch_bytes = descriptor.scratch_bytes;
    code.kernarg_size = descriptor.kernarg_bytes;
    if (metadata != nullptr) {
        code.args = metadata->args;
        code.max_flat_workgroup_size = metadata->max_flat_workgroup_size;
        code.resources.vgpr_spills = metadata->vgpr_spill_count;
        code.resources.sgpr_spills = metadata->sgpr_spill_count;
    }
    code.workgroup_ids = descriptor.workgroup_ids;
    code.work_item_ids = descriptor.work_item_ids;
    code.user_sgprs = descriptor.user_sgprs;
    code.float_modes = descriptor.float_modes;
    code.workgroup_mode = descriptor.workgroup_mode;
    code.forward_progress = descriptor.forward_progress;
    return code;
}

}  // namespace

Result<std::vector<KernelCode>> kernel_codes(const AssembledFile& file) {
    std::vector<KernelCode> codes;
    if (!file.distances.empty())
        return fail(ErrorKind::Unsupported, "code that refers to section {}",
                    file.sections[file.distances[0].target_section].name);
    if (!file.addresses.empty()) return fail(ErrorKind::Unsupported, "addresses in data");
    for (const AssembledKernel& kernel : file.kernels) {
        RIFTJIT_TRY(code, kernel_code(file, kernel));
        codes.push_back(std::move(code));
    }
    return codes;
}

}  // namespace riftjit::rdna

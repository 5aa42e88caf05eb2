#include "runtime/rdna/rdna_backend.h"

#include "jit/rdna/object/code_object.h"

namespace riftjit::runtime {

Target RdnaBackend::target() const { return target_from_name(rdna::name(chip_)).value(); }

uint32_t RdnaBackend::row_bytes(RowFormat format, uint32_t width) const {
    check(format == RowFormat::f32, "rows are f32 on this back end");
    return f32_row_bytes(width);
}

uint64_t RdnaBackend::packed_bytes(DType type, uint32_t rows, uint32_t width) const {
    return rows * riftjit::row_bytes(type, width);
}

// Position by position; no kernel reads it yet.
uint64_t RdnaBackend::key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const {
    return kKvPage * kv_heads * riftjit::row_bytes(type, head_dim);
}

uint64_t RdnaBackend::value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const {
    return key_page_bytes(type, kv_heads, head_dim);
}

Result<void> RdnaBackend::supports(const KernelSpec& spec) const {
    RIFTJIT_TRY_VOID(launch_shape(spec));
    return {};
}

Result<CodeObject> RdnaBackend::compile(const KernelSpec& spec) const {
    RIFTJIT_TRY(program, rdna::kernels::kernel_program({chip_}, spec));
    RIFTJIT_TRY(code, rdna::link(program));
    code.name = kernel_name(spec);
    RIFTJIT_TRY(elf, rdna::write_code_object(chip_, rdna::CodeObjectVersion::v5, {&code, 1}));
    return CodeObject{kernel_name(spec), target(), std::move(elf)};
}

Result<CodeObject> compile_rdna(const KernelSpec& spec, Target target) {
    const auto chip = rdna::target_from_name(name(target));
    check(chip.has_value(), "an RDNA target is a chip of the table");
    return RdnaBackend(*chip).compile(spec);
}

}  // namespace riftjit::runtime

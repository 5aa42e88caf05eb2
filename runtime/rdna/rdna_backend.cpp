#include "runtime/rdna/rdna_backend.h"

#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/packed.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/rdna/object/code_object.h"

namespace riftjit::runtime {

namespace kernels = rdna::kernels;

Target RdnaBackend::target() const { return target_from_name(rdna::name(chip_)).value(); }

// What matmuls by activations of 8 bits would read does not matter: supports() refuses them.
RowFormat RdnaBackend::activation_format(DType weight, Activations) const {
    return is_quantized(weight) ? RowFormat::i16 : RowFormat::f32;
}

uint32_t RdnaBackend::row_bytes(RowFormat format, uint32_t width) const {
    if (format == RowFormat::i16) return kernels::I16Row{width}.bytes();
    check(format == RowFormat::f32, "rows are f32 or i16 on this back end");
    return f32_row_bytes(width);
}

uint64_t RdnaBackend::packed_bytes(DType type, uint32_t rows, uint32_t width) const {
    return kernels::packed_bytes(type, rows, width);
}

uint64_t RdnaBackend::key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const {
    return kv_heads * kernels::key_head_bytes(type, head_dim);
}

uint64_t RdnaBackend::value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const {
    return kv_heads * kernels::value_head_bytes(type, head_dim);
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

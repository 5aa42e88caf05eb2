#include "jit/x86/backend.h"

#include <xbyak/xbyak.h>

#include <exception>

namespace riftjit::x86 {

namespace {

struct Generate {
    Isa isa;
    MachineCode operator()(const EmbedSpec& spec) const { return generate_embed(spec, isa); }
    MachineCode operator()(const RmsNormSpec& spec) const { return generate_rms_norm(spec, isa); }
    MachineCode operator()(const QuantizeSpec& spec) const { return generate_quantize(spec, isa); }
    MachineCode operator()(const MatmulSpec& spec) const { return generate_matmul(spec, isa); }
    MachineCode operator()(const RopeSpec& spec) const { return generate_rope(spec, isa); }
    MachineCode operator()(const ValueStoreSpec& spec) const { return generate_value_store(spec, isa); }
    MachineCode operator()(const AttentionSpec& spec) const { return generate_attention(spec, isa); }
    MachineCode operator()(const SwigluSpec& spec) const { return generate_swiglu(spec, isa); }
    MachineCode operator()(const ElementwiseSpec& spec) const { return generate_elementwise(spec, isa); }
    MachineCode operator()(const ReduceSpec& spec) const { return generate_reduce(spec, isa); }
    MachineCode operator()(const LifStepSpec& spec) const { return generate_lif_step(spec, isa); }
    MachineCode operator()(const ColumnProgramSpec& spec) const { return generate_column_program(spec, isa); }
};

}  // namespace

Result<CodeObject> compile(const KernelSpec& spec, Isa isa) {
    RIFTJIT_TRY_VOID(validate(spec));
    try {
        return write_x86_object(kernel_name(spec), isa, std::visit(Generate{isa}, spec));
    } catch (const std::exception& exception) {  // Xbyak::Error is one
        return fail(ErrorKind::Encoding, "{} for {}: {}", kernel_name(spec), name(isa), exception.what());
    }
}

}  // namespace riftjit::x86

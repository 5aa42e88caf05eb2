#include "jit/rdna/kernels/kernels.h"

namespace riftjit::rdna::kernels {
namespace {

template <class Spec>
concept HasKernel = requires(KernelTarget target, const Spec& spec) { shape_of(target, spec); };

// visit(op) where the spec is of an op that has a kernel.
template <class T, class Visit>
Result<T> for_op(KernelTarget target, const KernelSpec& spec, const Visit& visit) {
    RIFTJIT_TRY_VOID(validate(spec));
    const auto visit_op = [&]<class Spec>(const Spec& op) -> Result<T> {
        if constexpr (HasKernel<Spec>)
            return visit(op);
        else
            return fail(ErrorKind::Unsupported, "no kernel for {}", describe(spec));
    };
    Result<T> result = std::visit(visit_op, spec);
    if (!result) return fail(result.error().kind, "{}: {}", name(target.target), result.error().message);
    return result;
}

}  // namespace

Result<LaunchShape> launch_shape(KernelTarget target, const KernelSpec& spec) {
    return for_op<LaunchShape>(target, spec, [&](const auto& op) { return shape_of(target, op); });
}

Result<KernelProgram> kernel_program(KernelTarget target, const KernelSpec& spec, PassOptions options) {
    return for_op<KernelProgram>(target, spec, [&](const auto& op) { return program_of(target, op, options); });
}

}  // namespace riftjit::rdna::kernels

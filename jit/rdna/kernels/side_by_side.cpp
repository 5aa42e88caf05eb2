#include <algorithm>

#include "jit/rdna/emit/join.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {

Result<LaunchShape> shape_of(KernelTarget target, const SideBySideSpec& spec) {
    LaunchShape joined{};
    for (const SideBySidePart& part : spec.parts) {
        RIFTJIT_TRY(shape, std::visit([&](const auto& op) { return shape_of(target, op); }, part));
        RIFTJIT_TRY_VOID(refuse_if(shape.rows_per_group != 1, "side_by_side", "tiles of rows"));
        joined.lanes = std::max(joined.lanes, shape.lanes);
        joined.groups += shape.groups;
    }
    return joined;
}

Result<KernelProgram> program_of(KernelTarget target, const SideBySideSpec& spec, PassOptions options) {
    KernelTarget of_parts = target;
    of_parts.is_part = true;
    std::vector<JoinedPart> parts;
    for (const SideBySidePart& part : spec.parts) {
        RIFTJIT_TRY(shape, std::visit([&](const auto& op) { return shape_of(target, op); }, part));
        RIFTJIT_TRY(program, std::visit([&](const auto& op) { return program_of(of_parts, op, options); }, part));
        parts.push_back({std::move(*program.part), shape.groups, shape.lanes});
    }
    return join(target, "side_by_side", parts, options);
}

}  // namespace riftjit::rdna::kernels

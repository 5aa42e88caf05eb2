// Root-mean-square norm of rows or of their heads.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::rms_norm(std::string name, TensorId x, TensorId gain, float epsilon, uint32_t head_dim) {
    const uint32_t width = tensor(x).width, span = head_dim == 0 ? width : head_dim;
    if (width % span != 0)
        return fail(ErrorKind::Format, "{}: width {} is not a multiple of the head size {}", name, width, head_dim);
    const bool has_own_gains = head_dim != 0 && gain != kNoTensor && tensor(gain).width != head_dim;
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "gain", gain, has_own_gains ? width : span));
    const TensorId out = add_activation(name, width);
    nodes.push_back({std::move(name), RmsNormOp{x, kNoTensor, gain, out, kNoTensor, head_dim, epsilon}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const RmsNormOp& op) {
    std::vector<double> sums = rows_[op.x];
    if (op.addend != kNoTensor) {
        std::transform(sums.begin(), sums.end(), rows_[op.addend].begin(), sums.begin(), std::plus{});
        if (op.sum != kNoTensor) rows_[op.sum] = sums;
    }
    const uint32_t span = op.head_dim == 0 ? width(op.x) : op.head_dim;
    const std::vector<double> gain = weight_vector(op.gain);
    resize(op.out, static_cast<uint32_t>(sums.size() / width(op.x)));
    for (size_t at = 0; at < sums.size(); at += span)
        reference::rms_norm(&sums[at], gain.empty() ? nullptr : &gain[at % gain.size()], op.epsilon, span,
                            &rows_[op.out][at]);
    return {};
}

template <>
Result<void> Lowering::lower(const RmsNormOp& op) {
    if (op.head_dim != 0) return lower_head_norm(op);
    gathered_[op.out] = gathered_[op.x];
    const RmsNormSpec spec{graph_.tensor(op.x).width, op.epsilon,
                           op.gain == kNoTensor ? Presence::absent : Presence::present,
                           op.addend == kNoTensor ? Addend::none : Addend::residual, output_format(op.out)};
    const bool adds = op.addend != kNoTensor;
    const Place addend = adds ? input(op.addend) : Place{}, x = adds ? take_over(op.x, op.sum) : input(op.x);
    const Place out = output(op.out, spec.output);
    emit(spec, {x, addend, weight_place(op.gain), out}, rows_of(op.x));
    return {};
}

Result<void> Lowering::lower_head_norm(const RmsNormOp& op) {
    if (op.gain == kNoTensor)
        return fail(ErrorKind::Unsupported, "{}: a per-head norm without a gain has no kernel", node_name());
    const Place rows = take_over(op.x, op.out);
    RopeSpec spec = rope_spec(op.out, op.head_dim);
    spec.norm = Presence::present;
    spec.epsilon = op.epsilon;
    if (graph_.tensor(op.gain).width != op.head_dim) spec.own_gains = Presence::present;
    emit(spec, {rows, weight_place(op.gain), Place{}, Place{}}, rows_of(op.x));
    return {};
}

}  // namespace riftjit::graph

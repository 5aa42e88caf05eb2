// Rotary embedding.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::rope(std::string name, TensorId x, uint32_t head_dim, RopePairing pairing,
                             const RopeAngles& angles, const RopeFactors& factors) {
    const uint32_t width = tensor(x).width, rotary_dims = angles.rotary_dims;
    if (head_dim == 0 || width % head_dim != 0 || rotary_dims > head_dim || rotary_dims % 2 != 0)
        return fail(ErrorKind::Format, "{}: rotary dimensions {} and head size {} do not fit width {}", name,
                    rotary_dims, head_dim, width);
    for (const TensorId vector : {factors.usual, factors.far})
        RIFTJIT_TRY_VOID(expect_vector(*this, name, "frequency factors", vector, rotary_dims / 2));
    const TensorId out = add_activation(name, width);
    nodes.push_back({std::move(name), RopeOp{x, out, factors, head_dim, pairing, angles}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const RopeOp& op) {
    std::vector<double> heads = rows_[op.x];
    const std::vector<double> gain = weight_vector(op.gain);
    const float* factors = op.factors.usual == kNoTensor ? nullptr : owner_.weight_row(op.factors.usual, 0).data();
    for (size_t at = 0; at < heads.size(); at += op.head_dim) {
        if (!gain.empty()) reference::rms_norm(&heads[at], gain.data(), op.epsilon, op.head_dim, &heads[at]);
        const uint32_t position = owner_.position_ + static_cast<uint32_t>(at / width(op.x));
        reference::rope(&heads[at], op.pairing, op.angles, factors, position);
    }
    rows_[op.out] = std::move(heads);
    return {};
}

template <>
Result<void> Lowering::lower(const RopeOp& op) {
    const AttentionOp* attention = sole_key_reader(op.out);
    const Place table = op.angles.rotary_dims == 0 ? Place{} : rope_table(op);
    if (gathered_[op.x]) return fail_gathered();
    RopeSpec spec = rope_spec(op.x, op.head_dim);
    spec.rotary_dims = op.angles.rotary_dims;
    spec.pairing = op.pairing;
    spec.norm = op.gain == kNoTensor ? Presence::absent : Presence::present;
    spec.epsilon = op.epsilon;
    if (attention != nullptr) {
        key_stored_[op.out] = true;
        spec.key_cache = options_.key_type;
        const Place keys = cache_place(Place::Kind::keys, attention->slot);
        emit(spec, {input(op.x), weight_place(op.gain), table, keys}, StepRows::batch);
    } else {
        const Place rows = take_over(op.x, op.out);
        emit(spec, {rows, weight_place(op.gain), table, Place{}}, StepRows::batch);
    }
    return {};
}

Place Lowering::rope_table(const RopeOp& op) {
    for (size_t i = 0; i < plan_.rope_tables.size(); ++i) {
        const RopeTable& table = plan_.rope_tables[i];
        if (table.angles == op.angles && table.factors == op.factors)
            return Place{Place::Kind::rope_table, 0, static_cast<uint32_t>(i)};
    }
    plan_.rope_tables.push_back({op.angles, op.factors});
    return Place{Place::Kind::rope_table, 0, static_cast<uint32_t>(plan_.rope_tables.size() - 1)};
}

const AttentionOp* Lowering::sole_key_reader(TensorId id) const {
    if (readers_[id].size() != 1 || is_rotated(options_.key_type)) return nullptr;
    const auto* attention = std::get_if<AttentionOp>(&graph_.nodes[readers_[id].front()].op);
    return attention != nullptr && attention->k == id && attention->q != id && attention->v != id ? attention : nullptr;
}

}  // namespace riftjit::graph

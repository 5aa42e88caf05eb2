#include "runtime/device.h"

namespace riftjit::runtime {

Address resolve(const graph::Place& place, const Addresses& addresses) {
    using Kind = graph::Place::Kind;
    switch (place.kind) {
        case Kind::none:
            return nullptr;
        case Kind::arena:
            return addresses.arena + place.offset_bytes;
        case Kind::weight:
            return addresses.weights[place.index];
        case Kind::keys:
            return addresses.keys[place.index];
        case Kind::values:
            return addresses.values[place.index];
        case Kind::rope_table:
            return addresses.rope_tables[place.index];
        case Kind::token_ids:
            return addresses.token_ids;
        case Kind::positions:
            return addresses.positions;
        case Kind::state:
            return addresses.states[place.index];
    }
    return nullptr;
}

uint32_t rows_of(const graph::Step& step, const BatchState& batch) {
    switch (step.rows) {
        case graph::StepRows::batch:
            break;
        case graph::StepRows::outputs:
            return batch.outputs;
        case graph::StepRows::one_output:
            return batch.outputs == 1 ? 1 : 0;
        case graph::StepRows::many_outputs:
            return batch.outputs == 1 ? 0 : batch.outputs;
    }
    if (const auto* attention = std::get_if<AttentionSpec>(&step.spec))
        return attention->form == MatmulForm::tile ? batch.tiles : batch.singles;
    return walks_runs(step.spec) ? batch.runs : batch.rows * step.rows_each;
}

}  // namespace riftjit::runtime

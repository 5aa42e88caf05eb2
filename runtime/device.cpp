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
    }
    return nullptr;
}

}  // namespace riftjit::runtime

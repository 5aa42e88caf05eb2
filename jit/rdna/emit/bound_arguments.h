// The arguments of a launch as fields of a struct: named once, for the metadata and for the loads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emit/assembler.h"

namespace riftjit::rdna {

// Where a field of Args lies, in bytes from its start. Pointers are buffers of global memory.
struct ArgumentField {
    std::string name;
    uint32_t offset, size;
    bool is_buffer;
};

template <class Args, class T>
uint32_t offset_in(T Args::* member) {
    static const Args kProbe{};
    return static_cast<uint32_t>(reinterpret_cast<const char*>(&(kProbe.*member)) -
                                 reinterpret_cast<const char*>(&kProbe));
}
template <class Args, class T>
ArgumentField field(std::string name, T Args::* member) {
    static_assert(sizeof(T) % 4 == 0, "scalar loads are of whole dwords");
    return {std::move(name), offset_in(member), sizeof(T), std::is_pointer_v<T>};
}

// SGPRs that hold the bytes [offset, offset + 4 * dwords) of the arguments.
struct LoadedArguments {
    uint32_t offset;
    Sgpr registers;
};

// The fields of an Args struct in the registers that they were loaded into: `bound[&Args::x]`.
template <class Args>
class BoundArguments {
public:
    explicit BoundArguments(std::vector<LoadedArguments> loads) : loads_(std::move(loads)) {}

    template <class T>
    Sgpr operator[](T Args::* member) const {
        const uint32_t offset = offset_in(member);
        for (const LoadedArguments& load : loads_)
            if (offset >= load.offset && offset + sizeof(T) <= load.offset + 4 * load.registers.dwords())
                return load.registers.part((offset - load.offset) / 4, sizeof(T) / 4);
        check(false, "the field was bound");
        return loads_.front().registers;
    }

private:
    std::vector<LoadedArguments> loads_;
};

}  // namespace riftjit::rdna

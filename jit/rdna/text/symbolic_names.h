// Names of messages and hardware registers by generation: LLVM 19's AMDGPU assembler prints them, and reads them and a
// few more, as LLVM 22's does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

struct NamedNumber {
    std::string_view name;
    uint8_t number;
    Generation first, last;
    bool is_only_read = false;  // the number is printed as another name, or as itself
};

std::span<const NamedNumber> message_names();
std::span<const NamedNumber> hardware_register_names();

inline std::string_view name_of(std::span<const NamedNumber> names, unsigned number, Generation generation) {
    for (const NamedNumber& entry : names)
        if (entry.number == number && !entry.is_only_read && entry.first <= generation && generation <= entry.last)
            return entry.name;
    return "";
}

inline std::optional<uint8_t> number_of(std::span<const NamedNumber> names, std::string_view name,
                                        Generation generation) {
    for (const NamedNumber& entry : names)
        if (entry.name == name && entry.first <= generation && generation <= entry.last) return entry.number;
    return std::nullopt;
}

}  // namespace riftjit::rdna

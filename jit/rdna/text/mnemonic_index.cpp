#include "jit/rdna/text/mnemonic_index.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace riftjit::rdna {
namespace {

struct Alias {
    Generation generation;
    Opcode opcode;
    std::string_view mnemonic;
};
constexpr Alias kAliases[] = {
#define ALIAS(generation, row, mnemonic) {Generation::generation, Opcode::row, mnemonic},
#include "jit/rdna/table/aliases.def"
#undef ALIAS
};

using Index = std::unordered_map<std::string_view, std::vector<Opcode>>;

void add(Index& index, std::string_view mnemonic, Opcode opcode) {
    std::vector<Opcode>& opcodes = index[mnemonic];
    if (std::ranges::find(opcodes, opcode) == opcodes.end()) opcodes.push_back(opcode);
}

std::array<Index, 3> build() {
    std::array<Index, 3> indices;
    for (const InstructionInfo& row : all_instructions())
        for (size_t g = 0; g < 3; ++g)
            if (row.number[g].exists()) add(indices[g], row.mnemonic[g], row.opcode);
    for (const Alias& alias : kAliases)
        add(indices[static_cast<size_t>(alias.generation)], alias.mnemonic, alias.opcode);
    return indices;
}

const std::array<Index, 3>& indices() {
    static const std::array<Index, 3> built = build();
    return built;
}

}  // namespace

std::span<const Opcode> opcodes_named(Generation generation, std::string_view mnemonic) {
    const Index& index = indices()[static_cast<size_t>(generation)];
    const auto found = index.find(mnemonic);
    return found == index.end() ? std::span<const Opcode>() : found->second;
}

std::optional<Opcode> opcode_named_anywhere(std::string_view mnemonic) {
    for (size_t g = 3; g-- > 0;)
        if (const auto opcodes = opcodes_named(static_cast<Generation>(g), mnemonic); !opcodes.empty())
            return opcodes.front();
    return std::nullopt;
}

}  // namespace riftjit::rdna

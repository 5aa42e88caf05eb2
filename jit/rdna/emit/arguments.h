// What a kernel writes as the operand of an instruction: registers, constants, labels, and options such as DPP.
#pragma once

#include <concepts>
#include <variant>

#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

struct Clamp {};
struct OpSel {
    uint8_t low, high;  // high: VOP3P only; one bit per source
};
struct Negate {  // VOP3P: one bit per source
    uint8_t low, high = 0;
};
struct ByteOffset {
    int32_t bytes;
};
struct Offset1 {  // the second offset of DS instructions with two, in elements
    uint8_t elements;
};

class Argument {
public:
    using Value = std::variant<RegisterPart, Operand, int64_t, double, Label, Clamp, OpSel, Negate, ByteOffset, Offset1,
                               Dpp, CachePolicy>;

    template <RegisterBank kBank>
    Argument(Register<kBank> reg) : value(reg.whole()), bank(kBank) {}
    template <std::integral T>
    Argument(T constant) : value(static_cast<int64_t>(constant)) {}
    template <std::floating_point T>
    Argument(T constant) : value(static_cast<double>(constant)) {}
    template <class T>
        requires std::constructible_from<Value, T> && (!std::integral<T>) && (!std::floating_point<T>)
    Argument(T other) : value(other) {}

    Value value;
    RegisterBank bank = RegisterBank::scalar;  // of a RegisterPart
    bool negated = false, absolute = false;
};

inline Argument operator-(Vgpr reg) {
    Argument argument(reg);
    argument.negated = true;
    return argument;
}
inline Argument operator-(Sgpr reg) {
    Argument argument(reg);
    argument.negated = true;
    return argument;
}
inline Argument abs(Vgpr reg) {
    Argument argument(reg);
    argument.absolute = true;
    return argument;
}

// v_permlane16, v_permlanex16: lanes that are off are read, and a lane without a source becomes 0 instead of keeping
// the destination's old value.
inline constexpr OpSel kNoOldValue = {.low = 3, .high = 0};

// Lanes move within rows of 16 (DPP16). A lane whose source is switched off or outside the row reads 0.
Dpp row_xmask(unsigned mask);
Dpp row_shr(unsigned lanes);
Dpp row_shl(unsigned lanes);
Dpp row_share(unsigned lane);
Dpp quad_perm(unsigned a, unsigned b, unsigned c, unsigned d);

}  // namespace riftjit::rdna

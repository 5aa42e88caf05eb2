// Virtual registers: what a kernel names before the allocator gives it hardware registers.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

namespace riftjit::rdna {

enum class RegisterBank : uint8_t { scalar, vector };

// Some dwords of one virtual register: the operand of an instruction before allocation.
struct RegisterPart {
    static constexpr uint16_t kNone = 0xFFFF;
    uint16_t id = kNone;  // index into the register map
    uint8_t first = 0, dwords = 0;
    bool exists() const { return id != kNone; }
    bool operator==(const RegisterPart&) const = default;
};

// A typed handle: Sgpr is shared by the wave, Vgpr holds one value per lane. `r[1]` is the second dword of a tuple,
// `r.part(4, 2)` two of them.
template <RegisterBank kBank>
class Register {
public:
    static constexpr RegisterBank bank = kBank;
    explicit constexpr Register(RegisterPart part) : part_(part) {}
    Register operator[](unsigned dword) const { return part(dword, 1); }
    // Parts outside the register are refused when they are used, where kernel and instruction are known.
    Register part(unsigned first, unsigned dwords) const {
        return Register({part_.id, static_cast<uint8_t>(part_.first + first), static_cast<uint8_t>(dwords)});
    }
    unsigned dwords() const { return part_.dwords; }
    RegisterPart whole() const { return part_; }

private:
    RegisterPart part_;
};
using Sgpr = Register<RegisterBank::scalar>;
using Vgpr = Register<RegisterBank::vector>;

// One row of the register map. `where` names the register in messages: the line of the kernel that declares it.
struct VirtualRegister {
    RegisterBank bank;
    uint8_t dwords;
    std::optional<uint16_t> fixed;  // hardware code (Operand) of its first dword
    bool defined_at_start;          // the launch fills it
    std::source_location where;
    bool released = false;
};

}  // namespace riftjit::rdna

#include "jit/x86/backend.h"

#include <xbyak/xbyak.h>

#include <exception>

namespace riftjit::x86 {

Result<CodeObject> compile(const KernelSpec& spec, Isa isa) {
    RIFTJIT_TRY_VOID(validate(spec));
    try {
        return write_x86_object(kernel_name(spec), isa,
                                std::visit([&](const auto& op) { return generate(op, isa); }, spec));
    } catch (const std::exception& exception) {  // Xbyak::Error is one
        return fail(ErrorKind::Encoding, "{} for {}: {}", kernel_name(spec), name(isa), exception.what());
    }
}

}  // namespace riftjit::x86

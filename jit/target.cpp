#include "jit/target.h"

namespace riftjit {

std::string name(Target target) {
    if (target.architecture == Architecture::rdna) return fmt::format("gfx{:x}", target.level);
    return fmt::format("x86_64-{}", name(isa_of(target)));
}

}  // namespace riftjit

// The .amdhsa_ directives of a kernel (LLVM AMDGPU usage guide, "AMDHSA Kernel Assembler Directives") as a descriptor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

class KernelDirectives {
public:
    explicit KernelDirectives(Target target);

    // `directive` with its dot. An error if the target's generation has no such directive or the value does not fit.
    Result<void> set(std::string_view directive, int64_t value);

    // An error if a directive that must be there is not.
    Result<KernelDescriptor> finish() const;

private:
    Target target_;
    KernelDescriptor descriptor_;
    std::optional<uint32_t> next_free_vgpr_, next_free_sgpr_, user_sgpr_count_;
    bool reserves_vcc_ = true;
};

struct ListedDirective {
    std::string name;  // with its dot
    uint32_t value;
};
// The directives from which KernelDirectives makes this descriptor again, in LLVM's spelling. Bits that have no
// directive (trap handlers at start and end, for one) are lost: compare what comes back.
std::vector<ListedDirective> list_directives(const KernelDescriptor& descriptor, Target target);

}  // namespace riftjit::rdna

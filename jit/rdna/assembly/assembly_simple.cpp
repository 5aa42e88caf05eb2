// Files without .amdhsa_kernel: the descriptor follows from the code.
#include <algorithm>

#include "jit/rdna/assembly/assembly_reader.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

void count_registers(const RegisterRanges& ranges, KernelResources& resources) {
    for (const RegisterRange range : ranges) {
        const uint32_t end = range.first + range.count;
        if (range.is_vgpr()) resources.vgprs = std::max(resources.vgprs, end - Operand::kFirstVgpr);
        if (end <= Operand::kVcc) resources.sgprs = std::max(resources.sgprs, end);
    }
}

}  // namespace

Result<KernelCode> AssemblyReader::simple_kernel(const AssembledKernel& kernel) const {
    KernelCode code;
    code.name = kernel.name;
    code.wave_size = wave_size_;
    code.kernarg_size = simple_kernarg_bytes_;
    code.resources.lds_bytes = simple_lds_bytes_;
    code.resources.vgprs = 1;  // the work-item id
    const std::vector<std::byte>& text = file_.text().bytes;
    for (uint64_t at = kernel.code_offset; at + 4 <= kernel.code_offset + kernel.code_size; at += 4) {
        uint32_t word = 0;
        for (unsigned i = 0; i < 4; ++i) word |= std::to_integer<uint32_t>(text[at + i]) << 8 * i;
        code.code.push_back(word);
    }
    for (size_t at = 0; at < code.code.size();) {
        const Decoded decoded = decode(file_.target, wave_size_, std::span(code.code).subspan(at));
        if (!decoded.ok)
            return fail(ErrorKind::Format, "{}: kernel {}: no instruction at byte {}", file_name_, kernel.name, 4 * at);
        const Effects used = effects(file_.target, wave_size_, decoded.instruction);
        count_registers(used.reads, code.resources);
        count_registers(used.writes, code.resources);
        at += decoded.instruction.size / 4;
    }
    return code;
}

Result<void> AssemblyReader::finish_simple_kernels() {
    for (const AssemblySymbol& symbol : file_.symbols)
        if (symbol.section == 0 && symbol.scope == SymbolScope::global) file_.kernels.push_back({.name = symbol.name});
    if (file_.kernels.empty())
        return fail(ErrorKind::Format, "{}: no kernel: neither .amdhsa_kernel nor a .globl label in .text", file_name_);
    for (AssembledKernel& kernel : file_.kernels) RIFTJIT_TRY_VOID(place_kernel(kernel));
    std::ranges::sort(file_.kernels, {}, &AssembledKernel::code_offset);
    for (size_t i = 0; i < file_.kernels.size(); ++i) {
        AssembledKernel& kernel = file_.kernels[i];
        const bool has_size = symbols_.find(kernel.name)->second.size != 0;
        if (!has_size && i + 1 < file_.kernels.size())
            kernel.code_size = file_.kernels[i + 1].code_offset - kernel.code_offset;
        RIFTJIT_TRY(code, simple_kernel(kernel));
        const Result<KernelDescriptor> descriptor = describe(code, file_.target);
        if (!descriptor) return fail(ErrorKind::Format, "{}: {}", file_name_, descriptor.error().message);
        kernel.descriptor = *descriptor;
        kernel.sgprs = code.resources.sgprs;
    }
    return {};
}

}  // namespace riftjit::rdna

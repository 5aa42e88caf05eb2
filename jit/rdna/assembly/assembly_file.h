// A whole assembly file: what clang -S writes for AMD's runtime, or the simple form of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/code_object.h"
#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/object/metadata.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

// Unloaded: debug information, comments, notes; their contents are passed over.
enum class SectionKind : uint8_t { code, read_only, data, zeros, unloaded };

struct AssemblySection {
    std::string name;
    std::vector<std::byte> bytes;
    uint32_t alignment = 1;
    SectionKind kind = SectionKind::read_only;
};

enum class SymbolScope : uint8_t { local, global, weak };

struct AssemblySymbol {
    std::string name;
    size_t section = 0;  // index into AssembledFile::sections
    uint64_t offset = 0, size = 0;
    SymbolScope scope = SymbolScope::local;
    bool is_function = false, is_hidden = false;
};

// A `.amdhsa_kernel`, or a kernel of the simple form.
struct AssembledKernel {
    std::string name;
    KernelDescriptor descriptor;              // entry_offset is left 0
    uint64_t code_offset = 0, code_size = 0;  // in .text
    uint32_t sgprs = kNumberedSgprs;          // counted from the code in the simple form; the descriptor cannot say it
};

// A distance between two sections, known when they are placed: the 32 bits at `offset` of `section` receive the low or
// the high half of (place of `target_section` + addend) - place of these bytes.
struct SectionDistance {
    size_t section = 0;
    uint64_t offset = 0;
    size_t target_section = 0;
    int64_t addend = 0;
    bool is_high_half = false;
};

// 8 bytes of a section that can be written to, which receive an address when the object is loaded.
struct AddressWord {
    size_t section = 0;
    uint64_t offset = 0;
    size_t target_section = 0;
    int64_t addend = 0;  // in the target section
};

struct AssembledFile {
    Target target{};
    CodeObjectVersion version = CodeObjectVersion::v5;
    std::vector<AssemblySection> sections;  // the first is .text, and takes in all others of code
    std::vector<AssemblySymbol> symbols;
    std::vector<SectionDistance> distances;
    std::vector<AddressWord> addresses;
    std::vector<AssembledKernel> kernels;
    std::optional<Metadata> metadata;
    bool lacks_debug_information = false;  // which the source has

    const AssemblySection& text() const { return sections[0]; }
};

// A file without .amdhsa_kernel is of the simple form: every .globl label in .text is a kernel, whose descriptor
// follows from its code. It gets the kernel argument pointer in s[0:1], the workgroup id x after the user SGPRs and the
// work-item id x in v0. `.wave_size 64`, `.kernarg_size N` and `.lds_size N` hold for all kernels of the file.
//
// Errors read "k.s:12:5: what". `name` stands for the file in them. Without a `.amdgcn_target` in the file `target`
// must be given; with both they must agree.
Result<AssembledFile> assemble(std::string_view source, std::string_view name, std::optional<Target> target);

// The kernels for write_code_object(), with resources from the descriptors and arguments from the metadata. An error if
// a kernel needs what KernelCode cannot say: data sections, functions outside the kernel, exceptions that trap.
Result<std::vector<KernelCode>> kernel_codes(const AssembledFile& file);

}  // namespace riftjit::rdna

// Opens RDNA code objects: ours, those that clang and hipcc make, and clang's offload bundles of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/object/metadata.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

struct AddressRange {
    uint64_t address = 0;
    uint64_t size = 0;

    bool operator==(const AddressRange&) const = default;
    constexpr bool contains(uint64_t at, uint64_t bytes) const {
        return at >= address && bytes <= size && at - address <= size - bytes;
    }
};

enum class SegmentAccess : uint8_t { read, read_write, read_execute };

// What one PT_LOAD puts in memory, zeros beyond the file's bytes included.
struct Segment {
    uint64_t address;
    SegmentAccess access;
    std::vector<std::byte> bytes;

    AddressRange range() const { return {address, bytes.size()}; }
};

struct LoadedKernel {
    std::string name;
    KernelDescriptor descriptor;
    KernelMetadata metadata;
    uint64_t descriptor_address;
    AddressRange code;  // of the function symbol at the entry; without one, to the end of the text section
};

struct LoadedFunction {  // a function symbol: a kernel's, or a function that kernels call
    std::string name;
    AddressRange code;
};

struct LoadedData {  // a section in memory that holds no instructions, kernel descriptors among it
    std::string name;
    AddressRange range;
    uint64_t alignment;
    bool is_writable;
};

struct LoadedObject {
    Target target;
    CodeObjectVersion version;
    uint64_t base = 0;               // what all addresses here were moved by
    std::vector<Segment> segments;   // ascending, apart from each other
    std::vector<AddressRange> text;  // sections of instructions
    std::vector<LoadedData> data;
    std::vector<LoadedKernel> kernels;      // by name
    std::vector<LoadedFunction> functions;  // by address
    std::vector<uint64_t> address_words;    // 8-byte words that hold an address of the object itself
    MetadataValue::Map metadata_others;     // what the metadata say beside kernels, version and target

    const LoadedKernel* find(std::string_view kernel) const;
    // The bytes of a range that lies in one segment; empty if it does not.
    std::span<const std::byte> bytes(const AddressRange& range) const;
};

// `wanted` picks the entry of a bundle, and refuses an object made for another chip. Without it a bundle must hold
// exactly one object for a chip we know. Every header field that is relied on is checked: a malformed file is an error
// that says what is wrong and where.
Result<LoadedObject> load_code_object(std::span<const std::byte> file, std::optional<Target> wanted = std::nullopt);

// Moves a loaded object by `base` bytes, a multiple of 4096, with the addresses in its memory.
void move_object(LoadedObject& object, uint64_t base);

}  // namespace riftjit::rdna

#include "jit/cache/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "host/round_up.h"

namespace riftjit {

namespace {

// Walks the notes of one segment: {namesz, descsz, type}, name, desc, each padded to the segment's alignment.
std::span<const std::byte> build_id_in_notes(std::span<const std::byte> notes, uint64_t alignment) {
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes.data(), sizeof note);
        const uint64_t name_offset = sizeof note;
        const uint64_t desc_offset = round_up(name_offset + note.n_namesz, alignment);
        const uint64_t end = round_up(desc_offset + note.n_descsz, alignment);
        if (desc_offset + note.n_descsz > notes.size()) return {};
        const bool is_gnu = note.n_namesz == sizeof ELF_NOTE_GNU &&
                            std::memcmp(notes.data() + name_offset, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0;
        if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return notes.subspan(desc_offset, note.n_descsz);
        if (end >= notes.size()) return {};
        notes = notes.subspan(end);
    }
    return {};
}

bool holds_address(const dl_phdr_info& image, uintptr_t address) {
    for (int i = 0; i < image.dlpi_phnum; ++i) {
        const auto& segment = image.dlpi_phdr[i];
        const uintptr_t begin = image.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && begin <= address && address < begin + segment.p_memsz) return true;
    }
    return false;
}

int find_build_id(dl_phdr_info* image, size_t, void* result) {
    if (!holds_address(*image, reinterpret_cast<uintptr_t>(&find_build_id))) return 0;
    for (int i = 0; i < image->dlpi_phnum; ++i) {
        const auto& segment = image->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        // The loader tells addresses as integers. NOLINTNEXTLINE(performance-no-int-to-ptr)
        const auto* first = reinterpret_cast<const std::byte*>(image->dlpi_addr + segment.p_vaddr);
        const auto id = build_id_in_notes({first, segment.p_memsz}, segment.p_align == 8 ? 8 : 4);
        if (!id.empty()) *static_cast<std::span<const std::byte>*>(result) = id;
    }
    return 1;  // found the image: stop
}

}  // namespace

std::span<const std::byte> running_build_id() {
    static const std::span<const std::byte> id = [] {
        std::span<const std::byte> found;
        dl_iterate_phdr(find_build_id, &found);
        return found;
    }();
    return id;
}

}  // namespace riftjit

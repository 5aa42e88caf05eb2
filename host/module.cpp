#include "host/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>

namespace riftjit {

namespace {

std::filesystem::path locate(const std::string& file) {
    const std::filesystem::path folder = image_of(reinterpret_cast<const void*>(&load_module)).parent_path();
    std::error_code error;
    const auto beside = folder / file;
    if (std::filesystem::exists(beside, error)) return beside;
    return folder.parent_path() / "lib" / "riftjit" / file;
}

}  // namespace

std::filesystem::path image_of(const void* address) {
    Dl_info info{};
    link_map* image = nullptr;
    const bool is_known = dladdr1(address, &info, reinterpret_cast<void**>(&image), RTLD_DL_LINKMAP) != 0;
    std::error_code error;
    // The program itself has no name there, and what it was called by need not lead to it.
    if (!is_known || image == nullptr || *image->l_name == '\0')
        return std::filesystem::read_symlink("/proc/self/exe", error);
    return std::filesystem::canonical(image->l_name, error);
}

Result<void> require_whole_library(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return fail(ErrorKind::Io, "{}: not a regular file", path.string());
    const uint64_t file_bytes = std::filesystem::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    if (error || !file.read(reinterpret_cast<char*>(&header), sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return fail(ErrorKind::Format, "{}: not a shared library", path.string());
    const auto need = [&](uint64_t end) -> Result<void> {
        if (end <= file_bytes) return {};
        return fail(ErrorKind::Format, "{}: truncated: {} bytes of {} or more", path.string(), file_bytes, end);
    };
    RIFTJIT_TRY_VOID(need(header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)));
    RIFTJIT_TRY_VOID(need(header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)));
    file.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment))
            return fail(ErrorKind::Io, "{}: cannot be read", path.string());
        RIFTJIT_TRY_VOID(need(segment.p_offset + segment.p_filesz));
    }
    return {};
}

Result<const void*> load_module(const std::string& name) {
    const std::string file = "libriftjit-" + name + ".so";
    const std::string path = locate(file).string();
    if (std::error_code error; !std::filesystem::exists(path, error))
        return fail(ErrorKind::Unsupported, "{} is neither beside the program nor at {}: that part is not installed",
                    file, path);
    RIFTJIT_TRY_VOID(require_whole_library(path));
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return fail(ErrorKind::Unsupported, "{} cannot be loaded: {}", file, dlerror());
    const auto factory = reinterpret_cast<ModuleFactory>(dlsym(library, "riftjit_module"));
    const void* const module =
        factory == nullptr ? nullptr : factory(RIFTJIT_MODULE_INTERFACE, internal_error_handler());
    if (module == nullptr) return fail(ErrorKind::Unsupported, "{} belongs to another version of the program", path);
    return module;
}

}  // namespace riftjit

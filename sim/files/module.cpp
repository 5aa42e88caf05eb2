#include "sim/files/module.h"

#include <dlfcn.h>
#include <link.h>

namespace riftjit::sim {

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

Result<const void*> load_module(const std::string& name) {
    const std::string file = "libriftjit-" + name + ".so";
    const std::string path = locate(file).string();
    if (std::error_code error; !std::filesystem::exists(path, error))
        return fail(ErrorKind::Unsupported, "{} is neither beside the program nor at {}: that part is not installed",
                    file, path);
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return fail(ErrorKind::Unsupported, "{} cannot be loaded: {}", file, dlerror());
    const auto factory = reinterpret_cast<ModuleFactory>(dlsym(library, "riftjit_module"));
    const void* const module =
        factory == nullptr ? nullptr : factory(RIFTJIT_MODULE_INTERFACE, internal_error_handler());
    if (module == nullptr) return fail(ErrorKind::Unsupported, "{} belongs to another version of the program", path);
    return module;
}

}  // namespace riftjit::sim

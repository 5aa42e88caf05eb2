#include "sim/files/module.h"

#include <dlfcn.h>

#include <filesystem>

namespace riftjit::sim {

namespace {

using Factory = const void* (*)(const char*);

std::filesystem::path locate(const std::string& file) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = program.parent_path() / file;
    if (std::filesystem::exists(beside, error)) return beside;
    return program.parent_path().parent_path() / "lib" / "riftjit" / file;
}

}  // namespace

Result<const void*> load_module(const std::string& name) {
    const std::string file = "libriftjit-" + name + ".so";
    const std::string path = locate(file).string();
    if (std::error_code error; !std::filesystem::exists(path, error))
        return fail(ErrorKind::Unsupported, "{} is neither beside the program nor at {}: that part is not installed",
                    file, path);
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return fail(ErrorKind::Unsupported, "{} cannot be loaded: {}", file, dlerror());
    const auto factory = reinterpret_cast<Factory>(dlsym(library, "riftjit_module"));
    const void* const module = factory == nullptr ? nullptr : factory(RIFTJIT_MODULE_INTERFACE);
    if (module == nullptr) return fail(ErrorKind::Unsupported, "{} belongs to another version of the program", path);
    return module;
}

}  // namespace riftjit::sim

// Writes the files that fuzzing of the code-object loader starts from: two kernels for a chip of each generation, in
// each version.
#include <filesystem>
#include <fstream>

#include "jit/rdna/object/code_object.h"

namespace {

using namespace riftjit;
using namespace riftjit::rdna;

KernelCode kernel(std::string name, uint32_t arguments) {
    KernelCode made;
    made.name = std::move(name);
    made.code = {0xBFB00000};
    for (uint32_t i = 0; i < arguments; ++i) made.args.push_back({.offset = 8 * i, .size = 8, .name = "argument"});
    made.kernarg_size = 8 * arguments;
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    check(argc == 2, "usage: code_object_seeds DIRECTORY");
    const std::vector<KernelCode> kernels = {kernel("first", 1), kernel("second", 17)};
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201})
        for (const CodeObjectVersion version : {CodeObjectVersion::v4, CodeObjectVersion::v5, CodeObjectVersion::v6}) {
            const auto object = write_code_object(target, version, kernels);
            check(object.has_value(), "the seed can be written");
            const auto file_name = fmt::format("{}-v{}.co", name(target), static_cast<int>(version));
            std::ofstream file(std::filesystem::path(argv[1]) / file_name, std::ios::binary);
            file.write(reinterpret_cast<const char*>(object->data()), static_cast<std::streamsize>(object->size()));
            check(file.good(), "the seed was written");
        }
}

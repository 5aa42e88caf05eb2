// Writes what fuzzing of the RDNA decoder and of its text starts from: for a chip of each generation random
// instructions, as words and as lines, and a whole assembly file.
#include <filesystem>
#include <fstream>

#include "tests/jit/rdna/text/assembly_text.h"

namespace {

using namespace riftjit;
using namespace riftjit::rdna;

// Both fuzz targets choose the chip by the first byte.
char index_of(Target target) {
    for (size_t i = 0; i < all_targets().size(); ++i)
        if (all_targets()[i].target == target) return static_cast<char>(i);
    return 0;
}

void write(const std::filesystem::path& path, char first, std::string_view bytes) {
    std::ofstream file(path, std::ios::binary);
    file << first << bytes;
    check(file.good(), "the seed was written");
}

}  // namespace

int main(int argc, char** argv) {
    check(argc == 3, "usage: rdna_seeds DECODE_DIRECTORY TEXT_DIRECTORY");
    constexpr int kLines = 200, kInstructionsPerStream = 8;
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201}) {
        RandomInstructions random(target, WaveSize::wave32, 1);
        std::string stream;
        for (int i = 0; i < kLines; ++i) {
            const Instruction made = random.next();
            const auto encoded = encode(target, WaveSize::wave32, made);
            check(encoded.has_value(), "the instruction can be encoded");
            stream.append(reinterpret_cast<const char*>(encoded->words.data()), 4u * encoded->count);
            const std::string name = fmt::format("{}-{}", rdna::name(target), i);
            write(std::filesystem::path(argv[2]) / name, index_of(target), print(target, WaveSize::wave32, made));
            if (i % kInstructionsPerStream != kInstructionsPerStream - 1) continue;
            write(std::filesystem::path(argv[1]) / name, index_of(target), stream);
            stream.clear();
        }
        // The top bit asks for a whole file.
        write(std::filesystem::path(argv[2]) / fmt::format("{}-file", rdna::name(target)),
              static_cast<char>(index_of(target) | 0x80), test::whole_file(target));
    }
}

// Writes the files that fuzzing of the GGUF reader starts from: tiny models.
#include <filesystem>
#include <fstream>

#include "models/model.h"
#include "tests/models/gguf/gguf_builder.h"

int main(int argc, char** argv) {
    using namespace riftjit;
    check(argc == 2, "usage: gguf_seeds DIRECTORY");
    for (const std::string name : {"llama", "qwen2", "qwen3"}) {
        std::ofstream file(std::filesystem::path(argv[1]) / (name + ".gguf"), std::ios::binary);
        const models::test::Bytes bytes = models::test::tiny_model(name).bytes();
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        check(file.good(), "the seed was written");
    }
}

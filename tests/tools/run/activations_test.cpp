// --activations: a choice that every command which makes a model's kernels has.
#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace activations_test {

const std::string kModel = RIFTJIT_SOURCE_DIR "/tests/data/nano/nano-q4_k.gguf";

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}
const std::vector<std::string> kRun = {"run", "-m",     kModel, "--prompt-ids", "5,60,7,33,2", "-n",
                                       "4",   "--temp", "0",    "--logits-hash"};

std::string hash_line(const Outcome& outcome) {
    const size_t at = outcome.err.find("logits hash: ");
    EXPECT_NE(at, std::string::npos) << outcome.err;
    return at == std::string::npos ? "" : outcome.err.substr(at);
}

TEST(ActivationsChoice, HasBitsOfItsOwnWhichNeitherThreadsNorLevelsChange) {
    Program program;
    const std::string words = hash_line(program.run(kRun));
    EXPECT_EQ(hash_line(program.run(with(kRun, {"--activations", "i13"}))), words);
    const std::string bytes = hash_line(program.run(with(kRun, {"--activations", "i8"})));
    EXPECT_NE(bytes, words);
    EXPECT_EQ(hash_line(program.run(with(kRun, {"--activations", "i8", "-t", "1", "--max-isa", "avx2"}))), bytes);
}

TEST(ActivationsChoice, IsWarmedByItself) {
    Program program;
    const std::vector<std::string> bytes = {"--activations", "i8"};
    EXPECT_EQ(program.run({"warm", kModel}).exit_code, 0);
    const auto required = with(kRun, {"--cache-mode", "require"});
    EXPECT_EQ(program.run(required).exit_code, 0);
    EXPECT_EQ(program.run(with(required, bytes)).exit_code, 4);
    EXPECT_EQ(program.run(with({"warm", kModel}, bytes)).exit_code, 0);
    EXPECT_EQ(program.run(with(required, bytes)).exit_code, 0);
}

TEST(ActivationsChoice, IsRefusedByNameWhereThereIsNoKernel) {
    Program program;
    const Outcome gpu = program.run(with(kRun, {"--activations", "i8", "--device", "emulate:gfx1100"}));
    EXPECT_EQ(gpu.exit_code, 1);
    EXPECT_EQ(gpu.err, "error: gfx1100: matmul: no kernel for activations of 8 bits\n");
    const Outcome unknown = program.run(with(kRun, {"--activations", "i9"}));
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_NE(unknown.err.find("\"i9\" is not known, expected one of i13, i8"), std::string::npos) << unknown.err;
}

}  // namespace activations_test
}  // namespace riftjit::tools

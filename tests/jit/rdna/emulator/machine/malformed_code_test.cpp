// Code that is not code: whatever words a kernel holds, the machine reports and stops; it never crashes.
#include <random>

#include "tests/jit/rdna/emulator/machine/machine_fixture.h"
#include "tests/jit/rdna/mutation.h"

namespace riftjit::rdna::emulator {
namespace malformed_code_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};

// Runs the words as a kernel of two waves, with few enough instructions that a loop ends at once.
void run_words(Target target, WaveSize wave_size, const std::vector<uint32_t>& words, const Checks& checks) {
    KernelCode kernel;
    kernel.name = "program";
    kernel.code = words;
    kernel.wave_size = wave_size;
    kernel.resources = {.vgprs = 256, .lds_bytes = 1024, .scratch_bytes = 64};
    kernel.kernarg_size = 64;
    const auto object = write_code_object(target, CodeObjectVersion::v5, {&kernel, 1});
    ASSERT_TRUE(object) << object.error().message;
    Machine machine(target, {.checks = checks});
    ASSERT_TRUE(machine.load(*object));
    const std::vector<std::byte> args(64);
    const auto report =
        machine.launch("program", {1, 1, 1}, {2 * lanes(wave_size), 1, 1}, args, {.instruction_limit = 2000});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->completed || !report->findings.empty()) << "a run that stops says why";
}

// Words that decode, so that execution gets past the first: random ones almost never do twice in a row.
std::vector<uint32_t> decodable_words(Target target, WaveSize wave_size, std::mt19937& random, size_t instructions) {
    std::vector<uint32_t> code;
    while (instructions > 0) {
        std::array<uint32_t, kMaxInstructionWords> words;
        for (uint32_t& word : words) word = random();
        const Decoded decoded = decode(target, wave_size, words);
        if (!decoded.ok) continue;
        code.insert(code.end(), words.begin(), words.begin() + decoded.instruction.size / 4);
        --instructions;
    }
    return code;
}

TEST(MalformedCode, OfRandomWordsIsReported) {
    std::mt19937 random(test::asked_seed(11));
    for (const Target target : kTargets)
        for (size_t round = 0; round < test::mutation_count(50); ++round) {
            std::vector<uint32_t> words(64);
            for (uint32_t& word : words) word = random();
            run_words(target, round % 2 ? WaveSize::wave64 : WaveSize::wave32, words,
                      round % 4 ? Checks{} : Checks::none());
        }
}

TEST(MalformedCode, OfRandomInstructionsIsReported) {
    std::mt19937 random(test::asked_seed(12));
    for (const Target target : kTargets)
        for (size_t round = 0; round < test::mutation_count(400); ++round) {
            // Most programs stop at their first memory access or jump, so that short ones reach more.
            const WaveSize wave_size = round % 2 ? WaveSize::wave64 : WaveSize::wave32;
            const Checks checks = round % 4 < 2 ? Checks{} : Checks::none();
            run_words(target, wave_size, decodable_words(target, wave_size, random, 1 + round % 8), checks);
        }
}

}  // namespace malformed_code_test
}  // namespace riftjit::rdna::emulator

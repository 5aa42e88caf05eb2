// Damaged instruction streams: listed whole whatever they hold, and what is read as an instruction can be printed.
#include <gtest/gtest.h>

#include "jit/rdna/text/listing.h"
#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/encode/random_instruction.h"
#include "tests/jit/rdna/mutation.h"

namespace riftjit::rdna {
namespace stream_mutation_test {

using Words = std::vector<uint32_t>;

Words random_stream(RandomInstructions& random, Target target, WaveSize wave, size_t instructions) {
    Words words;
    for (; instructions > 0; --instructions) {
        const auto encoded = encode(target, wave, random.next());
        EXPECT_TRUE(encoded) << encoded.error().message;
        words.insert(words.end(), encoded->span().begin(), encoded->span().end());
    }
    return words;
}

void damage(Words& words, std::mt19937& random) {
    const size_t at = test::below(random, words.size());
    const auto place = words.begin() + std::ptrdiff_t(at);
    switch (test::below(random, 5)) {
        case 0:
            *place ^= 1u << test::below(random, 32);
            break;
        case 1:
            *place = static_cast<uint32_t>(random());
            break;
        case 2:
            words.insert(place, words[test::below(random, words.size())]);
            break;
        case 3:
            if (words.size() > 1) words.erase(place);
            break;
        default:
            words.resize(at + 1);
    }
}

struct Counts {
    size_t instructions = 0, others = 0;
};

// Every word is in the listing once, in order.
Counts list(Target target, WaveSize wave, const Words& words) {
    const std::vector<ListedInstruction> listing = list_instructions(target, wave, words, 0x1000);
    EXPECT_FALSE(format_listing(listing).empty());
    Counts counts;
    Words listed;
    for (const ListedInstruction& line : listing) {
        ++(line.is_instruction ? counts.instructions : counts.others);
        EXPECT_EQ(line.address, 0x1000 + 4 * listed.size());
        EXPECT_FALSE(line.text.empty() || line.words.empty());
        EXPECT_NE(line.is_instruction, !line.comment.empty()) << line.text << ' ' << line.comment;
        listed.insert(listed.end(), line.words.begin(), line.words.end());
    }
    EXPECT_EQ(listed, words);
    return counts;
}

TEST(DamagedStreams, AreListedWhole) {
    const size_t count = test::mutation_count(300);
    for (const TargetInfo& info : all_targets()) {
        std::mt19937 random(test::asked_seed(static_cast<uint32_t>(info.target)));
        Counts sum;
        for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
            RandomInstructions instructions(info.target, wave, static_cast<uint32_t>(random()));
            for (size_t i = 0; i < count / 2; ++i) {
                Words words = random_stream(instructions, info.target, wave, 16);
                for (size_t edits = 1 + test::below(random, 6); edits > 0; --edits) damage(words, random);
                words.shrink_to_fit();  // so that a sanitizer sees a read beyond the end
                const Counts counts = list(info.target, wave, words);
                sum.instructions += counts.instructions;
                sum.others += counts.others;
            }
        }
        EXPECT_GT(sum.instructions, 4 * count) << info.name;
        EXPECT_GT(sum.others, count / 4) << info.name;
    }
}

}  // namespace stream_mutation_test
}  // namespace riftjit::rdna
